/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - bench-tables MILLIONS STEPS: page tables that the workers of one node need for so many
 * million parameters in four layers
 *
 * For an mpirun on one machine.  Rank 0 prints the values of the worst rank: KB of page tables
 * before eddis_commit and after the last step, seconds of eddis_commit and the first step together,
 * and milliseconds of a later step.  The sums are checked.
 */
#include "lib/base/clock.h"
#include "lib/eddis.h"

#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 4, FIGURES = 4 };

/* Print the error and exit if rc is negative. */
static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench-tables: %s\n", err->text);
    exit(1);
}

/* Return the KB of page tables of this process; -1: unknown. */
static double tables_kb(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    double kb = -1;

    while (f && kb < 0 && fgets(line, sizeof line, f))
        (void)sscanf(line, "VmPTE: %lf", &kb);
    if (f)
        (void)fclose(f);
    return kb;
}

/* Register LAYERS layers of n elements each; write their parameters to parameter [LAYERS]. */
static void add_layers(struct eddis *e, size_t n, int *parameter, struct eddis_error *err)
{
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        struct eddis_parameter p = { .size = sizeof p,
                                     .name = "w",
                                     .dtype = EDDIS_FLOAT32,
                                     .n_dims = 1,
                                     .dims = { (int64_t)n },
                                     .value = calloc(n, sizeof(float)) };
        int layer;

        (void)snprintf(name, sizeof name, "layer%d", i);
        check(layer = eddis_add_layer(e, name, EDDIS_LAYER_DENSE, err), err);
        check(parameter[i] = eddis_add_parameter(e, layer, &p, err), err);
    }
}

/* Make one step with the gradient rank + 1, and check every 4096th element of the result.  All
 * ranks have the same weight, so it is the mean of their numbers.
 */
static void train_step(struct eddis *e, const struct eddis_world *w, size_t n, const int *parameter,
                       struct eddis_error *err)
{
    struct eddis_step s = { .size = sizeof s };
    float want = (float)(w->n_ranks + 1) / 2;

    check(eddis_step_begin(e, &s, err), err);
    for (int i = 0; i < LAYERS; i++) {
        float *g = eddis_gradient(e, parameter[i]);

        for (size_t k = 0; k < n; k++)
            g[k] = (float)(w->rank + 1);
        check(eddis_announce(e, parameter[i], NULL, EDDIS_IN_PLACE, err), err);
    }
    check(eddis_wait(e, EDDIS_FOREVER, err), err);
    for (int i = 0; i < LAYERS; i++) {
        const float *r = eddis_result(e, parameter[i]);

        for (size_t k = 0; k < n; k += 4096)
            if (r[k] < want * 0.999f || r[k] > want * 1.001f) {
                fprintf(stderr, "bench-tables: element %zu is %g, not %g\n", k, (double)r[k],
                        (double)want);
                exit(1);
            }
    }
    check(eddis_step_end(e, NULL, err), err);
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    struct eddis_options o = { .size = sizeof o, .measure = 1 };
    struct eddis_world w = { .size = sizeof w };
    double figure[FIGURES];
    int parameter[LAYERS], steps = argc == 3 ? atoi(argv[2]) : 0;
    size_t n = argc == 3 ? strtoul(argv[1], NULL, 10) * 1000000 / LAYERS : 0;
    struct eddis *e;
    int64_t began;

    if (n == 0 || steps < 2) {
        fprintf(stderr, "usage: bench-tables MILLIONS STEPS\n");
        return 2;
    }
    o.samples = o.batch = 6720;
    o.epochs = steps;
    check(eddis_open(&o, &e, &err), &err);
    check(eddis_world(e, &w), &err);
    add_layers(e, n, parameter, &err);
    figure[0] = tables_kb();
    began = clock_now_ns();
    check(eddis_commit(e, &err), &err);
    train_step(e, &w, n, parameter, &err);
    figure[2] = (double)(clock_now_ns() - began) * 1e-9;
    began = clock_now_ns();
    for (int i = 1; i < steps; i++)
        train_step(e, &w, n, parameter, &err);
    figure[3] = (double)(clock_now_ns() - began) * 1e-6 / (steps - 1);
    figure[1] = tables_kb();
    check(eddis_allreduce(e, figure, FIGURES, EDDIS_FLOAT64, EDDIS_MAX, EDDIS_FOREVER, &err), &err);
    if (w.rank == 0)
        printf("%.0f %.0f %.3f %.1f\n", figure[0], figure[1], figure[2], figure[3]);
    check(eddis_close(e, &err), &err);
    return 0;
}
