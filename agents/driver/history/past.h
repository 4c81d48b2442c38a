/* SPDX-License-Identifier: Apache-2.0 */
/* past.h - history of a program's earlier jobs: model size, workers' times and memory limits, and
 * the efficiencies of modes
 *
 * Entries, and rows of workers, that are older than a cached profile may be (profile.cache) are
 * ignored. So workers that jobs no longer use disappear from the file.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_PAST_H
#define EDDIS_AGENTS_DRIVER_HISTORY_PAST_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"
#include "lib/model/job.h"
#include "past_table.h"
#include "scheduler/planner.h"

/* A program's model.  0 or an empty member: unknown. */
struct past_model {
    /* size of the parameters */
    int64_t bytes;
    struct program program;
    int64_t n_gradients; /* number of gradients in the workers' buckets */
    int64_t samples;     /* number of samples that one job trains, all epochs together */
    int64_t samples_in_epoch;
};

/* Load what earlier jobs recorded of the program's model. Return all members 0 if there is no
 * record.
 */
struct past_model past_model(struct file_thread *reader, const struct job *job);

/* Store the program's model in the cache for the next job. Return 0 or a negative errno. If memory
 * is lacking, nothing is stored, and 0 is returned.
 */
int past_model_keep(struct file_thread *reader, const struct job *job,
                    const struct past_model *model, struct eddis_error *err);

/* Times of one program's workers, measured by this job and earlier jobs. */
struct past_times {
    struct past_rows list; /* rows are struct planner_time */
};

/* Load into *ret the times that earlier jobs of this program measured with a model of model_bytes.
 * If model_bytes is 0 (unknown), or the cache has no such times, *ret stays empty. *ret must be
 * zeroed; the caller frees it with past_times_fini.
 */
void past_times_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                     struct past_times *ret);

/* Add the row of a worker, or replace the row with the same key; the row's learnt_s becomes the
 * present time. Return 0 or -ENOMEM.
 */
int past_times_set(struct past_times *l, const struct planner_time *row);

/* Store the workers' times in the cache for the next job of the program, for a model of this size.
 * Return 0 or a negative errno.
 */
int past_times_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                    const struct past_times *l, struct eddis_error *err);

/* Free the rows. */
void past_times_fini(struct past_times *l);

/* Memory limits of one program's workers: the most samples that each can hold at the same time, and
 * how its memory grows with the samples on GPUs of a name.
 */
struct past_memory {
    struct past_rows lines; /* rows are struct planner_line */
    struct past_rows list;  /* rows are struct planner_bound */
    bool takes_pieces;      /* the program keeps to micro-batches of the planned size */
};

/* Load into *ret the workers' memory limits that earlier jobs measured, by the rules of
 * past_times_load.
 */
void past_memory_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                      struct past_memory *ret);

/* Record a worker's memory limit that a failure showed, with the present time. The new limit
 * replaces a measured limit. Of the limit of an earlier failure it keeps what is stricter: the
 * lesser `samples` and `failed`, and `fitted` if that is still less than `failed`. Return 0 or
 * -ENOMEM.
 */
int past_memory_set(struct past_memory *l, const struct planner_bound *row,
                    struct eddis_error *err);

/* Return the memory limit of the worker with this key, borrowed until a row is set; NULL: none is
 * known.
 */
const struct planner_bound *past_memory_find(const struct past_memory *l, const char *key);

/* Give a worker's memory limit the present time, because the worker has trained under this limit.
 * Otherwise the limit would expire, and a program that runs once a month would fail each time.
 * fitted: most samples of a finished step, 0: unknown. A limit below it was raised, and becomes
 * that much.
 */
void past_memory_renew(struct past_memory *l, const char *key, int64_t fitted);

/* Record a worker's memory limit that was computed from measured peaks. binds: the limit is less
 * than the global batch; if not, delete the worker's old limit instead. A limit from a failure
 * stays in both cases.
 */
void past_memory_measured(struct past_memory *l, const struct planner_bound *row, bool binds);

/* Record how a worker's memory grows on GPUs of the name row->key, with the present time. If memory
 * is lacking the next job measures it again.
 */
void past_memory_line(struct past_memory *l, const struct planner_line *row);

/* Store the workers' memory limits in the cache for the next job of the program, for a model of
 * this size. Return 0 or a negative errno.
 */
int past_memory_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                     const struct past_memory *l, struct eddis_error *err);

/* Free the limits. */
void past_memory_fini(struct past_memory *l);

/* Efficiencies of algorithms, measured with one program by --compare or by earlier jobs. */
struct past_efficiencies {
    struct past_rows list; /* rows are struct efficiency_row */
};

/* Load into *ret the efficiencies that were measured with this program, by the rules of
 * past_times_load; the caller frees it with past_efficiencies_fini. Return 0; -ENOENT: there are
 * none; or another negative errno: it is not known whether there are, so they must not be replaced.
 */
int past_efficiencies_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                           struct past_efficiencies *ret);

/* Add a row, whose key is filled in here, or replace the one with the same key; the row's learnt_s
 * becomes the present time. Return 0 or -ENOMEM.
 */
int past_efficiencies_set(struct past_efficiencies *l, const struct efficiency_row *row);

/* Return the efficiency with the algorithm, models, period and batch of `row`; 0: there is none. */
double past_efficiency(const struct past_efficiencies *l, const struct efficiency_row *row);

/* Store the efficiencies in the cache for the next job of the program, for a model of this size.
 * Return 0 or a negative errno.
 */
int past_efficiencies_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                           const struct past_efficiencies *l, struct eddis_error *err);

/* Free the rows. */
void past_efficiencies_fini(struct past_efficiencies *l);

/* Fill *ret with what earlier jobs measured of the program and its workers, for the planner: all
 * but the network, and what a running job has begun with. *ret borrows from the other arguments.
 */
void past_fill(const struct past_model *model, const struct past_times *times,
               const struct past_memory *memory, const struct past_efficiencies *efficiencies,
               struct planner_history *ret);

/* Set latency and bandwidth in *history from `measured`, the network probe's results (JSON, or
 * NULL). If the results do not contain them, leave them unchanged.
 */
void past_wire(const char *measured, struct planner_history *history);

/* Return the network of the network probe's results (JSON, or NULL), which the caller frees; NULL:
 * there is none, or no memory.
 */
struct network *past_network(const char *measured);

#endif
