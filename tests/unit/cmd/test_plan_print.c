/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_print.c - tests of cmd/run/view/plan_print.h */
#include "cmd/run/view/plan_print.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include "tests/unit/planning.h"

static struct plan_print out;
static struct strbuf printed; /* by out */

static void set_up(void)
{
    planning_begin();
    job.communication.wire = word_of("float32");
    out = (struct plan_print){ .home = "/home/ann", .now_s = 1000000, .out = &printed };
}

static void tear_down(void)
{
    strbuf_fini(&printed);
    planning_end();
}

/* Compare what was printed since the last such call. */
static void check_output(const char *want)
{
    ck_assert_str_eq(strbuf_text(&printed), want);
    strbuf_fini(&printed);
}

static void check_contains(const char *want)
{
    ck_assert_msg(strstr(strbuf_text(&printed), want) != NULL, "%s", strbuf_text(&printed));
}

static int count_lines(void)
{
    int lines = 0;

    for (const char *c = strbuf_text(&printed); *c; c++)
        lines += *c == '\n';
    return lines;
}

static void make_machines(int n)
{
    make_nodes(n);
    for (int i = 0; i < n; i++) {
        node[i].cores = 2;
        node[i].memory_bytes = INT64_C(23400000000);
    }
}

static void add_cpu(struct node_profile *at)
{
    strcpy(add_device(at, DEVICE_CPU, 1)->cpus, "0-1");
}

static void plan_samples(int n, int64_t global)
{
    job.batch.global = global;
    ck_assert_msg(plan_nodes(n, NULL) == 0, "%s", err.text);
}

static void plan_example(void)
{
    make_machines(1);
    add_example_devices(node);
    strcpy(node->device[0].cpus, "0-1");
    node->cached = true;
    node->measured_s = 1000000 - 7300;
    plan_samples(1, 256);
}

START_TEST(job_line)
{
    plan_print_job(&out, "digits", "digits-1", "/home/ann/.local/digits-1");
    plan_print_job(&out, "digits", "digits-1", "/home/anna/digits-1");
    plan_print_job(&out, "dig\033its", NULL, NULL);
    check_output("eddis " EDDIS_VERSION "   job digits-1   logs in ~/.local/digits-1\n"
                 "eddis " EDDIS_VERSION "   job digits-1   logs in /home/anna/digits-1\n"
                 "eddis " EDDIS_VERSION "   job dig?its\n");
}
END_TEST

START_TEST(example)
{
    plan_example();
    plan_print_nodes(&out, node, 1);
    plan_print_profiles(&out, node, 1);
    plan_print_plan(&out, p, NULL);
    check_output(
        "nodes     1   login1 (2 cores, 23 GB, no GPU; 4 emulated devices)\n"
        "profile   4 emulated devices, 1 CPU device, cached 2 h ago\n"
        "plan      sync, allreduce, global batch 256\n"
        "\n"
        "  rank  node    device         rate/s  batch  weight  step ms\n"
        "     0  login1  emulated 1.00    8246     94   0.367     11.4\n"
        "     1  login1  emulated 1.00    8230     93   0.363     11.3\n"
        "     2  login1  emulated 0.50    4107     46   0.180     11.2\n"
        "     3  login1  emulated 0.25    2054     23   0.090     11.2\n"
        "\n"
        "  predicted 22 500 samples/s, 99 % of the devices' sum; an equal split would give 9 280\n"
        "  emulated: workers emulate devices of these speeds by waiting\n"
        "  sync because it is exact; other modes are compared once a run has measured how large "
        "the "
        "model is\n");
}
END_TEST

/* Count the places of the text in what is printed, and forget what is printed. */
static int count_output(const char *text)
{
    int n = 0;

    for (const char *at = strbuf_text(&printed); (at = strstr(at, text)) != NULL; at++)
        n++;
    strbuf_fini(&printed);
    return n;
}

