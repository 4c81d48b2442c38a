/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_print.c - tests of cmd/run/view/plan_print.h */
#include "cmd/run/view/plan_print.h"

#include "lib/base/cleanup.h"
#include "scheduler/planner.h"
#include "suite.h"

#include <math.h>
#include <string.h>

static char float32[] = "float32";

static char word_auto[] = "auto";

/* A buffer whose text is compared at the end. */
struct output {
    struct plan_print o;
    struct strbuf b;
};

static void open_output(struct output *out)
{
    *out = (struct output){ .o = { .home = "/home/ann", .now_s = 1000000 } };
    out->o.out = &out->b;
}

static void check_output(struct output *out, const char *want)
{
    ck_assert_str_eq(strbuf_text(&out->b), want);
    strbuf_fini(&out->b);
}

static struct node_profile *new_nodes(int n)
{
    struct node_profile *nodes = calloc((size_t)n, sizeof *nodes);

    for (int i = 0; i < n; i++) {
        snprintf(nodes[i].host, sizeof nodes[i].host, n == 1 ? "login1" : "node%d", i);
        nodes[i].cores = 2;
        nodes[i].memory_bytes = INT64_C(23400000000);
        nodes[i].cpu_quota = NAN;
    }
    return nodes;
}

static void add_device(struct node_profile *node, enum device_kind kind, double speed)
{
    struct device *d = &node->device[node->n_devices];

    *d = (struct device){ .kind = kind, .rate = NAN, .fixed_s = NAN, .sample_s = NAN };
    snprintf(d->id, sizeof d->id, "%s:%d", device_kind_name(kind), node->n_devices++);
    if (kind == DEVICE_EMULATED) {
        d->rate = speed;
        d->fixed_s = 0.002;
        d->sample_s = 0.0001;
        return;
    }
    d->fp32_flops = speed * 1e12;
    d->fp16_flops = NAN;
    d->memory_bytes_per_s = speed * 1e11;
    d->to_device_bytes_per_s = d->from_device_bytes_per_s = NAN;
    if (kind == DEVICE_CUDA)
        snprintf(d->name, sizeof d->name, "NVIDIA H%.0f", speed);
    else
        snprintf(d->cpus, sizeof d->cpus, "0-1");
}

static struct node_profile *example_node(void)
{
    static const double rate[] = { 1, 1, 0.5, 0.25 };
    struct node_profile *node = new_nodes(1);

    add_device(node, DEVICE_CPU, 1);
    for (int i = 0; i < 4; i++)
        add_device(node, DEVICE_EMULATED, rate[i]);
    node->cached = true;
    node->measured_s = 1000000 - 7300;
    return node;
}

static struct plan *plan_of(const struct node_profile *nodes, int n, int64_t global)
{
    struct job job = { .batch = { .global = global, .min = 1, .grain = 1 },
                       .sync = { .mode = word_auto, .algorithm = word_auto },
                       .communication.wire = float32 };
    struct eddis_error err = { 0 };
    struct plan *p = NULL;

    ck_assert_msg(planner_plan(&job, nodes, n, NULL, &p, &err) == 0, "%s", err.text);
    return p;
}

START_TEST(job_line)
{
    struct output out;

    open_output(&out);
    plan_print_job(&out.o, "digits", "digits-1", "/home/ann/.local/digits-1");
    plan_print_job(&out.o, "digits", "digits-1", "/home/anna/digits-1");
    plan_print_job(&out.o, "dig\033its", NULL, NULL);
    check_output(&out, "eddis " EDDIS_VERSION "   job digits-1   logs in ~/.local/digits-1\n"
                       "eddis " EDDIS_VERSION "   job digits-1   logs in /home/anna/digits-1\n"
                       "eddis " EDDIS_VERSION "   job dig?its\n");
}
END_TEST

