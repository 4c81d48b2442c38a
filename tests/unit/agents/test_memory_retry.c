/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_retry.c - tests of agents/driver/plan/memory_retry.h: who is asked for less */
#include "agents/driver/plan/memory_retry.h"

#include "said.h"
#include "suite.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Two nodes of two workers. */
enum { NODES = 2, RANKS = 4, AT_ONCE = 128 };

static struct driver_options options;
static struct node_profile node[NODES];
static struct state_rank ranks[RANKS];
static struct job_run run;
static struct history history;
static struct memory_watch watch;
static struct plan *plan;

static void begin(void)
{
    plan = plan_new(NODES, RANKS);
    ck_assert_ptr_nonnull(plan);
    options = (struct driver_options){ .view.say = say };
    run = (struct job_run){ .o = &options, .n_agents = NODES };
    run.state.rank = ranks;
    run.state.n_ranks = RANKS;
    run.state.before = (struct state_failure){ .cause = CAUSE_OOM };
    history = (struct history){ .run = &run };
    said_forget();
    for (int i = 0; i < NODES; i++)
        (void)snprintf(plan->node[i], sizeof plan->node[i], "node%d", i + 1);
    for (int i = 0; i < RANKS; i++) {
        plan->worker[i] = (struct plan_worker){ .node = i / 2, .local_rank = i % 2 };
        ranks[i] = (struct state_rank){ .agent = i / 2, .exited = true, .at_once = AT_ONCE };
    }
}

static void end(void)
{
    memory_watch_end(&watch);
    past_memory_fini(&history.memory);
    journal_fini(&run.journal);
    plan_free(plan);
}

static void lacks(int rank, int sig, int64_t peak_bytes)
{
    ranks[rank].oom = true;
    ranks[rank].signal = sig;
    ranks[rank].code = sig ? -1 : 79;
    ranks[rank].peak_bytes = peak_bytes;
}

/* What is held at most by now; 0: nothing is known. */
static int64_t most(int rank)
{
    const struct planner_bound *known_row;
    char key[PLANNER_KEY];

    planner_key(plan->node[rank / 2], &node[rank / 2], &plan->worker[rank], key);
    known_row = past_memory_find(&history.memory, key);
    return known_row ? known_row->samples : 0;
}

/* Return the number of workers that are asked for less. */
static int teach(void)
{
    return memory_retry(&history, &run.state.before, plan, node, &watch, NULL);
}

/* Equal devices run out in the same step, and each says so of itself. */
START_TEST(each_that_says_so)
{
    lacks(0, 0, 100);
    lacks(1, 0, 300);
    lacks(3, 0, 200);
    ck_assert_int_eq(teach(), 3);
    ck_assert_int_eq(most(0), AT_ONCE / 2);
    ck_assert_int_eq(most(1), AT_ONCE / 2);
    ck_assert_int_eq(most(2), 0);
    ck_assert_int_eq(most(3), AT_ONCE / 2);
    ck_assert_int_eq(n_said, 3);
}
END_TEST

/* The kernel kills whom it likes until a machine has enough. */
START_TEST(the_largest_of_a_machine)
{
    lacks(0, SIGKILL, 100);
    lacks(1, SIGKILL, 300);
    lacks(2, SIGKILL, 50);
    ck_assert(teach());
    ck_assert_int_eq(most(0), 0);
    ck_assert_int_eq(most(1), AT_ONCE / 2);
    ck_assert_int_eq(most(2), AT_ONCE / 2);
    ck_assert_int_eq(most(3), 0);
}
END_TEST

START_TEST(equal_ones_of_a_machine)
{
    lacks(0, SIGKILL, 100);
    lacks(1, SIGKILL, 100);
    ck_assert(teach());
    ck_assert_int_eq(most(0), AT_ONCE / 2);
    ck_assert_int_eq(most(1), 0);
}
END_TEST

