/* SPDX-License-Identifier: Apache-2.0 */
/* model_sums.c - combines and compares the sums of workers' models */
#include "model_sums.h"

#include <math.h>

struct model_sums model_sums_of(int rank, const double sum[MODEL_SUMS])
{
    struct model_sums s = { .n_finite = 1 };

    for (int i = 0; i < MODEL_SUMS; i++) {
        s.least[i] = s.most[i] = s.total[i] = sum[i];
        s.least_rank[i] = s.most_rank[i] = (uint16_t)rank;
    }
    if (!isfinite(sum[MODEL_SUM]) || !isfinite(sum[MODEL_SQUARES]))
        s = (struct model_sums){ .odd_rank = (uint16_t)rank, .n_odd = 1 };
    return s;
}

/* Replace *value and *rank by v and r if v is larger than *value (most true) or smaller (most
 * false).  If both values are equal, set *rank to the lower rank.
 */
static void take_end(double *value, uint16_t *rank, double v, uint16_t r, bool most)
{
    bool beyond = most ? v > *value : v < *value;

    if (v == *value ? r < *rank : beyond) {
        *value = v;
        *rank = r;
    }
}

/* Combine the sums of b's finite models into a: the least, the most, and the totals. */
static void combine_finite(struct model_sums *a, const struct model_sums *b)
{
    for (int i = 0; i < MODEL_SUMS; i++) {
        if (!a->n_finite) {
            a->least[i] = b->least[i];
            a->most[i] = b->most[i];
            a->least_rank[i] = b->least_rank[i];
            a->most_rank[i] = b->most_rank[i];
        }
        take_end(&a->least[i], &a->least_rank[i], b->least[i], b->least_rank[i], false);
        take_end(&a->most[i], &a->most_rank[i], b->most[i], b->most_rank[i], true);
        a->total[i] += b->total[i];
    }
    a->n_finite += b->n_finite;
}

void model_sums_combine(struct model_sums *acc, const struct model_sums *in)
{
    if (in->n_odd && (!acc->n_odd || in->odd_rank < acc->odd_rank))
        acc->odd_rank = in->odd_rank;
    acc->n_odd = in->n_odd < UINT16_MAX - acc->n_odd ? acc->n_odd + in->n_odd : UINT16_MAX;
    if (in->n_finite)
        combine_finite(acc, in);
}

/* Return the relative difference of sum i (MODEL_SUM or MODEL_SQUARES) among the models, as defined
 * in struct model_finding; INFINITY if its divisor is 0.
 */
static double difference(const struct model_sums *s, int i)
{
    double n = s->n_finite, size = s->most[MODEL_SQUARES];

    if (s->most[i] == s->least[i])
        return 0;
    if (i == MODEL_SUM)
        size = fmax(fabs(s->total[MODEL_SUM] / n), sqrt(s->total[MODEL_SQUARES] / n));
    return size > 0 ? (s->most[i] - s->least[i]) / size : INFINITY;
}

/* Store in ret->rank the worker whose sum i is farthest from the mean.  If the least and the most
 * are equally far, store the lower of their two ranks in ret->rank and the higher in ret->other;
 * otherwise set ret->other to -1.
 */
static void find_outlier(const struct model_sums *s, int i, struct model_finding *ret)
{
    double mean = s->total[i] / s->n_finite;
    double up = s->most[i] - mean, down = mean - s->least[i], close = 1e-6 * (up + down);

    ret->rank = up > down ? s->most_rank[i] : s->least_rank[i];
    ret->other = -1;
    if (fabs(up - down) > close)
        return;
    ret->rank = s->least_rank[i] < s->most_rank[i] ? s->least_rank[i] : s->most_rank[i];
    ret->other = s->least_rank[i] < s->most_rank[i] ? s->most_rank[i] : s->least_rank[i];
}

/* Return the finding if some models are not finite.  If others are finite, it names a rank of the
 * smaller group, finite or not.
 */
static struct model_finding judge_odd(const struct model_sums *s)
{
    struct model_finding f = { .verdict = s->n_finite ? MODELS_DIFFER : MODELS_NOT_FINITE,
                               .difference = NAN,
                               .odd = true,
                               .rank = s->n_finite && s->n_finite < s->n_odd
                                           ? s->least_rank[MODEL_SQUARES]
                                           : s->odd_rank,
                               .other = -1 };

    return f;
}

struct model_finding model_sums_judge(const struct model_sums *s)
{
    struct model_finding f = { .verdict = MODELS_NONE, .rank = -1, .other = -1 };
    double sum, squares;

    if (s->n_odd)
        return judge_odd(s);
    if (s->n_finite < 2)
        return f;
    sum = difference(s, MODEL_SUM);
    squares = difference(s, MODEL_SQUARES);
    f.difference = fmax(sum, squares);
    f.verdict = f.difference > MODEL_SUMS_TOLERANCE  ? MODELS_DIFFER
                : f.difference > MODEL_SUMS_ROUNDING ? MODELS_UNLIKE
                                                     : MODELS_ALIKE;
    if (f.verdict == MODELS_DIFFER)
        find_outlier(s, squares >= sum ? MODEL_SQUARES : MODEL_SUM, &f);
    return f;
}
