/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_calls.c - calls out of order, or of a worker that has no gradient, over the loop */
#include "lib/base/clock.h"
#include "loop_job.h"

#include <errno.h>
#include <string.h>

/* ---- misuse ---- */

static void misuse_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 }, gradient[4] = { 1, 2, 3, 4 };
    struct eddis_parameter p = {
        .size = sizeof p, .name = "w", .dtype = EDDIS_FLOAT32, .n_dims = 1, .dims = { 4 }
    };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err);

    (void)j;
    CHECK(eddis_add_parameter(e, layer, &p, &err) == -EINVAL); /* no value */
    p.value = value;
    CHECK(eddis_add_parameter(e, 7, &p, &err) == -EINVAL);
    p.dims[0] = 0;
    CHECK(eddis_add_parameter(e, layer, &p, &err) == -EINVAL);
    p.dims[0] = INT64_MAX;
    CHECK(eddis_add_parameter(e, layer, &p, &err) == -EINVAL);
    p.dims[0] = 4;
    p.dtype = EDDIS_INT32;
    CHECK(eddis_add_parameter(e, layer, &p, &err) == -EINVAL);
    p.dtype = EDDIS_FLOAT32;
    CHECK(eddis_add_parameter(e, layer, &p, &err) == 0);
    CHECK(eddis_step_begin(e, &s, &err) == -EINVAL);
    CHECK(eddis_announce(e, 0, NULL, NULL, &err) == -EINVAL);
    CHECK(eddis_commit(e, &err) == 0);
    CHECK(eddis_commit(e, &err) == -EINVAL);
    CHECK(eddis_add_layer(e, "late", EDDIS_LAYER_OTHER, &err) == -EINVAL);
    CHECK(eddis_announce(e, 0, NULL, NULL, &err) == -EINVAL);
    CHECK(eddis_wait(e, 0, &err) == -EINVAL);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    CHECK(eddis_step_begin(e, &s, &err) == -EINVAL);
    CHECK(eddis_step_end(e, NULL, &err) == -EINVAL);
    CHECK(eddis_wait_layer(e, layer, 0, &err) == -EINVAL);
    CHECK(eddis_set_weight(e, -1, &err) == -EINVAL);
    CHECK(eddis_set_weight(e, rank == 0 ? 3 : 0, &err) == 0);
    CHECK(eddis_announce_factors(e, 0, value, value, 1, NULL, &err) == -EINVAL);
    CHECK(eddis_announce(e, 0, gradient, gradient, &err) == 0);
    CHECK(eddis_set_weight(e, 1, &err) == -EINVAL);
    CHECK(eddis_announce(e, 0, gradient, gradient, &err) == -EINVAL);
    CHECK(eddis_wait(e, CLOCK_S * 60, &err) == 0);
    CHECK(gradient[3] == 4);
    CHECK(eddis_announce(e, 0, gradient, gradient, &err) == -EINVAL);
    CHECK(eddis_step_end(e, NULL, &err) == 0);
    CHECK(eddis_set_metric(e, "no blanks", 1, &err) == -EINVAL);
    CHECK(eddis_checkpoint_begin(e, NULL, &(struct eddis_checkpoint *){ NULL }, &err) == -ENOENT);
    CHECK(eddis_restore_begin(e, NULL, &(struct eddis_checkpoint *){ NULL }, &err) == 0);
}

static void test_misuse(int n)
{
    struct loop_job j = { .n = n, .body = misuse_body };

    loop_job_run(&j);
}

/* ---- a worker without a gradient ---- */

enum way { NOTHING, OLDER, RESULT, LEFT, ZERO, SLOT };

/* What every second rank does instead of announcing a gradient. */
static const struct absent {
    enum way way;
    const char *mode, *algorithm;
    int n, per_group;
    int64_t split[MAX_RANKS];
    int node_of[MAX_RANKS];
} absent_rows[] = {
    { NOTHING, "sync", "allreduce", 2, 2, { 16, 0 }, { 0 } },
    { OLDER, "sync", "allreduce", 2, 2, { 12, 4 }, { 0, 1 } },
    { RESULT, "sync", "allreduce", 2, 2, { 16, 0 }, { 0, 1 } },
    { RESULT, "sync", "allreduce", 2, 2, { 12, 4 }, { 0 } },
    { LEFT, "sync", "allreduce", 2, 2, { 16, 0 }, { 0 } },
    { ZERO, "sync", "allreduce", 2, 2, { 12, 4 }, { 0 } },
    { SLOT, "sync", "allreduce", 2, 2, { 16, 0 }, { 0, 1 } },
    { NOTHING, "hybrid", "hsgd", 4, 2, { 16, 0, 8, 8 }, { 0 } },
    { RESULT, "hybrid", "hsgd", 4, 2, { 16, 0, 8, 8 }, { 0, 1, 2, 2 } },
    { ZERO, "hybrid", "hsgd", 4, 2, { 16, 0, 8, 8 }, { 0 } },
    { NOTHING, "async", "easgd", 2, 1, { 8, 8 }, { 0, 1 } },
    { RESULT, "async", "easgd", 2, 1, { 8, 8 }, { 0, 1 } },
};

