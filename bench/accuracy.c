/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.c - the cost of each mode in accuracy: the digits on workers of unequal speed
 *
 * The training runs in virtual time on the library's own engines (simulation.h), so a run takes a
 * second and depends only on its seed.  Equally many workers have the speeds 1, 0.6, 0.35 and 0.15.
 * A step takes 10 ms + 4 ms / speed per sample; batches are proportional to speeds.  Every row has
 * the same samples in an epoch, over all workers, and the same optimizer (eddis-train's defaults).
 * One process takes the whole batch.
 *
 * Efficiency: epochs that one process needs for a test accuracy of TARGET, divided by those that
 * the row needs.  --efficiency measures only this, at the points of async and hybrid mode in
 * the table of lib/model/algorithm.c, and --rounds at those of local mode; --small, for tests,
 * leaves it out.  --wire measures only sync mode, every worker on a host of its own, with gradients
 * of that format between hosts: such rows beside those of float32, seed by seed.
 */
#include "accuracy.h"

#include "cmd/train/data/dataset.h"
#include "cmd/train/model/matmul.h"
#include "cmd/train/model/model.h"
#include "cmd/train/model/optimizer.h"
#include "lib/base/clock.h"
#include "lib/data/permutation.h"
#include "lib/model/algorithm.h"
#include "simulation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RANKS = 16,
    MAX_ROWS = 48,
    MAX_EPOCHS = 1024, /* limit of the search for TARGET */
    N_TEST = 360,
    FEATURES = 64,
};

#define USAGE                                                                                      \
    "usage: bench-accuracy [--json] [--seeds N] [--epochs N] [--small | --efficiency | --rounds] " \
    "[--wire bfloat16 | float16] [--rate LEARNING_RATE] DIGITS.csv\n"

/* The digits in memory; the last N_TEST are the test set. */
struct digits {
    float *x; /* [n, FEATURES] */
    int32_t *label;
    int64_t n_train;
};

struct worker {
    struct model *model;
    float *velocity;
    float *x;
    int32_t *label;
};

struct training {
    const struct digits *digits;
    struct worker worker[MAX_RANKS];
    double speed[MAX_RANKS];
    int64_t batch[MAX_RANKS];
    uint64_t seed;
    struct optimizer sgd;
};

static const double RATE = 0.1, MOMENTUM = 0.9;
/* DiLoCo's outer optimizer, as plans have it */
static const double OUTER_RATE = 0.7, OUTER_MOMENTUM = 0.9;
static const double speeds[SPEEDS] = { 1, 0.6, 0.35, 0.15 };

/* ---- one run ---- */

/* Copy the samples of a worker's step to its x and label.  Samples beyond an epoch's last are those
 * of the next epoch.
 */
static void load_batch(struct training *t, struct worker *w, const struct simulation_step *s)
{
    const int64_t n = t->digits->n_train;
    struct permutation p;

    for (int64_t i = 0; i < s->count; i++) {
        int64_t at = s->first + i, k;

        if (i == 0 || at % n == 0)
            permutation_init(&p, n, t->seed, s->epoch + at / n);
        k = permutation_at(&p, at % n);

        memcpy(w->x + i * FEATURES, t->digits->x + k * FEATURES, FEATURES * sizeof *w->x);
        w->label[i] = t->digits->label[k];
    }
}

/* Write the gradient of the step's samples to slot[0]; return the step's compute time in ns.  A
 * hook of simulation_run.
 */
static int64_t compute(void *arg, int rank, const struct simulation_step *s, void *const *slot)
{
    struct training *t = arg;
    struct worker *w = &t->worker[rank];
    struct model *m = w->model;
    double ms = 10 + 4 * (double)s->count / t->speed[rank];

    if (s->count == 0) {
        memset(slot[0], 0, (size_t)m->n_values * sizeof(float));
        return (int64_t)(ms * CLOCK_MS);
    }
    load_batch(t, w, s);
    model_set_gradients(m, slot[0]);
    model_begin(m, w->x, s->count);
    for (int i = 0; i < m->n_layers; i++)
        model_forward(m, i);
    (void)model_loss(m, w->label, 1);
    for (int i = m->n_layers - 1; i >= 0; i--)
        model_backward(m, i);
    return (int64_t)(ms * CLOCK_MS);
}

