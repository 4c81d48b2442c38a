/* SPDX-License-Identifier: Apache-2.0 */
/* test_collective.c - every collective on the in-process loop, in random orders of delivery,
 * against a serial one. */
#include "lib/comm/collective.h"

#include "bench/loop.h"
#include "element.h"
#include "lib/base/random.h"
#include "suite.h"
#include "sums.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { MAX_RANKS = 11 };

/* N ranks, each with any number of collectives started on it. */
struct world {
    int n;
    struct loop *loop;
    struct transport *end[MAX_RANKS];
    struct collective *c[MAX_RANKS]; /* freed with it */
    int running;
};

static void world_open(struct world *w, int n, uint64_t seed)
{
    *w = (struct world){ .n = n };
    ck_assert_int_eq(loop_new(n, seed, &w->loop, NULL), 0);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(loop_open(w->loop, i, &w->end[i], NULL), 0);
}

static void world_close(struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        collective_free(w->c[i]);
        transport_close(w->end[i], true, NULL);
    }
    loop_free(w->loop);
}

static void world_start(struct world *w, int rank, struct collective *c, int tag)
{
    struct outbox out = { 0 };
    int rc = collective_start(c, tag, &out, NULL);

    ck_assert_int_ge(rc, 0);
    w->running += rc == 0;
    ck_assert_int_eq(transport_post(w->end[rank], &out, NULL), 0);
    outbox_fini(&out);
}

static bool world_poll(struct world *w, int rank)
{
    struct outbox out = { 0 };
    struct comm_op op;
    int n = transport_poll(w->end[rank], &op, 1, NULL), rc;

    ck_assert_int_ge(n, 0);
    if (!n)
        return false;
    rc = collective_done(op.owner, &op, &out, NULL);
    ck_assert_int_ge(rc, 0);
    w->running -= rc;
    ck_assert_int_eq(transport_post(w->end[rank], &out, NULL), 0);
    outbox_fini(&out);
    return true;
}

/* Until nothing moves; returns how many collectives are not over. */
static int world_run(struct world *w, uint64_t seed)
{
    bool moved;

    do {
        int first = (int)random_below(&seed, (uint64_t)w->n);

        moved = false;
        for (int i = 0; i < w->n && !moved; i++)
            moved = world_poll(w, (first + i) % w->n);
        if (!moved)
            moved = loop_advance(w->loop);
    } while (moved);
    return w->running;
}

/* ---- all-reduce ---- */

/* Small whole numbers, so that every type sums them exactly. */
static void set(enum comm_type type, void *p, size_t i, int v)
{
    float f = (float)v;

    switch (type) {
    case COMM_FLOAT32:
        ((float *)p)[i] = (float)v;
        break;
    case COMM_FLOAT64:
        ((double *)p)[i] = v;
        break;
    case COMM_INT32:
        ((int32_t *)p)[i] = v;
        break;
    case COMM_INT64:
        ((int64_t *)p)[i] = v;
        break;
    case COMM_UINT8:
        ((uint8_t *)p)[i] = (uint8_t)v;
        break;
    case COMM_FLOAT16:
        float16s_from_floats((uint16_t *)p + i, &f, 1);
        break;
    case COMM_BFLOAT16:
        bfloat16s_from_floats((uint16_t *)p + i, &f, 1);
        break;
    }
}

static double rule(enum comm_rule r, double a, double b)
{
    return r == COMM_SUM ? a + b : r == COMM_MIN ? (b < a ? b : a) : (b > a ? b : a);
}

struct reduction_case {
    const char *kind;
    int ranks;
    size_t n;
    enum comm_type type;
    enum comm_rule rule;
    bool tail;
    uint64_t seed;
    size_t piece_bytes; /* of a ring's messages; 0: the usual limits */
};

