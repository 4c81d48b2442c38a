/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire.c - as what numbers a plan has gradients travel between nodes. */
#include "suite.h"

#include "tests/unit/planning.h"

#include <errno.h>

/* Plan a job of four nodes with an emulated device of each of four speeds. */
static void plan_mix(const char *mode, const char *wire, const struct planner_history *known)
{
    if (!node)
        make_mix(4);
    job.batch.global = 512;
    job.sync.mode = word_of(mode);
    job.communication.wire = word_of(wire);
    ck_assert_int_eq(plan_nodes(4, known), 0);
}

/* bfloat16 is taken unasked where model and network are known and it is worth it, and said; what a
 * job has begun with is kept.
 */
START_TEST(wire_by_what_is_known)
{
    static const struct {
        struct planner_history known;
        const char *wanted;
        enum sync_wire want;
    } rows[] = {
        { { 4000000, 1e-4, 5e6 }, "auto", SYNC_WIRE_BFLOAT16 },
        { { 4000000, 1e-4, 125e6 }, "auto", SYNC_WIRE_FLOAT32 }, /* hidden by computing */
        { { 0, 1e-4, 5e6 }, "auto", SYNC_WIRE_FLOAT32 },
        { { 4000000 }, "auto", SYNC_WIRE_FLOAT32 },
        { { 4000000, 1e-4, 5e6 }, "float32", SYNC_WIRE_FLOAT32 },
        { { 0 }, "float16", SYNC_WIRE_FLOAT16 },
        { { 4000000, 1e-4, 5e6, "allreduce", SYNC_WIRE_FLOAT32 }, "auto", SYNC_WIRE_FLOAT32 },
        { { 4000000, 1e-4, 125e6, "allreduce", SYNC_WIRE_BFLOAT16 }, "auto", SYNC_WIRE_BFLOAT16 },
        /* Only what is float32 is narrowed: nothing of 16 bits, or of float64. */
        { { 4000000, 1e-4, 5e6, .program = { 4000000, 4000000, 4000000 } },
          "auto",
          SYNC_WIRE_BFLOAT16 },
        { { 4000000, 1e-4, 5e6, .program = { 4000000, 2000000, 4000000 } },
          "auto",
          SYNC_WIRE_BFLOAT16 },
        { { 4000000, 1e-4, 5e6, .program = { 4000000, 4000, 4000000 } },
          "auto",
          SYNC_WIRE_FLOAT32 },
        { { 4000000, 1e-4, 5e6, .program = { 4000000, 0, 8000000 } }, "auto", SYNC_WIRE_FLOAT32 },
        { { 4000000, 1e-4, 5e6, .program = { 4000000, 0, 4000000 } }, "auto", SYNC_WIRE_FLOAT32 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool said;

        plan_mix("sync", rows[i].wanted, &rows[i].known);
        said = strstr(p->reason, "; gradients as bfloat16 between nodes: predicted ");
        ck_assert_int_eq(p->options.wire, rows[i].want);
        ck_assert_int_eq(p->candidate[0].options.wire, rows[i].want);
        ck_assert_msg(said == (rows[i].want == SYNC_WIRE_BFLOAT16 && !rows[i].known.algorithm),
                      "row %zu: %s", i, p->reason);
    }
}
END_TEST

/* Loop: modes.  Of numbers of 16 bits float16, which overflows, has to be asked for. */
START_TEST(float16_is_never_taken_unasked)
{
    static const char *const modes[] = { "sync", "hybrid", "async", "auto" };
    int narrow = 0;

    for (int64_t bytes = 10000; bytes <= INT64_C(10000000000); bytes *= 10)
        for (double link = 1e5; link < 1e12; link *= 10) {
            const struct planner_history known = { bytes, 1e-4, link };

            plan_mix(modes[_i], "auto", &known);
            ck_assert_int_ne(p->options.wire, SYNC_WIRE_FLOAT16);
            for (int i = 0; i < p->n_candidates; i++)
                ck_assert_int_ne(p->candidate[i].options.wire, SYNC_WIRE_FLOAT16);
            narrow += p->options.wire == SYNC_WIRE_BFLOAT16;
        }
    ck_assert(narrow > 0 || _i > 0);
}
END_TEST

/* A re-plan goes on as the job has begun, whatever the network is now; so does a plan that is
 * replayed.
 */
START_TEST(wire_is_kept)
{
    struct planner_history known = { 4000000, 1e-4, 5e6 };
    struct planner_worker w[16];
    struct plan *again;

    plan_mix("sync", "auto", &known);
    for (int i = 0; i < p->n_workers; i++)
        w[i] = (struct planner_worker){ p->worker[i].batch, p->worker[i].fixed_s,
                                        p->worker[i].sample_s, TIME_MEASURED, 0 };
    known.bytes_per_s = 1e9;
    ck_assert_int_eq(planner_again(&job, p, w, 0, &known, &again, NULL), 0);
    ck_assert_int_eq(again->options.wire, SYNC_WIRE_BFLOAT16);
    ck_assert_str_eq(again->reason, p->reason);
    plan_free(again);
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, NULL), 0);
    job.communication.wire = word_of("bfloat16");
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, NULL), 0);
    job.communication.wire = word_of("float32");
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "nodes as bfloat16, but communication.wire is float32; "
                                           "remove it, or set it to the plan's value"));
}
END_TEST

/* What a job leaves open waits for the size of the model, if that decides it; what it names does
 * not.
 */
