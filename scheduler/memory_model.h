/* SPDX-License-Identifier: Apache-2.0 */
/* memory_model.h - learns from a worker's memory peaks how many samples fit
 *
 * A peak grows linearly with the samples that are held at once. Two batches that are MEMORY_SPAN
 * apart determine the line. Until then the whole peak counts as growing, which overestimates. So a
 * batch is predicted not to fit before it is tried, and each batch that was tried allows a larger
 * one.
 *
 *     fixed + sample * n <= limit
 *
 * If no line is known and the limit leaves room, a tenth more samples are tried.
 *
 * Workers that share a limit, such as those of a node without devices, all grow by the same factor
 * until it is reached. A tenth of the limit stays free, since allocators keep memory that they
 * could return, and steps differ.
 *
 * Pure; a learner is a value and may be copied.
 */
#ifndef EDDIS_SCHEDULER_MEMORY_MODEL_H
#define EDDIS_SCHEDULER_MEMORY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_POINTS = 4 };

#define MEMORY_SPAN  1.2 /* ratio of samples held at once that determines the line */
#define MEMORY_SPARE 0.1 /* fraction of the limit that stays free */
#define MEMORY_TRIED 1.1 /* factor on the samples that is tried to find the line */

struct memory_point {
    int64_t samples, bytes; /* samples held at once; peak memory with them */
};

struct memory_learner {
    struct memory_point point[MEMORY_POINTS]; /* [n], ascending by samples */
    int n;
};

/* Add the peak of steps that held so many samples at once. Fewer samples than before are ignored: a
 * process seldom returns memory that it has taken.
 */
void memory_take(struct memory_learner *m, int64_t samples, int64_t bytes);

/* Check whether the line is known. */
bool memory_is_line(const struct memory_learner *m);

struct memory_worker {
    struct memory_learner learnt;
    int64_t samples, bytes; /* held at once now, and the peak; 0: unknown */
    int64_t limit_bytes;    /* for all workers that share it; 0: unknown */
    int pool;               /* 0 to n - 1; workers that share a limit have the same */
};

/* Fill ret [n] with the most samples that each worker can hold at once, never fewer than now;
 * INT64_MAX: no bound is known. -ENOMEM.
 */
int memory_bounds(const struct memory_worker *w, int n, int64_t *ret);

#endif
