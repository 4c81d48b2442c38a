/* SPDX-License-Identifier: Apache-2.0 */
/* sim_laws.c - how long simulated workers compute, wait for input, and for other programs */
#include "sim_impl.h"

#include "lib/base/random.h"

#include <math.h>

static const double LEAST_OF_LAW = 0.2; /* jitter never makes a step shorter than this fraction */
static const double THROTTLED = 3;      /* factor on the time of a worker that exceeds its quota */
static const double SLICE_S = 3e-3;     /* time slice of a core that programs share */

double sim_impl_luck(struct sim *s)
{
    double x = 1;

    if (s->set.jitter > 0)
        x = fmax(1 + s->set.jitter * random_normal(&s->seed), LEAST_OF_LAW);
    if (s->set.spike > 0 && random_unit(&s->seed) < s->set.spike)
        x *= s->set.spike_ratio;
    return x;
}

double sim_impl_compute_s(const struct member *m, int64_t batch)
{
    const struct sim_worker *law = &m->law;
    double s = fmax(law->floor_s, law->fixed_s + law->sample_s * (double)batch);

    if (law->quota_s > 0 && s > law->quota_s)
        s *= THROTTLED;
    return batch <= 0 ? 0 : m->times * s;
}

/* Return the seconds that a worker waits for input, beside `compute` seconds. */
static double input_s(const struct sim *s, const struct member *m, int64_t batch, double compute)
{
    double input = m->law.input_s * (double)batch;

    return s->set.read_ahead ? fmax(input - compute, 0) : input;
}

double sim_impl_own_s(const struct sim *s, int rank, int64_t batch)
{
    const struct member *m = &s->member[rank];
    double compute = sim_impl_compute_s(m, batch);

    return compute + input_s(s, m, batch, compute);
}

double sim_longest_s(const struct sim *s, const int64_t *batch)
{
    double longest = 0;

    for (int i = 0; i < s->n; i++)
        longest = fmax(longest, sim_impl_own_s(s, i, batch[i]));
    return longest;
}

double sim_best_s(const struct sim *s, int64_t min, const int64_t *max, int64_t *ret)
{
    for (int i = 0; i < s->n; i++)
        ret[i] = min;
    for (int64_t left = s->total - min * s->n; left > 0; left--) {
        int best = -1;

        for (int i = 0; i < s->n; i++)
            if ((!max || ret[i] < max[i]) &&
                (best < 0 ||
                 sim_impl_own_s(s, i, ret[i] + 1) < sim_impl_own_s(s, best, ret[best] + 1)))
                best = i;
        if (best < 0)
            return INFINITY;
        ret[best]++;
    }
    return sim_longest_s(s, ret);
}

/* ---- other programs on a worker's core ---- */

/* Check whether other programs use the worker's core now; advances the random visits. */
static bool are_others_there(struct member *m, double now_s)
{
    if (m->law.others <= 0 || m->law.visit_s <= 0)
        return m->law.others > 0;
    for (; now_s >= m->visited_s; m->visited = !m->visited)
        m->visited_s += m->law.visit_s * (0.5 + random_unit(&m->visits));
    return m->visited;
}

double sim_impl_turns_s(struct member *m, double now_s, double compute)
{
    double turns;

    if (!are_others_there(m, now_s))
        return 0;
    turns = floor((m->slice_s + compute) / SLICE_S);
    m->slice_s += compute - turns * SLICE_S;
    return turns * SLICE_S * m->law.others;
}
