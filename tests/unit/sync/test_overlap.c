/* SPDX-License-Identifier: Apache-2.0 */
/* test_overlap.c - properties 2 and 3: buckets and paths; property 41: what is hidden behind
 * compute, in virtual time. */
#include "bench/loop.h"
#include "bench/loop_thread.h"
#include "bucket_end.h"
#include "lib/base/random.h"
#include "lib/sync/arena.h"
#include "lib/sync/arena_layout.h"
#include "lib/worker/phase.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

enum { SMALL = 5, MAX_RANKS = 6 };

static const size_t small_lengths[SMALL] = { 3, 20, 1, 10, 7 };

/* ---- buckets and paths ---- */

enum { BIG = 4, BIG_RANKS = 5 };

static const size_t big_lengths[BIG] = { 3000, 1, 12000, 5000 };

/* One step of ranks with larger gradients, all as one vector; x is what rank 0 has then. */
static void big_step(size_t bucket_bytes, const struct bucket_layout *layout, uint64_t seed,
                     double *x)
{
    struct engine_parameter p[BIG];
    struct engine *e[BIG_RANKS];
    struct loop_thread *d;
    uint64_t random = 5;
    size_t at = 0;

    for (int i = 0; i < BIG; i++)
        p[i] = (struct engine_parameter){ big_lengths[i], COMM_FLOAT64 };
    for (int r = 0; r < BIG_RANKS; r++) {
        struct engine_options o = { .place = { r, BIG_RANKS },
                                    .algorithm = "allreduce",
                                    .bucket_bytes = bucket_bytes,
                                    .layout = layout,
                                    .parameter = p,
                                    .n_parameters = BIG };

        ck_assert_int_eq(engine_new(&o, &e[r], NULL), 0);
    }
    ck_assert_int_eq(loop_thread_new(e, BIG_RANKS, seed, &d, NULL), 0);
    for (int r = 0; r < BIG_RANKS; r++) {
        engine_begin(e[r], &(struct engine_step){ 0, r, 10 }, 0);
        for (int i = 0; i < BIG; i++) {
            double *g = engine_slot(e[r], i);

            for (size_t k = 0; k < big_lengths[i]; k++)
                g[k] = random_unit(&random) - 0.5;
            ck_assert_int_eq(
                loop_thread_announce(d, r, &(struct engine_announcement){ .parameter = i }, NULL),
                0);
        }
    }
    ck_assert_int_eq(loop_thread_run(d, 0, NULL), 0);
    for (int i = 0; i < BIG; at += big_lengths[i++])
        memcpy(x + at, engine_slot(e[0], i), big_lengths[i] * sizeof *x);
    loop_thread_free(d);
    for (int r = 0; r < BIG_RANKS; r++)
        engine_free(e[r]);
}

/* 1: a bucket a parameter; 30 kB and below go by direct exchange, what is larger by reduce-scatter
 * and all-gather around the ring.
 */
START_TEST(property_3_all_paths_are_equal)
{
    static double want[20001], x[20001];
    uint64_t random = 5;

    for (int r = 0; r < BIG_RANKS; r++)
        for (size_t i = 0; i < 20001; i++)
            want[i] += (random_unit(&random) - 0.5) * r / 10;
    for (size_t bytes = 1; bytes <= 1 << 20; bytes *= 32) {
        big_step(bytes, NULL, bytes, x);
        for (size_t i = 0; i < 20001; i++)
            ck_assert_double_eq_tol(x[i], want[i], 1e-12);
    }
}
END_TEST

/* Where blocks of a ring begin depends on the layout, so sums do in their last bits: the same
 * layout has to give the same ones, however messages travel.
 */
START_TEST(property_2_a_given_layout_gives_the_same_bits)
{
    static const struct bucket_layout rows[] = {
        { .n = 3, .run = { { 1, 3 }, { 3, 4 }, { 0, 1 } } },
        { .n = 2, .run = { { 2, 4 }, { 0, 2 } } },
        { .n = 1, .run = { { 0, 4 } } },
    };
    static double first[20001], x[20001];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            big_step(0, &rows[i], seed, seed == 1 ? first : x);
            if (seed > 1)
                ck_assert_mem_eq(x, first, sizeof x);
        }
}
END_TEST

/* Which part of the arena each all-reduce of a rank sent, in the order of starting. */
struct departures {
    int n, tag[SMALL];
    ptrdiff_t at[SMALL];
};

