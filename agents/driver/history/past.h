/* SPDX-License-Identifier: Apache-2.0 */
/* past.h - history of a program's earlier jobs: model size, workers' times and memory limits
 *
 * Entries older than profiles may be (profile.cache) are ignored, each worker's row by its own age.
 * Workers that jobs no longer use thus disappear from the file.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_PAST_H
#define EDDIS_AGENTS_DRIVER_HISTORY_PAST_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"
#include "lib/base/key_index.h"
#include "lib/model/job.h"
#include "scheduler/planner.h"

/* A program's model.  0 or an empty member: unknown. */
struct past_model {
    /* size of the parameters */
    int64_t bytes;
    struct program program;
    int64_t n_gradients; /* number of gradients in its workers' buckets */
    int64_t samples;     /* samples that one job trains in all epochs together */
};

/* Load what earlier jobs measured of the program's model; all 0: nothing. */
struct past_model past_model(struct file_thread *looks, const struct job *job);

/* Store the program's model for its next job.  Without memory nothing is stored, and 0 is returned.
 */
int past_model_keep(struct file_thread *looks, const struct job *job,
                    const struct past_model *model, struct eddis_error *err);

/* An array of rows, one per kind of worker, each beginning with its planner_key.  Zeroed it is
 * empty.
 */
struct past_rows {
    void *row; /* [n] */
    int n, room;
    struct key_index index;
};

/* Times of one program's workers, measured by this job and earlier ones. */
struct past_times {
    struct past_rows list; /* rows are struct planner_time */
};

/* Load the times that earlier jobs of this program measured with a model of model_bytes (0:
 * unknown, nothing is loaded).  *ret must be zeroed; it stays empty if there are none.  Free with
 * past_times_fini.
 */
void past_times_load(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                     struct past_times *ret);

/* Add a worker's time, or replace the one with its key, with the present time.  Return -ENOMEM
 * without memory.
 */
int past_times_set(struct past_times *l, const struct planner_time *row);

/* Store the workers' times for the next job of the program, for a model of this size. */
int past_times_keep(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                    const struct past_times *l, struct eddis_error *err);

/* Free the rows. */
void past_times_fini(struct past_times *l);

/* Memory limits of one program's workers: the most samples they can hold at once. */
struct past_memory {
    struct past_rows list; /* rows are struct planner_bound */
    bool takes_pieces;     /* the program keeps to micro-batches of the planned size */
};

/* Load the workers' memory limits that earlier jobs measured, as past_times_load loads times. */
void past_memory_load(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                      struct past_memory *ret);

/* Record a limit that a failure showed, with the present time.  It replaces a measured limit, but
 * an earlier failure's only if it is smaller.
 */

/* Record a worker's memory limit that a failure showed, with the present time.  It replaces a
 * measured limit, but an earlier failure's only if it is smaller.
 */
int past_memory_set(struct past_memory *l, const struct planner_bound *row,
                    struct eddis_error *err);

/* Return the memory limit of this kind of worker, borrowed until a row is set; NULL: none. */
const struct planner_bound *past_memory_find(const struct past_memory *l, const char *key);

/* Give a worker's memory limit the present time, because a worker has trained under it.  Otherwise
 * it would expire, and a program that runs once a month would fail each time.
 */
void past_memory_renew(struct past_memory *l, const char *key);

/* Record a worker's memory limit computed from measured peaks; if it does not bind (limits
 * nothing), delete the old one.  A limit from a failure stays.
 */
void past_memory_measured(struct past_memory *l, const struct planner_bound *row, bool binds);

/* Store the limits for the next job of the program, for a model of this size. */

/* Store the workers' memory limits for the next job of the program, for a model of this size. */
int past_memory_keep(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                     const struct past_memory *l, struct eddis_error *err);

/* Free the limits. */
void past_memory_fini(struct past_memory *l);

/* Set the latency and bandwidth in *known from the network probe's results (JSON, or NULL).  Leave
 * them alone if the results do not contain them.
 */
void past_wire(const char *measured, struct planner_history *history);

#endif
