/* SPDX-License-Identifier: Apache-2.0 */
/* test_planner.c - tests of scheduler/planner.h */
#include "lib/base/cleanup.h"
#include "lib/model/algorithm.h"
#include "scheduler/devices.h"
#include "scheduler/predictors.h"
#include "suite.h"

#include "tests/unit/planning.h"

#include <errno.h>

START_TEST(example)
{
    static const int64_t equal[] = { 64, 64, 64, 64 };
    int64_t sum = 0;

    make_example_node();
    job.batch.global = 256;
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(p->n_workers, 4);
    ck_assert_str_eq(p->node[0], "login1");
    ck_assert_str_eq(p->worker[2].device, "emulated 0.50");
    ck_assert_str_eq(p->worker[2].device_id, "emulated:3");
    ck_assert(p->emulated && !p->relative);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert_str_eq(p->algorithm, "allreduce");
    ck_assert_int_eq(p->bucket_bytes, 0);
    for (int i = 0; i < 4; i++) {
        const struct plan_worker *w = &p->worker[i];

        sum += w->batch;
        ck_assert_int_eq(w->rank, i);
        ck_assert_int_eq(w->local_rank, i);
        ck_assert_int_eq(w->equal_batch, 64);
        ck_assert_double_eq(w->weight, (double)w->batch / 256);
        ck_assert_double_eq(w->step_s, w->fixed_s + w->sample_s * (double)w->batch);
        ck_assert_double_eq(w->samples_per_s, (double)w->batch / w->step_s);
    }
    ck_assert_int_eq(sum, 256);
    ck_assert_double_eq(p->equal_samples_per_s, planner_throughput(p, equal));
    ck_assert_double_eq_tol(p->equal_samples_per_s, 256 / (0.002 + 0.0004 * 64), 1e-6);
    ck_assert_double_gt(p->predicted_samples_per_s, 2 * p->equal_samples_per_s);
    ck_assert_double_ge(p->ideal_samples_per_s, p->predicted_samples_per_s);
    ck_assert_double_gt(p->predicted_samples_per_s, 0.97 * p->ideal_samples_per_s);
}
END_TEST

START_TEST(same_bytes)
{
    cleanup_free char *a = NULL, *b = NULL, *c = NULL;
    struct plan *q, *r;

    make_example_node();
    job.batch.global = 257;
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(planner_plan(&job, node, 1, NULL, &q, NULL), 0);
    a = plan_text(p);
    b = plan_text(q);
    ck_assert_str_eq(a, b);
    ck_assert_int_eq(plan_parse(a, strlen(a), "plan", &r, NULL), 0);
    c = plan_text(r);
    ck_assert_str_eq(a, c);
    plan_free(q);
    plan_free(r);
}
END_TEST

/* Devices of a node -> its workers. */
static const struct {
    int cpu, cuda, emulated;
    int64_t workers_per_node;
    int workers; /* or the error */
    enum device_kind kind;
} layouts[] = {
    { 1, 0, 0, 0, 1, DEVICE_CPU },       { 2, 0, 0, 0, 2, DEVICE_CPU },
    { 2, 4, 0, 0, 4, DEVICE_CUDA },      { 2, 0, 3, 0, 3, DEVICE_EMULATED },
    { 2, 1, 3, 0, 3, DEVICE_EMULATED }, /* emulated devices were asked for */
    { 2, 4, 0, 3, 3, DEVICE_CUDA },      { 2, 4, 0, 5, -EINVAL, DEVICE_CUDA },
    { 2, 0, 3, 4, -EINVAL, DEVICE_CPU }, { 1, 0, 0, 5, 5, DEVICE_CPU },
    { 2, 0, 0, 1, 1, DEVICE_CPU },       { 1, 0, 0, 1 << 20, -EINVAL, DEVICE_CPU },
    { 0, 0, 0, 0, -EINVAL, DEVICE_CPU },
};

