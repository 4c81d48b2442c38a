/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire.c - float32 sums that travel as 16-bit numbers, by every kind of all-reduce: the same
 * bits on every rank, and as near to float64 as so many roundings let them be. */
#include "shared_world.h"

#include "element.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MOST = 20002, OFFSET = 640, TURNS = 3 };

struct wire_case {
    const char *kind; /* "hosts": of four ranks a node at most */
    int ranks, nodes;
    size_t n, piece_bytes;
    enum comm_type wire;
    bool in_place; /* of "hosts": in the node's arena */
    uint64_t seed;
};

/* It is aligned behind an even number of elements. */
static size_t tail_bytes(const struct wire_case *k)
{
    return k->n % 2 ? 0 : sizeof(struct tail);
}

/* Half the distance of two numbers next to each other, beside the larger one. */
static double unit(enum comm_type wire)
{
    return wire == COMM_FLOAT16 ? 0x1p-11 : 0x1p-8;
}

static int log2_up(int n)
{
    int k = 0;

    while (1 << k < n)
        k++;
    return k;
}

/* How often a contribution, with what it was added to, is rounded on its way. */
static int roundings(const struct wire_case *k)
{
    if (strcmp(k->kind, "direct") == 0)
        return 1;
    if (strcmp(k->kind, "tree") == 0 || strcmp(k->kind, "halving") == 0)
        return log2_up(k->ranks) + 2; /* and by a guest, and as the total */
    return strcmp(k->kind, "hosts") == 0 ? k->nodes : k->ranks;
}

/* The error of a sum of numbers that have this sum of magnitudes. */
static double bound(const struct wire_case *k, double magnitude)
{
    double each = unit(k->wire), all = pow(1 + each, roundings(k)) - 1;

    return magnitude * (all + k->ranks * 0x1p-24) * 1.0001 + 0x1p-25 * k->ranks;
}

struct expected {
    double sum[MOST], magnitude[MOST];
};

static void fill(const struct wire_case *k, int r, void *data, struct expected *want)
{
    uint64_t random = random_mix(k->seed, (uint64_t)r);
    struct tail t = { r + 1, 10 * r };
    float *x = data;

    for (size_t i = 0; i < k->n; i++) {
        x[i] = (float)(2 * random_unit(&random) - 1);
        want->sum[i] += (double)x[i];
        want->magnitude[i] += fabs((double)x[i]);
    }
    memcpy(x + k->n, &t, tail_bytes(k));
}

static void check(const struct wire_case *k, const void *got, const void *first,
                  const struct expected *want)
{
    const float *x = got;
    struct tail t;

    ck_assert_msg(memcmp(got, first, k->n * sizeof(float)) == 0, "%s of %zu, %d ranks: unlike bits",
                  k->kind, k->n, k->ranks);
    for (size_t i = 0; i < k->n; i++)
        if (!(fabs((double)x[i] - want->sum[i]) <= bound(k, want->magnitude[i])))
            ck_abort_msg("%s of %zu, %d ranks, element %zu: %a for %a", k->kind, k->n, k->ranks, i,
                         (double)x[i], want->sum[i]);
    if (!tail_bytes(k))
        return;
    memcpy(&t, x + k->n, sizeof t);
    ck_assert_int_eq(t.sum, k->ranks * (k->ranks + 1) / 2);
    ck_assert_int_eq(t.max, 10 * (k->ranks - 1));
}

static void make(struct world *w, const struct wire_case *k, int r, void *data,
                 struct collective **ret)
{
    const struct comm_limits limits = { 512, 2048, 16384, k->piece_bytes, 16384 };
    static struct comm_limits kept;
    struct comm_place p = w->place[r];
    struct allreduce a = {
        data, k->n, COMM_FLOAT32, COMM_SUM, tail_bytes(k), trailer_rule, k->wire
    };

