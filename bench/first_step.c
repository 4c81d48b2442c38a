/* SPDX-License-Identifier: Apache-2.0 */
/* first_step.c - a training program that records when its first step was done
 *
 *     bench-first-step FILE
 *
 * Rank 0 writes the time (CLOCK_MONOTONIC, ns) to FILE after a step in which all ranks have taken
 * part.  Then the program ends.  It runs under eddis-run and under plain mpirun.
 */
#include <eddis.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FLOATS = 1000, SAMPLES = 64 };

/* Print the error and exit if rc is negative. */
static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench-first-step: %s\n", err->text);
    exit(1);
}

/* Write the present time to the file `path`, which appears only when it is complete. */
static void write_time(const char *path)
{
    struct timespec t;
    char part[512];
    FILE *f;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    (void)snprintf(part, sizeof part, "%s.part", path);
    f = fopen(part, "we");
    if (!f || fprintf(f, "%lld%09ld\n", (long long)t.tv_sec, t.tv_nsec) < 0 || fclose(f) ||
        rename(part, path)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static float value[FLOATS];
    struct eddis_error err = { 0 };
    struct eddis_options o = {
        .size = sizeof o, .samples = SAMPLES, .epochs = 1, .batch = SAMPLES
    };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world world = { .size = sizeof world };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { FLOATS },
                                 .value = value };
    struct eddis *e;
    int layer, parameter;

    check(eddis_open(&o, &e, &err), &err);
    check(eddis_world(e, &world), &err);
    check(layer = eddis_add_layer(e, "layer", EDDIS_LAYER_DENSE, &err), &err);
    check(parameter = eddis_add_parameter(e, layer, &p, &err), &err);
    check(eddis_commit(e, &err), &err);
    while (eddis_step_begin(e, &s, &err) == 1) {
        check(eddis_announce(e, parameter, value, value, &err), &err);
        check(eddis_wait(e, EDDIS_FOREVER, &err), &err);
        check(eddis_step_end(e, NULL, &err), &err);
        if (world.rank == 0 && s.step == 0 && argc > 1)
            write_time(argv[1]);
    }
    check(eddis_close(e, &err), &err);
    return 0;
}
