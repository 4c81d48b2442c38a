/* SPDX-License-Identifier: Apache-2.0 */
/* test_tuner.c - what chooser makes of networks that are formulas. */
#include "lib/comm/tuner.h"

#include "lib/base/random.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum { LAST_BYTES = 4 << 20 };

/* A message takes latency_s + bytes / bytes_per_s, and a rank sends one at a time. */
struct network {
    int ranks;
    double latency_s, bytes_per_s;
    double noise;            /* a time is up to so many times longer */
    double node_bytes_per_s; /* of memory that ranks of a node share; 0: there is none */
    double burst_bytes;      /* so many pass a link at once, before its rate holds */
};

static double log2_up(int n)
{
    return ceil(log2(n));
}

static double time_of(const struct network *w, int kind, size_t bytes)
{
    double held = fmax(0, (double)bytes - w->burst_bytes);
    double a = w->latency_s, t = held / w->bytes_per_s;

    switch (kind) {
    case TUNER_DIRECT:
        return a + (w->ranks - 1) * t;
    case TUNER_TREE:
        return 2 * log2_up(w->ranks) * (a + t);
    case TUNER_HALVING:
        return 2 * floor(log2(w->ranks)) * a + 2 * (1 - 1.0 / w->ranks) * t +
               (exp2(floor(log2(w->ranks))) < w->ranks ? 2 * (a + t) : 0);
    case TUNER_SHARED:
        return 20e-6 + (double)bytes / w->node_bytes_per_s;
    default:
        return 2 * (w->ranks - 1) * (a + t / w->ranks);
    }
}

/* Measure all rungs and choose.  Return what the measurement took. */
static double measure(const struct network *w, uint64_t *random, struct tuner *c,
                      struct tuner_result *ret)
{
    struct tuner_rung rung;
    double all = 0;

    while (tuner_next(c, &rung)) {
        double s[TUNER_KINDS] = { 0 };

        for (int k = 0; k < TUNER_KINDS; k++)
            if (rung.kind[k]) {
                s[k] = time_of(w, k, rung.bytes) * (1 + w->noise * random_unit(random));
                all += s[k] * (rung.runs + rung.warm_up);
            }
        tuner_note(c, s);
    }
    tuner_choose(c, ret);
    return all;
}

/* As measure, with the usual memory. */
static double choose(const struct network *w, uint64_t *random, struct tuner_result *ret)
{
    struct comm_place place = { .rank = 0, .n_ranks = w->ranks };
    struct tuner c;

    tuner_init(&c, &place, w->node_bytes_per_s > 0 ? LAST_BYTES : 0, TUNER_BUDGET_S);
    return measure(w, random, &c, ret);
}

static int kind_for(const struct network *w, const struct tuner_result *r, size_t bytes)
{
    const char *kind =
        allreduce_choose(&(struct comm_place){ .n_ranks = w->ranks, .limits = &r->limits }, bytes);

    return strcmp(kind, "direct") == 0    ? TUNER_DIRECT
           : strcmp(kind, "tree") == 0    ? TUNER_TREE
           : strcmp(kind, "halving") == 0 ? TUNER_HALVING
                                          : TUNER_RING;
}

static const struct network networks[] = {
    { 2, 20e-6, 2e9, 0 },      { 4, 20e-6, 2e9, 0 },      { 8, 50e-6, 1e9, 0 },
    { 4, 100e-6, 125e6, 0 },   { 8, 100e-6, 125e6, 0 },   { 16, 100e-6, 125e6, 0 },
    { 16, 100e-6, 25e6, 0 },   { 16, 2e-3, 12.5e6, 0 },   { 64, 5e-6, 10e9, 0 },
    { 256, 30e-6, 1.25e9, 0 }, { 1000, 50e-6, 125e6, 0 },
};
enum { NETWORKS = sizeof networks / sizeof *networks };