/* Let the optimizer change the worker's values by the combined gradient.  A hook of simulation_run.
 */
static void update(void *arg, int rank, const struct simulation_step *s, void *const *slot)
{
    struct training *t = arg;
    struct worker *w = &t->worker[rank];

    optimizer_update(&t->sgd, s->lr_factor, w->model->values, slot[0], w->velocity,
                     w->model->n_values);
}

/* Return the part of the test set that worker 0's model classifies correctly. */
static double test_accuracy(struct training *t)
{
    struct model *m = t->worker[0].model;
    const struct digits *d = t->digits;

    model_begin(m, d->x + d->n_train * FEATURES, N_TEST);
    for (int i = 0; i < m->n_layers; i++)
        model_forward(m, i);
    return (double)model_loss(m, d->label + d->n_train, 0).hits / N_TEST;
}

/* Create a worker's model, initialized from the seed, and its buffers.  Return 0 or a negative
 * errno; training_close frees them in either case.
 */
static int worker_open(struct worker *w, uint64_t seed, struct eddis_error *err)
{
    static const struct model_spec spec = { .name = "mlp",
                                            .height = FEATURES,
                                            .width = 1,
                                            .channels = 1,
                                            .n_classes = 10,
                                            .n_widths = 1,
                                            .widths = { 64 } };
    const int64_t batch = BATCH, room = batch > N_TEST ? batch : N_TEST;
    int rc = model_new(&spec, &w->model, err);

    if (rc == 0)
        rc = model_reserve(w->model, room, err);
    if (rc < 0)
        return rc;
    model_init(w->model, seed);
    w->velocity = calloc((size_t)w->model->n_values, sizeof *w->velocity);
    w->x = malloc((size_t)room * FEATURES * sizeof *w->x);
    w->label = malloc((size_t)room * sizeof *w->label);
    return w->velocity && w->x && w->label ? 0 : eddis_fail(err, -ENOMEM, "out of memory");
}

/* Free all workers of a training. */
static void training_close(struct training *t)
{
    for (int i = 0; i < MAX_RANKS; i++) {
        model_free(t->worker[i].model);
        free(t->worker[i].velocity);
        free(t->worker[i].x);
        free(t->worker[i].label);
    }
}

/* Set each worker's speed, and its batch in proportion.  The first workers get the samples that
 * rounding leaves.
 */
static void deal(const struct row *r, struct training *t)
{
    double sum = 0;
    int64_t left = BATCH;

    for (int i = 0; i < r->n; i++)
        sum += t->speed[i] = speeds[r->alike ? i * SPEEDS / r->n : i % SPEEDS];
    for (int i = 0; i < r->n; i++) {
        t->batch[i] = (int64_t)(BATCH * t->speed[i] / sum);
        left -= t->batch[i];
    }
    for (int i = 0; left > 0; i++, left--)
        t->batch[i]++;
}

/* Check whether the row's algorithm has an outer optimizer. */
static bool has_outer(const struct row *r)
{
    return algorithm_has(r->algorithm, ALGORITHM_OUTER);
}

/* Train one row for so many epochs with t->seed; return the test accuracy in *ret_accuracy. */
static int train_once(const struct row *r, int epochs, struct training *t, double *ret_accuracy,
                      struct eddis_error *err)
{
    int group[MAX_RANKS], node[MAX_RANKS], rc = 0;
    void *value[MAX_RANKS];
    struct engine_parameter parameter = { .type = COMM_FLOAT32 };
    struct simulation_options s = { .n_ranks = r->n,
                                    .group_of = group,
                                    .node_of = node,
                                    .algorithm = r->algorithm,
                                    .period = r->period,
                                    .moving_rate = -1,
                                    .outer_rate = has_outer(r) ? OUTER_RATE : 0,
                                    .outer_momentum = has_outer(r) ? OUTER_MOMENTUM : 0,
                                    .wire = r->wire,
                                    .seed = t->seed,
                                    .samples = t->digits->n_train * (r->unbroken ? epochs : 1),
                                    .epochs = r->unbroken ? 1 : epochs,
                                    .batch = t->batch,
                                    .parameter = &parameter,
                                    .n_parameters = 1,
                                    .value = value,
                                    .hooks = { .arg = t, .compute = compute, .update = update } };
    struct simulation_result result;