static void departures_note(struct departures *d, const struct outbox *out, const char *arena,
                            const char *end)
{
    for (size_t i = 0; i < out->n; i++) {
        const struct comm_op *op = &out->op[i];

        if (op->kind != COMM_SEND || (d->n && op->tag <= d->tag[d->n - 1]))
            continue;
        if ((const char *)op->data < arena || (const char *)op->data > end)
            continue; /* the layout */
        ck_assert_int_lt(d->n, SMALL);
        d->tag[d->n] = op->tag;
        d->at[d->n++] = (const char *)op->data - arena;
    }
}

struct orders {
    int ranks;
    struct engine *engine[MAX_RANKS];
    struct transport *end[MAX_RANKS];
    struct departures left[MAX_RANKS];
    struct loop *loop;
    struct outbox out;
};

static void orders_post(struct orders *o, int r)
{
    departures_note(&o->left[r], &o->out, engine_slot(o->engine[r], SMALL - 1),
                    engine_slot(o->engine[r], 0));
    ck_assert_int_eq(transport_post(o->end[r], &o->out, NULL), 0);
}

static void orders_open(struct orders *o, int ranks, size_t bucket_bytes, uint64_t seed)
{
    struct engine_parameter p[SMALL];

    *o = (struct orders){ .ranks = ranks };
    ck_assert_int_eq(loop_new(ranks, seed, &o->loop, NULL), 0);
    for (int i = 0; i < SMALL; i++)
        p[i] = (struct engine_parameter){ small_lengths[i], COMM_FLOAT64 };
    for (int r = 0; r < ranks; r++) {
        struct engine_options options = { .place = { r, ranks },
                                          .algorithm = "allreduce",
                                          .bucket_bytes = bucket_bytes,
                                          .cost = { 1e-6, 1e9 },
                                          .parameter = p,
                                          .n_parameters = SMALL };

        ck_assert_int_eq(engine_new(&options, &o->engine[r], NULL), 0);
        ck_assert_int_eq(loop_open(o->loop, r, &o->end[r], NULL), 0);
    }
}

static void orders_close(struct orders *o)
{
    for (int r = 0; r < o->ranks; r++) {
        transport_close(o->end[r], false, NULL);
        engine_free(o->engine[r]);
    }
    outbox_fini(&o->out);
    loop_free(o->loop);
}

static void orders_receive(struct orders *o)
{
    struct comm_op op;

    for (int r = 0; r < o->ranks; r++)
        while (transport_poll(o->end[r], &op, 1, NULL) == 1) {
            ck_assert_int_eq(engine_receive(o->engine[r], &op, loop_now_ns(o->loop), &o->out, NULL),
                             0);
            orders_post(o, r);
        }
}

static void orders_step(struct orders *o, int64_t step, uint64_t *random)
{
    bool announced[MAX_RANKS][SMALL] = { 0 };

    for (int r = 0; r < o->ranks; r++) {
        o->left[r].n = 0;
        engine_begin(o->engine[r], &(struct engine_step){ step, 1, o->ranks },
                     loop_now_ns(o->loop));
    }
    for (int left = o->ranks * SMALL; left > 0;) {
        int r = (int)random_below(random, (uint64_t)o->ranks);
        int i = (int)random_below(random, SMALL);

        orders_receive(o);
        if (random_below(random, 3) == 0)
            loop_advance(o->loop);
        if (announced[r][i])
            continue;
        announced[r][i] = true;
        left--;
        ck_assert_int_eq(engine_announce(o->engine[r],
                                         &(struct engine_announcement){ .parameter = i },
                                         loop_now_ns(o->loop), &o->out, NULL),
                         0);
        orders_post(o, r);
    }
    do
        orders_receive(o);
    while (loop_advance(o->loop));
    orders_receive(o);
}

START_TEST(property_3_buckets_leave_in_one_order)
{
    static struct orders o;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        int ranks = 2 + (int)(seed % 5);
        uint64_t random = seed;

        orders_open(&o, ranks, seed % 2, seed); /* 0: as measured; 1: one a parameter */
        for (int64_t step = 0; step < 7; step++) {
            orders_step(&o, step, &random);
            for (int r = 0; r < ranks; r++) {
                ck_assert_int_eq(o.left[r].n, engine_n_buckets(o.engine[r]));
                ck_assert_mem_eq(&o.left[r], &o.left[0], sizeof o.left[0]);
                for (int i = 0; i < SMALL; i++)
                    ck_assert_int_eq(
                        engine_done_step(o.engine[r], engine_bucket_of(o.engine[r], i)), step);
            }
        }
        orders_close(&o);
    }
}
END_TEST

