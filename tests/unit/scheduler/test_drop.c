/* SPDX-License-Identifier: Apache-2.0 */
/* test_drop.c - tests of scheduler/drop.h: which workers a job leaves out */
#include "scheduler/drop.h"
#include "scheduler/drop_search.h"
#include "suite.h"

#include "tests/unit/planning.h"

#include <errno.h>

enum { MOST = 8, SEEDS = 60 };

/* The links between the nodes: each as fast as the slower of its two nodes. */
static struct network_link link_[MOST * MOST];
static char *name_[MOST];
static struct network network = { .link = link_, .host = name_ };
static struct drop_result left;

static void make_links(int n, const double *bytes_per_s)
{
    network.n_nodes = n;
    network.n_links = 0;
    for (int i = 0; i < n; i++) {
        name_[i] = node[i].host;
        for (int j = 0; j < n; j++)
            if (i != j)
                link_[network.n_links++] =
                    (struct network_link){ i, j, 1e-4, fmin(bytes_per_s[i], bytes_per_s[j]) };
    }
}

/* Return what is known of a program with a model of this size on this network. */
static struct planner_history know(int64_t model_bytes)
{
    struct planner_history known = { .model_bytes = model_bytes, .samples = 1 << 20 };

    (void)network_wire(&network, &known.latency_s, &known.bytes_per_s);
    return known;
}

static int decide(int n, const struct planner_history *known)
{
    const struct drop_input in = {
        .job = &job, .n_nodes = n, .history = known, .network = &network
    };

    return drop_decide(&in, node, &left, &err);
}

/* Plan the job without the workers that are marked, on the network of the others. Return its
 * progress; 0: there is no such plan.
 */
static double progress_of_marked(int n, const struct planner_history *known)
{
    struct planner_history some = *known;
    bool in[MOST] = { 0 };
    int nodes = 0;

    for (int i = 0; i < n; i++) {
        for (int w = 0; w < node[i].n_devices; w++)
            in[i] |= !profile_leaves_out(&node[i], w);
        nodes += in[i];
    }
    if (nodes > 1)
        (void)network_wire_within(&network, in, &some.latency_s, &some.bytes_per_s);
    return plan_nodes(n, &some) == 0 ? plan_progress(p) : 0;
}

static uint64_t seed_;

static double random_between(double low, double high)
{
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return low * pow(high / low, (double)(seed_ >> 40) / (1 << 24));
}

/* Make up to MOST workers on at most 4 nodes; some are alike. Return the number of nodes.
 */
static int make_random_cluster(struct planner_history *known)
{
    int n = (int)random_between(1, 5), left_of = MOST;
    double bytes_per_s[MOST];

    make_nodes(MOST);
    for (int i = 0; i < n; i++) {
        int workers = (int)random_between(1, 5);
        double rate = random_between(0.01, 1), fixed_s = random_between(1e-4, 1e-2);

        workers = workers < left_of - (n - 1 - i) ? workers : left_of - (n - 1 - i);
        left_of -= workers;
        for (int w = 0; w < workers; w++) {
            if (random_between(1, 4) > 2)
                rate = random_between(0.01, 1);
            add_emulated(&node[i], rate, fixed_s, 1e-4);
        }
        bytes_per_s[i] = random_between(1e7, 1e10);
    }
    job.batch.global = (int64_t)random_between(32, 4096);
    make_links(n, bytes_per_s);
    *known = know((int64_t)random_between(1e5, 1e9));
    return n;
}

/* Mark the workers of all nodes that are not in the set. */
static void mark(int n, unsigned set)
{
    for (int i = 0, k = 0; i < n; i++) {
        node[i].left_out[0] = 0;
        for (int w = 0; w < node[i].n_devices; w++, k++)
            if (!(set >> k & 1))
                node[i].left_out[0] |= UINT64_C(1) << w;
    }
}

static unsigned marked(int n)
{
    unsigned set = 0;

    for (int i = 0, k = 0; i < n; i++)
        for (int w = 0; w < node[i].n_devices; w++, k++)
            if (!profile_leaves_out(&node[i], w))
                set |= 1u << k;
    return set;
}

/* Beside the best of all sets of workers: 0.97 of it, or all workers, if the best is not worth it.
 */