START_TEST(example)
{
    cleanup_free struct node_profile *node = example_node();
    struct plan *p = plan_of(node, 1, 256);
    struct output out;

    open_output(&out);
    plan_print_nodes(&out.o, node, 1);
    plan_print_profiles(&out.o, node, 1);
    plan_print_plan(&out.o, p, NULL);
    check_output(
        &out,
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
    plan_free(p);
}
END_TEST

/* Of a plan behind another the lines that are new, with what they need to be read. */
START_TEST(again)
{
    cleanup_free struct node_profile *node = example_node();
    struct strbuf before = { 0 };
    struct plan *p = plan_of(node, 1, 256);
    struct output out;

    for (int i = 0; i < 2; i++) {
        open_output(&out);
        out.o.colour = i;
        plan_print_again(&out.o, p, NULL, &before);
        ck_assert_str_eq(strbuf_text(&out.b), strbuf_text(&before));
        check_output(&out, strbuf_text(&before));
        open_output(&out);
        out.o.colour = i;
        plan_print_again(&out.o, p, NULL, &before);
        check_output(&out, i ? "\033[1mplan\033[0m      as before\n" : "plan      as before\n");
        strbuf_fini(&before);
    }
    open_output(&out);
    plan_print_plan(&out.o, p, NULL);
    strbuf_add(&before, strbuf_text(&out.b));
    strbuf_fini(&out.b);
    p->worker[2].batch = 47;
    open_output(&out);
    plan_print_again(&out.o, p, NULL, &before);
    check_output(&out, "plan      as before, but\n"
                       "\n"
                       "  rank  node    device         rate/s  batch  weight  step ms\n"
                       "     2  login1  emulated 0.50    4107     47   0.180     11.2\n");
    p->global_batch = 257;
    p->predicted_samples_per_s = 22000;
    (void)snprintf(p->network, sizeof p->network, "10.0.0.0/8");
    open_output(&out);
    plan_print_again(&out.o, p, NULL, &before);
    check_output(&out, "network   10.0.0.0/8\n"
                       "plan      sync, allreduce, global batch 257\n"
                       "\n"
                       "  predicted 22 000 samples/s, 97 % of the devices' sum; an equal split "
                       "would give 9 280\n");
    strbuf_fini(&before);
    plan_free(p);
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
        cleanup_free struct node_profile *nodes = new_nodes(n);
        cleanup_free char *want = NULL;
        struct strbuf before = { 0 };
        struct output out;
        struct plan *p;

        for (int k = 0; k < n; k++)
            add_device(&nodes[k], rows[i].kind, 1);
        if (rows[i].unlike >= 0) /* one GPU more, which takes the place of a CPU */
            add_device(&nodes[rows[i].unlike], DEVICE_CUDA, 1);
        p = plan_of(nodes, n, 256);
        ck_assert_int_gt(asprintf(&want, "%s%sworkers   as before\n", rows[i].line, more), 0);
        open_output(&out);
        plan_print_workers(&out.o, p, nodes, &before);
        plan_print_workers(&out.o, p, nodes, &before);
        check_output(&out, want);
        strbuf_fini(&before);
        plan_free(p);
    }
}
END_TEST

/* A batch that is held at once needs no word, nor one of a program that takes no pieces. */
START_TEST(pieces)
{
    static const char sentence[] =
        "     3  login1  emulated 0.25    2054     23   0.090     11.2\n"
        "  rank 0 computes its 94 samples in micro-batches of at most 50, to fit its memory\n\n";
    cleanup_free struct node_profile *node = example_node();
    struct plan *p = plan_of(node, 1, 256);
    struct output out;

    p->worker[0].piece = 50;
    p->worker[1].piece = 93;
    open_output(&out);
    plan_print_plan(&out.o, p, NULL);
    ck_assert_ptr_null(strstr(strbuf_text(&out.b), "micro-batches"));
    p->takes_pieces = true;
    plan_print_plan(&out.o, p, NULL);
    ck_assert_msg(strstr(strbuf_text(&out.b), sentence) != NULL, "%s", strbuf_text(&out.b));
    for (int i = 0; i < 4; i++)
        p->worker[i].piece = 10;
    plan_print_plan(&out.o, p, NULL);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&out.b),
                                 "rank 3 computes its 23 samples in micro-batches of at most 10"));
    strbuf_fini(&out.b);
    plan_free(p);
}
END_TEST

START_TEST(one_machine)
{
    cleanup_free struct node_profile *node = example_node();
    struct plan *p = plan_of(node, 1, 256);
    struct output out;

    open_output(&out);
    strcpy(p->network, "127.0.0.0/8");
    plan_print_plan(&out.o, p, NULL);
    ck_assert_ptr_nonnull(
        strstr(strbuf_text(&out.b),
               "network   127.0.0.0/8, since all nodes are one machine under several names\n"));
    strbuf_fini(&out.b);
    plan_free(p);
}
END_TEST

