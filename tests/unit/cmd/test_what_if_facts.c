/* SPDX-License-Identifier: Apache-2.0 */
/* test_what_if_facts.c - tests of cmd/run/what_if/facts.h */
#include "cmd/run/what_if/facts.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include <errno.h>

#include "tests/unit/planning.h"

enum { NODES = 3 };

static struct facts base, changed;
static struct job_host host[NODES];
static struct network_link wires[6];
static struct network network;
static char *names[NODES];

/* Three nodes of one GPU each, node0 to node2, whose speeds are 1 : 2 : 4 by learnt times; node2
 * has the slowest links.
 */
static void set_up(void)
{
    planning_begin();
    job.sync.mode = word_of("sync");
    job.gpus_per_worker = 1;
    make_nodes(NODES);
    base = (struct facts){ .node = node, .n_nodes = NODES, .gpus_per_worker = 1 };
    base.time = calloc(NODES, sizeof *base.time);
    base.bound = calloc(NODES, sizeof *base.bound);
    ck_assert(base.time && base.bound);
    base.n_times = base.n_bounds = NODES;
    base.program = (struct planner_history){ .model_bytes = 1000000, .samples = 64000 };
    for (int i = 0; i < NODES; i++) {
        struct plan_worker w = { 0 };

        add_device(&node[i], DEVICE_CUDA, 1 << i);
        snprintf(w.device_id, sizeof w.device_id, "%s", node[i].device[0].id);
        names[i] = node[i].host;
        host[i] = (struct job_host){ .host = node[i].host };
        base.time[i] = (struct planner_time){
            .sample_s = 0.001 / (1 << i), .fixed_s = 0.004, .largest = 64, .source = TIME_LEARNT
        };
        planner_key(node[i].host, &node[i], &w, base.time[i].key);
        base.bound[i] = (struct planner_bound){ .samples = 1000 };
        memcpy(base.bound[i].key, base.time[i].key, PLANNER_KEY);
    }
    network = (struct network){ .n_nodes = NODES, .host = names, .link = wires, .n_links = 6 };
    for (int i = 0, from = 0; from < NODES; from++)
        for (int to = 0; to < NODES; to++)
            if (from != to)
                wires[i++] = (struct network_link){ from, to, from + to == 1 ? 1e-5 : 1e-3,
                                                    from + to == 1 ? 1e9 : 1e6 };
    base.network = &network;
    ck_assert_int_eq(network_wire(&network, &base.latency_s, &base.bytes_per_s), 0);
    job.host = host;
    job.n_hosts = NODES;
    changed = (struct facts){ 0 };
}

static void tear_down(void)
{
    facts_fini(&changed);
    free(base.time);
    free(base.bound);
    planning_end();
}

/* Change the facts by a text, and plan the job. Return what failed first, or 0. */
static int plan_after(const char *text)
{
    struct what_if_changes c = { 0 };
    int rc = what_if_changes_parse(text, &c, &err);

    facts_fini(&changed);
    plan_free(p);
    p = NULL;
    if (rc == 0)
        rc = facts_change(&base, &job, &c, &changed, &err);
    what_if_changes_fini(&c);
    return rc == 0 ? facts_plan(&changed, &job, &p, &err) : rc;
}

/* Return the samples per second that are predicted after these changes. */
static double speed_after(const char *text)
{
    ck_assert_msg(plan_after(text) == 0, "%s: %s", text, err.text);
    return p->predicted_samples_per_s;
}

/* The plan of unchanged facts is that of the planner itself, byte for byte. */
START_TEST(nothing)
{
    struct planner_history history = base.program;
    cleanup_free char *want = NULL, *have = NULL;

    history.time = base.time;
    history.bound = base.bound;
    history.n_times = history.n_bounds = NODES;
    history.latency_s = base.latency_s;
    history.bytes_per_s = base.bytes_per_s;
    ck_assert_msg(plan_nodes(NODES, &history) == 0, "%s", err.text);
    ck_assert(!p->relative && p->worker[2].time == TIME_LEARNT);
    want = plan_text(p);
    speed_after("");
    have = plan_text(p);
    ck_assert_str_eq(have, want);
}
END_TEST

