/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - bench-split [--seed N] [--json]: the optimal integer split beside published rules
 *
 * Random clusters have 2 to 64 workers, with slopes at most a factor of 20 apart, constants of up
 * to 20 samples, and 2 to 65 samples per worker on average.  In every other cluster workers have
 * bounds; rules without bounds are left out there.  All rules are made to keep the total and to
 * give each worker at least one sample, even if the published rule does not ensure it:
 *
 *   largest remainder  the continuous equal finish within bounds (Bitran and Hax 1981), rounded
 *   ACSOS'20 static    in proportion to the device's speed (Tyagi and Sharma 2020), within bounds
 *   DBS                in proportion to the last epoch's throughput (Ye et al. 2020): the best of
 *                      20 epochs from an equal split
 *   LBB                equal finish, the larger half rounded up and the smaller down, then 30
 *                      moves of one sample from the slowest to the fastest (Yao et al. 2024): the
 *                      best step of all moves
 *
 * The program exits 1 if a step of the split is longer than that of a rule.
 */
#include "scheduler/split.h"
#include "lib/base/json.h"
#include "lib/base/random.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTERS = 10000, MOST = 64, EPOCHS = 20, MOVES = 30 };

struct cluster {
    struct split_worker w[MOST];
    int n;
    int64_t total;
    bool bounded;
};

/* ---- clusters ---- */

/* Draw bounds for each worker, and raise them until the total fits. */
static void set_bounds(struct cluster *c, uint64_t *seed)
{
    int64_t sum = 0;

    for (int i = 0; i < c->n; i++) {
        struct split_worker *w = &c->w[i];

        w->min = 1 + (int64_t)random_below(seed, 2);
        w->max = w->min + (int64_t)random_below(seed, (uint64_t)(2 * c->total / c->n));
        sum += w->max;
    }
    for (int i = 0; sum < c->total; i = (i + 1) % c->n, sum++)
        c->w[i].max++;
}

/* Draw a random cluster. */
static void draw(struct cluster *c, bool bounded, uint64_t *seed)
{
    *c = (struct cluster){ .n = 2 + (int)random_below(seed, MOST - 1), .bounded = bounded };
    c->total = c->n * (2 + (int64_t)random_below(seed, 64));
    for (int i = 0; i < c->n; i++) {
        double sample_s = 5e-4 * pow(20, random_unit(seed));

        c->w[i] = (struct split_worker){ .t = { 20 * random_unit(seed) * sample_s, sample_s },
                                         .min = 1,
                                         .max = INT64_MAX };
    }
    if (bounded)
        set_bounds(c, seed);
}

/* Return the step time of these batches: that of the slowest worker. */
static double longest_s(const struct cluster *c, const int64_t *batch)
{
    double longest = 0;

    for (int i = 0; i < c->n; i++)
        longest = fmax(longest, time_model_s(&c->w[i].t, batch[i]));
    return longest;
}

/* Set *best to the step time of these batches if it is shorter. */
static void keep_best(const struct cluster *c, const int64_t *batch, double *best)
{
    *best = fmin(*best, longest_s(c, batch));
}

/* ---- shared by several rules ---- */

/* Return the common finish time of all workers that are not held at a bound (held NAN). */
static double level(const struct cluster *c, const struct time_model *t, const double *held)
{
    double left = (double)c->total, slope = 0;

    for (int i = 0; i < c->n; i++) {
        left -= isnan(held[i]) ? -t[i].fixed_s / t[i].sample_s : held[i];
        slope += isnan(held[i]) ? 1 / t[i].sample_s : 0;
    }
    return left / slope;
}

/* Hold the workers that exceed their bounds at the bound, on the side with the larger violation.
 * Return true if there was one.
 */
static bool hold(const struct cluster *c, const double *b, double *held)
{
    double low = 0, high = 0;

    for (int i = 0; i < c->n; i++) {
        low += fmax((double)c->w[i].min - b[i], 0);
        high += fmax(b[i] - (double)c->w[i].max, 0);
    }
    for (int i = 0; i < c->n && low + high > 0; i++)
        if (low >= high && b[i] < (double)c->w[i].min)
            held[i] = (double)c->w[i].min;
        else if (low < high && b[i] > (double)c->w[i].max)
            held[i] = (double)c->w[i].max;
    return low + high > 1e-9 * (double)c->total;
}

