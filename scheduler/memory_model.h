/* SPDX-License-Identifier: Apache-2.0 */
/* memory_model.h - learns from a worker's memory peaks how many samples fit
 *
 * A memory peak grows linearly with the samples that are held at the same time. Peaks of two
 * batches with a ratio of at least MEMORY_SPAN determine the line. Before that the peak is assumed
 * to be proportional to the samples, which overestimates larger batches. So a batch is predicted
 * not to fit until nearly as many samples were tried, and each batch that was tried allows a larger
 * one.
 *
 *     fixed + sample * n <= limit
 *
 * If no line is known and the limit is not reached, a tenth more samples are tried, unless the
 * limit is that of a device.
 *
 * If workers share a limit, as on a node without devices, their samples grow by the same factor
 * until the limit is reached. A tenth of the limit stays free, since allocators keep memory that
 * they could return, and steps differ.
 *
 * Pure; a learner is a value and may be copied.
 */
#ifndef EDDIS_SCHEDULER_MEMORY_MODEL_H
#define EDDIS_SCHEDULER_MEMORY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_POINTS = 4 };

/* least ratio of two numbers of samples from which the line is determined */
#define MEMORY_SPAN  1.2
#define MEMORY_SPARE 0.1 /* fraction of the limit that stays free */
#define MEMORY_TRIED 1.1 /* factor by which the samples are increased to find the line */

struct memory_point {
    int64_t samples, bytes; /* samples held at the same time; peak of memory with that many */
};

struct memory_learner {
    struct memory_point point[MEMORY_POINTS]; /* [n], ascending by samples */
    int n;
};

/* Add the memory peak of steps that held so many samples at the same time. A peak with fewer
 * samples than before is ignored, because a process seldom returns memory to the system.
 */
void memory_take(struct memory_learner *m, int64_t samples, int64_t bytes);

/* Check whether the recorded peaks determine a line, because two numbers of samples are MEMORY_SPAN
 * apart.
 */
bool memory_is_line(const struct memory_learner *m);

/* A worker's memory peak with n samples: fixed_bytes + sample_bytes * n. */
struct memory_line {
    double fixed_bytes, sample_bytes;
};

/* Store the line of the recorded peaks in *ret. Return false if they determine none. */
bool memory_line_of(const struct memory_learner *m, struct memory_line *ret);

/* Return the most samples whose memory by line l is at most limit_bytes * (1 - MEMORY_SPARE), at
 * least 1; INT64_MAX: the memory does not grow with the samples.
 */
int64_t memory_line_most(const struct memory_line *l, int64_t limit_bytes);

struct memory_worker {
    struct memory_learner learnt;
    /* samples held at the same time now, and their memory peak; 0: unknown */
    int64_t samples, bytes;
    int64_t limit_bytes; /* memory limit of all workers that share it together; 0: unknown */
    /* Too many samples end the process, as on a device: no more are tried than are predicted to
     * fit, and fewer than are held now if they are too many by the line.
     */
    bool strict;
    int pool; /* number of the limit, 0 to n - 1; workers that share a limit have equal numbers */
};

/* Fill ret [n] with the maximum samples that each worker can hold at the same time, not fewer
 * than it holds now unless it is strict; INT64_MAX: no bound is known. Return 0 or -ENOMEM.
 */
int memory_bounds(const struct memory_worker *w, int n, int64_t *ret);

#endif