/* Whatever node becomes faster, and in whatever mode, no plan predicts less. */
START_TEST(faster)
{
    static const double rate[] = { 0.01, 0.5, 0.9, 1, 1.01, 1.5, 2, 8, 100 };
    static const char *const mode[] = { "sync", "async" };
    char text[64];

    for (size_t m = 0; m < sizeof mode / sizeof *mode; m++)
        for (int i = 0; i < NODES; i++) {
            double before = 0;

            job.sync.mode = word_of(mode[m]);
            for (size_t k = 0; k < sizeof rate / sizeof *rate; k++) {
                double now;

                snprintf(text, sizeof text, "node%d.rate=%g", i, rate[k]);
                now = speed_after(text);
                ck_assert_msg(now >= before * (1 - 1e-12), "%s %s: %g < %g", mode[m], text, now,
                              before);
                before = now;
            }
        }
}
END_TEST

/* Times are divided by the rate, whether they were learnt or are those of an emulated device. */
START_TEST(rate)
{
    speed_after("node1.rate=4");
    ck_assert_double_eq_tol(p->worker[1].sample_s, 0.0005 / 4, 1e-15);
    ck_assert_double_eq_tol(p->worker[1].fixed_s, 0.001, 1e-15);
    ck_assert_double_eq(p->worker[0].fixed_s, 0.004);
    node[0].n_devices = 0;
    add_emulated(&node[0], 1, 0.002, 0.0001);
    job.host = NULL;
    job.n_hosts = 0;
    base.n_nodes = 1;
    speed_after("node0.rate=0.5");
    ck_assert_double_eq_tol(p->worker[0].fixed_s, 0.004, 1e-15);
    ck_assert_double_eq_tol(p->worker[0].sample_s, 0.0002, 1e-15);
    ck_assert_str_eq(p->worker[0].device, "emulated 0.50");
    base.n_nodes = NODES;
}
END_TEST

/* A copy has the figures that its node has when it is copied, and a name of its own. */
START_TEST(copies)
{
    speed_after("node2.rate=2,+2xnode2,node2.rate=0.25,+node2,-node2+1,node2+3.rate=8,+node0");
    ck_assert_int_eq(p->n_nodes, 6);
    ck_assert_str_eq(p->node[3], "node2+2");
    ck_assert_str_eq(p->node[4], "node2+3");
    ck_assert_str_eq(p->node[5], "node0+1");
    ck_assert_double_eq_tol(p->worker[2].sample_s, 0.0005, 1e-12);
    ck_assert_double_eq_tol(p->worker[3].sample_s, 0.000125, 1e-12);
    ck_assert_double_eq_tol(p->worker[4].sample_s, 0.0000625, 1e-12);
    ck_assert_double_eq(p->worker[5].sample_s, 0.001);
    for (int i = 0; i < p->n_workers; i++) {
        ck_assert_int_eq(p->worker[i].time, TIME_LEARNT);
        ck_assert_int_eq(p->worker[i].piece, 1000);
    }
}
END_TEST

/* Without the node of the slowest links the network is faster, unless the changes set it. */
START_TEST(network_changes)
{
    double with = speed_after("");

    ck_assert_double_eq(changed.bytes_per_s, base.bytes_per_s);
    speed_after("-node0");
    ck_assert_double_eq(changed.bytes_per_s, 1e6);
    ck_assert_double_gt(speed_after("-node2"), with);
    ck_assert_double_eq(changed.bytes_per_s, 1e9);
    ck_assert_double_eq(changed.latency_s, 1e-5);
    speed_after("network=8mbit,-node2,latency=2ms");
    ck_assert_double_eq(changed.bytes_per_s, 1e6);
    ck_assert_double_eq(changed.latency_s, 2e-3);
    ck_assert_double_gt(speed_after("network=10gbit"), speed_after("network=1mbit"));
    speed_after("-node1,-node2,+node0"); /* no link is left */
    ck_assert_double_eq(changed.bytes_per_s, base.bytes_per_s);
}
END_TEST

/* Make all nodes equally fast, so that nodes.drop: auto leaves out node2 for its links. */
static void drop_the_slow_link(void)
{
    job.drop = word_of("auto");
    job.batch.global = 1500;
    base.time[0].sample_s = base.time[2].sample_s = base.time[1].sample_s;
}

/* The simulation is on the network of the plan, without the slow link of a node that is left out.
 */