static void reduce_once(const struct reduction_case *k)
{
    size_t bytes = k->n * comm_type_bytes(k->type);
    size_t tail_bytes = k->tail ? sizeof(struct tail) : 0;
    void *data[MAX_RANKS];
    double *want = calloc(k->n + 1, sizeof *want);
    struct comm_limits limits = { .piece_bytes = k->piece_bytes };
    uint64_t random = k->seed;
    struct world w;

    world_open(&w, k->ranks, k->seed);
    for (int r = 0; r < k->ranks; r++) {
        struct comm_place place = { .rank = r,
                                    .n_ranks = k->ranks,
                                    .limits = k->piece_bytes ? &limits : NULL };
        struct tail t = { r + 1, r * 10 };

        data[r] = malloc(bytes + sizeof t + 1);
        for (size_t i = 0; i < k->n; i++) {
            int v = (int)random_below(&random, 20);

            set(k->type, data[r], i, v);
            want[i] = r ? rule(k->rule, want[i], v) : v;
        }
        memcpy((char *)data[r] + bytes, &t, tail_bytes);
        ck_assert_int_eq(allreduce_new_kind(k->kind, &place,
                                            &(struct allreduce){ data[r], k->n, k->type, k->rule,
                                                                 tail_bytes, trailer_rule },
                                            &w.c[r], NULL),
                         0);
        world_start(&w, r, w.c[r], 7);
    }
    ck_assert_msg(world_run(&w, k->seed) == 0, "%s of %zu with %d ranks does not end", k->kind,
                  k->n, k->ranks);
    for (int r = 0; r < k->ranks; r++) {
        struct tail t;

        for (size_t i = 0; i < k->n; i++)
            ck_assert_double_eq(element_get(k->type, data[r], i), want[i]);
        memcpy(&t, (char *)data[r] + bytes, tail_bytes);
        if (k->tail) {
            ck_assert_int_eq(t.sum, k->ranks * (k->ranks + 1) / 2);
            ck_assert_int_eq(t.max, (k->ranks - 1) * 10);
        }
        free(data[r]);
    }
    free(want);
    world_close(&w);
}

static const char *const kinds[] = { "ring", "direct", "tree", "halving" };

/* A sanitizer gets each type and rule with every third number of ranks. */
START_TEST(allreduce_is_right)
{
    static const size_t lengths[] = { 0, 1, 2, 7, 64, 257 };
    uint64_t seed = 1;

    for (int type = COMM_FLOAT32; type <= COMM_BFLOAT16; type++)
        for (int r = COMM_SUM; r <= COMM_MAX; r++)
            for (int ranks = SUITE_SHADOWED ? 1 + (type + r) % 3 : 1; ranks <= MAX_RANKS;
                 ranks += SUITE_SHADOWED ? 3 : 1)
                for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                    reduce_once(&(struct reduction_case){
                        kinds[_i], ranks, lengths[l], (enum comm_type)type, (enum comm_rule)r,
                        lengths[l] * comm_type_bytes((enum comm_type)type) % 8 == 0, seed++ });
}
END_TEST

enum { OTHER_RANKS = 3, OTHER_N = 1000, OTHER_BUFFERS = 4 };

/* A rank begins with the next buffer as soon as its own sum is there, while others are still at the
 * one before: one instance under one tag.
 */
static void sum_all_buffers(struct collective *c[OTHER_RANKS],
                            float x[OTHER_BUFFERS][OTHER_RANKS][OTHER_N], uint64_t seed)
{
    int begun[OTHER_RANKS] = { 0 };
    struct world w;
    bool moved;

    world_open(&w, OTHER_RANKS, seed);
    for (int r = 0; r < OTHER_RANKS; r++) {
        allreduce_redirect(c[r], x[begun[r]++][r]);
        world_start(&w, r, c[r], 1);
    }
    do {
        int first = (int)random_below(&seed, OTHER_RANKS);

        moved = false;
        for (int i = 0; i < OTHER_RANKS && !moved; i++) {
            int r = (first + i) % OTHER_RANKS, running = w.running;

            moved = world_poll(&w, r);
            if (w.running < running && begun[r] < OTHER_BUFFERS) {
                allreduce_redirect(c[r], x[begun[r]++][r]);
                world_start(&w, r, c[r], 1);
            }
        }
        if (!moved)
            moved = loop_advance(w.loop);
    } while (moved);
    ck_assert_int_eq(w.running, 0);
    world_close(&w);
}