/* A fast worker whose exchanges with a slow one cost more than that brings. */
START_TEST(slower_than_one)
{
    static const char line[] = "slower than one worker: rank 0 on node0 alone would make ";
    struct planner_history known = { .model_bytes = 1 << 22, .bytes_per_s = 1e8, .samples = 256 };

    make_machines(2);
    add_emulated(&node[0], 1, 0, 1e-5);
    add_emulated(&node[1], 1, 0, 1e-4);
    job.batch.global = 256;
    ck_assert_int_eq(plan_nodes(2, NULL), 0);
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output("  predicted without exchanges between nodes, because no run "),
                     1);
    known.bytes_per_s = 1e11;
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output("slower than one"), 0);
    known.bytes_per_s = 1e8;
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output(line), 1);
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output("; nodes.drop: auto, fewer nodes (-H), a larger batch.global "
                                  "or a faster network would help\n"),
                     1);
    out.drops = true; /* the job may leave out workers already */
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output(" the progress; fewer nodes (-H), a larger batch.global or a "
                                  "faster network would help\n"),
                     1);
    p->n_left = 1;
    p->left[0] = (struct plan_left){ "node3", 2, 1, 1, "cpu 0-1", 882000, 180000 };
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output("  left out: node3 worker 2 (cpu 0-1): 882 000 samples/s without "
                                  "it, 180 000 with it\n"),
                     1);
    p->left[0].n_workers = 8;
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output("  left out: 8 workers of node3 (cpu 0-1): "), 1);
    p->left[0].n_nodes = 3;
    plan_print_plan(&out, p, NULL);
    ck_assert_int_eq(count_output("  left out: 8 workers of node3 and 2 other nodes (cpu 0-1): "),
                     1);
}
END_TEST

/* Of a plan behind another the lines that are new, with what they need to be read. */
START_TEST(again)
{
    struct strbuf before = { 0 };

    plan_example();
    for (int i = 0; i < 2; i++) {
        out.colour = i;
        plan_print_again(&out, p, NULL, &before);
        ck_assert_str_eq(strbuf_text(&printed), strbuf_text(&before));
        check_output(strbuf_text(&before));
        out.colour = i;
        plan_print_again(&out, p, NULL, &before);
        check_output(i ? "\033[1mplan\033[0m      as before\n" : "plan      as before\n");
        strbuf_fini(&before);
    }
    out.colour = false;
    plan_print_plan(&out, p, NULL);
    strbuf_add(&before, strbuf_text(&printed));
    strbuf_fini(&printed);
    p->worker[2].batch = 47;
    plan_print_again(&out, p, NULL, &before);
    check_output("plan      as before, but\n"
                 "\n"
                 "  rank  node    device         rate/s  batch  weight  step ms\n"
                 "     2  login1  emulated 0.50    4107     47   0.180     11.2\n");
    p->global_batch = 257;
    p->predicted_samples_per_s = 22000;
    (void)snprintf(p->network, sizeof p->network, "10.0.0.0/8");
    plan_print_again(&out, p, NULL, &before);
    check_output("network   10.0.0.0/8\n"
                 "plan      sync, allreduce, global batch 257\n"
                 "\n"
                 "  predicted 22 000 samples/s, 97 % of the devices' sum; an equal split "
                 "would give 9 280\n");
    strbuf_fini(&before);
}
END_TEST