    kept = limits;
    if (strcmp(k->kind, "hosts") != 0)
        p.nodes = NULL;
    p.limits = k->piece_bytes ? &kept : NULL;
    ck_assert_int_eq(allreduce_new_kind(k->kind, &p, &a, ret, NULL), 0);
}

/* first: of the first turn, unless NULL. */
static void once(struct world *w, const struct wire_case *k, float *first)
{
    size_t bytes = k->n * sizeof(float) + sizeof(struct tail);
    static struct expected want;
    struct collective *c[MAX_RANKS];
    void *data[MAX_RANKS];

    for (int r = 0; r < k->ranks; r++) {
        data[r] = k->in_place ? (char *)comm_shm_arena(w->node[r]) + OFFSET : malloc(bytes);
        make(w, k, r, data[r], &c[r]);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        want = (struct expected){ 0 };
        for (int r = 0; r < k->ranks; r++)
            fill(k, r, data[r], &want);
        for (int r = 0; r < k->ranks; r++)
            world_start(w, r, c[r]);
        world_run(w, k->seed + (uint64_t)turn, 1000);
        ck_assert_msg(!world_busy(w), "%s of %zu, %d ranks, does not end", k->kind, k->n, k->ranks);
        for (int r = 0; r < k->ranks; r++)
            check(k, allreduce_result(c[r]), allreduce_result(c[0]), &want);
    }
    if (first)
        memcpy(first, allreduce_result(c[0]), k->n * sizeof(float));
    for (int r = 0; r < k->ranks; r++) {
        collective_free(c[r]);
        if (!k->in_place)
            free(data[r]);
    }
}

static const enum comm_type wires[] = { COMM_FLOAT16, COMM_BFLOAT16 };
static const char *const kinds[] = { "ring", "direct", "tree", "halving" };
static const size_t lengths[] = { 0, 1, 2, 7, 63, 258, 4096, 4097 };

enum { N_KINDS = 4, N_LENGTHS = sizeof lengths / sizeof *lengths };

/* Loop: kinds. */
START_TEST(messages_are_rounded_once_a_hop)
{
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++) {
        struct world w;

        world_open(&w, ranks, 1, ARENA, (uint64_t)ranks);
        for (int t = 0; ranks > 1 && t < 2; t++)
            for (int l = 0; l < N_LENGTHS; l++)
                for (size_t piece = 0; piece < 3; piece++)
                    once(&w,
                         &(struct wire_case){ .kind = kinds[_i],
                                              .ranks = ranks,
                                              .n = lengths[l],
                                              .piece_bytes = 100 * piece,
                                              .wire = wires[t],
                                              .seed = (uint64_t)l },
                         NULL);
        world_close(&w);
    }
}
END_TEST

/* Of two nodes and more: small ones in one piece, large ones in many. */
START_TEST(nodes_add_up_in_float32)
{
    for (int nodes = 2; nodes <= 5; nodes++)
        for (int ranks = nodes; ranks <= MAX_RANKS; ranks += 3) {
            struct world w;

            world_open(&w, ranks, nodes, ARENA, (uint64_t)ranks);
            for (int t = 0; t < 2; t++)
                for (int l = 0; l <= N_LENGTHS; l++)
                    for (int in_place = 0; in_place < 2; in_place++)
                        once(&w,
                             &(struct wire_case){ .kind = "hosts",
                                                  .ranks = ranks,
                                                  .nodes = nodes,
                                                  .n = l < N_LENGTHS ? lengths[l] : MOST,
                                                  .piece_bytes = l % 2 ? 0 : 1000,
                                                  .wire = wires[t],
                                                  .in_place = in_place,
                                                  .seed = (uint64_t)l },
                             NULL);
            world_close(&w);
        }
}
END_TEST