START_TEST(an_allreduce_goes_to_other_memory)
{
    static float x[OTHER_BUFFERS][OTHER_RANKS][OTHER_N];

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct collective *c[OTHER_RANKS];

        for (int r = 0; r < OTHER_RANKS; r++) {
            for (int b = 0; b < OTHER_BUFFERS; b++)
                for (int i = 0; i < OTHER_N; i++)
                    x[b][r][i] = (float)(100 * b + r + i);
            c[r] = new_sum(kinds[_i], &(struct comm_place){ r, OTHER_RANKS }, x[0][r], OTHER_N,
                           COMM_FLOAT32);
        }
        sum_all_buffers(c, x, seed);
        for (int r = 0; r < OTHER_RANKS; r++) {
            for (int b = 0; b < OTHER_BUFFERS; b++)
                for (int i = 0; i < OTHER_N; i++)
                    ck_assert(x[b][r][i] == (float)(3 * (100 * b + i) + 3));
            collective_free(c[r]);
        }
    }
}
END_TEST

/* Two groups of odd and even ranks at once, and all of them together on another channel with the
 * same tag.
 */
START_TEST(groups_do_not_disturb_each_other)
{
    enum { RANKS = 6 };
    static const int member[2][RANKS / 2] = { { 4, 0, 2 }, { 1, 5, 3 } };

    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct collective *c[RANKS][2];
        double group[RANKS], all[RANKS];
        struct world w;

        world_open(&w, RANKS, seed);
        for (int i = 0; i < RANKS; i++) {
            int r = member[i % 2][i / 2];
            const struct comm_place place[2] = {
                { .rank = i / 2, .n_ranks = RANKS / 2, .peer = member[i % 2] },
                { .rank = r, .n_ranks = RANKS, .channel = COMM_REQUESTS },
            };

            group[r] = all[r] = 1 << r;
            for (int k = 0; k < 2; k++) {
                c[r][k] = new_sum(kinds[_i], &place[k], k ? &all[r] : &group[r], 1, COMM_FLOAT64);
                world_start(&w, r, c[r][k], 7);
            }
        }
        if (seed == 1)
            ck_assert_int_eq(collective_waits_for(c[4][0]) % 2, 0); /* a rank, not a member */
        ck_assert_int_eq(world_run(&w, seed), 0);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_double_eq(group[r], r % 2 ? 2 + 8 + 32 : 1 + 4 + 16);
            ck_assert_double_eq(all[r], 63);
            collective_free(c[r][0]);
            collective_free(c[r][1]);
        }
        world_close(&w);
    }
}
END_TEST

/* Random floats: ranks agree to the bit, whatever the order of messages. */
START_TEST(bits_do_not_depend_on_timing)
{
    enum { N = 1000, RANKS = 7 };
    static float x[RANKS][N], first[N];

    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = 99;
        struct world w;

        world_open(&w, RANKS, seed);
        for (int r = 0; r < RANKS; r++) {
            for (int i = 0; i < N; i++)
                x[r][i] = (float)(random_unit(&random) - 0.5);
            w.c[r] = new_sum(kinds[_i], &(struct comm_place){ r, RANKS }, x[r], N, COMM_FLOAT32);
            world_start(&w, r, w.c[r], 1);
        }
        ck_assert_int_eq(world_run(&w, seed), 0);
        if (seed == 1)
            memcpy(first, x[0], sizeof first);
        for (int r = 0; r < RANKS; r++)
            ck_assert_mem_eq(x[r], first, sizeof first);
        world_close(&w);
    }
}
END_TEST

/* A ring's blocks in one segment, in many, and in more than there are elements; fewer elements than
 * ranks; with and without a tail.
 */
START_TEST(a_ring_in_any_segments_is_right)
{
    uint64_t random = 77;

    for (uint64_t seed = 1; seed <= (uint64_t)SUITE_SEEDS(120); seed++)
        reduce_once(&(struct reduction_case){
            .kind = "ring",
            .ranks = 1 + (int)random_below(&random, MAX_RANKS),
            .n = random_below(&random, seed % 4 ? 120 : MAX_RANKS),
            .type = (enum comm_type)(1 + (int)random_below(&random, COMM_INT64)),
            .rule = (enum comm_rule)(1 + (int)random_below(&random, COMM_MAX)),
            .tail = seed % 2,
            .seed = seed,
            .piece_bytes = 1 + random_below(&random, 100) });
}
END_TEST