START_TEST(open_until_the_size_is_known)
{
    static const struct {
        const char *mode, *algorithm, *wire;
        int64_t period, groups, bytes;
        int nodes;
        bool want;
    } rows[] = {
        { "auto", "auto", "float32", 4, 2, 0, 4, true },
        { "auto", "auto", "auto", 0, 0, 4000000, 4, false },
        { "sync", "auto", "auto", 0, 0, 0, 4, true },
        { "auto", "allreduce", "auto", 0, 0, 0, 4, true },
        { "sync", "auto", "auto", 0, 0, 4000000, 4, false },
        { "sync", "auto", "float32", 0, 0, 0, 4, false },
        { "sync", "auto", "bfloat16", 0, 0, 0, 4, false },
        { "sync", "auto", "auto", 0, 0, 0, 1, false }, /* there is no network */
        { "async", "auto", "auto", 0, 0, 0, 4, true },
        { "async", "auto", "auto", 0, 0, 0, 1, true },
        { "async", "auto", "auto", 4, 0, 0, 4, false }, /* no gradients travel */
        { "hybrid", "auto", "float32", 4, 0, 0, 4, true },
        { "hybrid", "auto", "float32", 4, 4, 0, 4, false },
        { "hybrid", "auto", "auto", 4, 4, 0, 4, true },
        { "local", "auto", "float32", 4, 0, 0, 4, false }, /* the ranks start with their groups */
        { "local", "auto", "auto", 4, 0, 0, 4, true },
        { "local", "auto", "float32", 0, 0, 0, 4, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planner_history known = { .model_bytes = rows[i].bytes, 1e-4, 5e6 };

        make_mix(rows[i].nodes);
        job.batch.global = 512;
        job.sync.mode = word_of(rows[i].mode);
        job.sync.algorithm = word_of(rows[i].algorithm);
        job.sync.options.period = rows[i].period;
        job.sync.groups.n = rows[i].groups;
        job.communication.wire = word_of(rows[i].wire);
        ck_assert_int_eq(plan_nodes(rows[i].nodes, &known), 0);
        ck_assert_msg(planner_is_open(&job, p) == rows[i].want, "row %zu", i);
    }
    plan_mix("sync", "auto", &(struct planner_history){ 0, 1e-4, 5e6 });
    planner_leave_open(&job, p);
    ck_assert_str_eq(p->reason, "sync because the job asks for it; what it leaves open is chosen "
                                "when the program has reported the size of its model");
}
END_TEST

/* Check that all candidates but the algorithm of the plan are those of plan `own`. */
static void check_candidates(const struct plan *has, const struct plan *own)
{
    ck_assert_int_eq(has->n_candidates, own->n_candidates);
    for (int i = 0; i < has->n_candidates; i++) {
        const struct plan_candidate *a = &has->candidate[i], *b = &own->candidate[i];

        if (strcmp(a->algorithm, has->algorithm) == 0)
            continue;
        ck_assert_int_eq(a->options.wire, b->options.wire);
        ck_assert_int_eq(a->options.period, b->options.period);
        ck_assert_double_eq(a->predicted_progress, b->predicted_progress);
    }
}

/* Loop: algorithms.  A job goes on with its wire format and period; the other candidates have the
 * best of their own, as a plan that is made now would.
 */
START_TEST(candidates_are_not_bound_by_the_plan_in_force)
{
    static const char *const begun[] = { "allreduce", "easgd" };
    struct planner_history known = { 4000000, 1e-4, 5e6 };
    struct planner_worker w[16];
    struct plan *own, *again = NULL;

    plan_mix("auto", "auto", &known);
    own = plan_copy(p);
    ck_assert_ptr_nonnull(own);
    ck_assert_int_eq(own->candidate[0].options.wire, SYNC_WIRE_BFLOAT16);
    known.algorithm = begun[_i];
    known.wire = SYNC_WIRE_FLOAT32;
    plan_mix("auto", "auto", &known);
    ck_assert_str_eq(p->algorithm, begun[_i]);
    ck_assert_int_eq(p->options.wire, SYNC_WIRE_FLOAT32);
    check_candidates(p, own);
    for (int i = 0; i < p->n_workers; i++)
        w[i] = (struct planner_worker){ p->worker[i].batch, p->worker[i].fixed_s,
                                        p->worker[i].sample_s, TIME_MEASURED, 0 };
    ck_assert_int_eq(planner_again(&job, p, w, 7 * _i, &known, &again, NULL), 0);
    ck_assert_int_eq(again->options.wire, SYNC_WIRE_FLOAT32);
    ck_assert_int_eq(again->options.period, 7 * _i);
    check_candidates(again, own);
    plan_free(again);
    plan_free(own);
}
END_TEST

/* Sync is taken for being exact where its gradients are not rounded. */
START_TEST(rounded_is_not_exact)
{
    static const struct {
        const char *wanted, *merit, *lost;
    } rows[] = { { "float32", "sync because it is exact", ", which is exact" },
                 { "bfloat16", "sync because its workers train one model",
                   ", whose workers train one model" } };
    const struct planner_history known = { 4000000, 1e-6, 1e12 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan_mix("auto", rows[i].wanted, &known);
        ck_assert_msg(!strncmp(p->reason, rows[i].merit, strlen(rows[i].merit)), "%s", p->reason);
        ck_assert_msg(strstr(p->candidate[1].lost, rows[i].lost) != NULL, "%s",
                      p->candidate[1].lost);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, wire_by_what_is_known);
    tcase_add_loop_test(tc, float16_is_never_taken_unasked, 0, 4);
    tcase_add_test(tc, wire_is_kept);
    tcase_add_test(tc, rounded_is_not_exact);
    tcase_add_test(tc, open_until_the_size_is_known);
    tcase_add_loop_test(tc, candidates_are_not_bound_by_the_plan_in_force, 0, 2);
}

SUITE_MAIN("wire", add_tests)