START_TEST(layout)
{
    int rc;

    make_nodes(2);
    job.batch.global = 1024;
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < layouts[_i].cpu; i++)
            add_device(&node[n], DEVICE_CPU, 1);
        for (int i = 0; i < layouts[_i].cuda; i++)
            add_device(&node[n], DEVICE_CUDA, 10);
        for (int i = 0; i < layouts[_i].emulated; i++)
            add_emulated(&node[n], 1, 0.002, 0.0001);
    }
    job.workers_per_node = layouts[_i].workers_per_node;
    rc = plan_nodes(2, NULL);
    ck_assert_int_eq(rc, layouts[_i].workers < 0 ? layouts[_i].workers : 0);
    if (rc < 0) {
        ck_assert_ptr_nonnull(
            strstr(err.text, layouts[_i].workers_per_node > 1000 ? "workers" : "node0"));
        ck_assert_int_eq(strstr(err.text, "CUDA_VISIBLE_DEVICES") != NULL, layouts[_i].cuda > 0);
        return;
    }
    ck_assert_int_eq(p->n_workers, 2 * layouts[_i].workers);
    ck_assert_int_eq(p->worker[0].kind, layouts[_i].kind);
    ck_assert_int_eq(p->worker[layouts[_i].workers].node, 1);
    ck_assert_int_eq(p->worker[layouts[_i].workers].local_rank, 0);
    ck_assert_int_eq(p->relative, layouts[_i].kind != DEVICE_EMULATED);
}
END_TEST

START_TEST(too_few_groups)
{
    make_nodes(1);
    for (int i = 0; i < 2; i++)
        add_device(node, DEVICE_CUDA, 10);
    node->bundle = 4;
    job.workers_per_node = 3;
    ck_assert_int_eq(plan_nodes(1, NULL), -EINVAL);
    ck_assert_ptr_nonnull(
        strstr(err.text, "has 2 groups of 4 GPUs (gpus_per_worker), too few for"));
}
END_TEST

START_TEST(cpu_name)
{
    make_nodes(1);
    strcpy(add_device(node, DEVICE_CPU, 1)->cpus, "0-3");
    job.workers_per_node = 2;
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_str_eq(p->worker[1].device, "cpu 2-3");
    ck_assert_str_eq(p->worker[1].cpus, "2-3");
    ck_assert_int_eq(p->worker[1].batch, 32);
}
END_TEST

static const struct {
    int64_t global, min, max, grain;
    const char *words;
} batches[] = {
    { 3, 1, 0, 1, "batch.global is 3, too small for 4 workers with batch.min: 1; raise it to 4" },
    { 256, 1, 16, 1,
      "batch.global is 256, too large for 4 workers with batch.max: 16; lower it to 64" },
    { 256, 65, 0, 1, "raise it to 260" },
    { 256, 8, 4, 1, "batch.min is 8, more than batch.max 4" },
    { 0, 1, 0, 1, "batch.global is 0" },
    { INT64_MAX, 1, 0, 1, "batch.global is" },
    { 256, 1, 64, 40, "batch.global: the largest batches" },
};

START_TEST(batch_errors)
{
    make_example_node();
    job.batch.global = batches[_i].global;
    job.batch.min = batches[_i].min;
    job.batch.max = batches[_i].max;
    job.batch.grain = batches[_i].grain;
    ck_assert_int_lt(plan_nodes(1, NULL), 0);
    ck_assert_msg(strstr(err.text, batches[_i].words) != NULL, "%s", err.text);
}
END_TEST

/* A machine too busy to be measured: alone its device needs no rate, beside another it does. */
START_TEST(unmeasured)
{
    make_nodes(1);
    job.batch.global = 10;
    add_device(node, DEVICE_CPU, NAN);
    job.workers_per_node = 2;
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert(p->relative && p->n_workers == 2);
    ck_assert_int_eq(p->worker[0].batch, 5);
    ck_assert_int_eq(p->worker[1].batch, 5);
    add_device(node, DEVICE_CPU, 1);
    job.workers_per_node = 0;
    ck_assert_int_eq(plan_nodes(1, NULL), -ENODATA);
}
END_TEST

/* Measurements of three GPUs, two on the first node, and the workers' batches of 120 samples. */
static const struct {
    double fp32[3], memory[3]; /* in 1e12 and 1e11; NAN: not measured */
    int rc;
    int64_t batch[3]; /* by rank; 0: no such rank */
    const char *note; /* of the first node */
} figures[] = {
    { { 2, 2, 4 }, { 2, 2, 4 }, 0, { 30, 30, 60 }, "" },
    { { 2, NAN, 4 },
      { 3, 3, 6 },
      0,
      { 30, 30, 60 },
      "without a matrix product of GPU 1 all devices are compared by the speed of their memory "
      "alone" },
    { { 2, 2, 4 },
      { 1, NAN, 1 },
      0,
      { 30, 30, 60 },
      "without the memory's speed of GPU 1 all devices are compared by matrix products alone" },
    { { 2, NAN, 4 }, { 2, NAN, 4 }, 0, { 40, 80 }, "GPU 1 gets no worker" },
    { { 2, NAN, 4 }, { NAN, 2, 4 }, -ENODATA, { 0 }, NULL },
    { { NAN, NAN, 4 }, { NAN, NAN, 4 }, -ENODATA, { 0 }, NULL },
};

