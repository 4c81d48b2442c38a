/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_drop.c - tests of agents/driver/plan/node_drop.h: the network between the nodes that
 * keep workers, in one generation after another
 */
#include "agents/driver/plan/node_drop.h"

#include "lib/base/cleanup.h"
#include "said.h"
#include "suite.h"

#include "tests/unit/planning.h"

enum { NODES = 3 };

static struct driver_options options;
static struct state_agent agents[NODES];
static struct job_run run;
static struct run_network network;
static struct history history;
static struct drop_result left;

/* Three equal nodes: node2 has links of 1 MB/s and 1 ms, the others of 1 GB/s and 10 us */
static void begin(void)
{
    static struct network_link link[NODES * NODES];
    static char *names[NODES];
    struct network n = { .n_nodes = NODES, .host = names, .link = link, .failed_from = -1 };

    planning_begin();
    job.drop = word_of("auto");
    job.sync.mode = word_of("sync");
    job.batch.global = 2048;
    make_nodes(NODES);
    for (int i = 0; i < NODES; i++) {
        add_emulated(&node[i], 1, 1e-4, 1e-5);
        names[i] = node[i].host;
        (void)snprintf(agents[i].host, sizeof agents[i].host, "%s", node[i].host);
        for (int k = 0; k < NODES; k++)
            if (i != k)
                link[n.n_links++] = i == 2 || k == 2 ? (struct network_link){ i, k, 1e-3, 1e6 }
                                                     : (struct network_link){ i, k, 1e-5, 1e9 };
    }
    n.failed_to = -1;
    network = (struct run_network){ .measured = network_text(&n) };
    ck_assert_ptr_nonnull(network.measured);
    options = (struct driver_options){ .job = &job, .view.say = say };
    run = (struct job_run){ .o = &options, .n_agents = NODES, .state.agent = agents };
    history = (struct history){ .run = &run, .network = &network, .loaded = true };
    history.model = (struct past_model){ .bytes = 4000000, .samples = 1 << 20 };
    said_forget();
}

static void end(void)
{
    free(network.measured);
    journal_fini(&run.journal);
    planning_end();
}

/* Decide for the first n nodes. Return how many are left, and the network in *ret. */
static int decide(int n, struct planner_history *ret)
{
    cleanup_free struct node_profile *some = calloc(NODES, sizeof *some);
    int agent[NODES] = { 0, 1, 2 };

    ck_assert_ptr_nonnull(some);
    memcpy(some, node, NODES * sizeof *some);
    n = node_drop(&run, &history, agent, some, n, &left);
    history_fill(&history, ret);
    return n;
}

/* What the steps of the kept workers show counts for them, and in proportion for all nodes; it is
 * narrowed once, however often the job restarts.
 */
START_TEST(corrected)
{
    struct planner_history h;

    ck_assert_int_eq(decide(3, &h), 2);
    ck_assert_double_eq_tol(h.bytes_per_s, 1e9, 1);
    ck_assert_double_eq_tol(h.latency_s, 1e-5, 1e-12);
    history_correct(&run, (struct run_wire){ .bytes_per_s = 5e8, .latency_s = 4e-5 });
    for (int i = 0; i < 3; i++) {
        history_fill(&history, &h);
        ck_assert_double_eq_tol(h.bytes_per_s, 5e8, 1);
        ck_assert_double_eq_tol(h.latency_s, 4e-5, 1e-12);
        ck_assert_int_eq(decide(3, &h), 2);
        ck_assert_double_eq_tol(left.bytes_per_s, 5e8, 1);
    }
    job.batch.max = 700; /* the others cannot hold the batch */
    ck_assert_int_eq(decide(3, &h), 3);
    ck_assert_double_eq_tol(h.bytes_per_s, 5e5, 1e-3);
    ck_assert_double_eq_tol(h.latency_s, 4e-3, 1e-9);
    history_correct(&run, (struct run_wire){ .bytes_per_s = 1e6 });
    job.batch.max = 0;
    ck_assert_int_eq(decide(3, &h), 2);
    ck_assert_double_eq_tol(h.bytes_per_s, 1e9, 1);
    ck_assert_double_eq_tol(h.latency_s, 4e-5, 1e-12);
}
END_TEST

/* A correction without nodes.drop is taken as it is. */
START_TEST(all_stay)
{
    struct planner_history h;

    job.drop = NULL;
    ck_assert_int_eq(decide(3, &h), 3);
    ck_assert_double_eq(h.bytes_per_s, 1e6);
    history_correct(&run, (struct run_wire){ .bytes_per_s = 3e5 });
    ck_assert_int_eq(decide(3, &h), 3);
    ck_assert_double_eq(h.bytes_per_s, 3e5);
    ck_assert_double_eq(h.latency_s, 1e-3);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, corrected);
    tcase_add_test(tc, all_stay);
}

SUITE_MAIN("node_drop", add_tests)