/* ---- the layout ---- */

static void keep_layout(void *arg, const struct bucket_layout *l)
{
    *(struct bucket_layout *)arg = *l;
}

enum { PASSING = 3 }; /* steps */

/* Announce all parameters of both ranks; with its own order each, unless the step passes. */
static void announce_step(struct loop_thread *d, void *const slot[2][4], bool passing)
{
    static const int order[2][4] = { { 0, 1, 2, 3 }, { 2, 1, 0, 3 } };

    for (int i = 0; i < 8; i++) {
        struct engine_announcement a = { .parameter = passing ? i % 4 : order[i / 4][i % 4] };
        float *g = slot[i / 4][a.parameter];

        for (int k = 0; k < 10; k++)
            g[k] = (float)(i / 4 + a.parameter + k);
        ck_assert_int_eq(loop_thread_announce(d, i / 4, &a, NULL), 0);
        ck_assert_int_eq(loop_thread_run_to(d, loop_thread_now_ns(d) + 1000, NULL), 0);
    }
}

/* A layout that is given holds from the beginning, unless it lacks a parameter. */
static void assert_given(struct engine_options *o, struct bucket_layout *given)
{
    struct engine *e;

    o->layout = given;
    ck_assert_int_eq(engine_new(o, &e, NULL), 0);
    ck_assert_int_eq(engine_bucket_of(e, 3), 3);
    ck_assert_int_eq(engine_bucket_of(e, 2), 0);
    engine_free(e);
    given->n = 3;
    ck_assert_int_eq(engine_new(o, &e, NULL), -EINVAL);
}

/* The later rank announces the middle of the arena first, so the buckets leave in another order on
 * both ranks; the slots stay where they are.  What is soon to be replaced is waited for, and tells
 * nothing.  Given, the layout holds at once.
 */
START_TEST(layout_is_by_the_last_rank)
{
    struct engine_parameter p[4];
    struct bucket_layout got[2];
    struct engine_options o = { .algorithm = "allreduce",
                                .cost = { 1e-9, 1.42e8 } /* 900 ns each */,
                                .parameter = p,
                                .n_parameters = 4 };
    void *slot[2][4];
    struct engine *e[2];
    struct loop_thread *d;

    memset(got, 0xff, sizeof got);
    for (int i = 0; i < 4; i++)
        p[i] = (struct engine_parameter){ 10, COMM_FLOAT32 };
    for (int r = 0; r < 2; r++) {
        o.place = (struct comm_place){ r, 2 };
        o.hooks = (struct engine_hooks){ .arg = &got[r], .laid_out = keep_layout };
        ck_assert_int_eq(engine_new(&o, &e[r], NULL), 0);
        for (int i = 0; i < 4; i++)
            slot[r][i] = engine_slot(e[r], i);
    }
    ck_assert_int_eq(loop_thread_new(e, 2, 1, &d, NULL), 0);
    for (int64_t step = 0; step < PASSING + 6; step++) {
        const struct engine_step s = { step, 1, 2, step < PASSING };

        ck_assert_int_eq(got[0].n, step < PASSING + 5 ? -1 : 4);
        for (int r = 0; r < 2; r++)
            engine_begin(e[r], &s, loop_thread_now_ns(d));
        announce_step(d, slot, s.passing);
        ck_assert_int_eq(loop_thread_run(d, step, NULL), 0);
        for (int i = 0; i < 8; i++)
            for (int k = 0; k < 10; k++)
                ck_assert_double_eq(((float *)slot[i / 4][i % 4])[k], 0.5 + i % 4 + k);
    }
    loop_thread_free(d);
    ck_assert_int_eq(got[0].n, 4);
    ck_assert_mem_eq(&got[0], &got[1], sizeof got[0]);
    for (int b = 0; b < 4; b++) /* parameter i is number 3 - i in the arena */
        ck_assert_int_eq(got[0].run[b].first, (b + 1) % 4);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 4; i++)
            ck_assert_ptr_eq(engine_slot(e[r], i), slot[r][i]);
        engine_free(e[r]);
    }
    assert_given(&o, &got[0]);
}
END_TEST