/* A GPU without one of its measurements is not taken for a faster one, and one without all is left
 * out where its node has another.
 */
START_TEST(missing_figures)
{
    make_nodes(2);
    job.batch.global = 120;
    for (int i = 0; i < 3; i++) {
        struct device *d = add_device(&node[i / 2], DEVICE_CUDA, 1);

        d->fp32_flops = figures[_i].fp32[i] * 1e12;
        d->memory_bytes_per_s = figures[_i].memory[i] * 1e11;
    }
    ck_assert_int_eq(plan_nodes(2, NULL), figures[_i].rc);
    if (figures[_i].rc < 0) {
        ck_assert_ptr_nonnull(strstr(err.text, "eddis-run --profile"));
        strcpy(node[0].note, "it is broken");
        ck_assert_int_eq(plan_nodes(2, NULL), figures[_i].rc);
        if (isnan(figures[_i].fp32[0])) /* its node is named, with why */
            ck_assert_ptr_nonnull(strstr(err.text, "to see why: it is broken"));
        return;
    }
    ck_assert_int_eq(p->n_workers, figures[_i].batch[2] ? 3 : 2);
    for (int i = 0; i < p->n_workers; i++)
        ck_assert_int_eq(p->worker[i].batch, figures[_i].batch[i]);
    devices_remark(0, PRECISION_FP32, node, 2);
    ck_assert_str_eq(node[0].note, figures[_i].note);
    ck_assert_str_eq(node[1].note, "");
}
END_TEST

/* A job that lists a GPU which cannot be used is refused, and one that asks for it by number, too.
 */
START_TEST(unusable_wanted)
{
    int64_t listed[] = { 1 };
    struct job_host host = { .host = word_of("a"), .device = listed, .n_device = 1 };

    make_nodes(1);
    add_device(node, DEVICE_CUDA, 1);
    add_device(node, DEVICE_CUDA, NAN);
    strcpy(node->note, "GPU 1: it is broken");
    ck_assert_int_eq(planner_host(&host, node, &err), -EINVAL);
    ck_assert_str_eq(err.text, "node 'a' cannot use its cuda device 1, which the job lists: GPU 1: "
                               "it is broken; remove it from the node's devices");
    listed[0] = 0;
    ck_assert_int_eq(planner_host(&host, node, &err), 0);
    ck_assert_int_eq(node->n_devices, 1);
    add_device(node, DEVICE_CUDA, NAN);
    job.workers_per_node = 2;
    ck_assert_int_eq(plan_nodes(1, NULL), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "has 1 GPU, too few for workers_per_node (-n): 2"));
    node->cpus_only = true;
    host.device = (int64_t[]){ 7 };
    ck_assert_int_eq(planner_host(&host, node, &err), -EINVAL);
    ck_assert_str_eq(err.text, "node 'a' has no cpu device 7");
    node->device[0].index = 7;
    ck_assert_int_eq(planner_host(&host, node, &err), -EINVAL);
    ck_assert_str_eq(err.text,
                     "node 'a' has no cpu device 7, and eddis-train uses no GPU; list NUMA "
                     "nodes as the node's devices, or none");
}
END_TEST

/* Devices whose speeds are ratios: a mode that would be faster waits for seconds, and the reason
 * says so.
 */
START_TEST(ratios_weigh_no_modes)
{
    const struct planner_history known = { .model_bytes = 1000000 };

    make_nodes(1);
    add_device(node, DEVICE_CUDA, 1);
    add_device(node, DEVICE_CUDA, 10);
    job.batch.min = job.batch.max = 32;
    ck_assert_int_eq(plan_nodes(1, &known), 0);
    ck_assert(p->relative);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert_msg(
        strstr(p->reason, "are compared once a run has measured how fast the workers are"), "%s",
        p->reason);
    ck_assert_str_eq(p->candidate[1].lost,
                     "it is compared once a run has measured how fast the workers are");
}
END_TEST