    deal(r, t);
    for (int i = 0; rc == 0 && i < r->n; i++) {
        group[i] = node[i] = i / (r->n / r->groups);
        rc = worker_open(&t->worker[i], t->seed, err);
        value[i] = rc < 0 ? NULL : t->worker[i].model->values;
    }
    if (rc < 0)
        return rc;
    parameter.n = (size_t)t->worker[0].model->n_values;
    rc = simulation_run(&s, &result, err);
    if (rc == 0)
        *ret_accuracy = test_accuracy(t);
    return rc;
}

/* ---- all runs ---- */

/* Compute the mean of n values and half the width of its 95 % interval (Student's t), 0 for one
 * value.
 */
static void interval(const double *value, int n, double *ret_mean, double *ret_half_width)
{
    /* Student's t of 95 % for 1 .. 30 degrees of freedom; 2 is used beyond */
    static const double student[] = { 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
                                      2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09,
                                      2.08,  2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04 };
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++)
        sum += value[i];
    *ret_mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (value[i] - *ret_mean) * (value[i] - *ret_mean);
    *ret_half_width = n > 1 ? (n <= 31 ? student[n - 2] : 2) * sqrt(squares / (n - 1) / n) : 0;
}

/* Return the row with which row i is compared: one process, or, for gradients in half precision,
 * the row before it, which is the same in float32.
 */
static const struct row *base_of(const struct row *row, int i)
{
    return row[i].wire ? &row[i - 1] : &row[0];
}

/* Fill in the row's means and intervals.  Differences are taken seed by seed, since a seed gives a
 * row and its base the same first model and order of samples.
 */
static void summarise(struct row *r, const struct row *base, int seeds)
{
    double difference[MAX_SEEDS];

    for (int i = 0; i < seeds; i++)
        difference[i] = r->accuracy[i] - base->accuracy[i];
    interval(r->accuracy, seeds, &r->mean, &r->half_width);
    interval(difference, seeds, &r->difference, &r->difference_half_width);
}

/* Train a row for so many epochs with each seed; write the accuracies to ret [o->seeds]. */
static int run_seeds(const struct row *r, const struct options *o, int epochs,
                     const struct digits *d, double *ret, struct eddis_error *err)
{
    for (int i = 0; i < o->seeds; i++) {
        struct training t = { .digits = d,
                              .seed = (uint64_t)i + 1,
                              .sgd = {
                                  .kind = OPTIMIZER_SGD, .rate = o->rate, .momentum = MOMENTUM } };
        int rc = train_once(r, epochs, &t, &ret[i], err);

        training_close(&t);
        if (rc < 0)
            return eddis_fail_prefix(err, rc, "%s with %d workers", r->name, r->n);
    }
    return 0;
}

/* As run_seeds; return the mean accuracy in *ret. */
static int run_mean(const struct row *r, const struct options *o, int epochs,
                    const struct digits *d, double *ret, struct eddis_error *err)
{
    double accuracy[MAX_SEEDS];
    int rc = run_seeds(r, o, epochs, d, accuracy, err);

    *ret = 0;
    for (int i = 0; rc == 0 && i < o->seeds; i++)
        *ret += accuracy[i] / o->seeds;
    return rc;
}

/* Find the number of epochs after which the mean accuracy is TARGET: double until it is reached,
 * bisect, and interpolate between the last two.  The result is about MAX_EPOCHS if it is never
 * reached.
 */
static int run_to_target(const struct row *r, const struct options *o, const struct digits *d,
                         double *ret_epochs, struct eddis_error *err)
{
    int low = 0, high = 4, rc;
    double below = 0, above = 0;

    while ((rc = run_mean(r, o, high, d, &above, err)) == 0 && above < TARGET &&
           high < MAX_EPOCHS) {
        low = high;
        below = above;
        high *= 2;
    }
    while (rc == 0 && above >= TARGET && high - low > 1 + low / 16) {
        int middle = low + (high - low) / 2;
        double now;

        rc = run_mean(r, o, middle, d, &now, err);
        if (now < TARGET) {
            low = middle;
            below = now;
        } else {
            high = middle;
            above = now;
        }
    }
    *ret_epochs =
        above > below ? low + (high - low) * fmin((TARGET - below) / (above - below), 1) : high;
    return rc;
}