/* In the place of a plan: where the workers run, and how to see more. */
START_TEST(workers)
{
    static const char more[] = "; no plan, unless the program uses eddis (-v shows one)\n";
    static const struct {
        int nodes, unlike;
        enum device_kind kind;
        const char *line;
    } rows[] = {
        { 1, -1, DEVICE_CPU, "workers   1   on CPU cores" },
        { 2, -1, DEVICE_CUDA, "workers   2   on GPUs: ranks 0 on node0, 1 on node1" },
        { 2, 0, DEVICE_CUDA, "workers   3   on GPUs: ranks 0-1 on node0, 2 on node1" },
        { 5, -1, DEVICE_CUDA, "workers   5   on GPUs: 1 on each node" },
        { 5, 4, DEVICE_CUDA, "workers   6   on GPUs: 1 to 2 on a node" },
        { 5, 4, DEVICE_CPU, "workers   5   1 on GPUs, 4 on CPU cores: 1 on each node" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = rows[i].nodes;
        cleanup_free char *want = NULL;
        struct strbuf before = { 0 };

        make_machines(n);
        for (int k = 0; k < n; k++)
            add_device(&node[k], rows[i].kind, 1);
        if (rows[i].unlike >= 0) /* one GPU more, which takes the place of a CPU */
            add_device(&node[rows[i].unlike], DEVICE_CUDA, 1);
        plan_samples(n, 256);
        ck_assert_int_gt(asprintf(&want, "%s%sworkers   as before\n", rows[i].line, more), 0);
        plan_print_workers(&out, p, node, &before);
        plan_print_workers(&out, p, node, &before);
        check_output(want);
        strbuf_fini(&before);
    }
}
END_TEST

/* A batch that is held at once needs no word, nor one of a program that takes no pieces. */
START_TEST(pieces)
{
    static const char sentence[] =
        "     3  login1  emulated 0.25    2054     23   0.090     11.2\n"
        "  rank 0 computes its 94 samples in micro-batches of at most 50, to fit its memory\n\n";

    plan_example();
    p->worker[0].piece = 50;
    p->worker[1].piece = 93;
    plan_print_plan(&out, p, NULL);
    ck_assert_ptr_null(strstr(strbuf_text(&printed), "micro-batches"));
    p->takes_pieces = true;
    plan_print_plan(&out, p, NULL);
    check_contains(sentence);
    for (int i = 0; i < 4; i++)
        p->worker[i].piece = 10;
    plan_print_plan(&out, p, NULL);
    check_contains("rank 3 computes its 23 samples in micro-batches of at most 10");
}
END_TEST

START_TEST(one_machine)
{
    plan_example();
    strcpy(p->network, "127.0.0.0/8");
    plan_print_plan(&out, p, NULL);
    check_contains("network   127.0.0.0/8, since all nodes are one machine under several names\n");
}
END_TEST

/* Plan two nodes of two emulated devices, which exchange a model over 1 Gbit/s. */
static void plan_pairs(const char *mode, int64_t model_bytes)
{
    const struct planner_history known = { model_bytes, 1e-4, 125e6, NULL };

    make_machines(2);
    for (int i = 0; i < 4; i++)
        add_emulated(&node[i / 2], i % 2 ? 0.5 : 1, 0.002, 0.0001);
    job.sync.mode = word_of(mode);
    ck_assert_int_eq(plan_nodes(2, &known), 0);
}

/* Four groups of two, and the figures of the modes that were not taken. */
START_TEST(hybrid)
{
    plan_pairs("hybrid", 4000000);
    plan_print_plan(&out, p, NULL);
    check_output(
        "plan      hybrid, hsgd, 2 groups, period 33, moving rate 0.45, global batch 64\n"
        "\n"
        "  rank  group  node   device         rate/s  batch  weight  step ms\n"
        "     0      0  node0  emulated 1.00    5238     22   0.344      4.2\n"
        "     1      0  node0  emulated 0.50    2619     11   0.172      4.2\n"
        "     2      1  node1  emulated 1.00    5122     21   0.328      4.1\n"
        "     3      1  node1  emulated 0.50    2500     10   0.156      4.0\n"
        "\n"
        "  predicted 14 100 samples/s, 91 % of the devices' sum; an equal split would give 1 760\n"
        "  modes, for a model of 4.0 MB\n"
        "\n"
        "    mode     samples/s  efficiency    progress\n"
        "    sync         1 780        1.00       1 780\n"
        "    async       14 900        0.68      10 100\n"
        "  * hybrid      14 100        0.73      10 400\n"
        "    local       13 700        0.96      13 200\n"
        "\n"
        "  efficiency guessed from another program: async, hybrid, local\n"
        "\n"
        "  emulated: workers emulate devices of these speeds by waiting\n"
        "  hybrid because the job asks for it\n");
}
END_TEST

/* Rounds say how often models are combined, and for what the groups wait then. */
START_TEST(rounds)
{
    static const struct {
        double steps;
        const char *text;
    } epochs[] = {
        { 100, "every 50 steps, since equal rounds fill an epoch, predicted to be every 0.391 s; "
               "checkpoints and stops wait for that\n" },
        { 96.75, "every 48.4 steps, since equal rounds fill an epoch, " },
        { 128, "every 64 steps, predicted to be every 0.5 s; " },
        { 200, "every 64 steps, in the last two rounds of an epoch every 36 steps, predicted to be "
               "every 0.5 s; " },
        { 193.5,
          "every 64 steps, in the last two rounds of an epoch every 32.8 steps, predicted " },
        { 40, "every 40 steps, since an epoch has no more, predicted to be every 0.312 s; " },
    };

    job.sync.algorithm = word_of("diloco");
    plan_pairs("local", 4000000);
    p->options.period = 64;
    plan_print_plan(&out, p, NULL);
    check_contains("plan      local, diloco, 2 groups, period 64, outer rate 0.7, outer momentum "
                   "0.9, global batch 64\n"
                   "\n"
                   "  rank  group  node   device ");
    p->options.overlap = 8;
    plan_print_plan(&out, p, NULL);
    check_contains("2 groups, period 64, overlap 8, outer rate 0.7, ");
    p->predicted_samples_per_s = 64 * 64 / 0.5;
    plan_print_plan(&out, p, NULL);
    check_contains(
        "\n  models are combined every 64 steps, predicted to be every 0.5 s; checkpoints "
        "and stops wait for that\n");
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        strbuf_fini(&printed);
        p->epoch_steps = epochs[i].steps;
        plan_print_plan(&out, p, NULL);
        check_contains(epochs[i].text);
    }
    p->epoch_steps = 20.5; /* a step is not divided */
    p->options.period = 1;
    p->relative = true;
    plan_print_plan(&out, p, NULL);
    check_contains("\n  models are combined every step; checkpoints and stops wait for that\n");
    (void)snprintf(p->program.gradients, sizeof p->program.gradients, "torch");
    p->options.wire = SYNC_WIRE_BFLOAT16;
    p->options.overlap = 0;
    plan_print_plan(&out, p, NULL);
    check_contains("2 groups, period 1, outer rate 0.7, outer momentum 0.9, gradients by torch, "
                   "global batch 64\n");
}
END_TEST

