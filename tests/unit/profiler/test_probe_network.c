/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_network.c - who meets whom, for every size; then ranks in threads, over the in-process
 * loop. */
#include "profiler/network_rounds.h"
#include "profiler/probe_network.h"

#include "bench/loop.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { SIZES = 130, MAX_RANKS = 9 };

/* Each round is a matching; together they are every pair, or the ring and the powers of two. */
START_TEST(rounds)
{
    for (int n = 1; n <= SIZES; n++) {
        static bool met[SIZES][SIZES];

        memset(met, 0, sizeof met);
        for (int round = 0; round < network_rounds(n); round++)
            for (int i = 0; i < n; i++) {
                int j = network_partner(n, round, i);

                ck_assert(j >= -1 && j < n && j != i);
                if (j < 0)
                    continue;
                ck_assert_int_eq(network_partner(n, round, j), i);
                met[i][j] = true;
            }
        for (int i = 0; i < n && n > 1; i++) {
            ck_assert_msg(met[i][(i + 1) % n], "%d of %d", i, n);
            for (int j = 0; j < n && n <= NETWORK_ALL_PAIRS; j++)
                ck_assert(met[i][j] == (i != j));
            for (int bit = 1; bit < n; bit *= 2)
                ck_assert((i ^ bit) >= n || met[i][i ^ bit]);
        }
        ck_assert_int_le(network_rounds(n), 10);
    }
}
END_TEST

/* Pairs of one machine take turns, as evenly as may be; with a machine for each there is one. */
START_TEST(turns)
{
    for (int n = 2; n <= SIZES; n++) {
        static struct network_turn turn[SIZES][16];
        int64_t machine[SIZES];

        for (int i = 0; i < n; i++)
            machine[i] = _i == 0 ? i : _i == 1 ? 7 : i / 8;
        for (int i = 0; i < n; i++)
            ck_assert_int_eq(network_turns(machine, n, i, turn[i], NULL), 0);
        for (int round = 0; round < network_rounds(n); round++) {
            int at_once[NETWORK_TURNS] = { 0 }, pairs = 0, count = turn[0][round].n;

            for (int i = 0; i < n; i++) {
                int j = network_partner(n, round, i);

                ck_assert_int_eq(turn[i][round].n, count);
                ck_assert_int_eq(turn[i][round].own, j < 0 ? -1 : turn[j][round].own);
                if (j > i) {
                    ck_assert_int_lt(turn[i][round].own, count);
                    at_once[turn[i][round].own]++;
                    pairs++;
                }
            }
            ck_assert_int_le(count, _i == 0 ? 1 : NETWORK_TURNS);
            for (int t = 0; _i == 1 && t < NETWORK_TURNS; t++)
                ck_assert_int_le(at_once[t], (pairs + NETWORK_TURNS - 1) / NETWORK_TURNS);
        }
    }
}
END_TEST

struct end {
    pthread_t thread;
    struct transport *t;
    struct network *net;
    struct probe_network_options options;
    void *room;
    struct eddis_error err;
    int rc;
};

static void *measure(void *arg)
{
    struct end *e = arg;

    e->rc = probe_network_measure(e->t, &e->options, e->room, &e->net, &e->err);
    return NULL;
}

/* Open ranks 0 .. n-1 of a loop, which wait so long for each other. */
static void open_ends(struct loop **loop, struct end *end, int n, int64_t connect_ns)
{
    memset(end, 0, (size_t)n * sizeof *end);
    ck_assert_int_eq(loop_new(n, 0, loop, NULL), 0);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(loop_open(*loop, i, &end[i].t, NULL), 0);
        end[i].room = malloc(PROBE_NETWORK_ROOM);
        end[i].options = network_defaults;
        end[i].options.stream_ns = CLOCK_MS;
        end[i].options.machine = i % 5;
        end[i].options.deadline_ns = 60 * CLOCK_S;
        end[i].options.connect_ns = connect_ns;
    }
}

/* Run them, but for the one that is missing (-1: none). */
static void run_ends(struct end *end, int n, int missing)
{
    for (int i = 0; i < n; i++)
        if (i != missing)
            ck_assert_int_eq(pthread_create(&end[i].thread, NULL, measure, &end[i]), 0);
    for (int i = 0; i < n; i++)
        if (i != missing)
            pthread_join(end[i].thread, NULL);
}

static void run(struct loop **loop, struct end *end, int n, int missing)
{
    open_ends(loop, end, n, missing < 0 ? 60 * CLOCK_S : 5 * CLOCK_S);
    run_ends(end, n, missing);
}

