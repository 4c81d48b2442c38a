/* SPDX-License-Identifier: Apache-2.0 */
/* wire_worker.c - a rank whose reduced gradients are held against their exact mean
 *
 *     wire-worker FOLDER EPOCHS [DIES]
 *
 * Gradients are functions of step, rank and element, so every rank knows the mean that it is to
 * get.  In the end each writes to FOLDER/<rank> a line of JSON: of which generation it is, the
 * steps that it did, a checksum of its parameters' bits, and of the steps' distances from the mean
 * (L2, relative) the least and the most.  In the first generation rank 1 kills itself in step DIES.
 * A checkpoint holds the parameters.
 */
#include <eddis.h>

#include "lib/base/crc32.h"
#include "lib/base/random.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 480, PARAMETERS = 2, LENGTH = 40000, MOST_RANKS = 64 };

struct worker {
    struct eddis *e;
    struct eddis_world world;
    float value[PARAMETERS][LENGTH], mean[PARAMETERS][LENGTH];
    int64_t steps;
    double least, most;
};

static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "wire-worker: %s\n", err->text);
    exit(1);
}

static void join(struct worker *w, int64_t epochs)
{
    struct eddis_options o = { .size = sizeof o, .samples = SAMPLES, .epochs = epochs };
    struct eddis_error err = { 0 };

    w->world.size = sizeof w->world;
    check(eddis_open(&o, &w->e, &err), &err);
    check(eddis_world(w->e, &w->world), &err);
    for (int i = 0; i < PARAMETERS; i++) {
        struct eddis_parameter p = { .size = sizeof p,
                                     .name = i ? "second" : "first",
                                     .dtype = EDDIS_FLOAT32,
                                     .n_dims = 1,
                                     .dims = { LENGTH },
                                     .value = w->value[i],
                                     .result = w->mean[i] };
        int layer = eddis_add_layer(w->e, p.name, EDDIS_LAYER_OTHER, &err);

        check(layer, &err);
        check(eddis_add_parameter(w->e, layer, &p, &err), &err);
    }
    check(eddis_commit(w->e, &err), &err);
}

static void resume(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    int there = eddis_restore_begin(w->e, NULL, &c, &err);

    check(there, &err);
    if (!there)
        return;
    check(eddis_checkpoint_get(c, "value", w->value, sizeof w->value, &err), &err);
    check(eddis_restore_end(c, &err), &err);
}

static void save(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    check(eddis_checkpoint_begin(w->e, NULL, &c, &err), &err);
    if (w->world.rank == 0)
        check(eddis_checkpoint_put(c, "value", w->value, sizeof w->value, &err), &err);
    check(eddis_checkpoint_commit(c, 0, &err), &err);
}

/* A rank's gradients of a step, one number after the other. */
static uint64_t gradients_of(int64_t step, int rank)
{
    return random_mix((uint64_t)step + 1, (uint64_t)rank + 1);
}

static float next_gradient(uint64_t *random)
{
    return (float)(2 * random_unit(random) - 0.8);
}

static void announce(struct worker *w, int64_t step)
{
    uint64_t random = gradients_of(step, w->world.rank);
    struct eddis_error err = { 0 };

    for (int i = 0; i < PARAMETERS; i++) {
        float *g = eddis_gradient(w->e, i);

        for (int k = 0; k < LENGTH; k++)
            g[k] = next_gradient(&random);
    }
    for (int i = PARAMETERS - 1; i >= 0; i--)
        check(eddis_announce(w->e, i, NULL, NULL, &err), &err);
}

/* How far the step's mean is from that of float64. */
static double distance(const struct worker *w, const struct eddis_step *s)
{
    static double exact[PARAMETERS * LENGTH];
    double apart = 0, all = 0;
    int64_t count[MOST_RANKS];
    struct eddis_error err = { 0 };
    int n = eddis_counts(w->e, s->step, count, &err);

    check(n, &err);
    for (int r = 0; r < n; r++) {
        uint64_t random = gradients_of(s->step, r);

        for (int i = 0; i < PARAMETERS * LENGTH; i++)
            exact[i] = (r ? exact[i] : 0) +
                       (double)next_gradient(&random) * (double)count[r] / (double)s->batch;
    }
    for (int i = 0; i < PARAMETERS * LENGTH; i++) {
        double d = (double)w->mean[i / LENGTH][i % LENGTH] - exact[i];

        apart += d * d;
        all += exact[i] * exact[i];
    }
    return sqrt(apart / all);
}

static void update(struct worker *w, double apart)
{
    for (int i = 0; i < PARAMETERS; i++)
        for (int k = 0; k < LENGTH; k++)
            w->value[i][k] -= 0.1F * w->mean[i][k];
    w->least = w->steps && w->least < apart ? w->least : apart;
    w->most = isnan(apart) ? INFINITY : fmax(w->most, apart);
    w->steps++;
}

/* One step; returns whether there are more. */
static bool step(struct worker *w, int64_t dies)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int more = eddis_step_begin(w->e, &s, &err);

    check(more, &err);
    if (!more)
        return false;
    announce(w, s.step);
    if (s.step == dies && w->world.rank == 1 && w->world.generation == 1)
        (void)raise(SIGKILL);
    check(eddis_wait(w->e, EDDIS_FOREVER, &err), &err);
    update(w, distance(w, &s));
    check(eddis_step_end(w->e, NULL, &err), &err);
    if (s.flags & EDDIS_STEP_CHECKPOINT)
        save(w);
    return true;
}

static void tell(const struct worker *w, const char *folder)
{
    char path[512];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%d", folder, w->world.rank);
    f = fopen(path, "we");
    if (!f ||
        fprintf(f,
                "{\"generation\": %d, \"steps\": %" PRId64 ", \"value\": %" PRIu32
                ", \"least\": %g, \"most\": %g}\n",
                w->world.generation, w->steps, crc32_update(0, w->value, sizeof w->value), w->least,
                w->most) < 0 ||
        fclose(f)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static struct worker w;
    struct eddis_error err = { 0 };

    if (argc < 3)
        return 2;
    join(&w, atoll(argv[2]));
    resume(&w);
    while (step(&w, argc > 3 ? atoll(argv[3]) : -1))
        ;
    tell(&w, argv[1]);
    check(eddis_close(w.e, &err), &err);
    return 0;
}