/* A mode that was open. */
START_TEST(settled)
{
    cleanup_free char *text = NULL;

    plan_pairs("auto", 4000000);
    text = plan_print_settled(p, false);
    ck_assert_str_eq(text,
                     "mode      local, local, 2 groups, period 256\n"
                     "\n"
                     "  rank  group  node   device         rate/s  batch  weight  step ms\n"
                     "     0      0  node0  emulated 1.00    5238     22   0.344      4.2\n"
                     "     1      0  node0  emulated 0.50    2619     11   0.172      4.2\n"
                     "     2      1  node1  emulated 1.00    5122     21   0.328      4.1\n"
                     "     3      1  node1  emulated 0.50    2500     10   0.156      4.0\n"
                     "\n"
                     "  modes, for a model of 4.0 MB\n"
                     "\n"
                     "    mode     samples/s  efficiency    progress\n"
                     "    sync         1 780        1.00       1 780\n"
                     "    async       14 900        0.68      10 100\n"
                     "    hybrid      14 100        0.73      10 400\n"
                     "  * local       13 700        0.96      13 200\n"
                     "\n"
                     "  efficiency guessed from another program: async, hybrid, local\n"
                     "\n"
                     "  local because it is predicted to make 7.40 times the progress of sync "
                     "and 1.27 times that of hybrid\n"
                     "\n");
    free(text);
    p->options.wire = SYNC_WIRE_BFLOAT16;
    text = plan_print_settled(p, false);
    ck_assert_ptr_nonnull(strstr(text, "period 256, bfloat16 between nodes\n"));
}
END_TEST