/* ---- virtual time ---- */

enum { LAYERS = 30, LATENCY_NS = 20000 };

/* Layers in the order of the arena: what a bucket of one costs and when it is ready. */
struct profile {
    struct engine_parameter parameter[LAYERS];
    struct bucket_item item[LAYERS];
};

/* A link of one byte a nanosecond, so that all numbers are whole. */
static const struct bucket_cost link = { LATENCY_NS * 1e-9, 1e9 };

static void profile_make(struct profile *p, uint64_t *random)
{
    int64_t ready = 0;

    for (int i = 0; i < LAYERS; i++) {
        size_t n = 16 * (1 + random_below(random, 60));

        ready += 1 + (int64_t)random_below(random, 60000);
        p->item[i] = (struct bucket_item){ arena_slot_bytes(n, COMM_FLOAT32), COMM_FLOAT32, ready };
        p->parameter[LAYERS - 1 - i] = (struct engine_parameter){ n, COMM_FLOAT32 };
    }
}

struct pair {
    struct engine *engine[2];
    struct phase_clock clock[2];
    struct loop_thread *loop;
};

static void pair_report(void *arg, struct sync_trailer *tail)
{
    tail->blocked = phase_clock_blocked(arg);
}

static void pair_agreed(void *arg, int64_t step, const struct sync_trailer *tail)
{
    (void)step;
    ((struct phase_clock *)arg)->exposed_ns = tail->blocked;
}

static void pair_open(struct pair *w, const struct profile *p, const struct bucket_layout *l)
{
    const int64_t lines = ((int64_t)sizeof(struct sync_trailer) + 63) / 64 * 64;

    for (int r = 0; r < 2; r++) {
        struct engine_options o = {
            .place = { r, 2 },
            .algorithm = "allreduce",
            .layout = l,
            .bucket_bytes = 1,
            .parameter = p->parameter,
            .n_parameters = LAYERS,
            .hooks = { .arg = &w->clock[r], .report = pair_report, .agreed = pair_agreed }
        };

        phase_clock_init(&w->clock[r], 0);
        ck_assert_int_eq(engine_new(&o, &w->engine[r], NULL), 0);
    }
    ck_assert_int_eq(loop_thread_new(w->engine, 2, 0, &w->loop, NULL), 0);
    /* A message has the tail right behind its last gradient, where the item counts lines of it. */
    loop_thread_set_link(w->loop, LATENCY_NS + lines - (int64_t)sizeof(struct sync_trailer),
                         link.bytes_per_s);
}

static void pair_close(struct pair *w)
{
    loop_thread_free(w->loop);
    for (int r = 0; r < 2; r++)
        engine_free(w->engine[r]);
}

/* One step that begins now on both; rank 1 computes `times` as long as rank 0. */
static void pair_step(struct pair *w, const struct profile *p, int64_t step, int times)
{
    int64_t begin = loop_thread_now_ns(w->loop);
    int next[2] = { 0 };

    for (int r = 0; r < 2; r++) {
        engine_begin(w->engine[r], &(struct engine_step){ step, 1, 2 }, begin);
        phase_clock_set(&w->clock[r], EDDIS_PHASE_COMPUTE, begin);
    }
    while (next[0] < LAYERS || next[1] < LAYERS) {
        int64_t at[2];
        int r;

        for (r = 0; r < 2; r++)
            at[r] =
                next[r] < LAYERS ? begin + (r ? times : 1) * p->item[next[r]].ready_ns : INT64_MAX;
        r = at[1] < at[0];
        ck_assert_int_eq(loop_thread_run_to(w->loop, at[r], NULL), 0);
        ck_assert_int_eq(
            loop_thread_announce(w->loop, r,
                                 &(struct engine_announcement){ .parameter = LAYERS - 1 - next[r] },
                                 NULL),
            0);
        if (++next[r] == LAYERS)
            phase_clock_set(&w->clock[r], EDDIS_PHASE_WAIT, at[r]);
    }
    ck_assert_int_eq(loop_thread_run(w->loop, step, NULL), 0);
    for (int r = 0; r < 2; r++)
        phase_clock_set(&w->clock[r], EDDIS_PHASE_COMPUTE, loop_thread_now_ns(w->loop));
}