/* Four groups of two, and the figures of the modes that were not taken. */
START_TEST(hybrid)
{
    cleanup_free struct node_profile *node = new_nodes(2);
    const struct planner_history known = { 4000000, 1e-4, 125e6, NULL };
    struct job job = { .batch = { .global = 64, .min = 1, .grain = 1 },
                       .communication.wire = float32 };
    char mode[] = "hybrid", algorithm[] = "auto";
    struct plan *p;
    struct output out;

    for (int i = 0; i < 4; i++)
        add_device(&node[i / 2], DEVICE_EMULATED, i % 2 ? 0.5 : 1);
    job.sync.mode = mode;
    job.sync.algorithm = algorithm;
    ck_assert_int_eq(planner_plan(&job, node, 2, &known, &p, NULL), 0);
    open_output(&out);
    plan_print_plan(&out.o, p, NULL);
    check_output(
        &out,
        "plan      hybrid, hsgd, 2 groups, period 309, moving rate 0.45, global batch 64\n"
        "\n"
        "  rank  group  node   device         rate/s  batch  weight  step ms\n"
        "     0      0  node0  emulated 1.00    5238     22   0.344      4.2\n"
        "     1      0  node0  emulated 0.50    2619     11   0.172      4.2\n"
        "     2      1  node1  emulated 1.00    5122     21   0.328      4.1\n"
        "     3      1  node1  emulated 0.50    2500     10   0.156      4.0\n"
        "\n"
        "  predicted 14 300 samples/s, 93 % of the devices' sum; an equal split would give 1 760\n"
        "  modes, for a model of 4.0 MB\n"
        "\n"
        "    mode     samples/s  efficiency    progress\n"
        "    sync         1 780        1.00       1 780\n"
        "    async       15 300        0.35       5 370\n"
        "  * hybrid      14 300        0.48       6 880\n"
        "\n"
        "  emulated: workers emulate devices of these speeds by waiting\n"
        "  hybrid because the job asks for it\n");
    plan_free(p);
}
END_TEST

/* A mode that was open. */
START_TEST(settled)
{
    cleanup_free struct node_profile *node = new_nodes(2);
    const struct planner_history known = { 40000000, 1e-4, 125e6, NULL };
    struct job job = { .batch = { .global = 64, .min = 1, .grain = 1 },
                       .communication.wire = float32 };
    char open[] = "auto";
    struct plan *p;
    cleanup_free char *text = NULL;

    for (int i = 0; i < 4; i++)
        add_device(&node[i / 2], DEVICE_EMULATED, i % 2 ? 0.5 : 1);
    job.sync.mode = job.sync.algorithm = open;
    ck_assert_int_eq(planner_plan(&job, node, 2, &known, &p, NULL), 0);
    text = plan_print_settled(p, false);
    ck_assert_str_eq(text,
                     "mode      hybrid, hsgd, 2 groups, period 621, moving rate 0.45\n"
                     "\n"
                     "  rank  group  node   device         rate/s  batch  weight  step ms\n"
                     "     0      0  node0  emulated 1.00    5238     22   0.344      4.2\n"
                     "     1      0  node0  emulated 0.50    2619     11   0.172      4.2\n"
                     "     2      1  node1  emulated 1.00    5122     21   0.328      4.1\n"
                     "     3      1  node1  emulated 0.50    2500     10   0.156      4.0\n"
                     "\n"
                     "  modes, for a model of 40 MB\n"
                     "\n"
                     "    mode     samples/s  efficiency    progress\n"
                     "    sync           187        1.00         187\n"
                     "    async       15 300        0.04         543\n"
                     "  * hybrid       2 900        0.24         694\n"
                     "\n"
                     "  hybrid because it is predicted to make 3.71 times the progress of sync "
                     "and 1.28 times that of async\n"
                     "\n");
    free(text);
    p->options.wire = SYNC_WIRE_BFLOAT16;
    text = plan_print_settled(p, false);
    ck_assert_ptr_nonnull(strstr(text, "moving rate 0.45, bfloat16 between nodes\n"));
    plan_free(p);
}
END_TEST