/* Measure everything that the options ask for in one row. */
static int run_row(struct row *r, const struct row *base, const struct options *o,
                   const struct digits *d, struct eddis_error *err)
{
    int rc = 0;

    if (!o->efficiency)
        rc = run_seeds(r, o, o->epochs, d, r->accuracy, err);
    if (rc == 0 && !o->efficiency)
        summarise(r, base, o->seeds);
    return rc < 0 || o->small ? rc : run_to_target(r, o, d, &r->epochs, err);
}

/* The rows of the printed table.  Periods are 1, and those that bench/modes chose at 1 Gbit/s and
 * 200 Mbit/s (RESULTS.md).  On 16 hosts: async 10 and 43; hybrid, whose groups have one speed each
 * there, 18 and 62.  On 4 hosts of 4 workers, one of each speed: async 8 and 38, hybrid 8 and 34.
 * Rows of 4 workers use the latter.
 */
static const struct row rows[] = {
    { "one", "allreduce", 1, 1, 1, false },   { "sync", "allreduce", 4, 1, 1, false },
    { "async", "easgd", 4, 4, 1, false },     { "async", "easgd", 4, 4, 8, false },
    { "async", "easgd", 4, 4, 38, false },    { "hybrid", "hsgd", 4, 2, 1, false },
    { "hybrid", "hsgd", 4, 2, 8, false },     { "hybrid", "hsgd", 4, 2, 34, false },
    { "sync", "allreduce", 16, 1, 1, false }, { "async", "easgd", 16, 16, 1, false },
    { "async", "easgd", 16, 16, 10, false },  { "async", "easgd", 16, 16, 43, false },
    { "hybrid", "hsgd", 16, 4, 1, false },    { "hybrid", "hsgd", 16, 4, 8, false },
    { "hybrid", "hsgd", 16, 4, 34, false },   { "hybrid", "hsgd", 16, 4, 1, true },
    { "hybrid", "hsgd", 16, 4, 18, true },    { "hybrid", "hsgd", 16, 4, 62, true },
};

/* Write the rows of --wire to row; return their number. */
static int make_wired(enum sync_wire wire, struct row *row)
{
    int n = 0;

    row[n++] = rows[0];
    for (int w = 4; w <= 16; w *= 4) {
        row[n++] = (struct row){ "sync", "allreduce", w, 1, 1 };
        row[n++] = (struct row){ "sync", "allreduce", w, 1, 1, .wire = wire };
    }
    return n;
}