/* Real devices: no seconds before the first steps. */
START_TEST(relative)
{
    make_machines(1);
    add_cpu(node);
    add_device(node, DEVICE_CUDA, 100);
    add_device(node, DEVICE_CUDA, 50);
    add_device(node, DEVICE_CUDA, 100);
    snprintf(node->note, sizeof node->note, "the GPUs are busy");
    plan_samples(1, 250);
    plan_print_nodes(&out, node, 1);
    plan_print_profiles(&out, node, 1);
    plan_print_plan(&out, p, "replayed from p.json");
    check_output(
        "nodes     1   login1 (2 cores, 23 GB, 2 NVIDIA H100, 1 NVIDIA H50)\n"
        "              login1: the GPUs are busy\n"
        "profile   3 GPUs, 1 CPU device, measured now\n"
        "plan      sync, allreduce, global batch 250, replayed from p.json\n"
        "\n"
        "  rank  node    device       rate  batch  weight  time\n"
        "     0  login1  NVIDIA H100  1.00    100   0.400  probe\n"
        "     1  login1  NVIDIA H50   0.50     50   0.200  probe\n"
        "     2  login1  NVIDIA H100  1.00    100   0.400  probe\n"
        "\n"
        "  predicted 100 % of the devices' sum; 1.7x an equal split\n"
        "  only the ratios of the devices' speeds are known, not their samples per second\n"
        "  sync because it is exact; other modes are compared once a run has measured "
        "how large the model is\n");
}
END_TEST

/* Batches that memory makes smaller than the speeds do. */
START_TEST(limited)
{
    make_machines(1);
    for (int i = 0; i < 12; i++)
        add_device(node, DEVICE_CUDA, 100);
    plan_samples(1, 2200);
    for (int i = 0; i < 12; i++)
        p->worker[i].piece = p->worker[i].batch + (i != 3 && i != 5);
    plan_print_plan(&out, p, NULL);
    check_contains("\n  memory limits the batch of rank 3, 5\n");
    for (int i = 0; i < 12; i++)
        p->worker[i].piece = p->worker[i].batch;
    plan_print_plan(&out, p, NULL);
    check_contains("\n  memory limits the batch of rank 0, 1, 2, 3, 4, 5, 6, 7 and others\n");
    strbuf_fini(&printed);
    p->takes_pieces = true;
    plan_print_plan(&out, p, NULL);
    ck_assert_ptr_null(strstr(strbuf_text(&printed), "memory limits"));
}
END_TEST

/* How many of two nodes are from the cache and were measured beside another job. */
static const struct {
    int n, cached, beside;
    const char *line;
} beside_rows[] = {
    { 1, 0, 1, "profile   1 GPU, measured now, beside another job\n" },
    { 2, 0, 1, "profile   2 GPUs, measured now, some beside other jobs\n" },
    { 2, 0, 2, "profile   2 GPUs, measured now, beside other jobs\n" },
    { 2, 1, 1,
      "profile   2 GPUs, 1 of 2 nodes cached 2 h ago, others measured beside other jobs\n" },
};

START_TEST(beside)
{
    int n = beside_rows[_i].n;

    make_machines(n);
    for (int i = 0; i < n; i++)
        add_device(&node[i], DEVICE_CUDA, 1);
    for (int i = 0; i < n; i++) {
        node[i].cached = i < beside_rows[_i].cached;
        node[i].measured_s = out.now_s - 7200;
        if (i >= n - beside_rows[_i].beside)
            strcpy(node[i].beside, "Slurm's job 12");
    }
    plan_print_profiles(&out, node, n);
    check_output(beside_rows[_i].line);
}
END_TEST

/* Nodes that emulate their devices are neither measured nor kept. */
START_TEST(beside_emulated)
{
    make_machines(2);
    add_emulated(&node[0], 1, 0.002, 0.0001);
    add_device(&node[1], DEVICE_CUDA, 1);
    node[1].cached = true;
    node[1].measured_s = out.now_s - 7200;
    plan_print_profiles(&out, node, 2);
    check_output("profile   1 emulated device, 1 GPU, cached 2 h ago\n");
}
END_TEST