/* Never much slower than the best kind, at sizes between the rungs too. */
START_TEST(the_fast_kind_is_chosen)
{
    const struct network *w = &networks[_i];
    struct tuner_result r;
    uint64_t random = 1;

    choose(w, &random, &r);
    for (size_t bytes = 4; bytes <= LAST_BYTES; bytes *= 2) {
        double best = INFINITY, got = time_of(w, kind_for(w, &r, bytes), bytes);

        for (int k = w->ranks > COMM_DIRECT_RANKS; k < TUNER_KINDS; k++)
            best = fmin(best, time_of(w, k, bytes));
        ck_assert_msg(got <= 2.5 * best, "%d ranks, %zu bytes: %g s, not %g s", w->ranks, bytes,
                      got, best);
    }
}
END_TEST

/* Of large buffers, which is what buckets are sized with. */
START_TEST(the_cost_is_that_of_what_is_chosen)
{
    const struct network *w = &networks[_i];
    struct tuner_result r;
    uint64_t random = 1;

    choose(w, &random, &r);
    for (size_t bytes = 256 << 10; bytes <= 32 << 20; bytes *= 2) {
        double got = r.cost.latency_s + (double)bytes / r.cost.bytes_per_s;
        double want = time_of(w, kind_for(w, &r, bytes), bytes);
        bool large = bytes > r.limits.tree_bytes;

        ck_assert_msg(!large || r.cost.bytes_per_s <= 0 || (got > want / 2 && got < want * 2),
                      "%d ranks, %zu bytes: %g s, not %g s", w->ranks, bytes, got, want);
    }
}
END_TEST

START_TEST(it_is_over_in_time)
{
    struct tuner_result r;
    uint64_t random = 1;

    ck_assert_double_lt(choose(&networks[_i], &random, &r), 2 * TUNER_BUDGET_S);
    ck_assert_uint_eq(r.limits.piece_bytes, COMM_PIECE_BYTES);
    ck_assert_uint_lt(strlen(r.reason), sizeof r.reason - 1);
    ck_assert(networks[_i].latency_s > 1e-3 || r.cost.bytes_per_s > 0);
    ck_assert_ptr_nonnull(
        strstr(r.reason, r.cost.bytes_per_s > 0 ? " ms per MB: " : "too slow to measure"));
}
END_TEST

/* Times that are off by up to three times: still no kind that is slower by far more.
 */
START_TEST(one_disturbed_figure_decides_little)
{
    uint64_t random = 7;

    for (int i = 0; i < 200; i++) {
        struct network w = networks[_i];
        struct tuner_result r;

        w.noise = 2;
        choose(&w, &random, &r);
        for (size_t bytes = 16; bytes <= LAST_BYTES; bytes *= 4) {
            double best = INFINITY, got = time_of(&w, kind_for(&w, &r, bytes), bytes);

            for (int k = w.ranks > COMM_DIRECT_RANKS; k < TUNER_KINDS; k++)
                best = fmin(best, time_of(&w, k, bytes));
            ck_assert_double_le(got, 15 * best);
        }
        ck_assert(isfinite(r.cost.latency_s) && isfinite(r.cost.bytes_per_s));
    }
}
END_TEST

/* Nothing but the latency is learnt: the usual limits hold. */
START_TEST(slow_messages_leave_no_time)
{
    const struct network w = { 4, 1, 1e9, 0 };
    struct tuner_result r;
    uint64_t random = 1;

    choose(&w, &random, &r);
    ck_assert_double_eq(r.cost.bytes_per_s, 0);
    ck_assert(r.limits.direct_bytes == 64 << 10 && r.limits.tree_bytes == 16 << 10);
}
END_TEST

/* Links that let 256 KB pass at once, as token buckets do: what was measured of small buffers makes
 * no kind that sends many copies the choice for large ones.
 */
START_TEST(a_burst_hides_no_copies)
{
    for (int ranks = 2; ranks <= 64; ranks *= 2) {
        const struct network w = { ranks, 200e-6, 25e6, 0, 0, 200e3 };
        struct tuner_result r;
        uint64_t random = 1;

        choose(&w, &random, &r);
        for (size_t bytes = 1 << 20; bytes <= 64 << 20; bytes *= 2) {
            int kind = kind_for(&w, &r, bytes);

            ck_assert_msg(ranks == 2 || kind == TUNER_HALVING || kind == TUNER_RING,
                          "%d ranks, %zu bytes: kind %d", ranks, bytes, kind);
        }
    }
}
END_TEST

/* On a slow link halving's and a ring's times of the larger rungs are those of the bytes: what luck
 * says of them is no reason to leave the ring, also where small messages go another way.
 */
