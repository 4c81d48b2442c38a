/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory.c - parts of the driver when an allocation fails
 *
 * The linker sends their calls here (--wrap), and the driver's report of a failed network.
 */
#include "agents/driver/metrics/metrics.h"
#include "agents/driver/network/network_result.h"
#include "agents/driver/state/state.h"

#include "lib/base/cleanup.h"
#include "lib/model/network.h"
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int countdown; /* allocations until one fails; 0: none does */

void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *s);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_state_network_failed(struct state *s, const char *why, int64_t now_ns);

static bool fails(void)
{
    return countdown && --countdown == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

static char why_failed[256]; /* why the network failed; "": it did not */

void __wrap_state_network_failed(struct state *s, const char *why, int64_t now_ns)
{
    (void)s;
    (void)now_ns;
    (void)snprintf(why_failed, sizeof why_failed, "%s", why);
}

/* Whether there are agents tells the driver whether it has a state machine to end the job with. */
START_TEST(state_machine)
{
    const struct state_options o = { .n_agents = 3 };
    struct eddis_error err = { 0 };
    struct state s;
    int rc = -1, n;

    for (n = 1; rc < 0; n++) {
        countdown = n;
        rc = state_init(&s, &o, 1, &err);
        countdown = 0;
        if (rc == 0)
            break;
        ck_assert_int_eq(rc, -ENOMEM);
        ck_assert_str_eq(err.text, "no memory for 3 agents");
        ck_assert_ptr_null(s.agent);
    }
    ck_assert_int_eq(n, 3);
    state_fini(&s);
}
END_TEST

/* There are no metrics of a generation whose workers cannot be noted. */
START_TEST(metrics_of_plan)
{
    struct plan plan = { .n_workers = 4, .generation = 1, .version = 1, .global_batch = 8 };
    struct metrics f = { 0 };
    struct job_status s;
    struct eddis_error err = { 0 };

    job_status_init(&s);
    countdown = 1;
    ck_assert_int_eq(metrics_next(&f, &plan, 1, &err), -ENOMEM);
    countdown = 0;
    ck_assert_str_eq(err.text, "no memory for 4 workers");
    ck_assert_ptr_null(f.plan);
    metrics_fill(&f, 1, &s);
    ck_assert_int_eq(s.global_batch, 0);
    metrics_end_generation(&f, -1);
    metrics_fini(&f);
    job_status_fini(&s);
}
END_TEST

/* A measurement that cannot be stored is reported, and never taken for an earlier one. */
START_TEST(network_measured)
{
    struct network_link link[] = { { 0, 1, 1e-4, 1.25e8 }, { 1, 0, 1e-4, 1e7 } };
    struct network n = { .n_nodes = 2,
                         .allreduce_s = 1e-3,
                         .link = link,
                         .n_links = 2,
                         .failed_from = -1,
                         .failed_to = -1 };
    cleanup_free char *text = network_text(&n);
    struct state_rank rank[2] = { { .agent = 0 }, { .agent = 1 } };
    struct state_agent agent[2] = { { .host = "c01" }, { .host = "c02" } };
    struct job_run r = { .state = { .agent = agent, .rank = rank, .n_ranks = 2 } };
    struct run_network used = { .subnet = "10.1.0.0/24", .measured = strdup("old") };
    int at = 0;

    for (bool good = false; !good;) {
        why_failed[0] = '\0';
        countdown = ++at;
        good = network_result_take(&r, text, &used);
        countdown = 0;
        ck_assert_int_eq(good, !why_failed[0]);
        ck_assert(good || strstr(why_failed, "no memory"));
        ck_assert_int_eq(good, strcmp(used.measured, "old") != 0);
    }
    ck_assert_int_gt(at, 3);
    ck_assert_ptr_nonnull(strstr(used.measured, "c02"));
    free(used.measured);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, state_machine);
    tcase_add_test(tc, metrics_of_plan);
    tcase_add_test(tc, network_measured);
}

SUITE_MAIN("no memory", add_tests)