START_TEST(as_good_as_all_sets)
{
    struct planner_history known;
    double best = 0, all, got;
    int n, workers = 0;
    unsigned set;

    seed_ = (uint64_t)_i * 2654435761u + 1;
    n = make_random_cluster(&known);
    job.drop = word_of("auto");
    for (int i = 0; i < n; i++)
        workers += node[i].n_devices;
    ck_assert_msg(decide(n, &known) == 0, "%s", err.text);
    set = marked(n);
    got = progress_of_marked(n, &known);
    mark(n, ~0u);
    all = progress_of_marked(n, &known);
    for (unsigned s = 1; s < 1u << workers; s++) {
        mark(n, s);
        best = fmax(best, progress_of_marked(n, &known));
    }
    if (left.n_left == 0) {
        ck_assert_uint_eq(set, (1u << workers) - 1);
        ck_assert_msg(best <= DROP_MARGIN * all * 1.001, "%g of %g with all %d", all, best,
                      workers);
        return;
    }
    ck_assert_msg(got >= 0.97 * best, "%g of %g", got, best);
    ck_assert_double_gt(got, DROP_MARGIN * all);
    ck_assert_double_eq_tol(left.left[0].without / got, 1, 1e-9);
}
END_TEST

/* A fast GPU on node0, and on node1 a CPU of this speed behind a link of this bandwidth. */
static struct planner_history make_pair(double cpu, double bytes_per_s)
{
    const double links[] = { bytes_per_s, bytes_per_s };

    make_nodes(2);
    add_emulated(&node[0], 1, 1e-4, 1e-6);
    add_emulated(&node[1], cpu, 1e-4, 1e-6);
    job.batch.global = 4096;
    job.drop = word_of("auto");
    make_links(2, links);
    return know(4000000);
}

START_TEST(left_with_reason)
{
    struct planner_history known = make_pair(0.01, 1e9);
    char text[400];

    ck_assert_int_eq(decide(2, &known), 0);
    ck_assert_int_eq(left.n_left, 1);
    ck_assert_str_eq(left.left[0].node, "node1");
    ck_assert_int_eq(left.left[0].worker, 0);
    ck_assert_double_gt(left.left[0].without, DROP_MARGIN * left.left[0].with);
    left.left[0].without = 882000.4;
    left.left[0].with = 180000;
    plan_left_text(&left.left[0], text, sizeof text);
    ck_assert_str_eq(text, "node1 worker 0 (emulated 0.01): 882 000 samples/s without it, 180 000 "
                           "with it");
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_int_eq(p->n_workers, 1);
    ck_assert_int_eq(p->n_nodes, 1);
    ck_assert_int_eq(p->worker[0].batch, 4096);
}
END_TEST

/* All workers stay by default, if each is of use, and if no exchange has been measured. */
START_TEST(all_stay)
{
    struct planner_history known = make_pair(0.5, 1e12);

    ck_assert_int_eq(decide(2, &known), 0);
    ck_assert_int_eq(left.n_left, 0);
    known = make_pair(0.01, 1e9);
    job.drop = word_of("none");
    ck_assert_int_eq(decide(2, &known), 0);
    ck_assert_int_eq(left.n_left, 0);
    job.drop = NULL;
    ck_assert_int_eq(decide(2, &known), 0);
    ck_assert_int_eq(left.n_left, 0);
    ck_assert_ptr_null(left.lacks);
    job.drop = word_of("auto");
    known.model_bytes = 0;
    ck_assert_int_eq(decide(2, &known), 0);
    ck_assert_int_eq(left.n_left, 0);
    ck_assert_str_eq(left.lacks, "how large the model is");
}
END_TEST

/* The batch must fit: a worker that alone cannot hold it keeps the other. */
START_TEST(the_batch_fits)
{
    struct planner_history known = make_pair(0.01, 1e9);

    job.batch.max = 4000;
    ck_assert_int_eq(decide(2, &known), 0);
    ck_assert_int_eq(left.n_left, 0);
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_int_eq(p->n_workers, 2);
    job.batch.max = 4096;
    ck_assert_int_eq(decide(2, &known), 0);
    ck_assert_int_eq(left.n_left, 1);
    ck_assert_int_eq(decide(2, &known), 0); /* again: earlier marks do not count */
    ck_assert_int_eq(left.n_left, 1);
}
END_TEST

