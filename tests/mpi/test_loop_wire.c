/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_wire.c - hybrid mode whose gradients travel as 16 bits between nodes, over the loop
 *
 * Gradients are functions of step, rank and element, and no program applies them: what a group gets
 * is held against its exact mean, and all that moves the models are the exchanges with the centre.
 * These are float32 from end to end, so the models come to the mean of where they began as near as
 * float32 brings them, some thousand times nearer than numbers of 16 bits.
 */
#include "lib/base/random.h"
#include "loop_job.h"

#include <math.h>

enum { DIM = 3000, BATCH = 4 /* of each rank */, EPOCHS = 4, MIXED = 20 /* exchanges at least */ };

static const struct row {
    struct loop_job j;
    bool narrow; /* groups are on several nodes */
} rows[] = {
    { { .n = 4, .per_group = 2, NODES(0, 1, 2, 3), .wire = SYNC_WIRE_BFLOAT16 }, true },
    { { .n = 4, .per_group = 2, NODES(0, 1, 2, 3), .wire = SYNC_WIRE_FLOAT16 }, true },
    { { .n = 4, .per_group = 2, NODES(0, 1, 2, 3), .wire = SYNC_WIRE_FLOAT32 }, false },
    { { .n = 4, .per_group = 2, NODES(0, 0, 1, 1), .wire = SYNC_WIRE_BFLOAT16 }, false },
    { { .n = 8, .per_group = 4, NODES(0, 0, 1, 1, 2, 2, 3, 3), .wire = SYNC_WIRE_BFLOAT16 }, true },
};

static float start(int group, int k)
{
    return 1 + (float)(group * (k % 97)) / 97;
}

static uint64_t gradient_of(int64_t step, int member)
{
    return random_mix((uint64_t)step + 1, (uint64_t)member + 1);
}

static double next_gradient(uint64_t *random)
{
    return (double)(float)(2 * random_unit(random) - 0.8);
}

/* The distance of what the group got from its samples' mean, relative. */
static double distance(struct eddis *e, const struct eddis_step *s, const float *got)
{
    double exact[DIM] = { 0 }, apart = 0, all = 0;
    int64_t count[MAX_RANKS] = { 0 };
    int n = 0;

    SUCCEEDS(n = eddis_counts(e, s->step, count, &err));
    for (int r = 0; r < n; r++) {
        uint64_t random = gradient_of(s->step, r);

        for (int k = 0; k < DIM; k++)
            exact[k] += next_gradient(&random) * (double)count[r] / (double)s->batch;
    }
    for (int k = 0; k < DIM; k++) {
        apart += ((double)got[k] - exact[k]) * ((double)got[k] - exact[k]);
        all += exact[k] * exact[k];
    }
    return sqrt(apart / all);
}

static void step(struct eddis *e, const struct row *row, const struct eddis_step *s, int member)
{
    uint64_t random = gradient_of(s->step, member);
    float gradient[DIM];

    for (int k = 0; k < DIM; k++)
        gradient[k] = (float)next_gradient(&random);
    step_announce(e, 0, gradient);
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    if (s->batch) {
        double d = distance(e, s, gradient);

        CHECK(row->narrow ? d < 0.01 : d < 1e-6);
        CHECK(!row->narrow || d > 1e-5);
        check_same(e, EDDIS_GROUP, gradient, sizeof gradient);
    }
    OK(eddis_step_end(e, NULL, &err));
}

/* The first group is the centre at first, too. */
static void check_mean(const float *value, int n_groups)
{
    for (int k = 0; k < DIM; k++) {
        double mean = (double)start(0, k);

        for (int g = 0; g < n_groups; g++)
            mean += (double)start(g, k);
        mean /= n_groups + 1;
        CHECK(fabs((double)value[k] - mean) < 1e-5 * mean);
    }
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    const struct row *row = j->arg;
    float value[DIM];
    struct eddis_step s = { .step = -1 };
    struct eddis_world world;

    CHECK(commit_vector(e, value, DIM) == 0);
    world = world_of(e);
    CHECK(world.n_groups == j->n / j->per_group);
    for (int k = 0; k < DIM; k++)
        value[k] = start(0, k);
    OK(eddis_broadcast_parameters(e, 0, &err));
    for (int k = 0; k < DIM; k++)
        value[k] = start(world.group, k);
    while (step_begin(e, &s)) {
        step(e, row, &s, world.group_rank);
        loop_job_keep_pace(j, rank, step_is_last(e, &s) ? INT64_MAX : s.step);
    }
    CHECK(s.step > MIXED * j->period);
    check_mean(value, world.n_groups);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loop_job j = rows[i].j;

        j.share = BATCH;
        j.hosts = true;
        j.period = 1;
        j.each.epochs = EPOCHS;
        loop_job_run_body(&j, body, (void *)(uintptr_t)&rows[i]);
    }
    return check_result();
}
