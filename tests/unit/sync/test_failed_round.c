/* SPDX-License-Identifier: Apache-2.0 */
/* test_failed_round.c - property 50: a round that fails changes neither the common model nor the
 * outer momentum
 *
 * Three ranks with parameters of three types end two rounds over the in-process loop.  The second
 * end is cut on rank 0 after each number of operations in turn, as by a transport that then fails,
 * or rank 2 is dead and takes no part.
 */
#include "bench/loop.h"
#include "lib/base/random.h"
#include "lib/comm/half.h"
#include "lib/sync/sync.h"
#include "suite.h"

#include <limits.h>
#include <string.h>

enum { RANKS = 3, DEAD = 2, SINGLES = 700, DOUBLES = 900, HALVES = 600, FLOATS = SINGLES + HALVES };

/* What a round's end may change on a rank. */
struct state {
    float single[SINGLES];
    double wide[DOUBLES];
    uint16_t half[HALVES];
    float momentum[FLOATS];
    double momentum_wide[DOUBLES];
    float common[HALVES]; /* the float32 common model of the 16-bit parameters */
};

struct rank {
    struct state s;
    struct sync_value value[3];
    struct sync_halves halves;
    struct sync *sync;
    struct transport *end;
    struct outbox out;
    int done;  /* operations completed in the present exchange */
    bool met;  /* with overlap: the end is over but for its result */
    bool over; /* the exchange is over */
};

/* A job in which rank 0 receives at most `most` operations of an exchange. */
struct ranks {
    struct rank rank[RANKS];
    struct loop *loop;
    bool overlaps;
    int n, most; /* ranks that take part; see above */
};

/* ---- the job ---- */

static void rank_open(struct ranks *j, int r, const char *algorithm)
{
    struct rank *k = &j->rank[r];
    struct sync_models models = { .value = k->value,
                                  .n_values = 3,
                                  .halves = &k->halves,
                                  .all = { .rank = r, .n_ranks = RANKS },
                                  .momentum = { k->s.momentum, k->s.momentum_wide } };
    struct sync_setup setup = { .place = { .rank = 0, .n_ranks = 1 },
                                .models = &models,
                                .options = { .overlap = j->overlaps } };

    if (algorithm_has(algorithm, ALGORITHM_OUTER)) {
        setup.options.outer_rate = 0.7;
        setup.options.outer_momentum = 0.9;
    }
    k->value[0] = (struct sync_value){ k->s.single, SINGLES, COMM_FLOAT32 };
    k->value[1] = (struct sync_value){ k->s.wide, DOUBLES, COMM_FLOAT64 };
    k->value[2] = (struct sync_value){ k->s.half, HALVES, COMM_BFLOAT16 };
    k->halves = (struct sync_halves){ .centre = k->s.common, .n = HALVES };
    ck_assert_int_eq(sync_open(algorithm, &setup, &k->sync, NULL), 0);
    ck_assert_int_eq(loop_open(j->loop, r, &k->end, NULL), 0);
}

static void ranks_open(struct ranks *j, const char *algorithm, bool overlaps, uint64_t seed)
{
    *j = (struct ranks){ .overlaps = overlaps, .n = RANKS, .most = INT_MAX };
    ck_assert_int_eq(loop_new(RANKS, seed, &j->loop, NULL), 0);
    for (int r = 0; r < RANKS; r++)
        rank_open(j, r, algorithm);
}

static void ranks_close(struct ranks *j)
{
    for (int r = 0; r < RANKS; r++) {
        sync_close(j->rank[r].sync);
        transport_close(j->rank[r].end, false, NULL);
        outbox_fini(&j->rank[r].out);
    }
    loop_free(j->loop);
}

/* Begin an exchange on a rank and post what it sends. */
static void rank_begin(struct ranks *j, int r, enum sync_exchange what)
{
    struct rank *k = &j->rank[r];
    const struct sync_turn turn = { .what = what,
                                    .period = 4,
                                    .weight = 10 * (r + 1),
                                    .whole = 60,
                                    .moved = what == SYNC_LAND,
                                    .tag = { 0, 1, 2 } };
    int rc = sync_exchange(k->sync, &turn, loop_now_ns(j->loop), &k->out, NULL);

    ck_assert_int_ge(rc, 0);
    ck_assert_int_eq(transport_post(k->end, &k->out, NULL), 0);
    k->over = rc == 1;
}

/* Note that an exchange is over on a rank: with overlap its result is still to be applied. */
static void rank_go_on(struct ranks *j, int r, enum sync_exchange what)
{
    struct rank *k = &j->rank[r];

    if (sync_exchanging(k->sync) || k->over)
        return;
    if (!j->overlaps || what != SYNC_STEP || k->met) {
        k->over = true;
        return;
    }
    k->met = true;
    for (int i = 0; i < SINGLES; i++)
        k->s.single[i] += 1.0F / 64; /* by a step */
    rank_begin(j, r, SYNC_LAND);
}