/* Write to b [n] the real numbers with which all laws t [n] end at once, within bounds. */
static void equal_finish(const struct cluster *c, const struct time_model *t, double *b)
{
    double held[MOST];

    for (int i = 0; i < c->n; i++)
        held[i] = NAN;
    do {
        double end = level(c, t, held);

        for (int i = 0; i < c->n; i++)
            b[i] = isnan(held[i]) ? (end - t[i].fixed_s) / t[i].sample_s : held[i];
    } while (hold(c, b, held));
}

/* Copy the workers' time models to ret [n]. */
static void models(const struct cluster *c, struct time_model *ret)
{
    for (int i = 0; i < c->n; i++)
        ret[i] = c->w[i].t;
}

/* Round b [n] down to batches, and give the remaining samples to the largest remainders within
 * bounds.
 */
static void round_largest(const struct cluster *c, const double *b, int64_t *batch)
{
    int64_t left = c->total;

    for (int i = 0; i < c->n; i++)
        left -= batch[i] = (int64_t)fmax(floor(b[i] + 1e-9), (double)c->w[i].min);
    for (; left > 0; left--) {
        int most = -1;

        for (int i = 0; i < c->n; i++)
            if (batch[i] < c->w[i].max &&
                (most < 0 || b[i] - (double)batch[i] > b[most] - (double)batch[most]))
                most = i;
        batch[most]++;
    }
}

/* Return the worker that finishes last, among those that can give a sample away, or else the one
 * that finishes first. -1: none can.
 */
static int extreme(const struct cluster *c, const int64_t *batch, bool last)
{
    int best = -1;
    double best_s = 0;

    for (int i = 0; i < c->n; i++) {
        double s = time_model_s(&c->w[i].t, batch[i]);

        if (last && batch[i] <= c->w[i].min)
            continue;
        if (best < 0 || (last ? s > best_s : s < best_s)) {
            best = i;
            best_s = s;
        }
    }
    return best;
}

/* ---- rules: return the seconds of a step, see the top of this file ---- */

/* Return the step time of the equal finish, rounded to the largest remainders. */
static double largest_remainder(const struct cluster *c)
{
    struct time_model t[MOST] = { 0 };
    int64_t batch[MOST];
    double b[MOST];

    models(c, t);
    equal_finish(c, t, b);
    round_largest(c, b, batch);
    return longest_s(c, batch);
}

/* Return the step time of batches in proportion to the devices' speeds: an equal finish without
 * constants.
 */
static double acsos_static(const struct cluster *c)
{
    struct time_model t[MOST] = { 0 };
    int64_t batch[MOST];
    double b[MOST];

    models(c, t);
    for (int i = 0; i < c->n; i++)
        t[i].fixed_s = 0;
    equal_finish(c, t, b);
    round_largest(c, b, batch);
    return longest_s(c, batch);
}

/* Return the best step time of EPOCHS epochs of DBS. */
static double dbs(const struct cluster *c)
{
    struct time_model t[MOST] = { 0 };
    int64_t batch[MOST];
    double b[MOST], best = INFINITY;

    split_equal(c->n, c->total, batch);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (int i = 0; i < c->n; i++)
            t[i].sample_s = time_model_s(&c->w[i].t, batch[i]) / (double)batch[i];
        equal_finish(c, t, b);
        round_largest(c, b, batch);
        keep_best(c, batch, &best);
    }
    return best;
}

/* Round the larger half of b up and the smaller half down.  Return by how much the sum exceeds the
 * total.
 */
static int64_t round_halves(const struct cluster *c, const double *b, int64_t *batch)
{
    int64_t over = -c->total;

    for (int i = 0; i < c->n; i++) {
        int larger = 0;

        for (int k = 0; k < c->n; k++)
            larger += b[k] > b[i] || (b[k] == b[i] && k < i);
        batch[i] = (int64_t)(larger < c->n / 2 ? ceil(b[i]) : fmax(floor(b[i]), 1));
        over += batch[i];
    }
    return over;
}