START_TEST(zero_samples)
{
    make_example_node();
    job.batch.global = 2;
    job.batch.min = 0;
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(p->worker[3].batch, 0);
    ck_assert_double_eq(p->worker[3].weight, 0);
    ck_assert_double_eq(p->worker[3].samples_per_s, 0);
}
END_TEST

static const struct {
    const char *mode, *algorithm;
    int rc;
    const char *want;
} modes[] = {
    { "auto", "auto", 0, "allreduce" },      { "sync", "auto", 0, "allreduce" },
    { "auto", "allreduce", 0, "allreduce" }, { "sync", "allreduce", 0, "allreduce" },
    { "async", "auto", 0, "easgd" },         { "auto", "easgd", 0, "easgd" },
    { "hybrid", "auto", 0, "hsgd" },         { "async", "allreduce", -EINVAL, NULL },
    { "auto", "nonesuch", -EINVAL, NULL },   { "local", "auto", 0, "local" },
    { "auto", "diloco", 0, "diloco" },       { "local", "diloco", 0, "diloco" },
    { "local", "hsgd", -EINVAL, NULL },
};

START_TEST(mode)
{
    int rc;

    make_example_node();
    job.sync.mode = word_of(modes[_i].mode);
    job.sync.algorithm = word_of(modes[_i].algorithm);
    rc = plan_nodes(1, NULL);
    ck_assert_int_eq(rc, modes[_i].rc);
    if (rc < 0)
        return;
    ck_assert_str_eq(p->algorithm, modes[_i].want);
    ck_assert_str_ne(p->reason, "");
}
END_TEST

static const struct {
    const char *mode;
    int nodes;
    struct planner_history known;
    const char *want, *reason;
    int n_groups;
    double rate;
} chosen[] = {
    { "auto",
      4,
      { 0 },
      "sync",
      "sync because it is exact; other modes are compared once a run has measured how large the "
      "model is",
      1,
      0 },
    { "auto", 4, { 4000000, 1e-4, 125e6, NULL }, "sync", "sync because it is exact, and no", 1, 0 },
    { "auto",
      4,
      { 4000000, 1e-4, 5e6, NULL },
      "local",
      "local because it is predicted to make ",
      4,
      0 },
    { "async",
      16,
      { 4000000, 1e-4, 25e6, NULL },
      "async",
      "async because the job asks for it",
      16,
      0.9 / 16 },
    { "hybrid",
      4,
      { 4000000, 1e-4, 25e6, NULL },
      "hybrid",
      "hybrid because the job asks for it",
      4,
      0.9 / 4 },
    { "hybrid", 16, { 0 }, "hybrid", "hybrid because the job asks for it", 4, 0.9 / 4 },
    /* begun, and planned again with fewer nodes or more that is known */
    { "auto",
      4,
      { .algorithm = "easgd" },
      "async",
      "async because the job has begun with it",
      16,
      0.9 / 16 },
    { "auto",
      4,
      { 4000000, 1e-4, 5e6, "allreduce" },
      "sync",
      "sync because the job has begun with it",
      1,
      0 },
};

static void plan_chosen(int row)
{
    make_mix(chosen[row].nodes);
    job.batch.global = 512;
    job.sync.mode = word_of(chosen[row].mode);
    ck_assert_int_eq(plan_nodes(chosen[row].nodes, &chosen[row].known), 0);
}

START_TEST(chooses_by_prediction)
{
    plan_chosen(_i);
    ck_assert_str_eq(p->mode, chosen[_i].want);
    ck_assert_msg(strncmp(p->reason, chosen[_i].reason, strlen(chosen[_i].reason)) == 0, "%s",
                  p->reason);
    ck_assert_int_eq(p->n_groups, chosen[_i].n_groups);
    ck_assert_double_eq(p->options.moving_rate, chosen[_i].rate);
    ck_assert_int_eq(p->options.period > 0, chosen[_i].n_groups > 1);
    for (int r = 0; r < 16 && chosen[_i].nodes == 4 && p->n_groups == 4; r++)
        ck_assert_int_eq(p->worker[r].group, p->worker[r].node);
}
END_TEST

/* A program that combines its gradients itself trains in sync mode, even where another mode would
 * be chosen; its gradients take no predicted time, and no wire format.
 */