/* One ring of float32 on every rank over n elements, in messages of piece_bytes; x [ranks][n], sent
 * [ranks] in bytes.
 */
static void ring_once(int ranks, size_t n, float *const *x, size_t piece_bytes, size_t tail_bytes,
                      uint64_t seed, int64_t *sent)
{
    const struct comm_limits limits = { .piece_bytes = piece_bytes };
    struct world w;

    world_open(&w, ranks, seed);
    for (int r = 0; r < ranks; r++) {
        struct comm_place p = { .rank = r, .n_ranks = ranks, .limits = &limits };
        struct allreduce a = { x[r], n, COMM_FLOAT32, COMM_SUM, tail_bytes, trailer_rule };

        ck_assert_int_eq(allreduce_new_kind("ring", &p, &a, &w.c[r], NULL), 0);
        world_start(&w, r, w.c[r], 1);
    }
    ck_assert_int_eq(world_run(&w, seed), 0);
    for (int r = 0; r < ranks; r++)
        sent[r] = w.end[r]->sent_bytes;
    world_close(&w);
}

/* The order of additions is that of ranks, also in segments: the same bits as in one piece. */
START_TEST(segments_change_no_bit)
{
    enum { N = 500, RANKS = 5, TAIL = sizeof(struct tail) };
    static const size_t segments[] = { 0, 4, 40, 100, 333 };
    static float space[RANKS][N + TAIL / sizeof(float)], first[N];
    int64_t sent[RANKS];
    float *x[RANKS];

    for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
        uint64_t random = 5;

        for (int r = 0; r < RANKS; r++) {
            x[r] = space[r];
            for (int i = 0; i < N; i++)
                x[r][i] = (float)(random_unit(&random) - 0.5);
        }
        ring_once(RANKS, N, x, segments[s], 0, s + 1, sent);
        if (s == 0)
            memcpy(first, x[0], sizeof first);
        for (int r = 0; r < RANKS; r++)
            ck_assert_mem_eq(x[r], first, sizeof first);
    }
}
END_TEST

/* Property 4 of the reference: traffic counters equal 2 M (P - 1) / P a rank, Patarasuk and Yuan's
 * bound: for the mean of the ranks to the byte, for each within a block's odd element and the tail.
 */
START_TEST(property_4_ring_traffic)
{
    uint64_t random = 4;

    for (int ranks = 1; ranks <= MAX_RANKS; ranks++)
        for (int k = 0; k < 8; k++) {
            size_t n = random_below(&random, 400), tail_bytes = k % 2 ? sizeof(struct tail) : 0;
            int64_t m = (int64_t)(n * sizeof(float) + tail_bytes), sent[MAX_RANKS], all = 0;
            float *x[MAX_RANKS];

            for (int r = 0; r < ranks; r++)
                x[r] = calloc(1, (size_t)m + 1);
            ring_once(ranks, n, x, k < 4 ? 0 : 64, tail_bytes, 5, sent);
            for (int r = 0; r < ranks; r++) {
                int64_t off = sent[r] - 2 * m * (ranks - 1) / ranks;

                ck_assert_int_le(off < 0 ? -off : off, 2 * (int64_t)(sizeof(float) + tail_bytes));
                all += sent[r];
                free(x[r]);
            }
            ck_assert_int_eq(all, 2 * m * (ranks - 1));
        }
}
END_TEST

/* One that has not started is named by all the others once they can go no further (when
 * small messages leave at once, as they do here and in MPI), or by one who waits for it, whom
 * another waits for, and so on.
 */
