/* SPDX-License-Identifier: Apache-2.0 */
/* sample_rounds.c - divides samples into rounds, rounds among groups, and a group's part into steps
 */
#include "sample_rounds.h"

/* Return the samples of all groups in a global batch. */
static int64_t global_batch(const struct rounds_plan *p)
{
    int64_t sum = 0;

    for (int g = 0; g < p->n_groups; g++)
        sum += p->batch[g];
    return sum;
}

/* Return n * part / whole, rounded down, for part <= whole; without an overflow as long as
 * part * whole has none.
 */
static int64_t portion(int64_t n, int64_t part, int64_t whole)
{
    return n / whole * part + n % whole * part / whole;
}

/* Return the fewest samples of a group in a round. */
static int64_t least_of(const struct rounds_plan *p)
{
    return p->min_count > 1 ? p->min_count : 1;
}

int64_t rounds_size(const struct rounds_plan *p, int64_t left)
{
    int64_t size, enough = p->n_groups * least_of(p);

    if (__builtin_mul_overflow(global_batch(p), p->period, &size) || left <= size)
        return left;
    if (p->period > 1 && left - size < size)
        size = left - left / 2;
    if (left - size < enough && left >= 2 * enough)
        size = left - enough;
    return size;
}

/* Return the most samples of a group's step. */
static int64_t most_of_step(const struct rounds_plan *p, int group)
{
    int64_t equal = (global_batch(p) + p->n_groups - 1) / p->n_groups;

    return p->period == 1 || p->batch[group] < equal ? p->batch[group] : equal;
}

/* Return the number of steps of a group that has `count` samples. */
static int64_t steps_of(const struct rounds_plan *p, int group, int64_t count)
{
    int64_t most = most_of_step(p, group), least = least_of(p);
    int64_t steps = most > 0 ? (count + most - 1) / most : 1;

    if (steps > count / least)
        steps = count / least;
    return steps > 0 ? steps : 1;
}

/* Check whether each group gets enough samples if a round is divided in proportion to the batches.
 */
static bool suffices(const struct rounds_plan *p, int64_t size)
{
    int64_t whole = global_batch(p), sum = 0, before = 0;

    for (int g = 0; g < p->n_groups; g++) {
        int64_t end = portion(size, sum += p->batch[g], whole);

        if (end - before < least_of(p))
            return false;
        before = end;
    }
    return true;
}

bool rounds_feed_all(const struct rounds_plan *p, int64_t size)
{
    return size >= p->n_groups * least_of(p);
}

/* Divide by running sums of the batches, so that parts differ from the exact ones by less than a
 * sample.  If some group would get too few, give each the fewest first.  If there are not even so
 * many, the samples of a group that would get too few go to the next group, those of the last
 * groups to the last one that has enough.
 */
struct rounds_part rounds_part(const struct rounds_plan *p, int64_t size, int group)
{
    int64_t whole = global_batch(p), sum = 0, taken = 0, least = 0;
    struct rounds_part ret = { 0 };
    int last = -1; /* last group so far that has samples */

    if (rounds_feed_all(p, size) && !suffices(p, size))
        least = least_of(p);
    for (int g = 0; g < p->n_groups; g++) {
        int64_t end =
            (g + 1) * least + portion(size - p->n_groups * least, sum += p->batch[g], whole);

        if (end - taken < least_of(p))
            continue;
        if (g == group)
            ret = (struct rounds_part){ .first = taken, .count = end - taken };
        taken = end;
        last = g;
    }
    if (last < 0 && group == 0) /* even the whole round is too small */
        ret.count = size;
    else if (last == group)
        ret.count += size - taken;
    if (ret.count)
        ret.steps = steps_of(p, group, ret.count);
    return ret;
}

int64_t rounds_step(const struct rounds_part *p, int64_t i)
{
    return portion(p->count, i, p->steps);
}
