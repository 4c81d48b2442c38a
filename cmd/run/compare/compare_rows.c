/* SPDX-License-Identifier: Apache-2.0 */
/* compare_rows.c - the figures of each mode, from its runs */
#include "compare_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom, and of the normal
 * distribution beyond.
 */
static const double student[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                  2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                  2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                  2.060,  2.056, 2.052, 2.048, 2.045, 2.042 };
static const double normal = 1.960;

/* Return the mean of x [n]; NAN if n is 0 or a value is NAN. */
static double mean(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / n : NAN;
}

double compare_interval(const double *x, int n)
{
    int most = (int)(sizeof student / sizeof *student);
    double middle = mean(x, n), sum = 0;

    if (n < 2)
        return NAN;
    for (int i = 0; i < n; i++)
        sum += (x[i] - middle) * (x[i] - middle);
    return (n - 1 <= most ? student[n - 2] : normal) * sqrt(sum / (n - 1) / n);
}

/* Check whether the run has trained, so that its figures count. */
static bool counts(const struct compare_run *r)
{
    return r->state == COMPARE_REACHED || r->state == COMPARE_ENDED || r->state == COMPARE_LATE;
}

/* Borrow the run of the i-th mode in a round; NULL: it does not count. */
static const struct compare_run *run_of(const struct compare *c, int i, int round)
{
    const struct compare_run *r = &c->run[round * c->n_rows + i];

    return counts(r) ? r : NULL;
}

double compare_best_s(const struct compare *c)
{
    double best = NAN;

    for (int i = 0; i < c->n_runs; i++)
        if (c->run[i].state == COMPARE_REACHED)
            best = fmin(best, c->run[i].seconds); /* of NAN and a number the number */
    return best;
}

/* Check whether the target measures progress, and is not a number of samples or a time. */
static bool is_progress(const struct compare_target *t)
{
    return t->goal == COMPARE_ACCURACY || t->goal == COMPARE_LOSS;
}

/* ---- one mode ---- */

/* Return the order in which states describe a mode: the first one that a run has. */
static int rank_of(int state)
{
    static const int rank[COMPARE_STATES] = {
        [COMPARE_REACHED] = 0, [COMPARE_ENDED] = 1,   [COMPARE_LATE] = 2,
        [COMPARE_FAILED] = 3,  [COMPARE_NOT_RUN] = 4, [COMPARE_OPEN] = 5,
    };

    return rank[state];
}

/* Copy what describes the mode, not its results, from a run to its row. */
static void describe(const struct compare_run *r, struct compare_row *row)
{
    memcpy(row->algorithm, r->algorithm, sizeof row->algorithm);
    memcpy(row->wire, r->wire, sizeof row->wire);
    row->writers = r->writers;
    row->period = r->period;
    row->global_batch = r->global_batch;
    row->model_bytes = r->model_bytes;
}

/* Fill the means of the i-th row from the runs of its mode that count. */
static void fill_means(struct compare *c, int i, bool accuracy)
{
    struct compare_row *row = &c->row[i];
    double rate[COMPARE_MOST_ROUNDS], seconds[COMPARE_MOST_ROUNDS];
    double samples[COMPARE_MOST_ROUNDS], final[COMPARE_MOST_ROUNDS];
    int n = 0;

    for (int round = 0; round < c->rounds; round++) {
        const struct compare_run *r = run_of(c, i, round);

        if (!r)
            continue;
        if (n == 0)
            describe(r, row);
        row->above = row->above || r->state != COMPARE_REACHED;
        rate[n] = r->samples_per_s;
        seconds[n] = r->seconds;
        samples[n] = (double)r->samples;
        final[n++] = accuracy ? r->accuracy : r->loss;
    }
    row->rounds = n;
    row->samples_per_s = mean(rate, n);
    row->seconds = mean(seconds, n);
    row->samples = mean(samples, n);
    row->final = mean(final, n);
    row->interval = compare_interval(final, n);
}

/* Fill the i-th row but for its efficiency. accuracy: its final value is the accuracy. */
static void fill_row(struct compare *c, int i, bool accuracy)
{
    struct compare_row *row = &c->row[i];

    *row = (struct compare_row){ .state = COMPARE_OPEN, .efficiency = NAN };
    memcpy(row->mode, c->run[i].mode, sizeof row->mode);
    for (int round = 0; round < c->rounds; round++) {
        const struct compare_run *r = &c->run[round * c->n_rows + i];

        if (rank_of(r->state) < rank_of(row->state))
            row->state = r->state;
        if (!row->why[0] && r->state != COMPARE_OPEN)
            memcpy(row->why, r->why, sizeof row->why);
    }
    fill_means(c, i, accuracy);
}