/* Real devices: no seconds before the first steps. */
START_TEST(relative)
{
    cleanup_free struct node_profile *node = new_nodes(1);
    struct plan *p;
    struct output out;

    add_device(node, DEVICE_CPU, 1);
    add_device(node, DEVICE_CUDA, 100);
    add_device(node, DEVICE_CUDA, 50);
    add_device(node, DEVICE_CUDA, 100);
    snprintf(node->note, sizeof node->note, "the GPUs are busy");
    p = plan_of(node, 1, 250);
    open_output(&out);
    plan_print_nodes(&out.o, node, 1);
    plan_print_profiles(&out.o, node, 1);
    plan_print_plan(&out.o, p, "replayed from p.json");
    check_output(
        &out, "nodes     1   login1 (2 cores, 23 GB, 2 NVIDIA H100, 1 NVIDIA H50)\n"
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
    plan_free(p);
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
    cleanup_free struct node_profile *node = new_nodes(n);
    struct output out;

    for (int i = 0; i < n; i++)
        add_device(&node[i], DEVICE_CUDA, 1);
    open_output(&out);
    for (int i = 0; i < n; i++) {
        node[i].cached = i < beside_rows[_i].cached;
        node[i].measured_s = out.o.now_s - 7200;
        if (i >= n - beside_rows[_i].beside)
            strcpy(node[i].beside, "Slurm's job 12");
    }
    plan_print_profiles(&out.o, node, n);
    check_output(&out, beside_rows[_i].line);
}
END_TEST

/* Nodes that emulate their devices are neither measured nor kept. */
START_TEST(beside_emulated)
{
    cleanup_free struct node_profile *node = new_nodes(2);
    struct output out;

    add_device(&node[0], DEVICE_EMULATED, 1);
    add_device(&node[1], DEVICE_CUDA, 1);
    node[1].cached = true;
    open_output(&out);
    node[1].measured_s = out.o.now_s - 7200;
    plan_print_profiles(&out.o, node, 2);
    check_output(&out, "profile   1 emulated device, 1 GPU, cached 2 h ago\n");
}
END_TEST

START_TEST(alike)
{
    cleanup_free struct node_profile *node = new_nodes(1);
    struct plan *p;
    struct output out;

    add_device(node, DEVICE_CPU, 1);
    p = plan_of(node, 1, 64);
    open_output(&out);
    plan_print_plan(&out.o, p, NULL);
    check_output(&out, "plan      sync, allreduce, global batch 64\n"
                       "\n"
                       "  rank  node    device   rate  batch  weight  time\n"
                       "     0  login1  cpu 0-1  1.00     64   1.000  probe\n"
                       "\n"
                       "  sync because there is one worker\n");
    plan_free(p);
}
END_TEST

/* What was measured beside others is not passed off as the devices' own speed. */
START_TEST(cached_busy)
{
    cleanup_free struct node_profile *nodes = new_nodes(2);
    struct output out;

    for (int i = 0; i < 2; i++) {
        add_device(&nodes[i], DEVICE_CPU, 1);
        nodes[i].cached = true;
        nodes[i].measured_s = 1000000 - 7300;
        nodes[i].threads = 4;
    }
    open_output(&out);
    nodes[0].load = 2.0; /* half of them: that will do */
    plan_print_profiles(&out.o, nodes, 1);
    nodes[0].load = 2.1;
    plan_print_profiles(&out.o, nodes, 1);
    plan_print_profiles(&out.o, nodes, 2);
    nodes[1].load = 9;
    plan_print_profiles(&out.o, nodes, 2);
    check_output(&out, "profile   1 CPU device, cached 2 h ago\n"
                       "profile   1 CPU device, cached 2 h ago, measured on a busy machine\n"
                       "profile   2 CPU devices, cached 2 h ago, some measured on busy machines\n"
                       "profile   2 CPU devices, cached 2 h ago, measured on busy machines\n");
}
END_TEST

/* 40 workers are more than a screen: equal ones share a row. */
START_TEST(folded)
{
    static const double rate[] = { 1, 0.6, 0.35, 0.15 };
    cleanup_free struct node_profile *nodes = new_nodes(10);
    struct plan *p;
    struct output out;

    for (int n = 0; n < 10; n++)
        for (int i = 0; i < 4; i++)
            add_device(&nodes[n], DEVICE_EMULATED, rate[i]);
    nodes[3].cached = true;
    p = plan_of(nodes, 10, 40 * 32);
    open_output(&out);
    plan_print_nodes(&out.o, nodes, 10);
    plan_print_profiles(&out.o, nodes, 10);
    plan_print_plan(&out.o, p, NULL);
    check_output(&out,
                 "nodes     10  node0 ... node9 (each 2 cores, 23 GB, no GPU; 4 emulated devices)\n"
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
                 "  emulated: workers emulate devices of these speeds by waiting\n"
                 "  sync because it is exact; other modes are compared once a run has measured how "
                 "large the model is\n");
    plan_free(p);
}
END_TEST

/* Several unlike nodes: how many they are, then a line for each run of equal ones. */
START_TEST(unlike_nodes)
{
    cleanup_free struct node_profile *nodes = new_nodes(6);
    struct output out;

    for (int i = 0; i < 6; i++)
        add_device(&nodes[i], DEVICE_EMULATED, 1);
    add_device(&nodes[0], DEVICE_EMULATED, 1);
    nodes[4].cores = nodes[5].cores = 8;
    nodes[1].measured_s = 0;
    for (int i = 0; i < 3; i++)
        snprintf(nodes[i].note, sizeof nodes[i].note, "slow");
    snprintf(nodes[4].note, sizeof nodes[4].note, "busy\033");
    open_output(&out);
    plan_print_nodes(&out.o, nodes, 6);
    check_output(&out, "nodes     6   node0 (2 cores, 23 GB, no GPU; 2 emulated devices)\n"
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
    cleanup_free struct node_profile *nodes = new_nodes(300);
    struct output out;
    int lines = 0;

    for (int i = 0; i < 300; i++) {
        nodes[i].cores = i + 1;
        snprintf(nodes[i].note, sizeof nodes[i].note, "busy %d", i);
    }
    open_output(&out);
    plan_print_nodes(&out.o, nodes, 300);
    for (const char *c = strbuf_text(&out.b); *c; c++)
        lines += *c == '\n';
    ck_assert_int_eq(lines, 34);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&out.b), "              ... and 284 more\n"));
    ck_assert_ptr_nonnull(
        strstr(strbuf_text(&out.b), "              ... and 284 more such notes\n"));
    strbuf_fini(&out.b);
}
END_TEST