static void rank_receive(struct ranks *j, int r, enum sync_exchange what)
{
    struct rank *k = &j->rank[r];
    struct comm_op op;

    while ((r || k->done < j->most) && transport_poll(k->end, &op, 1, NULL) == 1) {
        k->done++;
        ck_assert_int_eq(sync_receive(k->sync, &op, loop_now_ns(j->loop), &k->out, NULL), 0);
        ck_assert_int_eq(transport_post(k->end, &k->out, NULL), 0);
        rank_go_on(j, r, what);
    }
}

/* Make an exchange as far as it comes, or until rank 0 is cut off. */
static void exchange(struct ranks *j, enum sync_exchange what)
{
    for (int r = 0; r < j->n; r++) {
        j->rank[r].done = 0;
        j->rank[r].met = j->rank[r].over = false;
        rank_begin(j, r, what);
    }
    do
        for (int r = 0; r < j->n; r++)
            rank_receive(j, r, what);
    while (j->rank[0].done < j->most && loop_advance(j->loop));
    for (int r = 0; r < j->n; r++)
        rank_receive(j, r, what);
}

/* Change the models by steps of their own. */
static void train(struct ranks *j)
{
    for (int r = 0; r < RANKS; r++) {
        struct state *s = &j->rank[r].s;
        uint64_t random = 7 + (uint64_t)r;
        float was[HALVES];

        for (int i = 0; i < SINGLES; i++)
            s->single[i] += (float)random_unit(&random);
        for (int i = 0; i < DOUBLES; i++)
            s->wide[i] += random_unit(&random);
        comm_from_half(COMM_BFLOAT16, was, s->half, HALVES);
        for (int i = 0; i < HALVES; i++)
            was[i] += (float)random_unit(&random);
        comm_to_half(COMM_BFLOAT16, s->half, was, HALVES);
    }
}

/* Begin with the same model, and end a round. */
static void first_round(struct ranks *j)
{
    exchange(j, SYNC_START);
    train(j);
    exchange(j, SYNC_STEP);
    ck_assert(j->rank[0].over);
    train(j);
    rank_begin(j, 0, SYNC_ADOPT); /* shows the common model, and changes no parameter */
}

/* End the second round as far as it comes, and compare rank 0 with how it was.  Return whether the
 * end is over there.
 */
static bool second_end(struct ranks *j)
{
    static struct state before;
    struct rank *k = &j->rank[0];

    before = k->s;
    exchange(j, SYNC_STEP);
    if (k->over)
        return true;
    for (int i = 0; i < SINGLES && k->met; i++)
        before.single[i] += 1.0F / 64;
    rank_begin(j, 0, SYNC_ADOPT);
    ck_assert_mem_eq(k->s.momentum, before.momentum, sizeof before.momentum);
    ck_assert_mem_eq(k->s.momentum_wide, before.momentum_wide, sizeof before.momentum_wide);
    ck_assert_mem_eq(k->s.common, before.common, sizeof before.common);
    ck_assert_mem_eq(&k->s, &before, sizeof before);
    return false;
}

/* ---- the tests ---- */

static const struct row {
    const char *algorithm;
    bool overlaps;
} rows[] = { { "local", false }, { "local", true }, { "diloco", false }, { "diloco", true } };

enum { ROWS = sizeof rows / sizeof *rows };

START_TEST(property_50_a_transport_fails)
{
    const struct row *row = &rows[_i];

    for (uint64_t seed = 1; seed <= (uint64_t)SUITE_SEEDS(20); seed++) {
        static struct ranks j;
        bool over = false;
        int most = 0;

        for (; !over; most++) {
            ranks_open(&j, row->algorithm, row->overlaps, seed);
            first_round(&j);
            j.most = most;
            over = second_end(&j);
            ck_assert(!j.rank[0].s.momentum[0] == !algorithm_has(row->algorithm, ALGORITHM_OUTER));
            ranks_close(&j);
        }
        ck_assert_int_gt(most, 2 * (RANKS - 1)); /* sums of both types were cut */
    }
}
END_TEST

START_TEST(property_50_a_rank_is_dead)
{
    const struct row *row = &rows[_i];
    static struct ranks j;

    ranks_open(&j, row->algorithm, row->overlaps, 3);
    first_round(&j);
    j.n = DEAD;
    ck_assert(!second_end(&j));
    ranks_close(&j);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, property_50_a_transport_fails, 0, ROWS);
    tcase_add_loop_test(tc, property_50_a_rank_is_dead, 0, ROWS);
}

SUITE_MAIN("failed_round", add_tests)
