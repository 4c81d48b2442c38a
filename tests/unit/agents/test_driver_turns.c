/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_turns.c - agents that share a machine measure their devices one after the other */
#include "driver_four.h"

/* The agents that were ordered to measure since this was asked last, "0 2 ". */
static const char *turns(struct fixture *f)
{
    static char text[64];
    struct action a;

    text[0] = '\0';
    while (state_action(&f->s, &a))
        if (a.type == ACTION_MEASURE)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", a.agent);
    return text;
}

/* All have registered; machine[i] is that of agent i. */
static void registered(struct fixture *f, int n, const char *machine)
{
    begin_here(f, n);
    for (int i = 0; i < n; i++) {
        const char host[] = { (char)('a' + i), '\0' };

        if (machine[i] != '-')
            f->s.agent[i].machine[0] = machine[i];
        state_registered(&f->s, i, host, f->now_ns);
    }
    did(f, "profile;");
}

START_TEST(one_machine_takes_turns)
{
    struct fixture f;

    registered(&f, 3, "xxx");
    report_why(&f, 1, EVENT_UNMEASURED);
    ck_assert_str_eq(turns(&f), ""); /* 0 and 2 are looking */
    report_why(&f, 0, EVENT_UNMEASURED);
    report_why(&f, 2, EVENT_PROFILE); /* it has been measured before */
    ck_assert_str_eq(turns(&f), "0 ");
    report_why(&f, 0, EVENT_UNMEASURED); /* it has said so */
    ck_assert_str_eq(turns(&f), "");
    report_why(&f, 0, EVENT_PROFILE);
    ck_assert_str_eq(turns(&f), "1 ");
    report_why(&f, 1, EVENT_PROFILE);
    did(&f, "network;");
    state_fini(&f.s);
}
END_TEST

START_TEST(machines_are_apart)
{
    struct fixture f;

    registered(&f, 4, "xy--");
    for (int i = 0; i < 4; i++)
        report_why(&f, i, EVENT_UNMEASURED);
    ck_assert_str_eq(turns(&f), "0 1 2 3 ");
    state_fini(&f.s);
}
END_TEST

/* The job ends by it at its start. */
START_TEST(nobody_is_next_when_one_fails)
{
    struct fixture f;

    registered(&f, 2, "xx");
    report_why(&f, 0, EVENT_UNMEASURED);
    report_why(&f, 1, EVENT_UNMEASURED);
    ck_assert_str_eq(turns(&f), "0 ");
    report_why(&f, 0, EVENT_FAILED);
    ck_assert_str_eq(turns(&f), "");
    ended(&f, "start", 3);
    state_fini(&f.s);
}
END_TEST

enum { FAILS, IS_LOST, ENDS, WAYS };

/* Nodes 1 and 2 come back while node 0 goes on; the first of them does not get through. */
START_TEST(the_next_when_one_is_gone)
{
    static const int node[] = { 0 };
    struct fixture f;

    registered(&f, 3, "xxx");
    for (int i = 0; i < 3; i++)
        report_why(&f, i, EVENT_PROFILE);
    state_network_known(&f.s, false, f.now_ns);
    state_planned(&f.s, 1, node, f.now_ns, NULL);
    for (int i = 1; i < 3; i++)
        state_ended(&f.s, i, "agent exited 3", f.now_ns);
    for (int i = 0; i < 3; i++)
        state_tick(&f.s, f.now_ns += second);
    for (int i = 1; i < 3; i++) {
        ck_assert(f.s.agent[i].starting);
        state_registered(&f.s, i, "again", f.now_ns);
        report_why(&f, i, EVENT_UNMEASURED);
    }
    ck_assert_str_eq(turns(&f), "1 ");
    if (_i == FAILS)
        report_why(&f, 1, EVENT_FAILED);
    else if (_i == ENDS)
        state_ended(&f.s, 1, "agent exited 3", f.now_ns);
    else
        for (int k = 0; k < 40; k++) {
            f.now_ns += second;
            state_heard(&f.s, 0, f.now_ns);
            state_heard(&f.s, 2, f.now_ns);
            state_tick(&f.s, f.now_ns);
        }
    ck_assert_str_eq(turns(&f), "2 ");
    state_fini(&f.s);
}
END_TEST

/* Each turn has the whole time, and who exceeds it is named. */
START_TEST(turn_is_late)
{
    struct fixture f;

    registered(&f, 2, "xx");
    report_why(&f, 0, EVENT_UNMEASURED);
    f.now_ns += 40 * second;
    report_why(&f, 1, EVENT_PROFILE);
    ck_assert_str_eq(turns(&f), "0 ");
    for (int i = 0; i < 2; i++)
        state_heard(&f.s, i, f.now_ns + 50 * second);
    state_tick(&f.s, f.now_ns + 50 * second);
    ck_assert_ptr_null(f.s.reason);
    state_tick(&f.s, f.now_ns + 60 * second);
    said(&f, "the agent of a took longer than 60 s to measure its devices");
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, one_machine_takes_turns);
    tcase_add_test(tc, machines_are_apart);
    tcase_add_test(tc, nobody_is_next_when_one_fails);
    tcase_add_loop_test(tc, the_next_when_one_is_gone, 0, WAYS);
    tcase_add_test(tc, turn_is_late);
}

SUITE_MAIN("driver_turns", add_tests)