/* One of four equal nodes is behind a slow link, and the others' links decide without it. */
START_TEST(a_narrow_link)
{
    const double links[] = { 1e10, 1e10, 1e6, 1e10 };
    struct planner_history known;

    make_nodes(4);
    for (int i = 0; i < 4; i++)
        for (int w = 0; w < 2; w++)
            add_emulated(&node[i], 1, 1e-4, 1e-4);
    job.batch.global = 1024;
    job.drop = word_of("auto");
    job.sync.mode = word_of("sync");
    make_links(4, links);
    known = know(4000000);
    ck_assert_int_eq(decide(4, &known), 0);
    ck_assert_int_eq(left.n_left, 1);
    ck_assert_str_eq(left.left[0].node, "node2");
    ck_assert_int_eq(left.left[0].n_workers, 2);
    ck_assert_int_eq(left.left[0].n_nodes, 1);
    ck_assert_double_eq_tol(left.bytes_per_s, 1e10, 1);
    ck_assert_double_gt(progress_of_marked(4, &known), 2 * left.left[0].with);
    ck_assert_int_eq(p->n_nodes, 3);
    ck_assert_str_eq(p->node[2], "node3");
    ck_assert_int_eq(p->worker[5].node, 2);
    ck_assert_int_eq(p->worker[5].rank, 5);
}
END_TEST

/* A worker in the middle of its node leaves: the others are numbered anew, and known by their old
 * names.
 */
START_TEST(one_of_a_node)
{
    struct planner_history known = { .model_bytes = 1000000, .samples = 1 << 20 };
    char before[PLANNER_KEY], after[PLANNER_KEY];

    make_nodes(1);
    add_emulated(node, 1, 1e-4, 1e-5);
    add_emulated(node, 0.001, 0.1, 1e-5);
    add_emulated(node, 1, 1e-4, 1e-5);
    job.batch.global = 256;
    ck_assert_int_eq(plan_nodes(1, &known), 0);
    planner_key("login1", node, &p->worker[2], before);
    job.drop = word_of("auto");
    network.n_links = network.n_nodes = 0;
    ck_assert_int_eq(decide(1, &known), 0);
    ck_assert_int_eq(left.n_left, 1);
    ck_assert_int_eq(left.left[0].worker, 1);
    ck_assert_int_eq(plan_nodes(1, &known), 0);
    ck_assert_int_eq(p->n_workers, 2);
    ck_assert_int_eq(p->worker[1].local_rank, 1);
    ck_assert_str_eq(p->worker[1].device_id, "emulated:2");
    planner_key("login1", node, &p->worker[1], after);
    ck_assert_str_eq(before, after);
}
END_TEST

/* Weigh sets by their number of workers of each kind: the first kind is all that helps. */
static int weigh_first_kind(void *ctx, const bool *keep, double *ret, struct eddis_error *e)
{
    const struct drop_search *s = ctx;
    double good = 1, bad = 0;

    (void)e;
    for (int i = 0; i < s->n; i++) {
        good += keep[i] && s->worker[i].device == 0;
        bad += keep[i] && s->worker[i].device != 0;
    }
    *ret = good / (1 + bad / 100);
    return 0;
}

/* The work for 1 000 workers of all speeds is that of a few plans of all of them. */
START_TEST(thousand_workers)
{
    enum { N = 1000 };
    static struct drop_worker w[N];
    struct drop_search s = {
        .worker = w, .n = N, .weigh = weigh_first_kind, .margin = DROP_MARGIN
    };

    s.ctx = &s;
    for (int i = 0; i < N; i++)
        w[i] = (struct drop_worker){ .node = i / 4,
                                     .device = i >= N / 2,
                                     .sample_s = i < N / 2 ? 1e-3 : 2e-3 + i * 1e-5,
                                     .bytes_per_s = 1e9 };
    ck_assert_int_eq(drop_search_run(&s, &err), 0);
    for (int i = 0; i < N; i++)
        ck_assert(s.keep[i] == (i < N / 2));
    ck_assert_int_le(s.spent, 20 * N);
    drop_search_fini(&s);
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, left_with_reason);
    tcase_add_test(tc, all_stay);
    tcase_add_test(tc, the_batch_fits);
    tcase_add_test(tc, a_narrow_link);
    tcase_add_test(tc, one_of_a_node);
    tcase_add_test(tc, thousand_workers);
    tcase_add_loop_test(tc, as_good_as_all_sets, 0, SUITE_SEEDS(SEEDS));
}

SUITE_MAIN("drop", add_tests)