/* When there are many groups too, the table ends. */
START_TEST(many_groups)
{
    cleanup_free struct node_profile *node = new_nodes(1);
    struct plan *p;
    struct output out;
    int lines = 0;

    for (int i = 0; i < 60; i++)
        add_device(node, DEVICE_EMULATED, 1 + i);
    p = plan_of(node, 1, 60000);
    open_output(&out);
    plan_print_plan(&out.o, p, NULL);
    for (const char *s = strbuf_text(&out.b); *s; s++)
        lines += *s == '\n';
    ck_assert_int_lt(lines, 45);
    ck_assert_msg(strstr(strbuf_text(&out.b), "... and 29 more workers\n") != NULL, "%s",
                  strbuf_text(&out.b));
    strbuf_fini(&out.b);
    plan_free(p);
}
END_TEST

START_TEST(colour)
{
    cleanup_free struct node_profile *node = example_node();
    struct plan *p = plan_of(node, 1, 256);
    struct output out;

    open_output(&out);
    out.o.colour = true;
    plan_print_plan(&out.o, p, NULL);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&out.b), "\033[33memulated\033[0m"));
    strbuf_fini(&out.b);
    plan_free(p);
}
END_TEST

START_TEST(devices)
{
    cleanup_free struct node_profile *node = example_node();
    struct output out;

    node->n_devices = 2;
    add_device(node, DEVICE_CUDA, 100);
    node->device[2].memory_bytes = INT64_C(80000000000);
    node->device[2].fp16_flops = 4e14;
    open_output(&out);
    plan_print_devices(&out.o, node, 1);
    check_output(&out, "  node    device      name                                cores  memory  "
                       "fp32 TFLOP/s  fp16 TFLOP/s  memory GB/s  to GB/s  from GB/s\n"
                       "  login1  cpu:0                                           0-1         -    "
                       "      1.00             -          100        -          -\n"
                       "  login1  emulated:1  emulated 1: 2 ms + 0.1 ms a sample              -    "
                       "         -             -            -        -          -\n"
                       "  login1  cuda:2      NVIDIA H100                                 80 GB    "
                       "       100           400       10 000        -          -\n");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, job_line);
    tcase_add_test(tc, example);
    tcase_add_test(tc, again);
    tcase_add_test(tc, workers);
    tcase_add_test(tc, pieces);
    tcase_add_test(tc, one_machine);
    tcase_add_test(tc, hybrid);
    tcase_add_test(tc, settled);
    tcase_add_test(tc, relative);
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
}

SUITE_MAIN("plan_print", add_tests)