START_TEST(alike)
{
    make_machines(1);
    add_cpu(node);
    plan_samples(1, 64);
    plan_print_plan(&out, p, NULL);
    check_output("plan      sync, allreduce, global batch 64\n"
                 "\n"
                 "  rank  node    device   rate  batch  weight  time\n"
                 "     0  login1  cpu 0-1  1.00     64   1.000  probe\n"
                 "\n"
                 "  sync because there is one worker\n");
}
END_TEST

/* What was measured beside others is not passed off as the devices' own speed. */
START_TEST(cached_busy)
{
    make_machines(2);
    for (int i = 0; i < 2; i++) {
        add_cpu(&node[i]);
        node[i].cached = true;
        node[i].measured_s = 1000000 - 7300;
        node[i].threads = 4;
    }
    node[0].load = 2.0; /* half of them: that will do */
    plan_print_profiles(&out, node, 1);
    node[0].load = 2.1;
    plan_print_profiles(&out, node, 1);
    plan_print_profiles(&out, node, 2);
    node[1].load = 9;
    plan_print_profiles(&out, node, 2);
    check_output("profile   1 CPU device, cached 2 h ago\n"
                 "profile   1 CPU device, cached 2 h ago, measured on a busy machine\n"
                 "profile   2 CPU devices, cached 2 h ago, some measured on busy machines\n"
                 "profile   2 CPU devices, cached 2 h ago, measured on busy machines\n");
}
END_TEST

/* 40 workers are more than a screen: equal ones share a row. */
START_TEST(folded)
{
    static const double rate[] = { 1, 0.6, 0.35, 0.15 };

    make_machines(10);
    for (int n = 0; n < 10; n++)
        for (int i = 0; i < 4; i++)
            add_emulated(&node[n], rate[i], 0.002, 0.0001);
    node[3].cached = true;
    plan_samples(10, 40 * 32);
    plan_print_nodes(&out, node, 10);
    plan_print_profiles(&out, node, 10);
    plan_print_plan(&out, p, NULL);
    check_output("nodes     10  node0 ... node9 (each 2 cores, 23 GB, no GPU; 4 emulated devices)\n"
                 "profile   40 emulated devices, from the times that the job gives\n"
                 "plan      sync, allreduce, global batch 1 280\n"
                 "\n"
                 "  workers  ranks                      nodes  device         rate/s  batch   "
                 "weight  step ms\n"
                 "       10  0,4,8,12,16,20,24,28,...      10  emulated 1.00    7531     61  "
                 "0.04766      8.1\n"
                 "       10  1,5,9,13,17,21,25,29,...      10  emulated 0.60    4531     37  "
                 "0.02891      8.2\n"
                 "       10  2,6,10,14,18,22,26,30,...     10  emulated 0.35    2625     21  "
                 "0.01641      8.0\n"
                 "       10  3,7,11,15,19,23,27,31,...     10  emulated 0.15    1125      9  "
                 "0.00703      8.0\n"
                 "\n"
                 "  predicted 157 000 samples/s, 99 % of the devices' sum; an equal split would "
                 "give 54 900\n"
                 "  predicted without exchanges between nodes, because no run has measured the "
                 "size of the model\n"
                 "  emulated: workers emulate devices of these speeds by waiting\n"
                 "  sync because it is exact; other modes are compared once a run has measured how "
                 "large the model is\n");
}
END_TEST

/* Several unlike nodes: how many they are, then a line for each run of equal ones. */
START_TEST(unlike_nodes)
{
    make_machines(6);
    for (int i = 0; i < 6; i++)
        add_emulated(&node[i], 1, 0.002, 0.0001);
    add_emulated(&node[0], 1, 0.002, 0.0001);
    node[4].cores = node[5].cores = 8;
    node[1].measured_s = 0;
    for (int i = 0; i < 3; i++)
        snprintf(node[i].note, sizeof node[i].note, "slow");
    snprintf(node[4].note, sizeof node[4].note, "busy\033");
    plan_print_nodes(&out, node, 6);
    check_output("nodes     6   node0 (2 cores, 23 GB, no GPU; 2 emulated devices)\n"
                 "              node1 ... node3 (3 nodes, each 2 cores, 23 GB, no GPU; 1 "
                 "emulated device)\n"
                 "              node4, node5 (each 8 cores, 23 GB, no GPU; 1 emulated "
                 "device)\n"
                 "              node0 ... node2: slow\n"
                 "              node4: busy?\n");
}
END_TEST