/* Write the rows of the printed table to row; return their number. */
static int make_rows(struct row *row)
{
    memcpy(row, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* Write the points of the table of efficiencies to row; return their number. */
static int make_points(struct row *row)
{
    static const int64_t periods[] = { 1, 4, 16, 64, 256 };
    int n = 0;

    row[n++] = (struct row){ "one", "allreduce", 1, 1, 1 };
    for (int w = 2; w <= 16; w *= 2)
        for (size_t p = 0; p < sizeof periods / sizeof *periods; p++)
            row[n++] = (struct row){ "async", "easgd", w, w, periods[p] };
    for (int g = 2; g <= 8; g *= 2)
        for (size_t p = 0; p < sizeof periods / sizeof *periods; p++)
            row[n++] = (struct row){ "hybrid", "hsgd", 16, g, periods[p] };
    return n;
}

/* Write the points of local training to row; return their number.  The digits' epoch has 5.6 steps,
 * and a round ends with its epoch: all epochs are one, so that periods are as long as they say.
 */
static int make_rounds(struct row *row)
{
    int n = 0;

    row[n++] = (struct row){ "one", "allreduce", 1, 1, 1, .unbroken = true };
    for (int g = 2; g <= 16; g *= 2)
        for (int64_t period = 1; period <= 256; period *= 4)
            row[n++] = (struct row){ "local", "local", 16, g, period, .unbroken = true };
    for (int g = 2; g <= 16; g *= 2)
        for (int64_t period = 1; period <= 16; period *= 4)
            row[n++] = (struct row){ "diloco", "diloco", 16, g, period, .unbroken = true };
    return n;
}

/* ---- options and data ---- */

/* Return the number that text begins with if it is from 1 to most; else, and for NULL, -1. */
static int number_of(const char *text, int most)
{
    int n = text ? atoi(text) : 0;

    return n >= 1 && n <= most ? n : -1;
}

/* Parse the command line.  Return 0 or -EINVAL. */
static int parse(int argc, char **argv, struct options *o)
{
    *o = (struct options){ .seeds = 40, .epochs = 60, .rate = RATE };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[i], "--small") == 0)
            o->small = true;
        else if (strcmp(argv[i], "--efficiency") == 0)
            o->efficiency = true;
        else if (strcmp(argv[i], "--rounds") == 0)
            o->efficiency = o->rounds = true;
        else if (strcmp(argv[i], "--wire") == 0 && argv[i + 1]) {
            o->wired = true;
            o->wire = sync_wire_find(argv[++i]);
        } else if (strcmp(argv[i], "--seeds") == 0)
            o->seeds = number_of(argv[++i], MAX_SEEDS);
        else if (strcmp(argv[i], "--rate") == 0)
            o->rate = argv[i + 1] ? atof(argv[++i]) : 0;
        else if (strcmp(argv[i], "--epochs") == 0)
            o->epochs = number_of(argv[++i], 10000);
        else if (argv[i][0] != '-' && !o->data)
            o->data = argv[i];
        else
            return -EINVAL;
    }
    if (o->wired && (o->efficiency || !sync_wire_is_half(o->wire)))
        return -EINVAL;
    return o->data && o->rate > 0 && o->seeds > 0 && o->epochs > 0 && !(o->small && o->efficiency)
               ? 0
               : -EINVAL;
}

/* Read the digits from a CSV file into memory.  Return 0 or a negative errno. */
static int read_digits(const char *path, struct digits *ret, struct eddis_error *err)
{
    struct dataset_options o = { .path = path };
    struct dataset *d = NULL;
    int64_t n, *index;
    int rc = dataset_open(&o, &d, err);

    if (rc < 0)
        return rc;
    n = dataset_info(d)->n_samples;
    index = malloc((size_t)n * sizeof *index);
    ret->x = malloc((size_t)n * FEATURES * sizeof *ret->x);
    ret->label = malloc((size_t)n * sizeof *ret->label);
    if (dataset_info(d)->n_features != FEATURES || n <= N_TEST + BATCH)
        rc = eddis_fail(err, -EINVAL, "'%s' does not hold the digits", path);
    else if (!index || !ret->x || !ret->label)
        rc = eddis_fail(err, -ENOMEM, "out of memory");
    for (int64_t i = 0; rc == 0 && i < n; i++)
        index[i] = i;
    if (rc == 0)
        rc = dataset_read(d, index, n, 1 / 16.0f, ret->x, ret->label, err);
    ret->n_train = n - N_TEST;
    free(index);
    dataset_close(d);
    return rc;
}

int main(int argc, char **argv)
{
    struct row row[MAX_ROWS] = { 0 };
    struct digits digits = { 0 };
    struct eddis_error err = { 0 };
    struct options o;
    int n, rc;

    if (parse(argc, argv, &o) < 0) {
        fputs(USAGE, stderr);
        return 2;
    }
    matmul_set_threads(1);
    rc = read_digits(o.data, &digits, &err);
    if (o.wired)
        n = make_wired(o.wire, row);
    else if (o.rounds)
        n = make_rounds(row);
    else
        n = o.efficiency ? make_points(row) : make_rows(row);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = run_row(&row[i], base_of(row, i), &o, &digits, &err);
    free(digits.x);
    free(digits.label);
    if (rc < 0) {
        fprintf(stderr, "bench-accuracy: %s\n", err.text);
        return 1;
    }
    if (o.json)
        return accuracy_print_json(row, n, &o);
    accuracy_print_table(row, n, &o);
    return 0;
}
