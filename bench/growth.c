/* SPDX-License-Identifier: Apache-2.0 */
/* growth.c - how the time of a step, and of laying out buckets, grows with the number of layers
 *
 *     bench-growth LAYERS BYTES
 *     bench-growth layout
 *
 * LAYERS layers of one small parameter each are announced one by one from the last to the first,
 * and then waited for one by one, through eddis.h, alone or under mpirun.  BYTES is the size of a
 * bucket; 1: every layer is a message of its own.  Rank 0 prints the shortest times of some steps.
 *
 * "layout" measures rank 0's work in step 4, for which all ranks wait, on gradients that become
 * ready in the order of the arena, nearly in it, or in random order.
 */
#include <eddis.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/sync/bucket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6, FLOATS = 16, MOST_ITEMS = 2048 };

/* Print the error and exit if rc is negative. */
static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench-growth: %s\n", err->text);
    exit(1);
}

/* Return the ms since begun_ns. */
static double ms(int64_t begun_ns)
{
    return (double)(clock_now_ns() - begun_ns) / CLOCK_MS;
}

/* ---- steps ---- */

/* Register n layers of one parameter each, and commit. */
static void add_layers(struct eddis *e, int n)
{
    static float value[FLOATS];
    struct eddis_error err = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { FLOATS },
                                 .value = value };

    for (int i = 0; i < n; i++) {
        int layer = eddis_add_layer(e, "layer", EDDIS_LAYER_DENSE, &err);

        check(layer, &err);
        check(eddis_add_parameter(e, layer, &p, &err), &err);
    }
    check(eddis_commit(e, &err), &err);
}

/* Return the shortest times of announcing and of waiting over all steps, ms. */
static void measure(struct eddis *e, int n, double *ret_announce, double *ret_wait)
{
    struct eddis_error err = { 0 };
    struct eddis_step s = { .size = sizeof s };

    *ret_announce = *ret_wait = 1e9;
    while (eddis_step_begin(e, &s, &err) == 1) {
        int64_t begun = clock_now_ns();
        double t;

        for (int i = n - 1; i >= 0; i--)
            check(eddis_announce_layer(e, i, &err), &err);
        t = ms(begun);
        *ret_announce = t < *ret_announce ? t : *ret_announce;
        begun = clock_now_ns();
        for (int i = n - 1; i >= 0; i--)
            check(eddis_wait_layer(e, i, EDDIS_FOREVER, &err), &err);
        check(eddis_wait(e, EDDIS_FOREVER, &err), &err);
        t = ms(begun);
        *ret_wait = t < *ret_wait ? t : *ret_wait;
        check(eddis_step_end(e, NULL, &err), &err);
    }
}

/* Measure and print n layers with buckets of this size. */
static void steps(int n, int64_t bucket_bytes)
{
    struct eddis_options o = { .size = sizeof o,
                               .samples = 64 * STEPS,
                               .epochs = 1,
                               .batch = 64,
                               .bucket_bytes = bucket_bytes };
    struct eddis_world world = { .size = sizeof world };
    struct eddis_error err = { 0 };
    double announce, wait;
    struct eddis *e;

    check(eddis_open(&o, &e, &err), &err);
    check(eddis_world(e, &world), &err);
    add_layers(e, n);
    measure(e, n, &announce, &wait);
    if (world.rank == 0)
        printf("  %6d   %11.2f   %7.2f\n", n, announce, wait);
    check(eddis_close(e, &err), &err);
}

/* ---- laying out ---- */

enum { IN_ORDER, NEARLY, ANYHOW };

/* Make n gradients of random sizes that become ready in the order `how`. */
static void make_items(struct bucket_item *item, int n, int how)
{
    uint64_t random = 5;

    for (int i = 0; i < n; i++) {
        int at = how == NEARLY   ? i ^ 1
                 : how == ANYHOW ? (int)random_below(&random, (uint64_t)n)
                                 : i;

        item[i] = (struct bucket_item){ .bytes = 64 * (1 + random_below(&random, 200)),
                                        .ready_ns = 20000 * (int64_t)at };
    }
}

/* Return the shortest ms of three for laying out n gradients in buckets. */
static double lay_out(int n, int how)
{
    static struct bucket_item item[MOST_ITEMS];
    const struct bucket_cost cost = { 5e-6, 4e9 };
    struct bucket_layout l;
    double least = 1e9;

    make_items(item, n, how);
    for (int i = 0; i < 3; i++) {
        int64_t begun = clock_now_ns();
        double t;

        (void)bucket_merge(item, n, &cost, &l);
        t = ms(begun);
        least = t < least ? t : least;
    }
    return least;
}

/* Measure and print the layouts of 256 to MOST_ITEMS gradients. */
static void layouts(void)
{
    printf("laying out, gradients ready ...\n  parameters   in order ms   nearly ms   anyhow ms\n");
    for (int n = 256; n <= MOST_ITEMS; n *= 2)
        printf("  %10d   %11.2f   %9.2f   %9.2f\n", n, lay_out(n, IN_ORDER), lay_out(n, NEARLY),
               lay_out(n, ANYHOW));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "layout") == 0) {
        layouts();
    } else if (argc == 3) {
        steps(atoi(argv[1]), atoll(argv[2]));
    } else {
        fprintf(stderr, "usage: bench-growth LAYERS BYTES | layout\n");
        return 2;
    }
    return 0;
}
