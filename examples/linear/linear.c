/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - the smallest training program on libeddis: fit y = 3 x - 1 on unequal workers
 *
 *     cc linear.c -o linear $(pkg-config --cflags --libs eddis)
 *     eddis-run train.yaml
 */
#include <eddis.h>

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 6000, EPOCHS = 6 };

static void check(int rc, const struct eddis_error *err)
{
    if (rc < 0) {
        fprintf(stderr, "linear: %s\n", err->text);
        exit(1); /* without eddis_close: the library ends the job, nobody waits for us */
    }
}

/* Mean gradient of the squared error over the samples of this step; returns the mean error. */
static double gradient(const float *w, const int64_t *index, int64_t n, float *ret)
{
    double loss = 0;

    ret[0] = ret[1] = 0;
    for (int64_t i = 0; i < n; i++) {
        float x = (float)index[i] / SAMPLES, y = 3 * x - 1;
        float e = w[0] * x + w[1] - y;

        ret[0] += 2 * e * x / (float)n;
        ret[1] += 2 * e / (float)n;
        loss += (double)(e * e) / (double)n;
    }
    return loss;
}

/* Go on where an earlier generation of the job, or the one given by --resume, has stopped. */
static void resume(struct eddis *e, float *w)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c;
    int there = eddis_restore_begin(e, NULL, &c, &err);

    check(there, &err);
    if (err.text[0])
        fprintf(stderr, "linear: passed over: %s\n", err.text);
    if (!there)
        return;
    check(eddis_checkpoint_get(c, "w", w, 2 * sizeof *w, &err), &err);
    check(eddis_restore_end(c, &err), &err);
}

/* A checkpoint that cannot be written is no reason to stop. */
static void save(struct eddis *e, const float *w, int rank)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c;
    int rc = eddis_checkpoint_begin(e, NULL, &c, &err);

    if (rc == 0) {
        if (rank == 0)
            eddis_checkpoint_put(c, "w", w, 2 * sizeof *w, NULL);
        rc = eddis_checkpoint_commit(c, 0, &err);
    }
    if (rc < 0 && rank == 0)
        fprintf(stderr, "linear: %s\n", err.text);
}

int main(void)
{
    struct eddis_error err = { 0 };
    struct eddis_options options = { .size = sizeof options, .samples = SAMPLES, .epochs = EPOCHS };
    struct eddis_step step = { .size = sizeof step };
    struct eddis_world world = { .size = sizeof world };
    float w[2] = { 0, 0 };
    static int64_t index[SAMPLES];
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 2 },
                                 .value = w };
    struct eddis *e;
    float *g;
    int layer, parameter;

    check(eddis_open(&options, &e, &err), &err);
    check(eddis_world(e, &world), &err);
    check(layer = eddis_add_layer(e, "line", EDDIS_LAYER_DENSE, &err), &err);
    check(parameter = eddis_add_parameter(e, layer, &p, &err), &err);
    check(eddis_commit(e, &err), &err);
    check(eddis_broadcast_parameters(e, 0, &err), &err);
    resume(e, w);
    g = eddis_gradient(e, parameter);

    for (;;) {
        struct eddis_report report = { .size = sizeof report, .has_loss = 1 };
        int more = eddis_step_begin(e, &step, &err);

        check(more, &err);
        if (!more)
            break;
        check(eddis_sample_indices(e, &step, index, &err), &err);
        report.loss = gradient(w, index, step.count, g);
        check(eddis_announce(e, parameter, NULL, NULL, &err), &err);
        check(eddis_wait(e, EDDIS_FOREVER, &err), &err);
        for (int i = 0; i < 2; i++)
            w[i] -= 0.5f * (float)step.lr_factor * g[i];
        check(eddis_step_end(e, &report, &err), &err);
        if (step.flags & EDDIS_STEP_CHECKPOINT) /* at times, and before eddis-run stops */
            save(e, w, world.rank);
    }
    printf("rank %d of %d: y = %.3f x %+.3f\n", world.rank, world.n_ranks, w[0], w[1]);
    check(eddis_close(e, &err), &err);
    return 0;
}