static void drop(struct loop *loop, struct end *end, int n)
{
    for (int i = 0; i < n; i++)
        transport_close(end[i].t, false, NULL);
    loop_free(loop);
    for (int i = 0; i < n; i++) {
        network_free(end[i].net);
        free(end[i].room);
    }
}

START_TEST(measured)
{
    struct end end[MAX_RANKS];
    struct loop *loop;
    int n = _i;

    run(&loop, end, n, -1);
    for (int i = 0; i < n; i++) {
        ck_assert_msg(end[i].rc == 0, "%s", end[i].err.text);
        ck_assert(end[i].net->failed_from == -1 && end[i].net->n_nodes == n);
        ck_assert(i == 0 || end[i].net->n_links == 0);
    }
    if (n > 1 && n <= NETWORK_ALL_PAIRS)
        ck_assert_int_eq(end[0].net->n_links, n * (n - 1));
    if (n > NETWORK_ALL_PAIRS)
        ck_assert_int_ge(end[0].net->n_links, n);
    for (int i = 0; i < end[0].net->n_links; i++) {
        const struct network_link *l = &end[0].net->link[i];

        ck_assert(l->latency_s > 0 && l->bytes_per_s > 0 && l->from != l->to);
        for (int j = 0; j < i; j++)
            ck_assert(l[-1 - j].from != l->from || l[-1 - j].to != l->to);
    }
    ck_assert(end[0].net->allreduce_s >= 0);
    drop(loop, end, n);
}
END_TEST

/* All who meet the one that is missing name it, and nobody names another. */
START_TEST(missing)
{
    struct end end[4];
    struct loop *loop;

    run(&loop, end, 4, 2);
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            continue;
        ck_assert_int_eq(end[i].rc, -ETIMEDOUT);
        ck_assert_int_eq(end[i].net->failed_from, i);
        ck_assert_int_eq(end[i].net->failed_to, 2);
        ck_assert_str_eq(end[i].net->failed, "connecting, within 5 s");
    }
    drop(loop, end, 4);
}
END_TEST

static const struct transport_ops *real;

/* End the job with the first message that is not small, as the bandwidth's are. */
static int post_to_die(struct transport *t, const struct comm_op *op, struct eddis_error *e)
{
    if (op->bytes > 4096)
        real->abort(t, 9);
    return real->post(t, op, e);
}

/* A failure other than a late answer is told as what it is, and names no pair. */
START_TEST(broken)
{
    struct transport_ops dying;
    struct end end[2];
    struct loop *loop;

    open_ends(&loop, end, 2, 60 * CLOCK_S);
    real = end[0].t->ops;
    dying = *real;
    dying.post = post_to_die;
    end[0].t->ops = &dying;
    run_ends(end, 2, -1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(end[i].rc, -ECONNABORTED);
        ck_assert_ptr_null(end[i].net);
        ck_assert_str_eq(end[i].err.text, "a worker ended the job with code 9");
    }
    end[0].t->ops = real;
    drop(loop, end, 2);
}
END_TEST

static bool has_held;

/* Hold back the first message that is not small, beyond the first deadline. */
static int post_late(struct transport *t, const struct comm_op *op, struct eddis_error *e)
{
    if (op->bytes > 4096 && !has_held) {
        has_held = true;
        clock_sleep_until_ns(clock_now_ns() + 3 * CLOCK_S);
    }
    return real->post(t, op, e);
}

/* A burst that comes late, as on a machine under load, is waited for a second time. */
START_TEST(late)
{
    struct transport_ops slow;
    struct end end[2];
    struct loop *loop;

    open_ends(&loop, end, 2, 60 * CLOCK_S);
    real = end[0].t->ops;
    slow = *real;
    slow.post = post_late;
    end[0].t->ops = &slow;
    for (int i = 0; i < 2; i++)
        end[i].options.deadline_ns = 2 * CLOCK_S;
    run_ends(end, 2, -1);
    ck_assert(has_held);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(end[i].rc == 0, "%s", end[i].err.text);
    ck_assert_int_eq(end[0].net->n_links, 2);
    end[0].t->ops = real;
    drop(loop, end, 2);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, rounds);
    tcase_add_loop_test(tc, turns, 0, 3);
    tcase_add_loop_test(tc, measured, 1, MAX_RANKS + 1);
    tcase_add_test(tc, missing);
    tcase_add_test(tc, broken);
    tcase_add_test(tc, late);
    tcase_set_timeout(tc, 120);
}

SUITE_MAIN("network", add_tests)