START_TEST(luck_on_a_full_link_keeps_the_ring)
{
    const struct network w = { 4, 100e-6, 12.5e6, 0 };
    struct tuner_result r;
    struct tuner_rung rung;
    struct tuner c;

    tuner_init(&c, &(struct comm_place){ .n_ranks = 4, .hosts = true }, 0, TUNER_BUDGET_S);
    while (tuner_next(&c, &rung)) {
        double s[TUNER_KINDS] = { 0 };

        for (int k = 0; k < TUNER_KINDS; k++)
            if (rung.kind[k])
                s[k] = time_of(&w, k, rung.bytes) *
                       (rung.bytes <= 16 << 10 && k != TUNER_DIRECT ? 4 : 1);
        if (rung.kind[TUNER_HALVING])
            s[TUNER_HALVING] *= 0.95;
        tuner_note(&c, s);
    }
    tuner_choose(&c, &r);
    ck_assert_uint_gt(r.limits.direct_bytes, 16 << 10);
    for (size_t bytes = 512 << 10; bytes <= 64 << 20; bytes *= 2)
        ck_assert_int_eq(kind_for(&w, &r, bytes), TUNER_RING);
}
END_TEST

/* A kind is left out for a second run of the others, and only for that: of two ranks a tree takes
 * twice as long as the rest.
 */
START_TEST(kinds_make_room_for_a_second_run)
{
    static const struct {
        double bytes_per_s;
        int runs; /* of 256 KB */
        bool tree;
    } rows[] = { { 20e6, 2, true }, { 6e6, 2, false }, { 5.1e6, 1, true } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct network w = { 2, 100e-6, rows[i].bytes_per_s, 0 };
        struct tuner_rung rung;
        struct tuner c;

        tuner_init(&c, &(struct comm_place){ .n_ranks = 2 }, 0, TUNER_BUDGET_S);
        while (tuner_next(&c, &rung) && rung.bytes < 256 << 10) {
            double s[TUNER_KINDS] = { 0 };

            for (int k = 0; k < TUNER_KINDS; k++)
                s[k] = rung.kind[k] ? time_of(&w, k, rung.bytes) : 0;
            tuner_note(&c, s);
        }
        ck_assert_uint_eq(rung.bytes, 256 << 10);
        ck_assert_msg(rung.runs == rows[i].runs && (rung.kind[TUNER_TREE] != NULL) == rows[i].tree,
                      "row %zu: %d runs, %s tree", i, rung.runs,
                      rung.kind[TUNER_TREE] ? "a" : "no");
        ck_assert(rung.kind[TUNER_HALVING] && rung.kind[TUNER_RING]);
    }
}
END_TEST

START_TEST(shared_memory_where_it_is_faster)
{
    struct network w = { 4, 20e-6, 2e9, 0, 10e9 };
    struct tuner_result r;
    uint64_t random = 1;

    choose(&w, &random, &r);
    ck_assert(r.shared && strstr(r.reason, "in memory that ranks of a node share"));
    ck_assert_double_eq_tol(r.cost.bytes_per_s, 10e9, 1e7);
    ck_assert_double_eq_tol(r.cost.latency_s, 20e-6, 1e-7);
    w.node_bytes_per_s = 1e5;
    choose(&w, &random, &r);
    ck_assert(!r.shared && strstr(r.reason, "ring"));
    w.node_bytes_per_s = 0;
    choose(&w, &random, &r);
    ck_assert(!r.shared);
}
END_TEST

/* A model of some KB: nothing larger can be reduced in its memory, but the cost is known. */
START_TEST(a_small_arena_has_a_cost)
{
    const struct network w = { 4, 20e-6, 2e9, 0, 10e9 };
    struct tuner_result r;
    uint64_t random = 1;
    struct tuner c;

    for (size_t arena = 64; arena <= 64 << 10; arena *= 16) {
        tuner_init(&c, &(struct comm_place){ .n_ranks = 4 }, arena, TUNER_BUDGET_S);
        measure(&w, &random, &c, &r);
        ck_assert(r.shared && r.cost.bytes_per_s > 0);
        ck_assert_ptr_null(strstr(r.reason, "too slow"));
    }
}
END_TEST

