/* SPDX-License-Identifier: Apache-2.0 */
/* index_worker.c - a rank that writes down which samples it takes
 *
 *     index-worker FOLDER EPOCHS
 *
 * Behind every step it adds the line "STEP EPOCH INDEX ..." to the file samples-START-RANK in
 * FOLDER, START being Slurm's count of restarts.
 */
#include <eddis.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SAMPLES = 960 };

static double value, sum;

static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "index-worker: %s\n", err->text);
    _exit(90);
}

static FILE *open_list(const char *folder, int rank)
{
    const char *start = getenv("SLURM_RESTART_COUNT");
    char path[512];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/samples-%s-%d", folder, start ? start : "0", rank);
    f = fopen(path, "ae");
    if (!f)
        _exit(91);
    return f;
}

static int join(struct eddis *e)
{
    struct eddis_error err = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "value",
                                 .dtype = EDDIS_FLOAT64,
                                 .n_dims = 1,
                                 .dims = { 1 },
                                 .value = &value };
    int layer = eddis_add_layer(e, "layer", EDDIS_LAYER_OTHER, &err), parameter;

    check(layer, &err);
    check(parameter = eddis_add_parameter(e, layer, &p, &err), &err);
    check(eddis_commit(e, &err), &err);
    return parameter;
}

static void restore(struct eddis *e)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c;
    int there = eddis_restore_begin(e, NULL, &c, &err);

    check(there, &err);
    if (!there)
        return;
    check(eddis_checkpoint_get(c, "sum", &sum, sizeof sum, &err), &err);
    check(eddis_restore_end(c, &err), &err);
}

static void save(struct eddis *e)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c;

    check(eddis_checkpoint_begin(e, NULL, &c, &err), &err);
    check(eddis_checkpoint_put(c, "sum", &sum, sizeof sum, &err), &err);
    check(eddis_checkpoint_commit(c, 0, &err), &err);
}

/* Returns whether there are more. */
static int step(struct eddis *e, int parameter, FILE *list)
{
    struct eddis_error err = { 0 };
    struct eddis_step s = { .size = sizeof s };
    static int64_t index[SAMPLES];
    double *g = eddis_gradient(e, parameter);
    int more = eddis_step_begin(e, &s, &err);

    check(more, &err);
    if (!more)
        return 0;
    check(eddis_sample_indices(e, &s, index, &err), &err);
    g[0] = 1;
    check(eddis_announce(e, parameter, NULL, NULL, &err), &err);
    check(eddis_wait(e, EDDIS_FOREVER, &err), &err);
    sum += g[0];
    check(eddis_step_end(e, NULL, &err), &err);
    (void)fprintf(list, "%lld %lld", (long long)s.step, (long long)s.epoch);
    for (int64_t i = 0; i < s.count; i++)
        (void)fprintf(list, " %lld", (long long)index[i]);
    (void)fprintf(list, "\n");
    if (fflush(list) != 0)
        _exit(91);
    if (s.flags & EDDIS_STEP_CHECKPOINT)
        save(e);
    return 1;
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    struct eddis_options o = { .size = sizeof o,
                               .samples = SAMPLES,
                               .epochs = argc > 2 ? atoll(argv[2]) : 1 };
    struct eddis_world w = { .size = sizeof w };
    struct eddis *e;
    FILE *list;
    int parameter;

    check(eddis_open(&o, &e, &err), &err);
    check(eddis_world(e, &w), &err);
    parameter = join(e);
    restore(e);
    list = open_list(argc > 1 ? argv[1] : ".", w.rank);
    while (step(e, parameter, list))
        ;
    check(eddis_close(e, &err), &err);
    return fclose(list) != 0;
}
