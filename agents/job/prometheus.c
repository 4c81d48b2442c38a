/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.c - the table of a job's metrics, and their lines in Prometheus' format */
#include "prometheus.h"

#include "lib/base/strbuf.h"
#include "lib/model/gpu_state_json.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Append the label name="value"; quotes and backslashes in the value are escaped, a newline becomes
 * a space.
 */
static void add_label(struct strbuf *b, const char *name, const char *value)
{
    strbuf_addf(b, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            strbuf_addf(b, "\\%c", *value);
        else
            strbuf_addf(b, "%c", *value == '\n' ? ' ' : *value);
    }
    strbuf_add(b, "\"");
}

/* Append the HELP and TYPE lines of a metric. */
static void add_head(struct strbuf *b, const char *name, const char *type, const char *help)
{
    strbuf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Append a metric of the whole job with its HELP and TYPE lines; nothing if the value is not
 * finite.
 */
static void add_job(struct strbuf *b, const struct job_status *s, const char *name,
                    const char *type, const char *help, double value)
{
    if (!isfinite(value))
        return;
    add_head(b, name, type, help);
    strbuf_addf(b, "%s{", name);
    add_label(b, "job", s->job);
    strbuf_addf(b, "} %.15g\n", value);
}

/* Return the number of the worker's last step + 1. */
static double steps(const struct worker_status *w)
{
    return (double)w->steps_done;
}

/* Return the number of samples that the worker gets in each step under the plan in force. */
static double batch(const struct worker_status *w)
{
    return (double)w->batch;
}

/* Return the worker's memory in bytes; NAN: unknown. */
static double memory(const struct worker_status *w)
{
    return w->memory_bytes ? (double)w->memory_bytes : NAN;
}

/* Return how many times as long as before a straggler takes; 1: it is not slow. */
static double straggler(const struct worker_status *w)
{
    return w->straggler[0] ? w->straggler_times : 1;
}

/* A metric of a worker: the result of a function, or a member, divided by a number.  NAN: unknown.
 */
struct worker_row {
    const char *name, *type, *help;
    double (*value)(const struct worker_status *w);
    size_t offset; /* without a function: of a double */
    double divisor;
};

#define MEMBER(member, divisor) NULL, offsetof(struct worker_status, member), divisor

static const struct worker_row worker_rows[] = {
    { "eddis_rank_steps_total", "counter", "Steps done by the worker.", steps },
    { "eddis_batch_size", "gauge", "Samples of the worker in each step.", batch },
    { "eddis_step_seconds", "gauge", "Median time of a step.", MEMBER(step_ms, 1e3) },
    { "eddis_compute_seconds", "gauge", "Median time in a step for computing.",
      MEMBER(compute_ms, 1e3) },
    { "eddis_input_seconds", "gauge", "Median time in a step for waiting for data.",
      MEMBER(input_ms, 1e3) },
    { "eddis_exposed_seconds", "gauge",
      "Median time in a step for communication that does not overlap with computing.",
      MEMBER(exposed_ms, 1e3) },
    { "eddis_wait_seconds", "gauge", "Time in a step for waiting for other workers.",
      MEMBER(wait_ms, 1e3) },
    { "eddis_queued_seconds", "gauge", "Mean time in a step for waiting for a processor.",
      MEMBER(queued_ms, 1e3) },
    { "eddis_memory_bytes", "gauge", "Most memory in use at once under the current plan.", memory },
    { "eddis_rank_relative_speed", "gauge",
      "Expected time for computing and input, divided by the measured time.",
      MEMBER(relative_speed, 1) },
    { "eddis_rank_straggler_times", "gauge",
      "Step time of a straggler, divided by its earlier step time; 1: it is none.", straggler },
    { "eddis_rank_last_step_seconds", "gauge", "Time since the worker's last step ended.",
      MEMBER(last_step_age_s, 1) },
};

/* Return the memory in use on the GPU; NAN: unknown. */
static double gpu_memory(const struct gpu_state *g)
{
    return g->memory_bytes ? (double)g->memory_used_bytes : NAN;
}

/* Return the memory of the GPU; NAN: unknown. */
static double gpu_memory_most(const struct gpu_state *g)
{
    return g->memory_bytes ? (double)g->memory_bytes : NAN;
}

/* Return whether something other than idleness or a setting keeps the GPU's clock low. */
static double gpu_throttled(const struct gpu_state *g)
{
    return g->slowed != GPU_SLOWED_NOT && g->slowed != GPU_SLOWED_SET &&
           g->slowed != GPU_SLOWED_IDLE;
}

/* Return the number of errors of the GPU's memory that were not corrected; NAN: unknown. */
static double gpu_ecc(const struct gpu_state *g)
{
    return g->ecc_uncorrected < 0 ? NAN : (double)g->ecc_uncorrected;
}

/* Return the number of errors of the GPU's memory that were corrected; NAN: unknown. */
static double gpu_ecc_corrected(const struct gpu_state *g)
{
    return g->ecc_corrected < 0 ? NAN : (double)g->ecc_corrected;
}

/* Return a part of what the GPU's PCIe link is, or at most can be; NAN: unknown. */
static double gpu_pcie_gen(const struct gpu_state *g)
{
    return g->pcie_gen ? g->pcie_gen : NAN;
}

static double gpu_pcie_gen_most(const struct gpu_state *g)
{
    return g->pcie_gen_most ? g->pcie_gen_most : NAN;
}

static double gpu_pcie_width(const struct gpu_state *g)
{
    return g->pcie_width ? g->pcie_width : NAN;
}

static double gpu_pcie_width_most(const struct gpu_state *g)
{
    return g->pcie_width_most ? g->pcie_width_most : NAN;
}

/* Return the number of active links of NVLink; NAN: unknown, or there is none. */
static double gpu_nvlinks(const struct gpu_state *g)
{
    return g->nvlinks < 0 ? NAN : g->nvlinks;
}

/* Return 1 if the GPU's clock is low; NAN: it is not, or the cause is unknown. */
static double gpu_slowed(const struct gpu_state *g)
{
    return g->slowed == GPU_SLOWED_NOT ? NAN : 1;
}

/* Return the number of critical errors that the GPU has reported. */
static double gpu_xids(const struct gpu_state *g)
{
    return (double)g->xids;
}

/* Return the number of processes outside the job that use the GPU; NAN: unknown. */
static double gpu_others(const struct gpu_state *g)
{
    return g->others < 0 ? NAN : g->others;
}

/* A metric of a GPU, as struct worker_row has one of a worker */
struct gpu_row {
    const char *name, *type, *help;
    double (*value)(const struct gpu_state *g);
    size_t offset;
    double divisor;
};

#define GPU_MEMBER(member, divisor) NULL, offsetof(struct gpu_state, member), divisor
#define REASON                      "eddis_gpu_throttle_reason" /* the row with a label more */

/* Metrics of the workers' GPUs, for those with a reading */
static const struct gpu_row gpu_rows[] = {
    { "eddis_gpu_utilization_ratio", "gauge", "Part of the last second in which the GPU computed.",
      GPU_MEMBER(busy, 1) },
    { "eddis_gpu_memory_used_bytes", "gauge", "Memory in use on the GPU, by all processes.",
      gpu_memory },
    { "eddis_gpu_memory_bytes", "gauge", "Memory of the GPU.", gpu_memory_most },
    { "eddis_gpu_clock_hertz", "gauge", "Clock of the GPU's multiprocessors.",
      GPU_MEMBER(clock_mhz, 1e-6) },
    { "eddis_gpu_max_clock_hertz", "gauge", "Highest clock of the GPU's multiprocessors.",
      GPU_MEMBER(clock_most_mhz, 1e-6) },
    { "eddis_gpu_throttled", "gauge", "1: heat, power or a protection keeps the GPU's clock low.",
      gpu_throttled },
    { REASON, "gauge", "1: the label \"reason\" names what lowers the GPU's clock.", gpu_slowed },
    { "eddis_gpu_power_watts", "gauge", "Power that the GPU takes.", GPU_MEMBER(watts, 1) },
    { "eddis_gpu_power_cap_watts", "gauge", "Power cap of the GPU.", GPU_MEMBER(watts_most, 1) },
    { "eddis_gpu_temperature_celsius", "gauge", "Temperature of the GPU.", GPU_MEMBER(celsius, 1) },
    { "eddis_gpu_ecc_uncorrected_total", "counter",
      "Errors of the GPU's memory since the driver's start that were not corrected.", gpu_ecc },
    { "eddis_gpu_ecc_corrected_total", "counter",
      "Errors of the GPU's memory since the driver's start that were corrected.",
      gpu_ecc_corrected },
    { "eddis_gpu_xid_total", "counter", "Critical errors (Xid) of the GPU since the attempt began.",
      gpu_xids },
    { "eddis_gpu_other_processes", "gauge", "Processes outside the job that use the GPU.",
      gpu_others },
    { "eddis_gpu_pcie_generation", "gauge",
      "Generation of the GPU's PCIe link, which is lower while the GPU is idle.", gpu_pcie_gen },
    { "eddis_gpu_max_pcie_generation", "gauge", "Highest generation of the GPU's PCIe link.",
      gpu_pcie_gen_most },
    { "eddis_gpu_pcie_width", "gauge", "Lanes of the GPU's PCIe link.", gpu_pcie_width },
    { "eddis_gpu_max_pcie_width", "gauge", "Most lanes of the GPU's PCIe link.",
      gpu_pcie_width_most },
    { "eddis_gpu_nvlinks", "gauge", "Active links of NVLink of the GPU.", gpu_nvlinks },
};

/* Append a metric's name, and the labels of a worker without the bracket behind them. */
static void add_worker(struct strbuf *b, const struct job_status *s, const struct worker_status *w,
                       const char *name)
{
    strbuf_addf(b, "%s{", name);
    add_label(b, "job", s->job);
    strbuf_addf(b, ",rank=\"%d\",", w->rank);
    add_label(b, "node", w->node);
}

/* Append a metric with one line for each worker whose value is finite. */
static void add_workers(struct strbuf *b, const struct job_status *s, const struct worker_row *r)
{
    add_head(b, r->name, r->type, r->help);
    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];
        double value =
            r->value ? r->value(w) : *(const double *)((const char *)w + r->offset) / r->divisor;

        if (!isfinite(value))
            continue;
        add_worker(b, s, w, r->name);
        strbuf_addf(b, "} %.15g\n", value);
    }
}

