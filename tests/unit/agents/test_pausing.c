/* SPDX-License-Identifier: Apache-2.0 */
/* test_pausing.c - tests of agents/driver/plan/pausing.h: who is told of a pause, and waits through
 * it
 */
#include "agents/driver/plan/pausing.h"

#include "agents/driver/driver.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <signal.h>
#include <string.h>

enum { N = 3 };

static struct state_agent of_state[N];
static struct run_agent agent[N];
static struct driver_options options;
static struct job_run run;
static struct pausing pausing;
static int said;

void __wrap_job_run_say(struct job_run *r, enum job_event type, int of, int rank, const char *text);

void __wrap_job_run_say(struct job_run *r, enum job_event type, int of, int rank, const char *text)
{
    (void)r;
    (void)type;
    (void)of;
    (void)rank;
    (void)text;
    said++;
}

/* Two agents have registered, the third is on its way. */
static void set_up(void)
{
    said = 0;
    memset(agent, 0, sizeof agent);
    memset(of_state, 0, sizeof of_state);
    pausing = (struct pausing){ .wanted = false };
    run = (struct job_run){ .o = &options, .agent = agent, .n_agents = N };
    run.state.agent = of_state;
    run.state.o.n_agents = N;
    for (int i = 0; i < N; i++)
        agent[i].orders.first = 1;
    of_state[0].registered = of_state[1].registered = true;
}

static void tear_down(void)
{
    for (int i = 0; i < N; i++)
        orders_fini(&agent[i].orders);
}

static bool is_ordered(int i, const char *what)
{
    const struct orders *o = &agent[i].orders;

    return o->n > 0 && strstr(o->text[o->n - 1], what);
}

static void take(int i)
{
    orders_fini(&agent[i].orders);
}

START_TEST(registers_meanwhile)
{
    pausing_begin(&pausing, &run, CLOCK_S);
    ck_assert(is_ordered(0, "\"pause\"") && is_ordered(1, "\"pause\"") && !agent[2].orders.n);
    take(0);
    take(1);
    ck_assert(!pausing_due(&pausing, &run, CLOCK_S));
    pausing_look(&pausing, &run);
    ck_assert(!agent[0].orders.n && !agent[2].orders.n);
    of_state[2].registered = true;
    pausing_look(&pausing, &run);
    ck_assert(!agent[0].orders.n && is_ordered(2, "\"pause\""));
    ck_assert(!pausing_due(&pausing, &run, CLOCK_S));
    take(2);
    ck_assert(pausing_due(&pausing, &run, CLOCK_S));
}
END_TEST

/* What cannot come is not waited for, and nothing for long. */
START_TEST(due)
{
    pausing_begin(&pausing, &run, CLOCK_S);
    take(0);
    ck_assert(!pausing_due(&pausing, &run, CLOCK_S));
    ck_assert(pausing_due(&pausing, &run, 4 * CLOCK_S));
    of_state[1].lost = true;
    ck_assert(!pausing_due(&pausing, &run, CLOCK_S));
    of_state[2].ended = true;
    ck_assert(pausing_due(&pausing, &run, CLOCK_S));
    pausing_cancel(&pausing, &run);
    ck_assert(is_ordered(0, "\"continue\"") && !is_ordered(1, "\"continue\""));
    ck_assert(!agent[2].orders.n && !pausing_due(&pausing, &run, 4 * CLOCK_S));
}
END_TEST

/* Where nothing has stopped, as in a process group that no shell controls, nothing is said. */
START_TEST(no_stop)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCONT);
    sigaddset(&set, SIGTSTP);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    pausing_begin(&pausing, &run, CLOCK_S);
    take(0);
    ck_assert_int_eq(raise(SIGCONT), 0); /* with one to be read nobody stops */
    pausing_stop(&pausing, &run);
    ck_assert(!pausing.wanted && said == 0);
    ck_assert(is_ordered(0, "\"continue\"") && is_ordered(1, "\"continue\""));
    ck_assert(of_state[0].waits && !of_state[1].waits && !of_state[2].waits);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, registers_meanwhile);
    tcase_add_test(tc, due);
    tcase_add_test(tc, no_stop);
}

SUITE_MAIN("pausing", add_tests)
