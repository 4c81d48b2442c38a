/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_wire.c - hybrid mode whose gradients travel as 16 bits between nodes, over the loop
 *
 * Gradients are functions of step, rank and element, and no program applies them: what a group gets
 * is held against its exact mean, and all that moves the models are the exchanges with the centre.
 * These are float32 from end to end, so the models come to the mean of where they began as near as
 * float32 brings them, some thousand times nearer than numbers of 16 bits.
 */
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "loop_job.h"
#include "values_scenario.h"

#include <math.h>
#include <string.h>

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

enum { DIM = 3000, BATCH = 4 /* of each rank */, EPOCHS = 4, MIXED = 20 /* exchanges at least */ };

static const struct row {
    int n, per_group;
    int node_of[MAX_RANKS];
    enum sync_wire wire;
    bool narrow; /* groups are on several nodes */
} rows[] = {
    { 4, 2, { 0, 1, 2, 3 }, SYNC_WIRE_BFLOAT16, true },
    { 4, 2, { 0, 1, 2, 3 }, SYNC_WIRE_FLOAT16, true },
    { 4, 2, { 0, 1, 2, 3 }, SYNC_WIRE_FLOAT32, false },
    { 4, 2, { 0, 0, 1, 1 }, SYNC_WIRE_BFLOAT16, false },
    { 8, 4, { 0, 0, 1, 1, 2, 2, 3, 3 }, SYNC_WIRE_BFLOAT16, true },
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
    struct eddis_error err = { 0 };
    int n = eddis_counts(e, s->step, count, &err);

    CHECK(n > 0);
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

/* The same bits on all of the group. */
static void check_alike(struct eddis *e, const float *got)
{
    float first[DIM];
    struct eddis_collective c = { .size = sizeof c,
                                  .kind = EDDIS_BROADCAST,
                                  .scope = EDDIS_GROUP,
                                  .buffer = first,
                                  .n = sizeof first };
    struct eddis_error err = { 0 };

    memcpy(first, got, sizeof first);
    CHECK(eddis_collective(e, &c, TIMEOUT_NS, &err) == 0);
    CHECK(memcmp(first, got, sizeof first) == 0);
}

static void step(struct eddis *e, const struct row *row, const struct eddis_step *s, int member)
{
    uint64_t random = gradient_of(s->step, member);
    float gradient[DIM];
    struct eddis_error err = { 0 };

    for (int k = 0; k < DIM; k++)
        gradient[k] = (float)next_gradient(&random);
    CHECK(eddis_announce(e, 0, gradient, gradient, &err) == 0);
    CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
    if (s->batch) {
        double d = distance(e, s, gradient);

        CHECK(row->narrow ? d < 0.01 : d < 1e-6);
        CHECK(!row->narrow || d > 1e-5);
        check_alike(e, gradient);
    }
    CHECK(eddis_step_end(e, NULL, &err) == 0);
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
    struct eddis_world world = { .size = sizeof world };
    struct eddis_parameter p = values_vector(value, DIM);
    struct eddis_step s = { .size = sizeof s }, next = s;
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err), begun;

    CHECK(eddis_add_parameter(e, layer, &p, &err) == 0);
    CHECK(eddis_commit(e, &err) == 0);
    CHECK(eddis_world(e, &world) == 0 && world.n_groups == row->n / row->per_group);
    for (int k = 0; k < DIM; k++)
        value[k] = start(0, k);
    CHECK(eddis_broadcast_parameters(e, 0, &err) == 0);
    for (int k = 0; k < DIM; k++)
        value[k] = start(world.group, k);
    while ((begun = eddis_step_begin(e, &s, &err)) == 1) {
        step(e, row, &s, world.group_rank);
        begun = eddis_plan_step(e, s.step + 1, EDDIS_FOREVER, &next, &err);
        loop_job_turn(j, rank, begun == 1 ? s.step : INT64_MAX);
    }
    if (begun < 0)
        fprintf(stderr, "rank %d: %s\n", rank, err.text);
    CHECK(begun == 0 && s.step > MIXED * j->period);
    check_mean(value, world.n_groups);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct row row = rows[i];
        struct loop_job j = { .n = row.n,
                              .mode = "hybrid",
                              .algorithm = "hsgd",
                              .per_group = row.per_group,
                              .node_of = row.node_of,
                              .hosts = true,
                              .wire = row.wire,
                              .period = 1,
                              .body = body,
                              .arg = &row };
        int64_t batch[MAX_RANKS];

        for (int r = 0; r < row.n; r++) {
            batch[r] = BATCH;
            j.scenario[r] = (struct scenario){ .batch = BATCH * row.n, .epochs = EPOCHS };
        }
        loop_job_board_of(&j, batch);
        loop_job_run(&j);
        if (loop_job_failures)
            fprintf(stderr, "row %zu: %d failures\n", i, loop_job_failures);
    }
    return loop_job_failures != 0;
}