/* Append the line of a GPU of a worker, unless it was not read, or its value is not finite. */
static void add_gpu(struct strbuf *b, const struct job_status *s, const struct gpu_row *r,
                    const struct worker_status *w, const struct gpu_state *g)
{
    double value =
        r->value ? r->value(g) : *(const double *)((const char *)g + r->offset) / r->divisor;

    if (!isfinite(value) || !g->reading)
        return;
    add_worker(b, s, w, r->name);
    strbuf_add(b, ",");
    add_label(b, "gpu", g->id);
    if (strcmp(r->name, REASON) == 0) {
        strbuf_add(b, ",");
        add_label(b, "reason", gpu_slowed_names[g->slowed]);
    }
    strbuf_addf(b, "} %.15g\n", value);
}

/* Append a metric with one line for each GPU of a worker. */
static void add_gpus(struct strbuf *b, const struct job_status *s, const struct gpu_row *r)
{
    add_head(b, r->name, r->type, r->help);
    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];

        if (w->n_gpus == 0)
            add_gpu(b, s, r, w, &w->gpu);
        for (int k = 0; k < w->n_gpus; k++)
            add_gpu(b, s, r, w, &w->gpus[k]);
    }
}

/* Check whether the GPU of a worker was read. */
static bool any_gpu(const struct job_status *s)
{
    for (int i = 0; i < s->n_workers; i++)
        if (s->worker[i].gpu.reading)
            return true;
    return false;
}