/* Return the best step time of LBB's start and its MOVES moves. */
static double lbb(const struct cluster *c)
{
    struct time_model t[MOST] = { 0 };
    int64_t batch[MOST], over;
    double b[MOST], best = INFINITY;

    models(c, t);
    equal_finish(c, t, b);
    for (over = round_halves(c, b, batch); over > 0; over--)
        batch[extreme(c, batch, true)]--;
    for (; over < 0; over++)
        batch[extreme(c, batch, false)]++;
    for (int move = 0; move <= MOVES; move++) {
        int from = extreme(c, batch, true);

        keep_best(c, batch, &best);
        if (from < 0)
            break;
        batch[from]--;
        batch[extreme(c, batch, false)]++;
    }
    return best;
}

/* ---- what is measured ---- */

static const struct rule {
    const char *name, *key;
    double (*step_s)(const struct cluster *c);
    bool knows_bounds;
} rules[] = {
    { "largest remainder", "ratio_largest_remainder", largest_remainder, true },
    { "ACSOS'20 static", "ratio_acsos_static", acsos_static, true },
    { "DBS", "ratio_dbs", dbs, false },
    { "LBB", "ratio_lbb", lbb, false },
};
enum { RULES = sizeof rules / sizeof *rules };

/* A rule's steps relative to the optimal split's. */
struct row {
    int n, longer, shorter; /* clusters; those with a longer and a shorter step */
    double log_sum, worst;  /* of the ratios */
};

/* Count a cluster in which the rule's step is `ratio` times the split's. */
static void count(struct row *r, double ratio)
{
    r->n++;
    r->longer += ratio > 1 + 1e-9;
    r->shorter += ratio < 1 - 1e-9;
    r->log_sum += log(ratio);
    r->worst = fmax(r->worst, ratio);
}

/* Return the geometric mean of the ratios. */
static double mean(const struct row *r)
{
    return exp(r->log_sum / r->n);
}

/* Compare all rules on CLUSTERS random clusters. */
static int measure(uint64_t seed, struct row *row, struct eddis_error *err)
{
    for (int k = 0; k < CLUSTERS; k++) {
        struct cluster c;
        int64_t batch[MOST];
        int rc;

        draw(&c, k % 2 == 1, &seed);
        rc = split_optimal(c.w, c.n, c.total, 1, batch, err);
        if (rc < 0)
            return rc;
        for (int i = 0; i < RULES; i++)
            if (rules[i].knows_bounds || !c.bounded)
                count(&row[i], rules[i].step_s(&c) / longest_s(&c, batch));
    }
    return 0;
}

/* Print how often each rule's step is longer, equal or shorter than the split's. */
static void print_table(uint64_t seed, const struct row *row)
{
    printf(
        "%d random clusters of 2 to %d workers, half of them with bounds, seed %llu\n"
        "rule                clusters   longer   alike   shorter   its step / the split's: mean  "
        " worst\n",
        CLUSTERS, MOST, (unsigned long long)seed);
    for (int i = 0; i < RULES; i++)
        printf("%-18s  %8d  %7d  %6d  %8d   %27.3f  %6.2f\n", rules[i].name, row[i].n,
               row[i].longer, row[i].n - row[i].longer - row[i].shorter, row[i].shorter,
               mean(&row[i]), row[i].worst);
}

/* Print the mean ratios as one JSON object.  Return -1 without memory. */
static int print_json(uint64_t seed, const struct row *row)
{
    cleanup_json json_t *j = json_pack("{s:i, s:s, s:I, s:i}", "schema_version", 1, "bench",
                                       "split", "seed", (json_int_t)seed, "clusters", CLUSTERS);
    char *text;

    for (int i = 0; j && i < RULES; i++)
        json_object_set_new(j, rules[i].key, json_real(mean(&row[i])));
    text = j ? json_text(j, false) : NULL;
    if (!text)
        return -1;
    puts(text);
    free(text);
    return 0;
}

/* ---- main ---- */

int main(int argc, char **argv)
{
    struct row row[RULES] = { 0 };
    struct eddis_error err = { 0 };
    uint64_t seed = 1;
    bool json = false, longer = false;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: bench/split [--seed N] [--json]\n");
            return 2;
        }
    if (measure(seed, row, &err) < 0) {
        fprintf(stderr, "split: %s\n", err.text);
        return 1;
    }
    for (int i = 0; i < RULES; i++)
        longer = longer || row[i].shorter > 0;
    if (!json)
        print_table(seed, row);
    return (json && print_json(seed, row) < 0) || longer;
}