START_TEST(external)
{
    static const char *const wires[] = { "auto", "bfloat16" };
    const struct planner_history known = { .model_bytes = 4000000,
                                           .latency_s = 1e-4,
                                           .bytes_per_s = 5e6,
                                           .program = { .centre_bytes = 4000000,
                                                        .gradients = "torch" } };

    make_mix(4);
    job.batch.global = 512;
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        int64_t batch[16];

        job.communication.wire = word_of(wires[i]);
        ck_assert_int_eq(plan_nodes(4, &known), 0);
        ck_assert_str_eq(p->mode, "sync");
        ck_assert_str_eq(p->program.gradients, "torch");
        ck_assert_msg(strstr(p->reason, "the program's gradients are combined by torch"), "%s",
                      p->reason);
        ck_assert_int_eq(strstr(p->reason, "communication.wire has no effect") != NULL, i == 1);
        for (int r = 0; r < p->n_workers; r++)
            batch[r] = p->worker[r].batch;
        ck_assert_double_eq_tol(p->predicted_samples_per_s, planner_throughput(p, batch), 1e-6);
        for (int c = 0; c < p->n_candidates; c++)
            ck_assert_str_eq(p->candidate[c].lost,
                             c == 0 ? "" : "the program combines its gradients itself");
    }
}
END_TEST

/* What is stable for few writers is not for many: each of p draws the centre by 0.9 / p. */
START_TEST(seasgd_5_the_moving_rate_is_shared_by_the_writers)
{
    static const char *const asked[] = { "async", "hybrid" };

    job.batch.global = 512;
    for (int i = 0; i < 2; i++)
        for (int nodes = 2; nodes <= 16; nodes *= 2) {
            make_mix(nodes);
            job.sync.mode = word_of(asked[i]);
            ck_assert_int_eq(plan_nodes(nodes, NULL), 0);
            ck_assert_int_ge(p->n_groups, 2);
            ck_assert_double_eq(p->options.moving_rate, 0.9 / p->n_groups);
        }
}
END_TEST

/* Every algorithm that a plan may choose has its predictor, and there are no others. */
START_TEST(predictors_follow_the_table)
{
    const struct algorithm *row;
    const struct predictor *predictor;
    size_t n = predictors(&predictor), n_chosen = 0;

    for (size_t i = 0, all = algorithms(&row); i < all; i++)
        n_chosen += !(row[i].traits & ALGORITHM_EXTERNAL);
    ck_assert_uint_eq(n, n_chosen);
    for (size_t i = 0; i < n; i++)
        ck_assert_str_eq(predictor[i].name, row[i].name);
}
END_TEST

/* One candidate was taken, the others say why not. */
START_TEST(candidates)
{
    const struct predictor *predictor;
    size_t n = predictors(&predictor), n_offered = 0;

    for (size_t i = 0; i < n; i++)
        n_offered += !algorithm_has(predictor[i].name, ALGORITHM_NAMED);
    plan_chosen(_i);
    ck_assert_uint_eq((size_t)p->n_candidates, n_offered);
    for (int i = 0; i < p->n_candidates; i++) {
        const struct plan_candidate *c = &p->candidate[i];

        ck_assert_double_eq(c->predicted_progress, c->predicted_samples_per_s * c->efficiency);
        ck_assert_int_eq(c->lost[0] == 0, strcmp(c->algorithm, p->algorithm) == 0);
        if (!c->lost[0])
            ck_assert(memcmp(&c->options, &p->options, sizeof p->options) == 0);
    }
}
END_TEST

START_TEST(groups_must_fit)
{
    make_example_node();
    job.sync.groups.n = 5;
    ck_assert_int_eq(plan_nodes(1, NULL), -EINVAL);
    ck_assert_str_eq(err.text, "sync.groups is 5, but there are 4 workers");
}
END_TEST

/* With batch.min: 0 only sync mode has workers without samples: elsewhere they would be at their
 * end at once.
 */
START_TEST(every_writer_has_samples)
{
    static const char *const mode_words[] = { "sync", "async", "hybrid" };
    int of[] = { 0, 0, 0, 1 };
    int64_t sum = 0;

    make_example_node();
    job.batch.global = 8;
    node->device[4].rate = 0.001;
    job.sync.mode = word_of(mode_words[_i]);
    job.batch.min = 0;
    if (_i == 2)
        job.sync.groups = (struct job_groups){ .n = 2, .of = of, .n_of = 4 };
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(p->worker[3].batch, _i > 0);
    for (int i = 0; i < 4; i++)
        sum += p->worker[i].batch;
    ck_assert_int_eq(sum, 8);
    job.batch.global = 1;
    ck_assert_int_eq(plan_nodes(1, NULL), _i ? -EINVAL : 0);
    if (_i)
        ck_assert_ptr_nonnull(strstr(err.text, "too small for"));
}
END_TEST