START_TEST(the_reason_names_what_is_used)
{
    static const struct {
        struct network w;
        const char *reason;
    } rows[] = {
        { { 4, 100e-6, 125e6, 0, 0 },
          "a measured all-reduce takes 0.387 ms plus 12.1 ms per MB: direct up to 64 KB, by "
          "halving up to 256 KB, by a ring above" },
        { { 16, 100e-6, 125e6, 0, 0 },
          "a measured all-reduce takes 0.804 ms plus 15 ms per MB: by a tree up to 0.25 KB, by "
          "halving up to 64 MB, by a ring above" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tuner_result r;
        uint64_t random = 1;

        choose(&rows[i].w, &random, &r);
        ck_assert_str_eq(r.reason, rows[i].reason);
    }
}
END_TEST

/* Where memory is shared on several nodes what was measured among these holds, and the reason says
 * so; messages among all have their own limits.
 */
START_TEST(limits_between_nodes_hold)
{
    struct network w = { 16, 20e-6, 2e9, 0, 10e9 };
    const struct tuner_result among = { .limits = { 1, 2, 3, 4, 5 }, .messages = "by pigeon" };
    struct tuner_result r;
    uint64_t random = 1;
    struct tuner c;

    for (int slow = 0; slow < 2; slow++) {
        w.node_bytes_per_s = slow ? 1e5 : 10e9;
        tuner_init(&c, &(struct comm_place){ .n_ranks = w.ranks }, LAST_BYTES, TUNER_BUDGET_S);
        c.between = &among;
        measure(&w, &random, &c, &r);
        ck_assert_int_eq(r.shared, !slow);
        ck_assert_int_eq(r.limits.tree_bytes == 2, !slow);
        ck_assert_int_eq(strstr(r.reason, "share, between nodes by pigeon") != NULL, !slow);
    }
}
END_TEST

/* Eight times the latency's bytes, of a ring its many steps' too, between the usual and a limit. */
START_TEST(pieces_outweigh_their_latency)
{
    const struct comm_limits ring = { .halving_bytes = 256 << 10 },
                             halving = { .halving_bytes = 64 << 20 };
    const struct comm_cost slow = { 100e-6, 80e6 }, fast = { 60e-6, 6.25e9 };

    ck_assert_uint_eq(tuner_stage_bytes(&slow, &ring, 4), 2 << 20);
    ck_assert_uint_eq(tuner_stage_bytes(&(struct comm_cost){ 0 }, &ring, 256), 2 << 20);
    ck_assert_uint_eq(tuner_stage_bytes(&fast, &halving, 64), 3000000);
    ck_assert_uint_eq(tuner_stage_bytes(&fast, &ring, 16), 11250000);
    ck_assert_uint_eq(tuner_stage_bytes(&fast, &ring, 256), 16 << 20);
}
END_TEST

START_TEST(one_rank_measures_nothing)
{
    struct tuner_rung rung;
    struct tuner c;

    tuner_init(&c, &(struct comm_place){ .n_ranks = 1 }, 0, TUNER_BUDGET_S);
    ck_assert(!tuner_next(&c, &rung));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, the_fast_kind_is_chosen, 0, NETWORKS);
    tcase_add_loop_test(tc, the_cost_is_that_of_what_is_chosen, 0, NETWORKS);
    tcase_add_loop_test(tc, it_is_over_in_time, 0, NETWORKS);
    tcase_add_loop_test(tc, one_disturbed_figure_decides_little, 0, NETWORKS);
    tcase_add_test(tc, slow_messages_leave_no_time);
    tcase_add_test(tc, a_burst_hides_no_copies);
    tcase_add_test(tc, luck_on_a_full_link_keeps_the_ring);
    tcase_add_test(tc, kinds_make_room_for_a_second_run);
    tcase_add_test(tc, shared_memory_where_it_is_faster);
    tcase_add_test(tc, a_small_arena_has_a_cost);
    tcase_add_test(tc, the_reason_names_what_is_used);
    tcase_add_test(tc, limits_between_nodes_hold);
    tcase_add_test(tc, pieces_outweigh_their_latency);
    tcase_add_test(tc, one_rank_measures_nothing);
}

SUITE_MAIN("choose", add_tests)