enum { ABSENT_ROWS = sizeof absent_rows / sizeof *absent_rows, ABSENT_N = 5 };

static int absent_add(struct eddis *e, const struct absent *a, int rank, float *value,
                      float *result)
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "lonely",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { ABSENT_N },
                                 .value = value };
    struct eddis_error err = { 0 };

    if (rank % 2 && (a->way == RESULT || a->way == OLDER))
        p.result = result;
    if (rank % 2 && a->way == LEFT)
        p.result = EDDIS_IN_PLACE;
    if (a->way == OLDER) /* of a program that does not know the field */
        p.size = offsetof(struct eddis_parameter, result);
    return eddis_add_parameter(e, eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err), &p, &err);
}

static void absent_announce(struct eddis *e, const struct absent *a, int rank, float *result)
{
    static const float gradient[ABSENT_N] = { 0.5, 0.5, 0.5, 0.5, 0.5 };
    struct eddis_error err = { 0 };

    if (rank % 2 == 0)
        CHECK(eddis_announce(e, 0, gradient, result, &err) == 0);
    else if (a->way == ZERO || a->way == SLOT)
        CHECK(eddis_announce(e, 0, EDDIS_ZERO, a->way == ZERO ? result : NULL, &err) == 0);
}

/* The rank that has no place is told so, and cannot go on; the other has the result. */
static void absent_refused(struct eddis *e, int rank)
{
    struct eddis_error err = { 0 };

    for (int again = 0; again < 2; again++) {
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == (rank % 2 ? -EINVAL : 0));
        CHECK(rank % 2 == 0 || strstr(err.text, "'lonely' of layer 'only'"));
        CHECK(eddis_wait_layer(e, 0, 0, &err) == (rank % 2 ? -EINVAL : 0));
    }
    CHECK(eddis_step_end(e, NULL, &err) == (rank % 2 ? -EINVAL : 0));
}

static void absent_body(struct eddis *e, int rank, struct loop_job *j)
{
    const struct absent *a = j->arg;
    float value[ABSENT_N] = { 0 }, own[ABSENT_N];
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    CHECK(absent_add(e, a, rank, value, own) == 0 && eddis_commit(e, &err) == 0);
    while (eddis_step_begin(e, &s, &err) == 1) {
        /* Of the group's samples those of its first member, if that is another. */
        int64_t fed = rank % 2 == 0 ? s.count : a->per_group == 1 ? 0 : s.batch - s.count;
        float want = s.batch ? 0.5F * (float)fed / (float)s.batch : 0;
        const float *x = rank % 2 == 0 ? own : a->way == LEFT ? NULL : own;
        int wrong = 0;

        for (int i = 0; i < ABSENT_N; i++)
            own[i] = 7;
        absent_announce(e, a, rank, own);
        if (a->way <= OLDER && a->per_group > 1) {
            absent_refused(e, rank);
            return;
        }
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0);
        if (rank % 2 && a->way == SLOT)
            x = eddis_gradient(e, 0);
        x = x ? x : eddis_result(e, 0);
        for (int i = 0; i < ABSENT_N; i++)
            wrong += x[i] != (rank % 2 && a->way == NOTHING ? 7 : want);
        CHECK(wrong == 0);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
}

static void test_absent(const struct absent *a)
{
    struct loop_job j = { .n = a->n,
                          .body = absent_body,
                          .mode = a->mode,
                          .algorithm = a->algorithm,
                          .per_group = a->per_group,
                          .node_of = a->node_of,
                          .period = 2,
                          .arg = (void *)(uintptr_t)a };

    for (int i = 0; i < a->n; i++)
        j.scenario[i].batch = 16;
    loop_job_board_of(&j, a->split);
    loop_job_run(&j);
}

int main(void)
{
    test_misuse(1);
    test_misuse(3);
    for (int i = 0; i < ABSENT_ROWS; i++)
        test_absent(&absent_rows[i]);
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