/* Two of three nodes are left. */
START_TEST(groups_lose_who_is_gone)
{
    int of[] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0 }, began_as[] = { 0, 8 };
    struct planner_history known = { .began_as = began_as };

    make_nodes(2);
    for (int i = 0; i < 2; i++)
        add_example_devices(&node[i]);
    job.sync.mode = word_of("hybrid");
    job.sync.groups = (struct job_groups){ .n = 3, .of = of, .n_of = 12 };
    ck_assert_int_eq(plan_nodes(2, NULL), -EINVAL);
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_int_eq(p->n_groups, 2);
    for (int r = 0; r < 8; r++)
        ck_assert_int_eq(p->worker[r].group, r >= 4 && r < 7);
    ck_assert_str_eq(p->reason, "hybrid because the job asks for it; sync.groups without the 4 "
                                "lost workers: 2 groups of 3");
}
END_TEST

/* The plan is not for the job and n of its nodes. */
static void check_not_adopted(int n, const char *words)
{
    ck_assert_int_eq(planner_adopt(p, &job, node, n, NULL, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
}

/* What a replayed plan fixes, the job may say again but not otherwise. */
START_TEST(adopt_averages)
{
    int of[] = { 0, 0, 1, 1 };

    make_example_node();
    job.sync.mode = word_of("hybrid");
    job.sync.groups = (struct job_groups){ .n = 2, .of = of, .n_of = 4 };
    job.sync.options.period = 8;
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(planner_adopt(p, &job, node, 1, NULL, NULL), 0);
    job.sync.options.period = 9;
    check_not_adopted(1, "every 8 steps, but sync.period is 9");
    job.sync.options.period = 0;
    job.sync.options.moving_rate = 0.3;
    check_not_adopted(1, "moving rate 0.45");
    job.sync.options.moving_rate = 0.45;
    of[1] = 1;
    check_not_adopted(1, "they differ from sync.groups");
    job.sync.groups = (struct job_groups){ 0 };
    ck_assert_int_eq(planner_adopt(p, &job, node, 1, NULL, NULL), 0);
}
END_TEST

START_TEST(adopt)
{
    make_example_node();
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    snprintf(node->host, sizeof node->host, "elsewhere");
    ck_assert_int_eq(planner_adopt(p, &job, node, 1, NULL, NULL), 0);
    ck_assert_str_eq(p->node[0], "elsewhere");

    check_not_adopted(2, "the plan is for 1 node(s), but the job has 2");
    job.batch.global = 65;
    check_not_adopted(1, "global batch of 64");
    job.batch.global = 64;
    job.seed = 1;
    check_not_adopted(1, "seed 0");
    job.seed = 0;
    node->device[2].rate = 0.9;
    check_not_adopted(1, "another speed");
    node->n_devices = 2;
    ck_assert_int_eq(planner_adopt(p, &job, node, 1, NULL, &err), -EINVAL);
}
END_TEST

/* ---- what was learnt ---- */

static struct planner_time learnt[2]; /* of rank 1 and rank 0, as an earlier job would keep them */

/* Two nodes, the second one half as fast by the probe; of their ranks 0 and 1 these times of a
 * sample were learnt.
 */
static void make_two_nodes(double first_s, double second_s)
{
    const struct plan_worker w = { .device_id = "cuda:0" };

    make_nodes(2);
    for (int i = 0; i < 2; i++) {
        struct planner_time *t = &learnt[1 - i];

        add_device(&node[i], DEVICE_CUDA, i ? 0.5 : 1);
        *t = (struct planner_time){ .sample_s = i ? second_s : first_s,
                                    .largest = 100,
                                    .source = TIME_LEARNT };
        planner_key(node[i].host, &node[i], &w, t->key);
    }
    job.batch.global = 300;
}

/* What is learnt of one is not of the other, also where they share a device and its cores, or if a
 * node's own software is another.
 */
START_TEST(key_of_each)
{
    struct plan_worker w = { .device_id = "numa:0", .cpus = "0-1" };
    char one[PLANNER_KEY], other[PLANNER_KEY];

    make_two_nodes(0, 0);
    planner_key("host", node, &w, one);
    w.local_rank = 1;
    planner_key("host", node, &w, other);
    ck_assert_str_ne(one, other);
    node->software = 7;
    planner_key("host", node, &w, one);
    ck_assert_str_ne(one, other);
}
END_TEST

/* Plan by what was learnt of the first n ranks. */
static void plan_by(int n)
{
    struct planner_history known = { .time = learnt + 2 - n, .n_times = n };

    ck_assert_int_eq(plan_nodes(2, &known), 0);
}

/* Seconds of all: the split is theirs, not the probe's. */
START_TEST(learnt_times)
{
    make_two_nodes(0.002, 0.001);
    plan_by(2);
    ck_assert(!p->relative);
    ck_assert_int_eq(p->worker[0].time, TIME_LEARNT);
    ck_assert_int_eq(p->worker[0].largest, 100);
    ck_assert_int_eq(p->worker[0].batch, 100);
    ck_assert_int_eq(p->worker[1].batch, 200);
    ck_assert_double_eq_tol(p->predicted_samples_per_s, 1500, 1e-9);
}
END_TEST

/* Far beyond what was measured nothing is known: the third batch of 100 goes to the slow one,
 * unless it could not take it either.
 */
START_TEST(learnt_times_are_not_stretched)
{
    make_two_nodes(0.1, 0.001);
    plan_by(2);
    ck_assert_int_eq(p->worker[0].batch, 100);
    ck_assert_int_eq(p->worker[1].batch, 200);
    learnt[0].largest = learnt[1].largest = 10;
    plan_by(2);
    ck_assert_int_eq(p->worker[1].batch, 298);
}
END_TEST

/* Of one alone: the probe's ratio tells the other's, in seconds. */
START_TEST(guessed_times)
{
    make_two_nodes(0.005, 0);
    plan_by(1);
    ck_assert(!p->relative);
    ck_assert_int_eq(p->worker[1].time, TIME_GUESSED);
    ck_assert_double_eq_tol(p->worker[1].sample_s, 0.010, 1e-12);
    ck_assert_int_eq(p->worker[0].batch, 200);
}
END_TEST

/* A device that may use less than then, or another program's: nothing is known. */
START_TEST(times_of_other_limits)
{
    make_two_nodes(0.005, 0.001);
    node[0].cpu_quota = 0.5;
    snprintf(node[1].device[0].name, sizeof node[1].device[0].name, "NVIDIA Other");
    plan_by(2);
    ck_assert(p->relative);
    ck_assert_int_eq(p->worker[0].time, TIME_PROBE);
    ck_assert_int_eq(p->worker[0].batch, 200);
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, learnt_times);
    tcase_add_test(tc, learnt_times_are_not_stretched);
    tcase_add_test(tc, guessed_times);
    tcase_add_test(tc, times_of_other_limits);
    tcase_add_test(tc, example);
    tcase_add_test(tc, same_bytes);
    tcase_add_loop_test(tc, layout, 0, sizeof layouts / sizeof *layouts);
    tcase_add_test(tc, cpu_name);
    tcase_add_test(tc, too_few_groups);
    tcase_add_loop_test(tc, batch_errors, 0, sizeof batches / sizeof *batches);
    tcase_add_test(tc, unmeasured);
    tcase_add_loop_test(tc, missing_figures, 0, sizeof figures / sizeof *figures);
    tcase_add_test(tc, unusable_wanted);
    tcase_add_test(tc, ratios_weigh_no_modes);
    tcase_add_test(tc, zero_samples);
    tcase_add_loop_test(tc, mode, 0, sizeof modes / sizeof *modes);
    tcase_add_loop_test(tc, chooses_by_prediction, 0, sizeof chosen / sizeof *chosen);
    tcase_add_test(tc, external);
    tcase_add_test(tc, predictors_follow_the_table);
    tcase_add_loop_test(tc, candidates, 0, sizeof chosen / sizeof *chosen);
    tcase_add_test(tc, seasgd_5_the_moving_rate_is_shared_by_the_writers);
    tcase_add_test(tc, groups_must_fit);
    tcase_add_test(tc, groups_lose_who_is_gone);
    tcase_add_loop_test(tc, every_writer_has_samples, 0, 3);
    tcase_add_test(tc, adopt_averages);
    tcase_add_test(tc, adopt);
    tcase_add_test(tc, key_of_each);
}

SUITE_MAIN("planner", add_tests)
