/* SPDX-License-Identifier: Apache-2.0 */
/* test_poll_backoff.c - tests of agents/node/watch/poll_backoff.h */
#include "agents/node/watch/poll_backoff.h"
#include "lib/base/clock.h"
#include "suite.h"

static const int64_t begin_ns = 1000 * CLOCK_S, most_ns = CLOCK_S;

/* Look until this moment; returns how often. */
static int look_until(struct poll_backoff *l, int64_t *now_ns, int64_t seen, int64_t end_ns)
{
    int n = 0;

    for (; *now_ns < end_ns; *now_ns = l->next_ns) {
        poll_backoff_taken(l, seen, most_ns, *now_ns);
        ck_assert_int_gt(l->next_ns, *now_ns);
        n++;
    }
    return n;
}

/* A program without libeddis for an hour, then another: no more looks than reports. */
START_TEST(nothing_to_see)
{
    struct poll_backoff l = { 0 };
    int64_t now_ns = begin_ns, hour_ns = 3600 * CLOCK_S;

    ck_assert_int_le(look_until(&l, &now_ns, 0, begin_ns + hour_ns), 3600 + 64 * 10);
    ck_assert_int_le(look_until(&l, &now_ns, 0, begin_ns + 2 * hour_ns), 3601);
}
END_TEST

/* Whatever takes how long, it is seen late by a small part of that, and never by more than a report
 * would be; nothing is looked for more often than every five milliseconds.
 */
START_TEST(seen_in_time)
{
    static const int64_t ms[] = { 1, 20, 1, 300, 5000, 2, 64000, 25, 25, 900000, 10, 1 };
    struct poll_backoff l = { 0 };
    int64_t now_ns = begin_ns, at_ns = begin_ns;

    for (int i = 0; i < (int)(sizeof ms / sizeof *ms); i++) {
        int64_t part_ns = ms[i] * CLOCK_MS / 60, least_ns = 5 * CLOCK_MS;

        at_ns = now_ns + ms[i] * CLOCK_MS;
        ck_assert_int_le(look_until(&l, &now_ns, i, at_ns), ms[i] / 5 + 1);
        if (part_ns > most_ns)
            part_ns = most_ns;
        ck_assert_int_le(now_ns - at_ns, part_ns > least_ns ? part_ns : least_ns);
    }
}
END_TEST

/* A page that could not be read for a moment is nothing new when it can. */
START_TEST(seen_before)
{
    struct poll_backoff l = { 0 };
    int64_t now_ns = begin_ns, since_ns;

    look_until(&l, &now_ns, 3, begin_ns + 100 * CLOCK_S);
    since_ns = l.since_ns;
    poll_backoff_taken(&l, 1, most_ns, now_ns);
    poll_backoff_taken(&l, 3, most_ns, l.next_ns);
    ck_assert_int_eq(l.since_ns, since_ns);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, nothing_to_see);
    tcase_add_test(tc, seen_in_time);
    tcase_add_test(tc, seen_before);
}

SUITE_MAIN("poll_backoff", add_tests)
