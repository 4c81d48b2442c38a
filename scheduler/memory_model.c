/* SPDX-License-Identifier: Apache-2.0 */
/* memory_model.c - fits lines to memory peaks, and computes by which factor all workers that share
 * a limit may grow
 */
#include "memory_model.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_SAMPLES = 9007199254740992.0; /* 2^53, what a double counts exactly */

void memory_take(struct memory_learner *m, int64_t samples, int64_t bytes)
{
    struct memory_point *last = m->n > 0 ? &m->point[m->n - 1] : NULL;

    if (samples <= 0 || bytes <= 0 || (last && samples < last->samples))
        return;
    if (last && samples == last->samples) {
        last->bytes = bytes > last->bytes ? bytes : last->bytes;
        return;
    }
    if (m->n == MEMORY_POINTS)
        memmove(m->point, m->point + 1, --m->n * sizeof *m->point);
    m->point[m->n++] = (struct memory_point){ samples, bytes };
}

/* Return the index of the last point that has at most 1 / MEMORY_SPAN of the largest point's
 * samples; -1: none.
 */
static int far_below(const struct memory_learner *m)
{
    int i = m->n - 2;

    while (i >= 0 && (double)m->point[i].samples * MEMORY_SPAN > (double)m->point[m->n - 1].samples)
        i--;
    return i;
}

bool memory_is_line(const struct memory_learner *m)
{
    return m->n > 1 && far_below(m) >= 0;
}

/* Return the bytes per sample: the slope between two points MEMORY_SPAN apart. If there are no such
 * points, return the largest point's peak divided by its samples.
 */
static double sample_bytes(const struct memory_learner *m)
{
    const struct memory_point *high = &m->point[m->n - 1];
    int i = far_below(m);

    if (i < 0)
        return (double)high->bytes / (double)high->samples;
    return fmax((double)(high->bytes - m->point[i].bytes), 0) /
           (double)(high->samples - m->point[i].samples);
}

bool memory_line_of(const struct memory_learner *m, struct memory_line *ret)
{
    const struct memory_point *high;
    double sample;

    if (!memory_is_line(m))
        return false;
    high = &m->point[m->n - 1];
    sample = sample_bytes(m);
    *ret = (struct memory_line){ fmax((double)high->bytes - sample * (double)high->samples, 0),
                                 sample };
    return true;
}

int64_t memory_line_most(const struct memory_line *l, int64_t limit_bytes)
{
    double most =
        floor(((double)limit_bytes * (1 - MEMORY_SPARE) - l->fixed_bytes) / l->sample_bytes);

    if (!(most < MOST_SAMPLES)) /* also without growth */
        return INT64_MAX;
    return most < 1 ? 1 : (int64_t)most;
}

/* Memory of all workers that share a limit: all of it, and the part that grows with their samples,
 * in bytes.
 */
struct pool {
    double bytes, growing;
};

/* Return the part of a worker's memory that grows with its samples, in bytes; 0: unknown. */
static double growing(const struct memory_worker *w)
{
    if (w->samples <= 0 || w->learnt.n == 0)
        return 0;
    return fmin(sample_bytes(&w->learnt) * (double)w->samples, (double)w->bytes);
}

/* Return the usable part of a worker's limit, in bytes. */
static double limit_of(const struct memory_worker *w)
{
    return (double)w->limit_bytes * (1 - MEMORY_SPARE);
}

/* Return the factor by which a worker's samples may grow if those of the whole pool grow alike. */
static double growth(const struct memory_worker *w, const struct pool *p)
{
    return 1 + (limit_of(w) - p->bytes) / p->growing;
}

/* Return the largest number of samples that the worker held before, if the pool's present memory
 * leaves room for it; otherwise 0.
 */
static int64_t held_before(const struct memory_worker *w, const struct pool *p)
{
    const struct memory_point *high = &w->learnt.point[w->learnt.n - 1];

    return p->bytes - (double)w->bytes + (double)high->bytes <= limit_of(w) ? high->samples : 0;
}

/* Return the most samples that a worker can hold; INT64_MAX: unknown, so no bound. */
static int64_t bound(const struct memory_worker *w, const struct pool *p)
{
    double most, times;
    int64_t before;

    if (w->limit_bytes <= 0 || !(growing(w) > 0))
        return INT64_MAX;
    times = fmax(growth(w, p), 1);
    if (!w->strict && !memory_is_line(&w->learnt) && p->bytes <= limit_of(w))
        times = fmax(times, MEMORY_TRIED);
    most = floor((double)w->samples * times);
    if (!(most < MOST_SAMPLES))
        return INT64_MAX;
    before = held_before(w, p);
    return (int64_t)most > before ? (int64_t)most : before;
}

int memory_bounds(const struct memory_worker *w, int n, int64_t *ret)
{
    cleanup_free struct pool *pool = calloc((size_t)(n > 0 ? n : 1), sizeof *pool);

    if (!pool)
        return -ENOMEM;
    for (int i = 0; i < n; i++) {
        pool[w[i].pool].bytes += (double)w[i].bytes;
        pool[w[i].pool].growing += growing(&w[i]);
    }
    for (int i = 0; i < n; i++) {
        struct memory_line line;
        int64_t most = INT64_MAX;

        if (w[i].strict && w[i].limit_bytes > 0 && memory_line_of(&w[i].learnt, &line))
            most = memory_line_most(&line, w[i].limit_bytes);
        ret[i] = bound(&w[i], &pool[w[i].pool]);
        ret[i] = most < ret[i] ? most : ret[i];
    }
    return 0;
}
