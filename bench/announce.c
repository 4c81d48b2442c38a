/* SPDX-License-Identifier: Apache-2.0 */
/* announce.c - the cost of announcing gradients, one gradient a call or all in one call
 *
 *     bench-announce PARAMETERS FLOATS
 *
 * Parameters of FLOATS elements each, alone or under mpirun.  Steps alternate between announcing
 * the gradients one by one and by eddis_announce_many.  Rank 0 prints the number of workers and,
 * for each way, median microseconds per parameter until the calls have returned and until the
 * step's wait has.
 */
#include <eddis.h>

#include "lib/base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 15, WARM = 5 };

struct list {
    int n;
    int *parameter;      /* [n], from the last to the first */
    const void **source; /* [n] */
    void **result;       /* [n], the same */
};

/* Microseconds per parameter; [0] one by one, [1] all at once. */
struct times {
    double calls[2][ROUNDS], step[2][ROUNDS];
};

/* Print the error and exit if rc is negative. */
static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench-announce: %s\n", err->text);
    exit(1);
}

/* Register n parameters in one layer, and commit. */
static struct list register_all(struct eddis *e, int n, int floats)
{
    float *value = calloc((size_t)n * (size_t)floats, sizeof *value);
    float *gradient = calloc((size_t)n * (size_t)floats, sizeof *gradient);
    struct list l = { .n = n,
                      .parameter = calloc((size_t)n, sizeof *l.parameter),
                      .source = calloc((size_t)n, sizeof *l.source),
                      .result = calloc((size_t)n, sizeof *l.result) };
    struct eddis_parameter p = {
        .size = sizeof p, .name = "w", .dtype = EDDIS_FLOAT32, .n_dims = 1, .dims = { floats }
    };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "layer", EDDIS_LAYER_DENSE, &err);

    check(layer, &err);
    for (int i = n - 1; i >= 0; i--) {
        p.value = value + (size_t)i * (size_t)floats;
        l.parameter[i] = eddis_add_parameter(e, layer, &p, &err);
        check(l.parameter[i], &err);
        l.source[i] = l.result[i] = gradient + (size_t)i * (size_t)floats;
    }
    check(eddis_commit(e, &err), &err);
    return l;
}

/* Announce all gradients: by one call if many, else one by one. */
static void announce(struct eddis *e, const struct list *l, int many)
{
    struct eddis_error err = { 0 };

    if (many)
        check(eddis_announce_many(e, l->n, l->parameter, l->source, l->result, &err), &err);
    for (int i = 0; i < l->n && !many; i++)
        check(eddis_announce(e, l->parameter[i], l->source[i], l->result[i], &err), &err);
}

/* Time each step; odd steps announce all gradients at once. */
static void measure(struct eddis *e, const struct list *l, struct times *ret)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int rc;

    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        int many = (int)(s.step % 2), round = (int)(s.step / 2) - WARM;
        int64_t begun = clock_now_ns(), called;

        announce(e, l, many);
        called = clock_now_ns();
        check(eddis_wait(e, EDDIS_FOREVER, &err), &err);
        if (round >= 0 && round < ROUNDS) {
            ret->calls[many][round] = (double)(called - begun) / 1e3 / l->n;
            ret->step[many][round] = (double)(clock_now_ns() - begun) / 1e3 / l->n;
        }
        check(eddis_step_end(e, NULL, &err), &err);
    }
    check(rc, &err);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *t)
{
    qsort(t, ROUNDS, sizeof *t, compare);
    return t[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    struct eddis_options o = { .size = sizeof o,
                               .samples = (int64_t)64 * 2 * (ROUNDS + WARM),
                               .epochs = 1,
                               .batch = 64,
                               .bucket_bytes = 4 << 20 };
    struct eddis_world world = { .size = sizeof world };
    struct eddis_error err = { 0 };
    static struct times t;
    struct list l;
    struct eddis *e;

    if (argc != 3 || atoi(argv[1]) < 1 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: bench-announce PARAMETERS FLOATS\n");
        return 2;
    }
    check(eddis_open(&o, &e, &err), &err);
    check(eddis_world(e, &world), &err);
    l = register_all(e, atoi(argv[1]), atoi(argv[2]));
    measure(e, &l, &t);
    if (world.rank == 0)
        printf("%d %.4f %.4f %.4f %.4f\n", world.n_ranks, median(t.calls[0]), median(t.calls[1]),
               median(t.step[0]), median(t.step[1]));
    check(eddis_close(e, &err), &err);
    return 0;
}