START_TEST(the_missing_rank_is_named)
{
    for (int ranks = 2; ranks <= MAX_RANKS; ranks++)
        for (int absent = 0; absent < ranks; absent++) {
            double x[MAX_RANKS][MAX_RANKS] = { { 0 } };
            struct world w;

            world_open(&w, ranks, 0);
            for (int r = 0; r < ranks; r++) {
                w.c[r] = new_sum(kinds[_i], &(struct comm_place){ r, ranks }, x[r], MAX_RANKS,
                                 COMM_FLOAT64);
                if (r != absent)
                    world_start(&w, r, w.c[r], 1);
            }
            ck_assert_int_eq(world_run(&w, 3), ranks - 1);
            for (int r = 0; r < ranks; r++) {
                bool chain = strcmp(kinds[_i], "tree") == 0 || strcmp(kinds[_i], "halving") == 0;
                int named = r;

                for (int i = 0; named != absent && i < (chain ? ranks : 1); i++)
                    named = collective_waits_for(w.c[named]);
                ck_assert_int_eq(named, absent);
            }
            world_start(&w, absent, w.c[absent], 1);
            ck_assert_int_eq(world_run(&w, 3), 0);
            world_close(&w);
        }
}
END_TEST

/* ---- the others ---- */

START_TEST(broadcast_from_every_root)
{
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++)
        for (int root = 0; root < ranks; root++) {
            char x[MAX_RANKS][20];
            struct world w;

            world_open(&w, ranks, (uint64_t)(ranks * 100 + root));
            for (int r = 0; r < ranks; r++) {
                memset(x[r], 'a' + r, sizeof x[r]);
                ck_assert_int_eq(broadcast_new(&(struct comm_place){ r, ranks }, x[r], sizeof x[r],
                                               root, &w.c[r], NULL),
                                 0);
                world_start(&w, r, w.c[r], 1);
            }
            ck_assert_int_eq(world_run(&w, 1), 0);
            for (int r = 0; r < ranks; r++) {
                ck_assert_int_eq(x[r][0], 'a' + root);
                ck_assert_mem_eq(x[r], x[root], sizeof x[r]);
            }
            world_close(&w);
        }
}
END_TEST

START_TEST(allgather_keeps_the_order)
{
    static const size_t lengths[] = { 0, 1, 33 };

    for (int ranks = 1; ranks <= MAX_RANKS; ranks++)
        for (size_t l = 0; l < 3; l++) {
            char in[MAX_RANKS][33], out[MAX_RANKS][MAX_RANKS * 33];
            struct world w;

            world_open(&w, ranks, (uint64_t)ranks);
            for (int r = 0; r < ranks; r++) {
                memset(in[r], 'a' + r, sizeof in[r]);
                ck_assert_int_eq(allgather_new(&(struct comm_place){ r, ranks }, in[r], out[r],
                                               lengths[l], &w.c[r], NULL),
                                 0);
                world_start(&w, r, w.c[r], 1);
            }
            ck_assert_int_eq(world_run(&w, 2), 0);
            for (int r = 0; r < ranks; r++)
                for (size_t i = 0; i < (size_t)ranks * lengths[l]; i++)
                    ck_assert_int_eq(out[r][i], 'a' + (int)(i / lengths[l]));
            world_close(&w);
        }
}
END_TEST

START_TEST(nobody_leaves_a_barrier_early)
{
    for (int ranks = 2; ranks <= MAX_RANKS; ranks++) {
        struct world w;

        world_open(&w, ranks, (uint64_t)ranks);
        for (int r = 0; r < ranks; r++)
            ck_assert_int_eq(barrier_new(&(struct comm_place){ r, ranks }, &w.c[r], NULL), 0);
        for (int r = 0; r < ranks; r++) {
            ck_assert_int_eq(world_run(&w, 1), r);
            world_start(&w, r, w.c[r], 1);
        }
        ck_assert_int_eq(world_run(&w, 1), 0);
        world_close(&w);
    }
}
END_TEST