/* Section 2.1's recursion, layer by layer. */
static int64_t recursion(const struct profile *p)
{
    int64_t start = 0, cost = 0;

    for (int i = 0; i < LAYERS; i++) {
        start = start + cost > p->item[i].ready_ns ? start + cost : p->item[i].ready_ns;
        cost = LATENCY_NS + (int64_t)p->item[i].bytes;
    }
    return start + cost;
}

START_TEST(property_41_finish_is_the_recursion)
{
    struct bucket_layout merged;
    struct profile p;
    struct pair w;
    uint64_t random = 41;

    for (int trial = 0; trial < 100; trial++) {
        struct bucket_run single[LAYERS];
        int64_t end;

        for (int i = 0; i < LAYERS; i++)
            single[i] = (struct bucket_run){ i, i + 1 };
        profile_make(&p, &random);
        pair_open(&w, &p, NULL);
        pair_step(&w, &p, 0, 1);
        ck_assert_int_eq(loop_thread_now_ns(w.loop), recursion(&p));
        ck_assert_int_eq(bucket_end_ns(p.item, single, LAYERS, &link), recursion(&p));
        pair_close(&w);
        /* The same with what merging makes of it: as predicted, and not later. */
        ck_assert_int_ge(bucket_merge(p.item, LAYERS, &link, &merged), 1);
        pair_open(&w, &p, &merged);
        pair_step(&w, &p, 0, 1);
        end = loop_thread_now_ns(w.loop);
        ck_assert_int_eq(end, bucket_end_ns(p.item, merged.run, merged.n, &link));
        ck_assert_int_le(end, recursion(&p));
        pair_close(&w);
    }
}
END_TEST

/* Exposed is what the recursion calls not overlapped, on both ranks; what the faster one waits
 * beyond that is the other's.
 */
START_TEST(exposed_is_what_is_not_overlapped)
{
    struct profile p;
    struct pair w;
    uint64_t random = 6;

    for (int times = 1; times <= 3; times++) {
        profile_make(&p, &random);
        pair_open(&w, &p, NULL);
        for (int64_t step = 0; step < 4; step++) {
            int64_t begin = loop_thread_now_ns(w.loop), end;
            int64_t computed = p.item[LAYERS - 1].ready_ns;

            pair_step(&w, &p, step, times);
            end = loop_thread_now_ns(w.loop);
            for (int r = 0; r < 2; r++) {
                struct board_times t = phase_clock_step(&w.clock[r], end, 0, 0, 0);
                int64_t exposed = end - begin - times * computed;

                ck_assert_int_eq(t.compute_ns, (r ? times : 1) * computed);
                ck_assert_int_eq(t.total_ns, end - begin);
                /* nobody knows yet what of the first step's wait was for others */
                ck_assert_int_eq(t.exposed_ns, step == 0 ? 0 : exposed);
                ck_assert_int_eq(t.wait_ns, end - begin - t.compute_ns - t.exposed_ns);
                if (r && step)
                    ck_assert_int_eq(t.wait_ns, 0);
            }
        }
        pair_close(&w);
    }
}
END_TEST

/* What was measured before the first step says a thousandth of the bandwidth; the first steps tell
 * better, or all would go in one bucket.
 */
START_TEST(bandwidth_is_seen_in_the_steps)
{
    const struct bucket_cost shared = { link.latency_s / BUCKET_IN_FLIGHT, link.bytes_per_s };
    struct bucket_layout got = { 0 }, best;
    struct profile p;
    struct pair w = { 0 };
    uint64_t random = 3;

    profile_make(&p, &random);
    for (int r = 0; r < 2; r++) {
        struct engine_options o = { .place = { r, 2 },
                                    .algorithm = "allreduce",
                                    .cost = { link.latency_s, 1e6 },
                                    .parameter = p.parameter,
                                    .n_parameters = LAYERS,
                                    .hooks = { .arg = &got, .laid_out = keep_layout } };

        phase_clock_init(&w.clock[r], 0);
        ck_assert_int_eq(engine_new(&o, &w.engine[r], NULL), 0);
    }
    ck_assert_int_eq(loop_thread_new(w.engine, 2, 0, &w.loop, NULL), 0);
    loop_thread_set_link(w.loop, LATENCY_NS, link.bytes_per_s);
    for (int64_t step = 0; step < 5; step++)
        pair_step(&w, &p, step, 1);
    pair_close(&w);
    ck_assert_int_ge(bucket_merge(p.item, LAYERS, &shared, &best), 2);
    ck_assert_int_ge(got.n, 2);
    ck_assert_double_le((double)bucket_end_ns(p.item, got.run, got.n, &shared),
                        1.01 * (double)bucket_end_ns(p.item, best.run, best.n, &shared));
}
END_TEST