/* Loop: kinds, and behind them nodes. */
START_TEST(bits_do_not_depend_on_timing)
{
    static float first[MOST], again[MOST];
    const struct wire_case k = { .kind = _i < N_KINDS ? kinds[_i] : "hosts",
                                 .ranks = 7,
                                 .nodes = 3,
                                 .n = MOST,
                                 .piece_bytes = 3000,
                                 .wire = COMM_BFLOAT16,
                                 .seed = 5 };

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct world w;

        world_open(&w, k.ranks, _i < N_KINDS ? 1 : k.nodes, ARENA, seed);
        once(&w, &k, seed == 1 ? first : again);
        if (seed > 1)
            ck_assert_mem_eq(first, again, sizeof first);
        world_close(&w);
    }
}
END_TEST

/* The total is a 16-bit number, but for an exchange with everybody, of which each adds up all. */
START_TEST(the_owner_takes_what_it_tells)
{
    static float x[MOST], back[MOST];
    static uint16_t narrow[MOST];
    struct world w;

    world_open(&w, 5, 3, ARENA, 1);
    for (int i = 0; i <= N_KINDS; i++) {
        const char *kind = i < N_KINDS ? kinds[i] : "hosts";

        once(
            &w,
            &(struct wire_case){
                .kind = kind, .ranks = 5, .nodes = 3, .n = MOST, .wire = COMM_BFLOAT16, .seed = 1 },
            x);
        bfloat16s_from_floats(narrow, x, MOST);
        bfloat16s_to_floats(back, narrow, MOST);
        ck_assert_int_eq(memcmp(x, back, sizeof x) == 0, strcmp(kind, "direct") != 0);
    }
    world_close(&w);
}
END_TEST

/* Start on all ranks, and run to the end. */
static void run_all(struct world *w, struct collective **c)
{
    for (int r = 0; r < w->n; r++)
        world_start(w, r, c[r]);
    world_run(w, 3, 1000);
    ck_assert(!world_busy(w));
}

/* Loop: kinds, and behind them nodes. */
START_TEST(what_is_no_number_is_so_everywhere)
{
    enum { RANKS = 5, N = 23 };
    static float x[RANKS][N];

    for (int t = 0; t < 2; t++) {
        struct collective *c[RANKS];
        struct world w;

        world_open(&w, RANKS, _i < N_KINDS ? 1 : 3, ARENA, 1);
        for (int r = 0; r < RANKS; r++) {
            struct comm_place p = w.place[r];

            if (_i < N_KINDS)
                p.nodes = NULL;
            for (int i = 0; i < N; i++)
                x[r][i] = i % 4 == 0   ? 3e38F /* too large together, and for float16 alone */
                          : i % 4 == 1 ? (r == 2 ? NAN : 1)
                          : i % 4 == 2 ? (r == 1   ? INFINITY
                                          : r == 3 ? -INFINITY
                                                   : 0)
                                       : 1e-45F;
            ck_assert_int_eq(allreduce_new_kind(_i < N_KINDS ? kinds[_i] : "hosts", &p,
                                                &(struct allreduce){ .data = x[r],
                                                                     .n = N,
                                                                     .type = COMM_FLOAT32,
                                                                     .rule = COMM_SUM,
                                                                     .wire = wires[t] },
                                                &c[r], NULL),
                             0);
        }
        run_all(&w, c);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_mem_eq(x[r], x[0], sizeof x[0]);
            collective_free(c[r]);
        }
        for (int i = 0; i < N; i++)
            ck_assert(i % 4 == 0   ? isinf(x[0][i])
                      : i % 4 == 3 ? fabsf(x[0][i]) <= RANKS * 1e-45F
                                   : isnan(x[0][i]));
        world_close(&w);
    }
}
END_TEST