START_TEST(kind_by_size_and_place)
{
    static const struct {
        int ranks;
        bool hosts;
        size_t bytes;
        const char *kind;
    } rows[] = {
        { 4, false, 64 << 10, "direct" },        { 4, false, (64 << 10) + 1, "halving" },
        { 4, false, (256 << 10) + 1, "ring" },   { 9, false, 16 << 10, "tree" },
        { 9, false, (16 << 10) + 1, "halving" }, { 4, true, 8 << 10, "direct" },
        { 4, true, (8 << 10) + 1, "tree" },      { 16, true, 8, "tree" },
        { 16, true, 16 << 10, "tree" },          { 16, true, 256 << 10, "halving" },
        { 16, true, (256 << 10) + 1, "ring" },   { 4, true, (16 << 10) + 1, "halving" },
    };

    static const struct comm_limits limits = { 100, 1000, 10000, 0 };
    struct comm_place p = { .n_ranks = 4, .limits = &limits };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(allreduce_choose(&(struct comm_place){ 0, rows[i].ranks, rows[i].hosts },
                                          rows[i].bytes),
                         rows[i].kind);
    ck_assert_str_eq(allreduce_choose(&p, 100), "direct");
    ck_assert_str_eq(allreduce_choose(&p, 101), "tree");
    ck_assert_str_eq(allreduce_choose(&p, 1001), "halving");
    ck_assert_str_eq(allreduce_choose(&p, 10001), "ring");
    p.n_ranks = COMM_DIRECT_RANKS + 1;
    ck_assert_str_eq(allreduce_choose(&p, 100), "tree");
}
END_TEST

START_TEST(nonsense_is_refused)
{
    struct comm_place p = { 0, 2 };
    struct allreduce a = { NULL, 0, (enum comm_type)9, COMM_SUM, 0, NULL };
    struct collective *c = NULL;
    struct eddis_error err;

    ck_assert_int_eq(allreduce_new(&p, &a, &c, &err), -EINVAL);
    a.type = COMM_FLOAT32;
    a.rule = (enum comm_rule)0;
    ck_assert_int_eq(allreduce_new(&p, &a, &c, &err), -EINVAL);
    a.rule = COMM_SUM;
    ck_assert_int_eq(allreduce_new_kind("nosuch", &p, &a, &c, &err), -EINVAL);
    ck_assert_int_eq(broadcast_new(&p, NULL, 0, 2, &c, &err), -EINVAL);
    ck_assert_int_eq(broadcast_new(&p, NULL, 0, -1, &c, &err), -EINVAL);
    a.n = SIZE_MAX / 8;
    ck_assert_int_eq(allreduce_new_kind("tree", &p, &a, &c, &err), -ENOMEM);
    ck_assert_ptr_null(c);
}
END_TEST

/* A rank that expects another length gets an error, not half a message. */
START_TEST(lengths_must_agree)
{
    char x[2][8] = { "", "" };
    struct outbox out = { 0 };
    struct eddis_error err = { 0 };
    struct comm_op op;
    struct world w;

    world_open(&w, 2, 0);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(
            broadcast_new(&(struct comm_place){ r, 2 }, x[r], 4 + (size_t)r, 0, &w.c[r], NULL), 0);
        world_start(&w, r, w.c[r], 1);
    }
    ck_assert_int_eq(transport_poll(w.end[1], &op, 1, &err), -EMSGSIZE);
    ck_assert_ptr_nonnull(strstr(err.text, "rank 0 has sent 4 bytes instead of 5; all workers"));
    outbox_fini(&out);
    world_close(&w);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, allreduce_is_right, 0, 4);
    tcase_add_loop_test(tc, an_allreduce_goes_to_other_memory, 0, 4);
    tcase_add_loop_test(tc, groups_do_not_disturb_each_other, 0, 4);
    tcase_add_loop_test(tc, bits_do_not_depend_on_timing, 0, 4);
    tcase_add_test(tc, a_ring_in_any_segments_is_right);
    tcase_add_test(tc, segments_change_no_bit);
    tcase_add_test(tc, property_4_ring_traffic);
    tcase_add_loop_test(tc, the_missing_rank_is_named, 0, 4);
    tcase_add_test(tc, broadcast_from_every_root);
    tcase_add_test(tc, allgather_keeps_the_order);
    tcase_add_test(tc, nobody_leaves_a_barrier_early);
    tcase_add_test(tc, kind_by_size_and_place);
    tcase_add_test(tc, nonsense_is_refused);
    tcase_add_test(tc, lengths_must_agree);
}

SUITE_MAIN("collective", add_tests)