/* Told four times the latency and a tenth of the bandwidth; what was under way in the steps says
 * otherwise.
 */
START_TEST(cost_is_seen_in_the_steps)
{
    const struct bucket_cost measured = { 4e-3, 1e7 }, shared = { 1e-3 / BUCKET_IN_FLIGHT, 1e8 };
    const struct comm_place place = { .n_ranks = 1 };
    const int tag[ARENA_LAYOUT_TAGS] = { 0, 1 };
    struct bucket_item item[8] = { 0 };
    struct bucket_layout best;
    struct outbox out = { 0 };
    struct arena_layout *l;

    ck_assert_int_eq(arena_layout_new(&place, 8, &l, NULL), 0);
    for (int step = 0; step < 5; step++) {
        arena_layout_begin(l, false, 0);
        for (int i = 0; i < 8; i++) {
            item[i] = (struct bucket_item){ 1000000, 0, i * INT64_C(9000000) };
            arena_layout_ready(l, i, item[i].ready_ns);
        }
        arena_layout_left(l, 1000000, 0);
        arena_layout_back(l, 11000000);
        arena_layout_left(l, 7000000, 63000000);
        arena_layout_back(l, 63000000 + 71000000);
    }
    ck_assert(arena_layout_due(l) && !arena_layout_started(l));
    ck_assert_int_ge(bucket_merge(item, 8, &shared, &best), 2);
    ck_assert_int_eq(arena_layout_start(l, item, &measured, tag, &out, NULL), 1);
    ck_assert_mem_eq(arena_layout_agreed(l)->run, best.run, (size_t)best.n * sizeof best.run[0]);
    ck_assert_int_eq(arena_layout_agreed(l)->n, best.n);
    outbox_fini(&out);
    arena_layout_free(l);
}
END_TEST

/* Until they are measured buckets are as long as their latency, within limits; those that stay are
 * of the usual size.
 */
START_TEST(first_buckets_go_by_the_cost)
{
    enum { N = 64, EACH = 1 << 17 }; /* bytes of a parameter, 8 MB in all */
    static const struct {
        struct bucket_cost cost;
        int ranks, buckets;
    } row[] = {
        { { 1e-3, 1e6 }, 2, 64 }, /* two and their tails do not fit into 256 KB */
        { { 6e-3, 1e8 }, 2, 16 }, /* 600 KB: four each */
        { { 1e-1, 1e10 }, 2, 3 }, /* 1 MB, then 4 MB: seven, 31, and what is left */
        { { 1e-3, 1e6 }, 1, 3 },  /* nothing will be measured */
    };
    struct engine_parameter p[N];

    for (int i = 0; i < N; i++)
        p[i] = (struct engine_parameter){ EACH / sizeof(float), COMM_FLOAT32 };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct engine_options o = { .place = { 0, row[i].ranks },
                                    .algorithm = "allreduce",
                                    .cost = row[i].cost,
                                    .parameter = p,
                                    .n_parameters = N };
        struct engine *e;

        ck_assert_int_eq(engine_new(&o, &e, NULL), 0);
        ck_assert_int_eq(engine_n_buckets(e), row[i].buckets);
        engine_free(e);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, property_3_all_paths_are_equal);
    tcase_add_test(tc, property_2_a_given_layout_gives_the_same_bits);
    tcase_add_test(tc, property_3_buckets_leave_in_one_order);
    tcase_add_test(tc, layout_is_by_the_last_rank);
    tcase_add_test(tc, property_41_finish_is_the_recursion);
    tcase_add_test(tc, bandwidth_is_seen_in_the_steps);
    tcase_add_test(tc, cost_is_seen_in_the_steps);
    tcase_add_test(tc, first_buckets_go_by_the_cost);
    tcase_add_test(tc, exposed_is_what_is_not_overlapped);
}

SUITE_MAIN("overlap", add_tests)