/* Hundreds of unlike nodes, each with something to say, are no scroll. */
START_TEST(many_nodes)
{
    make_machines(300);
    for (int i = 0; i < 300; i++) {
        node[i].cores = i + 1;
        snprintf(node[i].note, sizeof node[i].note, "busy %d", i);
    }
    plan_print_nodes(&out, node, 300);
    ck_assert_int_eq(count_lines(), 34);
    check_contains("              ... and 284 more\n");
    check_contains("              ... and 284 more such notes\n");
}
END_TEST

/* When there are many groups too, the table ends. */
START_TEST(many_groups)
{
    make_machines(1);
    for (int i = 0; i < 60; i++)
        add_emulated(node, 1 + i, 0.002, 0.0001);
    plan_samples(1, 60000);
    plan_print_plan(&out, p, NULL);
    ck_assert_int_lt(count_lines(), 45);
    check_contains("... and 29 more workers\n");
}
END_TEST

START_TEST(colour)
{
    plan_example();
    out.colour = true;
    plan_print_plan(&out, p, NULL);
    check_contains("\033[33memulated\033[0m");
}
END_TEST

START_TEST(devices)
{
    plan_example();
    node->n_devices = 2;
    add_device(node, DEVICE_CUDA, 100);
    node->device[2].memory_bytes = INT64_C(80000000000);
    node->device[2].fp16_flops = 4e14;
    node->device[2].tf32_flops = 2e14;
    node->device[2].bf16_flops = 0;
    plan_print_devices(&out, node, 1);
    check_output(
        "  node    device      name                                cores  memory  "
        "fp32 TFLOP/s  tf32 TFLOP/s  bf16 TFLOP/s  fp16 TFLOP/s  memory GB/s  to GB/s  "
        "from GB/s\n"
        "  login1  cpu:0                                           0-1         -    "
        "      1.00             -             -             -          100        -          -\n"
        "  login1  emulated:1  emulated 1: 2 ms + 0.1 ms a sample              -    "
        "         -             -             -             -            -        -          -\n"
        "  login1  cuda:2      NVIDIA H100                                 80 GB    "
        "       100           200             -           400       10 000        -          -\n");
}
END_TEST

static const struct gpu_facts measured_gpu = { .known = 1,
                                               .pcie_gen = 3,
                                               .pcie_gen_most = 4,
                                               .pcie_width = 8,
                                               .pcie_width_most = 16,
                                               .watts_most = 300,
                                               .watts_usual = 400,
                                               .mig = "off",
                                               .nic = "mlx5_1 PIX mlx5_2 PIX mlx5_0 SYS eth0 SYS",
                                               .ecc = "on",
                                               .links = "X NV12",
                                               .state = { .reading = 1,
                                                          .busy = 0.97,
                                                          .memory_used_bytes = 1100000000,
                                                          .memory_bytes = INT64_C(80000000000),
                                                          .clock_mhz = 1005,
                                                          .clock_most_mhz = 1410,
                                                          .slowed = GPU_SLOWED_HEAT,
                                                          .watts = 250,
                                                          .watts_most = 300,
                                                          .celsius = 86,
                                                          .ecc_corrected = 3,
                                                          .ecc_uncorrected = 5,
                                                          .others = 1,
                                                          .other = "process 4711 (python3)" } };

/* Print how GPUs are built in, what they did, and what slots and switches allow, as nvidia-smi -q
 * and topo -m do.
 */
