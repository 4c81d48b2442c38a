/* SPDX-License-Identifier: Apache-2.0 */
/* memory_model.h - how many samples fit into a worker's memory, learnt from its own peaks
 *
 * A peak grows with the samples that are held at once, along a line.  Two batches that lie
 * MEMORY_SPAN apart tell it; until then all of the peak is taken to grow, which is more than it
 * does: so an ever larger batch is foreseen not to fit before it is tried, and each that was tried
 * lets the next be larger.
 *
 *     fixed + sample * n <= limit
 *
 * That may be all that there is to learn from: where there is room left, a tenth more is tried.
 *
 * Workers that share a limit, as those of a node without devices, all grow by the same factor until
 * it is reached.  A tenth of the limit stays free: allocators keep what they could give back, and
 * no step is quite like the others.
 *
 * Pure; a learner is a value and may be copied.
 */
#ifndef EDDIS_SCHEDULER_MEMORY_MODEL_H
#define EDDIS_SCHEDULER_MEMORY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_POINTS = 4 };

#define MEMORY_SPAN  1.2 /* of samples at once that tell the line */
#define MEMORY_SPARE 0.1 /* of the limit */
#define MEMORY_TRIED 1.1 /* times as many, to find the line */

struct memory_point {
    int64_t samples, bytes; /* held at once; the peak then */
};

struct memory_learner {
    struct memory_point point[MEMORY_POINTS]; /* [n], by samples */
    int n;
};

/* Take the peak of steps that held so many samples at once.  Fewer of them than were held before
 * tell nothing: a process seldom gives back what it has taken.
 */
void memory_take(struct memory_learner *m, int64_t samples, int64_t bytes);

/* Whether the line is known. */
bool memory_is_line(const struct memory_learner *m);

struct memory_worker {
    struct memory_learner learnt;
    int64_t samples, bytes; /* held at once now, and the peak; 0: none is known */
    int64_t limit_bytes;    /* for all who share it; 0: none is known */
    int pool;               /* number, from 0 to n - 1, that those share */
};

/* Fill ret [n] with the most samples that each can hold at once, never less than it holds now;
 * INT64_MAX: nothing speaks against any number.  -ENOMEM.
 */
int memory_bounds(const struct memory_worker *w, int n, int64_t *ret);

#endif