char *prometheus_text(const struct job_status *s, int64_t refused)
{
    struct strbuf b = { 0 };

    add_job(&b, s, "eddis_running", "gauge", "Whether the job is training.",
            s->state == JOB_RUNNING);
    add_job(&b, s, "eddis_generation", "gauge", "Number of the present start of all ranks.",
            (double)s->generation);
    add_job(&b, s, "eddis_replans_total", "counter", "Number of re-plans.", (double)s->replans);
    add_job(&b, s, "eddis_stragglers_total", "counter",
            "Number of workers that were reported as slow.", (double)s->stragglers);
    add_job(&b, s, "eddis_steps_total", "counter", "Steps that every worker has done.",
            (double)s->steps_done);
    add_job(&b, s, "eddis_samples_total", "counter", "Samples trained.", (double)s->samples);
    add_job(&b, s, "eddis_samples_per_second", "gauge", "Recent throughput.",
            s->recent_samples_per_s);
    add_job(&b, s, "eddis_ideal_samples_per_second", "gauge", "Sum of the devices' own speeds.",
            s->recent_ideal_samples_per_s);
    add_job(&b, s, "eddis_loss", "gauge", "Latest training loss.", s->loss);
    add_job(&b, s, "eddis_test_accuracy", "gauge", "Latest accuracy on the test set.", s->accuracy);
    add_job(&b, s, "eddis_refused_requests_total", "counter", "Requests with a wrong token.",
            (double)refused);
    for (size_t i = 0; i < sizeof worker_rows / sizeof *worker_rows; i++)
        add_workers(&b, s, &worker_rows[i]);
    for (size_t i = 0; any_gpu(s) && i < sizeof gpu_rows / sizeof *gpu_rows; i++)
        add_gpus(&b, s, &gpu_rows[i]);
    return strbuf_steal(&b);
}
