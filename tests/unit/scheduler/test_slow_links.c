/* SPDX-License-Identifier: Apache-2.0 */
/* test_slow_links.c - tests of scheduler/slow_links.h: a ring, in which each sends to the next */
#include "scheduler/slow_links.h"

#include "suite.h"

#include <math.h>
#include <stdbool.h>

enum { N = 4, USUALLY = 20 };

static struct slow_links *links;
static struct slow_link l; /* the newest that was named */
static double now_s;
static int64_t step;

static void tear_down(void)
{
    slow_links_free(links);
    links = NULL;
}

static void open_ring(int n)
{
    static const int node[N] = { 0, 1, 2, 3 };

    tear_down();
    ck_assert_int_eq(slow_links_new(node, n, n, &links, NULL), 0);
    now_s = 0;
    step = 0;
}

/* Steps of so many seconds, in which these ranks' connections are busy for most of it, until one is
 * named or no more; at most 20 s.
 */
static bool pass(int n, double step_s, const bool *slow)
{
    bool found = false;

    for (int k = 0; k < USUALLY && !found; k++) {
        now_s++;
        step += 10;
        for (int i = 0; i < n; i++) {
            const struct link_load load = { .busy = slow[i] ? 0.8 : 0.02,
                                            .bytes_per_s = slow[i] ? 1e6 : 1e8 };

            slow_links_take(links, i, &load, (i + 1) % n, step_s, step);
        }
        found = slow_links_next(links, now_s, &l);
    }
    return found;
}

static const bool none[N] = { false };

/* Its own connection is slow and the one to it: nobody else has two. */
START_TEST(machine_is_named)
{
    open_ring(N);
    ck_assert(!pass(N, 0.1, none));
    ck_assert(pass(N, 0.5, (bool[N]){ false, true, true, false }));
    ck_assert(l.rank == 2 && l.from == 2 && l.to == 3 && !l.over);
    ck_assert_double_eq_tol(l.times, 5, 0.3);
    ck_assert_double_ge(l.confidence, 0.9);
    ck_assert_int_ge(l.since, 200);
    ck_assert_int_le(l.since, 210);
    ck_assert_double_eq_tol(l.bytes_per_s, 1e6, 1);
    ck_assert_double_eq_tol(l.usual_bytes_per_s, 1e8, 1e7);
    ck_assert(!pass(N, 0.5, (bool[N]){ false, true, true, false })); /* once */
    ck_assert(pass(N, 0.1, none));
    ck_assert(l.rank == 2 && l.over);
    ck_assert(!pass(N, 0.1, none));
}
END_TEST

START_TEST(one_connection)
{
    open_ring(N);
    ck_assert(!pass(N, 0.1, none));
    ck_assert(pass(N, 0.5, (bool[N]){ true, false, false, false }));
    ck_assert(l.rank == 0 && l.from == 0 && l.to == 1);
}
END_TEST

/* Of a machine's workers one sends to the next machine; the first sends nothing to others. */
START_TEST(second_worker_sends)
{
    static const int node[] = { 0, 0, 1, 1, 2, 2 };
    const struct link_load usual = { .busy = 0.02, .bytes_per_s = 1e8 };
    const struct link_load slow = { .busy = 0.8, .bytes_per_s = 1e6 };
    const struct link_load unknown = { .busy = NAN, .bytes_per_s = NAN };
    bool found = false;

    ck_assert_int_eq(slow_links_new(node, 6, 3, &links, NULL), 0);
    for (int k = 1; k <= 2 * USUALLY && !found; k++) {
        for (int m = 0; m < 3; m++) {
            slow_links_take(links, 2 * m, &unknown, -1, 0.1, 9);
            slow_links_take(links, 2 * m + 1, k > USUALLY && m == 1 ? &slow : &usual, (m + 1) % 3,
                            k > USUALLY ? 0.5 : 0.1, 10 * k);
        }
        found = slow_links_next(links, k, &l);
    }
    ck_assert(found && l.rank == 2 && l.from == 1 && l.to == 2);
    ck_assert_int_eq(l.since, 10 * (USUALLY + 1));
}
END_TEST

/* A connection of the program's own, to no machine of the job or to its own, is nobody's link. */
START_TEST(elsewhere)
{
    for (int peer = -1; peer < 1; peer++) {
        open_ring(N);
        ck_assert(!pass(N, 0.1, none));
        for (int k = 0; k < USUALLY; k++) {
            slow_links_take(links, 0, &(struct link_load){ .busy = 0.9, .bytes_per_s = 1e6 }, peer,
                            0.5, ++step);
            ck_assert(!slow_links_next(links, ++now_s, &l));
        }
    }
}
END_TEST

/* The network, then, or another reason for longer steps. */
START_TEST(nobody)
{
    open_ring(N);
    ck_assert(!pass(N, 0.1, none));
    ck_assert(!pass(N, 0.5, (bool[N]){ true, true, true, true }));
    open_ring(2);
    ck_assert(!pass(2, 0.1, none));
    ck_assert(!pass(2, 0.5, (bool[N]){ true, true }));
    ck_assert(!pass(2, 0.5, (bool[N]){ true, false }));
    open_ring(N);
    ck_assert(!pass(N, 0.1, none));
    ck_assert(!pass(N, 0.5, none)); /* they wait for something else */
    open_ring(N);
    ck_assert(!pass(N, 0.5, (bool[N]){ false, true, true, false })); /* as ever */
}
END_TEST

START_TEST(refuses)
{
    const struct link_load unknown = { .busy = NAN, .bytes_per_s = NAN };
    struct eddis_error err = { 0 };

    ck_assert_int_lt(slow_links_new(NULL, 0, 1, &links, &err), 0);
    ck_assert_str_ne(err.text, "");
    open_ring(N);
    slow_links_take(links, 0, &unknown, 1, 0.1, 1);
    slow_links_take(links, N, &unknown, 1, 0.1, 1);
    slow_links_take(links, 1, &(struct link_load){ .busy = 1, .bytes_per_s = 1 }, 99, 0.1, 1);
    ck_assert(!slow_links_next(links, 100, &l));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, machine_is_named);
    tcase_add_test(tc, one_connection);
    tcase_add_test(tc, second_worker_sends);
    tcase_add_test(tc, elsewhere);
    tcase_add_test(tc, nobody);
    tcase_add_test(tc, refuses);
}

SUITE_MAIN("slow_links", add_tests)
