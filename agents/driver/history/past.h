/* SPDX-License-Identifier: Apache-2.0 */
/* past.h - what one run of a program remembers for the next: the size of its model, how long its
 * workers take for a batch, and what they hold
 *
 * Nothing is believed that is older than profiles may be (profile.cache), each row of a worker by
 * itself: workers that jobs no longer have leave the file.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_PAST_H
#define EDDIS_AGENTS_DRIVER_HISTORY_PAST_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"
#include "lib/base/key_index.h"
#include "lib/model/job.h"
#include "scheduler/planner.h"

/* A program's model; 0: unknown. */
struct learned_model {
    int64_t bytes;
    struct program program;
    int64_t n_gradients; /* that its workers laid out in buckets */
    int64_t samples;     /* that its jobs train, all epochs together */
};

/* Returns what is known of the program's model. */
struct learned_model learned_model(struct file_thread *looks, const struct job *job);

/* Keep it for the next run of the program. */
int learned_keep_model(struct file_thread *looks, const struct job *job,
                       const struct learned_model *model, struct eddis_error *err);

/* Rows of workers, each beginning with its planner_key; zeroed it is empty. */
struct learned_rows {
    void *row; /* [n] */
    int n, room;
    struct key_index index;
};

/* What is known of workers of one program: of this job's and of those of earlier ones. */
struct learned_times {
    struct learned_rows list; /* of struct planner_time */
};

/* Fill *ret, zeroed, with what earlier jobs of this program have learnt with a model of this size
 * (0: not known, then nothing is); it stays empty when there is nothing.  For learned_times_fini.
 */
void learned_times_load(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                        struct learned_times *ret);

/* Replace or add a row, learnt now.  -ENOMEM. */
int learned_times_set(struct learned_times *l, const struct planner_time *row);

/* Keep the rows for the next job of the program, with a model of this size. */
int learned_times_keep(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                       const struct learned_times *l, struct eddis_error *err);

void learned_times_fini(struct learned_times *l);

/* What is known of the memory of one program's workers. */
struct learned_memory {
    struct learned_rows list; /* of struct planner_bound */
    bool takes_pieces;        /* the program promises to hold no more at once */
};

/* As of learned_times; a bound that is known already is replaced by a smaller one only. */
void learned_memory_load(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                         struct learned_memory *ret);
int learned_memory_set(struct learned_memory *l, const struct planner_bound *row,
                       struct eddis_error *err);

/* Returns what is known of this worker, or NULL; valid until a row is set. */
const struct planner_bound *learned_memory_find(const struct learned_memory *l, const char *key);

/* A bound of a failure is as if learnt now, since a worker trained under it: else a program that
 * runs once a month would fail every time.
 */
void learned_memory_renew(struct learned_memory *l, const char *key);

/* Replace, add or, where it binds no more, drop a row of peaks; one of a failure stays. */
void learned_memory_measured(struct learned_memory *l, const struct planner_bound *row, bool binds);
int learned_memory_keep(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                        const struct learned_memory *l, struct eddis_error *err);
void learned_memory_fini(struct learned_memory *l);

/* Fill the wire's figures in *known from what the network's probe has measured, JSON or NULL; leave
 * them alone when it does not tell.
 */
void learned_wire(const char *measured, struct planner_known *known);

#endif
