/* SPDX-License-Identifier: Apache-2.0 */
/* efficiency.c - scales the table of efficiencies to a program's measurements */
#include "efficiency.h"

#include <math.h>
#include <stdio.h>

void efficiency_key(struct efficiency_row *row)
{
    (void)snprintf(row->key, sizeof row->key, "%s %lld %lld %lld", row->algorithm,
                   (long long)row->writers, (long long)row->period, (long long)row->batch);
}

/* Check whether a row is a measurement of the algorithm with the plan's global batch. */
static bool is_of(const struct efficiencies *e, const struct efficiency_row *row,
                  const struct algorithm *a)
{
    return row->batch == e->batch && row->value > 0 && row->writers > 1 && row->period > 0 &&
           algorithm_find(row->algorithm) == a;
}

bool efficiency_is_measured(const struct efficiencies *e, const struct algorithm *a)
{
    for (int i = 0; e && i < e->n; i++)
        if (is_of(e, &e->row[i], a))
            return true;
    return false;
}

/* Return the logarithm of the factor by which the program's efficiency at this point differs from
 * the table's; 0 without measurements. Measurements are weighted by the inverse square of their
 * distance. *ret_exact: whether this very point was measured.
 */
static double correction(const struct efficiencies *e, const struct algorithm *a, int writers,
                         int64_t period, bool *ret_exact)
{
    double sum = 0, weights = 0;

    *ret_exact = false;

    for (int i = 0; e && i < e->n; i++) {
        const struct efficiency_row *row = &e->row[i];
        double w, t, distance, factor;

        if (!is_of(e, row, a))
            continue;
        factor = log(row->value / algorithm_efficiency(a, (int)row->writers, row->period));
        w = log2((double)row->writers / writers);
        t = log2((double)row->period / (double)period) / 2; /* a column of the table is 4 times */
        distance = w * w + t * t;
        *ret_exact = distance == 0;
        if (*ret_exact)
            return factor;
        sum += factor / distance;
        weights += 1 / distance;
    }
    return weights > 0 ? sum / weights : 0;
}

double efficiency_of(const struct efficiencies *e, const struct algorithm *a, int writers,
                     int64_t period)
{
    double table = algorithm_efficiency(a, writers, period), scaled;
    bool exact;

    if (writers < 2 || period < 1)
        return table;
    scaled = table * exp(correction(e, a, writers, period, &exact));
    return fmin(scaled, exact ? EFFICIENCY_MOST : 1);
}