/* One sample is no less, and before a step began nothing is known of it. */
START_TEST(nobody)
{
    ck_assert(!teach());
    lacks(0, 0, 100);
    ranks[0].at_once = 1;
    ck_assert(!teach());
    ranks[0].at_once = 0;
    ck_assert(!teach());
    ranks[0].at_once = AT_ONCE;
    run.state.before.cause = CAUSE_NODE;
    ck_assert(!teach());
    ck_assert_int_eq(history.memory.list.n, 0);
}
END_TEST

/* Peaks of rank 0 with two batches, in a memory of so many bytes, of which a tenth stays free. */
static void learns(int64_t limit)
{
    const struct node_profile *nodes[NODES] = { &node[0], &node[1] };

    plan->version = 1;
    ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &history.memory, NULL), 0);
    for (int64_t count = AT_ONCE / 2; count <= AT_ONCE; count *= 2) {
        const struct progress p = { .plan_version = 1,
                                    .step_plan = 1,
                                    .metrics = { .plan = 1, .count = count },
                                    .memory_bytes = 1000 + 10 * count,
                                    .memory_limit_bytes = limit };

        memory_watch_progress(&watch, plan, &p);
    }
}

/* Where peaks tell how much fits, it is not half of what failed, but no more than four fifths. */
START_TEST(by_the_line)
{
    static const struct {
        int64_t held, limit, most;
    } rows[] = { { 1000, 3000, 170 }, { 200, 3000, 160 }, { 150, 3000, 120 }, { 2, 3000, 1 } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        end();
        begin();
        learns(rows[i].limit);
        lacks(0, 0, 100);
        ranks[0].at_once = rows[i].held;
        ck_assert_int_eq(teach(), 1);
        ck_assert_int_eq(most(0), rows[i].most);
    }
}
END_TEST

/* What finished steps held is not halved, unless it is what failed. */
START_TEST(by_finished_steps)
{
    static const int64_t held[] = { AT_ONCE - 8, AT_ONCE / 2 - 8, AT_ONCE },
                         most_of[] = { 120, 64, 64 };

    for (size_t i = 0; i < 3; i++) {
        const struct node_profile *nodes[NODES] = { &node[0], &node[1] };
        const struct progress p = { .plan_version = 1,
                                    .step_plan = 1,
                                    .metrics = { .plan = 1, .count = held[i] } };

        end();
        begin();
        plan->version = 1;
        ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &history.memory, NULL), 0);
        memory_watch_progress(&watch, plan, &p);
        lacks(0, 0, 100);
        ck_assert_int_eq(teach(), 1);
        ck_assert_int_eq(most(0), most_of[i]);
    }
}
END_TEST

/* A program that needs more and more memory is not started for ever. */
START_TEST(too_many_times)
{
    struct eddis_error err = { 0 };
    int n = 0;

    lacks(0, 0, 100);
    for (; n < 1000; n++) {
        ranks[0].at_once = 2000 - n; /* less than before, and more than its limit */
        if (memory_retry(&history, &run.state.before, plan, node, &watch, &err) < 0)
            break;
    }
    ck_assert_int_eq(n, 16 + 8 * RANKS);
    ck_assert_str_eq(err.text,
                     "workers ran out of memory in 48 plans of this job, each with fewer samples; "
                     "lower batch.global, or set batch.max to what fits");
    ck_assert_int_eq(most(0), (2000 - n) / 2); /* the next job does not repeat the last plan */
    ck_assert_ptr_nonnull(strstr(said, "gets at most 976 in the next job"));
}
END_TEST

/* Only a plan with fewer samples for a worker counts, and a worker beyond the eighth adds none. */
START_TEST(what_counts)
{
    lacks(0, 0, 100);
    ranks[0].at_once = 1;
    ck_assert_int_eq(teach(), 0);
    ck_assert_int_eq(history.retries, 0);
    ranks[0].at_once = AT_ONCE;
    plan->n_workers = 100;
    history.retries = 16 + 8 * 8 - 1;
    ck_assert_int_eq(teach(), 1);
    ranks[0].at_once = AT_ONCE / 2;
    ck_assert_int_eq(teach(), -ENOMEM);
    ck_assert_int_eq(most(0), AT_ONCE / 4);
    plan->n_workers = RANKS;
}
END_TEST