/* ---- efficiency ---- */

/* Return the samples of mode `sync` by those of mode i over the rounds that both have run; NAN: it
 * is not known. by_target: at the target, which all of them have reached; otherwise at the loss of
 * the worse one.
 */
static double ratio(const struct compare *c, int sync, int i, bool by_target)
{
    double of_sync = 0, of_mode = 0;

    for (int round = 0; round < c->rounds; round++) {
        const struct compare_run *a = run_of(c, sync, round);
        const struct compare_run *b = run_of(c, i, round);

        if (!a || !b)
            continue;
        if (by_target) {
            of_sync += (double)a->samples;
            of_mode += (double)b->samples;
        } else {
            double loss = fmax(a->curve.last.loss, b->curve.last.loss);

            of_sync += curve_samples_at(&a->curve, loss);
            of_mode += curve_samples_at(&b->curve, loss);
        }
    }
    return of_mode > 0 ? of_sync / of_mode : NAN;
}

/* Fill the i-th row's efficiency. sync: the row of sync mode. */
static void fill_efficiency(struct compare *c, int sync, int i)
{
    struct compare_row *row = &c->row[i];
    bool by_target = is_progress(&c->target) && !c->row[sync].above && !row->above;

    if (!c->row[sync].rounds || !row->rounds)
        return;
    row->efficiency = i == sync ? 1 : ratio(c, sync, i, by_target);
    if (isfinite(row->efficiency))
        (void)snprintf(row->by, sizeof row->by, "%s", by_target ? "target" : "loss");
}

/* ---- all modes ---- */

/* Return the figure by which modes compare, the more the better; NAN: unknown. */
static double merit(const struct compare *c, const struct compare_row *r)
{
    if (!r->rounds || r->state == COMPARE_OPEN)
        return NAN;
    if (is_progress(&c->target))
        return r->above || !(r->seconds > 0) ? NAN : 1 / r->seconds;
    return r->samples_per_s * r->efficiency;
}

double compare_rows_gain(const struct compare *c, const struct compare_row *a,
                         const struct compare_row *b)
{
    return merit(c, a) / merit(c, b);
}

/* Check whether a run that counts has reported a test accuracy. */
static bool has_accuracy(const struct compare *c)
{
    for (int i = 0; i < c->n_runs; i++)
        if (counts(&c->run[i]) && isfinite(c->run[i].accuracy))
            return true;
    return false;
}

/* Return the best row but the one `without` (-1: none); -1: no row can be compared. */
static int best_but(const struct compare *c, int without)
{
    int best = -1;

    for (int i = 0; i < c->n_rows; i++)
        if (i != without && isfinite(merit(c, &c->row[i])) &&
            (best < 0 || merit(c, &c->row[i]) > merit(c, &c->row[best])))
            best = i;
    return best;
}

const struct compare_row *compare_rows_best(const struct compare *c,
                                            const struct compare_row **ret_second)
{
    int best = best_but(c, -1), second;

    /* Sync's efficiency is 1 also if nothing shows that of the others. */
    for (int i = 0; i < c->n_rows && !is_progress(&c->target); i++)
        if (c->row[i].rounds && !isfinite(merit(c, &c->row[i])))
            best = -1;
    second = best < 0 ? -1 : best_but(c, best);
    *ret_second = second < 0 ? NULL : &c->row[second];
    return best < 0 ? NULL : &c->row[best];
}

void compare_rows_fill(struct compare *c)
{
    bool accuracy = has_accuracy(c);
    const struct compare_row *best, *second;

    c->n_rows = c->n_runs / c->rounds;
    c->finished = true;
    for (int i = 0; i < c->n_runs; i++)
        c->finished = c->finished && c->run[i].state != COMPARE_OPEN;
    for (int i = 0; i < c->n_rows; i++)
        fill_row(c, i, accuracy);
    for (int sync = 0; sync < c->n_rows; sync++)
        for (int i = 0; i < c->n_rows && algorithm_has(c->row[sync].algorithm, ALGORITHM_EXACT);
             i++)
            fill_efficiency(c, sync, i);
    (void)snprintf(c->final_is, sizeof c->final_is, "%s", accuracy ? "accuracy" : "loss");
    best = compare_rows_best(c, &second);
    (void)snprintf(c->best, sizeof c->best, "%s", best ? best->mode : "");
}