START_TEST(dropped)
{
    struct sim_reached reached;

    drop_the_slow_link();
    speed_after("");
    ck_assert_int_eq(p->n_left, 1);
    ck_assert_str_eq(p->left[0].node, "node2");
    ck_assert_double_eq_tol(changed.kept.bytes_per_s, 1e9, 1);
    ck_assert_double_eq_tol(changed.kept.latency_s, 1e-5, 1e-12);
    ck_assert_int_eq(facts_simulate(&changed, &job, p, 30, 0, &reached, &err), 0);
    ck_assert_double_gt(reached.samples_per_s, 0.6 * p->predicted_samples_per_s);
    sim_reached_fini(&reached);
    ck_assert_ptr_null(changed.kept.lacks);
    base.program.model_bytes = 0;
    speed_after("");
    ck_assert_int_eq(p->n_left, 0);
    ck_assert_str_eq(changed.kept.lacks, "how large the model is");
}
END_TEST

/* Copies have the link of their node, and so have copies of copies. */
START_TEST(dropped_copies)
{
    drop_the_slow_link();
    speed_after("+2xnode2,+node2+1,-node2,+node1");
    ck_assert_int_eq(p->n_left, 1);
    ck_assert_int_eq(p->left[0].n_nodes, 3);
    ck_assert_int_eq(p->n_nodes, 3);
    ck_assert_str_eq(p->node[2], "node1+1");
    ck_assert_double_eq_tol(changed.kept.bytes_per_s, 1e9, 1);
    speed_after("-node2"); /* the network is narrowed once */
    ck_assert_int_eq(p->n_left, 0);
    ck_assert_double_eq_tol(changed.kept.bytes_per_s, 1e9, 1);
}
END_TEST

START_TEST(many)
{
    job.batch.global = 100000;
    speed_after("+1000xnode1");
    ck_assert_int_eq(p->n_workers, 1003);
    ck_assert_str_eq(p->node[1002], "node1+1000");
    for (int i = NODES; i < p->n_workers; i++)
        ck_assert_double_eq(p->worker[i].sample_s, 0.0005);
}
END_TEST

static const struct {
    const char *text, *says;
} bad_rows[] = {
    { "-node3", "there is no node 'node3'; the job's nodes are node0, node1, node2" },
    { "-node0,-node0", "there is no node 'node0'; the job's nodes are node1, node2" },
    { "+nod", "there is no node 'nod'" },
    { "node0+1.rate=2", "there is no node 'node0+1'" },
    { "-node0,+node0", "there is no node 'node0'" },
    { "-node0,-node1,-node2", "no node is left" },
    { "-node0,-node1,-node2,+node1", "there is no node 'node1': no node is left" },
    { "+10xnode0,-x", "node0+5 and 5 more" },
};

START_TEST(bad)
{
    ck_assert_int_eq(plan_after(bad_rows[_i].text), -EINVAL);
    ck_assert_msg(strstr(err.text, bad_rows[_i].says) != NULL, "%s", err.text);
}
END_TEST

/* Groups of GPUs in a profile are not joined again, and cannot be divided. */
START_TEST(groups)
{
    base.gpus_per_worker = job.gpus_per_worker = 2;
    speed_after("");
    ck_assert_int_eq(p->n_workers, 3);
    job.gpus_per_worker = 1;
    ck_assert_int_eq(plan_after(""), -EINVAL);
    ck_assert_msg(strstr(err.text, "gpus_per_worker is 1, but the earlier job measured groups of 2 "
                                   "GPUs") != NULL,
                  "%s", err.text);
}
END_TEST

/* A job of other nodes than those that were measured is refused. */
START_TEST(other_hosts)
{
    for (int n = NODES - 1; n <= NODES + 1; n += 2) {
        job.n_hosts = n;
        ck_assert_int_eq(plan_after(""), -EINVAL);
        ck_assert_msg(strstr(err.text, "but the earlier job measured 3; write -NODE") != NULL, "%s",
                      err.text);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, nothing);
    tcase_add_test(tc, faster);
    tcase_add_test(tc, rate);
    tcase_add_test(tc, copies);
    tcase_add_test(tc, network_changes);
    tcase_add_test(tc, dropped);
    tcase_add_test(tc, dropped_copies);
    tcase_add_test(tc, many);
    tcase_add_loop_test(tc, bad, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, groups);
    tcase_add_test(tc, other_hosts);
}

SUITE_MAIN("what_if_facts", add_tests)
