/* SPDX-License-Identifier: Apache-2.0 */
/* test_routes.c - every event and every action has subjects that take it, and every event a word */
#include "agents/driver/driver_impl.h"
#include "agents/job/job_event.h"
#include "suite.h"

#include <string.h>

static void check_route(const struct route *r)
{
    int n = 0;

    while (n < 4 && r->to[n])
        n++;
    ck_assert_int_ge(n, 1);
    ck_assert_int_le(n, 3); /* SUBJECT_NONE ends it */
    for (int i = 0; i < n; i++) {
        ck_assert_int_lt((int)r->to[i], (int)SUBJECTS);
        for (int k = 0; k < i; k++)
            ck_assert_int_ne((int)r->to[i], (int)r->to[k]);
    }
}

START_TEST(events)
{
    for (int e = 0; e <= EVENT_LEFT; e++) {
        const struct route *r = &routes_events[e];

        check_route(r);
        for (int i = 0; r->to[i]; i++)
            ck_assert(dispatch_ops(r->to[i])->on_event != NULL);
    }
}
END_TEST

START_TEST(actions)
{
    for (int a = 0; a <= ACTION_LAST_LINES; a++) {
        const struct route *r = &routes_actions[a];

        check_route(r);
        for (int i = 0; r->to[i]; i++)
            ck_assert(dispatch_ops(r->to[i])->on_action != NULL);
    }
}
END_TEST

START_TEST(progress)
{
    const struct route *r = &routes_progress;

    check_route(r);
    ck_assert_int_eq((int)r->to[0], (int)SUBJECT_PLANNING); /* it may withhold progress */
    for (int i = 0; r->to[i]; i++)
        ck_assert(dispatch_ops(r->to[i])->on_progress != NULL &&
                  dispatch_ops(r->to[i])->on_report != NULL);
}
END_TEST

/* Each has one of its own. */
START_TEST(words)
{
    for (int i = 0; i < JOB_EVENTS; i++) {
        const char *word = job_event_name((enum job_event)i);

        ck_assert_ptr_nonnull(word);
        ck_assert_uint_gt(strlen(word), 0);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(word, job_event_name((enum job_event)k));
    }
}
END_TEST

static void add_tests(TCase *c)
{
    tcase_add_test(c, events);
    tcase_add_test(c, actions);
    tcase_add_test(c, progress);
    tcase_add_test(c, words);
}

SUITE_MAIN("routes", add_tests)