/* A program that holds more than the plan allows is asked for less all the same, until one. */
START_TEST(holds_too_many)
{
    struct eddis_error err = { 0 };

    lacks(0, 0, 100);
    plan->worker[0].piece = 3;
    ck_assert_int_eq(teach(), 1);
    ck_assert_int_eq(most(0), 1);
    plan->worker[0].piece = 1;
    ck_assert_int_eq(memory_retry(&history, &run.state.before, plan, node, &watch, &err), -ENOMEM);
    ck_assert_str_eq(err.text, "rank 0 ran out of memory with 128 samples at once, although the "
                               "plan gives it one");
}
END_TEST

/* The end of a job names the card. */
START_TEST(one_sample)
{
    const struct state_failure f = { .cause = CAUSE_OOM, .at_once = 1, .rank = 1 };
    const struct node_profile *nodes[NODES] = { node, node };

    node->memory_bytes = 64000;
    memory_retry_none(&history, &f, plan, node, &watch);
    ck_assert_str_eq(said, "rank 1 is on node node1, whose memory of 64000 bytes is too small for "
                           "one sample of this program");
    node->n_devices = 1;
    node->device[0] = (struct device){ .kind = DEVICE_CUDA, .memory_bytes = 11000, .id = "gpu" };
    plan->worker[1].kind = DEVICE_CUDA;
    strcpy(plan->worker[1].device_id, "gpu");
    strcpy(plan->worker[1].device, "GTX");
    ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &history.memory, NULL), 0);
    memory_retry_none(&history, &f, plan, node, &watch);
    ck_assert_str_eq(said, "rank 1 has the GTX of node node1, whose memory of 11000 bytes is too "
                           "small for one sample of this program");
    node->n_devices = 0;
    ck_assert_int_eq(n_said, 2);
}
END_TEST

/* A plan that gives a worker more than its limit would fail again and again. */
START_TEST(limit_not_kept)
{
    struct eddis_error err = { 0 };

    lacks(0, 0, 100);
    ck_assert_int_eq(teach(), 1);
    ck_assert(history.limited);
    ck_assert_int_eq(memory_retry(&history, &run.state.before, plan, node, &watch, &err), -ENOMEM);
    ck_assert_str_eq(err.text, "rank 0 ran out of memory again with 128 samples at once, although "
                               "its limit is 64; set batch.max of node node1 to less");
    ranks[0].at_once = AT_ONCE / 2; /* a plan that kept to it */
    ck_assert_int_eq(teach(), 1);
    ck_assert_int_eq(most(0), AT_ONCE / 4);
}
END_TEST

/* In the first plan of a job, which may be a replayed one, the limit of an earlier job says little.
 */
START_TEST(limit_of_an_earlier_job)
{
    lacks(0, 0, 100);
    ck_assert_int_eq(teach(), 1);
    history.limited = false;
    ck_assert_int_eq(teach(), 1);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, each_that_says_so);
    tcase_add_test(tc, the_largest_of_a_machine);
    tcase_add_test(tc, equal_ones_of_a_machine);
    tcase_add_test(tc, nobody);
    tcase_add_test(tc, by_the_line);
    tcase_add_test(tc, by_finished_steps);
    tcase_add_test(tc, too_many_times);
    tcase_add_test(tc, what_counts);
    tcase_add_test(tc, holds_too_many);
    tcase_add_test(tc, one_sample);
    tcase_add_test(tc, limit_not_kept);
    tcase_add_test(tc, limit_of_an_earlier_job);
}

SUITE_MAIN("less_memory", add_tests)