/* Within a node nothing travels. */
START_TEST(one_node_stays_exact)
{
    enum { RANKS = 3, N = 5000 };
    static float x[RANKS][N], exact[N];

    for (int wire = 0; wire < 2; wire++) {
        struct collective *c[RANKS];
        struct world w;

        world_open(&w, RANKS, 1, ARENA, 1);
        for (int r = 0; r < RANKS; r++) {
            struct allreduce a = { x[r], N, COMM_FLOAT32, COMM_SUM };

            a.wire = wire ? COMM_BFLOAT16 : 0;
            for (int i = 0; i < N; i++)
                x[r][i] = 1.0F / (float)(1 + i + r);
            ck_assert_int_eq(allreduce_new(&w.place[r], &a, &c[r], NULL), 0);
        }
        run_all(&w, c);
        if (wire)
            ck_assert_mem_eq(x[0], exact, sizeof exact);
        memcpy(exact, x[0], sizeof exact);
        for (int r = 0; r < RANKS; r++)
            collective_free(c[r]);
        world_close(&w);
    }
}
END_TEST

/* A ring sends 2 M (P - 1) bytes in all, of which M is half as large but for the tail. */
START_TEST(half_the_bytes_travel)
{
    enum { RANKS = 5, N = 1004 };
    static float x[RANKS][N + sizeof(struct tail)];
    const int64_t bytes = N * 2 + sizeof(struct tail);
    struct collective *c[RANKS];
    int64_t sent = 0;
    struct world w;

    world_open(&w, RANKS, 1, ARENA, 1);
    for (int r = 0; r < RANKS; r++) {
        sent -= w.end[r]->sent_bytes;
        make(&w,
             &(struct wire_case){
                 .kind = "ring", .ranks = RANKS, .n = N, .piece_bytes = 64, .wire = COMM_FLOAT16 },
             r, x[r], &c[r]);
    }
    run_all(&w, c);
    for (int r = 0; r < RANKS; r++) {
        sent += w.end[r]->sent_bytes;
        collective_free(c[r]);
    }
    ck_assert_int_eq(sent, 2 * bytes * (RANKS - 1));
    world_close(&w);
}
END_TEST

/* Which kind is taken goes by what travels. */
START_TEST(kinds_go_by_bytes_that_travel)
{
    struct allreduce a = { .n = 1000, .type = COMM_FLOAT32, .rule = COMM_SUM, .tail_bytes = 40 };

    ck_assert_uint_eq(allreduce_message_bytes(&a), 4040);
    a.wire = COMM_BFLOAT16;
    ck_assert_uint_eq(allreduce_message_bytes(&a), 2040);
}
END_TEST

START_TEST(only_sums_of_float32_are_narrowed)
{
    const struct comm_place p = { .n_ranks = 2 };
    struct allreduce a = { .type = COMM_FLOAT64, .rule = COMM_SUM, .wire = COMM_BFLOAT16 };
    struct collective *c;
    struct eddis_error err;

    ck_assert_int_eq(allreduce_new(&p, &a, &c, &err), -EINVAL);
    ck_assert_str_eq(err.text, "only sums of float32 travel as 16-bit numbers");
    a.type = COMM_FLOAT32;
    a.rule = COMM_MAX;
    ck_assert_int_eq(allreduce_new(&p, &a, &c, &err), -EINVAL);
    a.rule = COMM_SUM;
    a.wire = COMM_INT32;
    ck_assert_int_eq(allreduce_new(&p, &a, &c, &err), -EINVAL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, messages_are_rounded_once_a_hop, 0, N_KINDS);
    tcase_add_test(tc, nodes_add_up_in_float32);
    tcase_add_loop_test(tc, bits_do_not_depend_on_timing, 0, N_KINDS + 1);
    tcase_add_test(tc, the_owner_takes_what_it_tells);
    tcase_add_loop_test(tc, what_is_no_number_is_so_everywhere, 0, N_KINDS + 1);
    tcase_add_test(tc, one_node_stays_exact);
    tcase_add_test(tc, half_the_bytes_travel);
    tcase_add_test(tc, kinds_go_by_bytes_that_travel);
    tcase_add_test(tc, only_sums_of_float32_are_narrowed);
}

SUITE_MAIN("wire", add_tests)