START_TEST(gpus)
{
    struct device *d;

    plan_example();
    plan_print_gpus(&out, node, 1);
    check_output("");
    d = add_device(node, DEVICE_CUDA, 100);
    d->numa = 1;
    strcpy(d->cpus, "16-31,48-63");
    d->gpu = measured_gpu;
    d = add_device(node, DEVICE_CUDA, 100);
    memset(d->cpus, '7', 50);
    d->gpu = (struct gpu_facts){ .known = 1,
                                 .watts_most = NAN,
                                 .watts_usual = NAN,
                                 .nic = "mlx5_0 PXB mlx5_1 SYS mlx5_2 SYS",
                                 .links = "NV12 X" };
    d->numa = -1;
    plan_print_gpus(&out, node, 1);
    check_output(
        "\n"
        "  node    GPU  PCIe         NUMA  NIC         power cap W  MIG  ECC  compute mode  "
        "persistence\n"
        "  login1    5  3x8 of 4x16     1  mlx5_1 PIX   300 of 400  off  on   -             -\n"
        "  login1    6  -               -  mlx5_0 PXB            -  -    -    -             -\n"
        "\n"
        "  during the measurement\n"
        "  node    GPU        SM MHz  why low     power W  temp  util        memory  others  "
        "process                 ECC errors\n"
        "  login1    5  1005 of 1410  heat     250 of 300  86 C  97 %  1.1 of 80 GB       1  "
        "process 4711 (python3)  3 + 5\n"
        "\n"
        "  ways from the GPUs of login1\n"
        "         GPU5   GPU6   NIC0   NIC1   NIC2   NUMA   cores\n"
        "  GPU5   X      NV12   PIX    PIX    SYS    1      16-31,48-63\n"
        "  GPU6   NV12   X      SYS    SYS    PXB    -      "
        "7777777777777777777777777777777777777777"
        "...\n"
        "  NIC0 is mlx5_1, NIC1 is mlx5_2, NIC2 is mlx5_0\n");
}
END_TEST

/* Leave out the name of a process for which a line has no room. */
START_TEST(gpus_of_long_names)
{
    struct device *d;

    plan_example();
    memset(node->host, 'n', 40);
    d = add_device(node, DEVICE_CUDA, 100);
    d->gpu = (struct gpu_facts){
        .known = 1, .state = { .reading = 1, .others = 1, .other = "process 4711 (python3)" }
    };
    plan_print_gpus(&out, node, 1);
    check_contains("ECC errors\n");
    ck_assert_ptr_null(strstr(strbuf_text(&printed), "python3"));
}
END_TEST

/* Print nothing of the ways between GPUs if they are unknown, as those of AMD's are. */
START_TEST(gpus_without_ways)
{
    plan_example();
    for (int i = 0; i < 2; i++)
        add_device(node, DEVICE_CUDA, 100)->gpu = (struct gpu_facts){ .known = 1, .ecc = "on" };
    plan_print_gpus(&out, node, 1);
    check_contains("  on ");
    ck_assert_ptr_null(strstr(strbuf_text(&printed), "ways"));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, job_line);
    tcase_add_test(tc, slower_than_one);
    tcase_add_test(tc, example);
    tcase_add_test(tc, again);
    tcase_add_test(tc, workers);
    tcase_add_test(tc, gpus_of_long_names);
    tcase_add_test(tc, gpus_without_ways);
    tcase_add_test(tc, pieces);
    tcase_add_test(tc, one_machine);
    tcase_add_test(tc, hybrid);
    tcase_add_test(tc, rounds);
    tcase_add_test(tc, settled);
    tcase_add_test(tc, relative);
    tcase_add_test(tc, limited);
    tcase_add_loop_test(tc, beside, 0, sizeof beside_rows / sizeof *beside_rows);
    tcase_add_test(tc, beside_emulated);
    tcase_add_test(tc, alike);
    tcase_add_test(tc, cached_busy);
    tcase_add_test(tc, folded);
    tcase_add_test(tc, unlike_nodes);
    tcase_add_test(tc, many_nodes);
    tcase_add_test(tc, many_groups);
    tcase_add_test(tc, colour);
    tcase_add_test(tc, devices);
    tcase_add_test(tc, gpus);
}

SUITE_MAIN("plan_print", add_tests)
