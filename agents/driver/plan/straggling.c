/* SPDX-License-Identifier: Apache-2.0 */
/* straggling.c - sentences about slow workers, and their rows of the status */
#include "straggling.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reports that most workers are slow which the user is shown; later ones are events only. A machine
 * that is shared with other users may change its speed again and again.
 */
enum { ALL_TOLD = 3 };

enum { SAYS = 900, CAUSE = 600, LOSS = 400, SHARE = 100 };

/* Create the detector of slow workers, s->found, with the workers' earlier times, and have it watch
 * the links between nodes.  Store each worker's node in node, [n_workers].  Return 0 or -ENOMEM; s
 * owns the detector, which may exist also after -ENOMEM.
 */
static int watch(struct straggling *s, const struct plan *p, const struct time_model *learnt,
                 int *node, struct eddis_error *err)
{
    int rc = stragglers_new(learnt, p->n_workers, &s->found, err);

    for (int i = 0; i < p->n_workers; i++)
        node[i] = p->worker[i].node;
    return rc < 0 ? rc : stragglers_watch_links(s->found, node, p->n_nodes, err);
}

int straggling_begin(struct straggling *s, const struct plan *p, struct eddis_error *err)
{
    cleanup_free struct time_model *learnt = calloc((size_t)p->n_workers, sizeof *learnt);
    cleanup_free int *node = calloc((size_t)p->n_workers, sizeof *node);

    straggling_end(s);
    s->n_workers = p->n_workers;
    s->run->status.all_slow_times = NAN;
    if (!learnt || !node)
        return eddis_fail(err, -ENOMEM, "no memory to watch %d workers", p->n_workers);
    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].time == TIME_LEARNT)
            learnt[i] = (struct time_model){ .fixed_s = p->worker[i].fixed_s,
                                             .sample_s = p->worker[i].sample_s };
    return watch(s, p, learnt, node, err);
}

void straggling_end(struct straggling *s)
{
    stragglers_free(s->found);
    s->found = NULL;
    free(s->steps);
    s->steps = NULL;
    s->n_workers = s->n_reporting = s->n_own = 0;
}

/* ---- measurements ---- */

/* Allocate s->told, the windows of all workers' steps, and initialise them until the first worker
 * has reported.  Return true, or false if there is no memory.
 */
static bool make_windows(struct straggling *s)
{
    if (!s->steps)
        s->steps = calloc((size_t)s->n_workers, sizeof *s->steps);
    for (int i = 0; s->steps && s->n_reporting == 0 && i < s->n_workers; i++)
        step_window_init(&s->steps[i].window);
    return s->steps != NULL;
}

/* Add the steps since the last report of a worker that reports only step numbers to its window,
 * each with their mean time, which counts entirely as the worker's own.  Once all workers have
 * reported, write the window's medians to *ret and return true; otherwise return false, also if
 * some workers report their own times and others do not: those seem as slow as the slowest.
 */
static bool take_reported(struct straggling *s, int64_t plan, const struct progress *p,
                          struct step_metrics *ret)
{
    int64_t n = p->recent_steps < STEP_WINDOW_MAX ? p->recent_steps : STEP_WINDOW_MAX;
    struct step_window *w;
    double step_s;

    if (n <= 0 || p->rank < 0 || p->rank >= s->n_workers || !make_windows(s))
        return false;
    w = &s->steps[p->rank].window;
    s->n_own += p->own_times - s->steps[p->rank].own;
    s->steps[p->rank].own = p->own_times;
    s->n_reporting += w->last < 0;
    step_s = (double)p->recent.total_ns / (double)p->recent_steps / CLOCK_S;
    for (int64_t i = p->steps_done - n; i < p->steps_done; i++)
        step_window_add(w,
                        &(struct window_step){ .step = i,
                                               .plan = plan,
                                               .count = 1,
                                               .work = 1,
                                               .compute_s = step_s,
                                               .total_s = step_s },
                        0);
    return s->n_reporting == s->n_workers && (s->n_own == 0 || s->n_own == s->n_workers) &&
           step_window_metrics(w, ret);
}

/* Pass the means of a worker's steps since the last report to the detector, if there are such
 * steps. peer: the node at the other end of the worker's link; -1: none.
 */
static void take_step(struct straggling *s, const struct progress *p, int peer)
{
    const struct board_times *t = &p->recent;
    double n = (double)p->recent_steps * CLOCK_S;

    if (p->recent_steps > 0)
        stragglers_take_step(s->found, p->rank,
                             &(struct straggler_step){
                                 .number = p->steps_done,
                                 .step_s = (double)t->total_ns / n,
                                 .waits_s = (double)(t->total_ns - t->compute_ns - t->input_ns) / n,
                                 .link = p->link,
                                 .peer = peer });
}

void straggling_progress(struct straggling *s, const struct plan *in_force,
                         const struct progress *p, const struct time_model *model, int peer)
{
    struct step_metrics reported = { 0 };

    if (!s->found)
        return;
    if (!p->steps_only)
        stragglers_take(s->found, p->rank, &p->metrics, p->queued_s, model);
    else if (take_reported(s, in_force->version > 0 ? in_force->version : 1, p, &reported))
        stragglers_take(s->found, p->rank, p->own_times ? &p->reported : &reported,
                        p->own_times ? p->queued_s : NAN, model);
    stragglers_take_loss(s->found, p->rank, in_force->worker[p->rank].kind, &p->core_loss);
    if (in_force->worker[p->rank].kind == DEVICE_CUDA)
        stragglers_take_gpu(s->found, p->rank, &p->gpu);
    take_step(s, p, peer);
}

/* ---- sentences ---- */

/* Return the name of a cause of slowness, as it appears in the status, a string constant. */
static const char *cause_word(enum straggler_cause c)
{
    static const char *const word[STRAGGLER_CAUSES] = { "compute", "processor", "input",
                                                        "network" };

    return word[c];
}

/* Describe how the machine slows a worker, each cause after "; ".  Return false, with "" in ret, if
 * no cause is known.
 */
static bool loss_text(const struct straggler *w, char *ret, size_t size)
{
    static const struct {
        const char *before, *after;
    } words[CORE_LOSSES] = {
        [CORE_LOSS_STOLEN] = { "", " of its cores' time is stolen by the hypervisor" },
        [CORE_LOSS_THROTTLED] = { "it is throttled in ", " of its control group's periods" },
        [CORE_LOSS_OTHERS] = { "other programs take ", " of its cores' time" },
        [CORE_LOSS_CLOCK] = { "its clock is ", " below the highest" },
        [CORE_LOSS_HEAT] = { "its cores are slowed down by heat for ", " of their time" },
    };
    bool hot = w->lost.part[CORE_LOSS_CLOCK] > 0 || w->lost.part[CORE_LOSS_HEAT] > 0;
    struct strbuf b = { 0 };

    for (int i = 0; i < CORE_LOSSES; i++)
        if (w->lost.part[i] > 0)
            strbuf_addf(&b, "; %s%.0f %%%s", words[i].before, 100 * w->lost.part[i],
                        words[i].after);
    if (hot && w->lost.celsius > 0)
        strbuf_addf(&b, ", at %.0f degrees Celsius", w->lost.celsius);
    (void)snprintf(ret, size, "%s", b.failed ? "" : strbuf_text(&b));
    strbuf_fini(&b);
    return ret[0] != '\0';
}

/* Describe why a GPU is slow, "; its GPU is throttled by heat, 1 005 of 1 410 MHz, at 86 degrees
 * Celsius", or "" if it is not.
 */
static void gpu_text(const struct gpu_state *g, char *ret, size_t size)
{
    static const char *const why[GPU_SLOWED_KINDS] = {
        [GPU_SLOWED_HEAT] = "throttled by heat",
        [GPU_SLOWED_BRAKE] = "throttled because the power supply asks for it",
        [GPU_SLOWED_HARDWARE] = "throttled by a protection of its hardware",
        [GPU_SLOWED_POWER] = "throttled by its power cap",
        [GPU_SLOWED_SYNC] = "throttled because other GPUs of its group are",
        [GPU_SLOWED_SET] = "set to lower clocks",
    };
    char now[32], most[32], more[64] = "";

    ret[0] = '\0';
    if (!g->reading || !why[g->slowed])
        return;
    if (g->slowed == GPU_SLOWED_HEAT && isfinite(g->celsius))
        (void)snprintf(more, sizeof more, ", at %.0f degrees Celsius", g->celsius);
    else if (g->slowed == GPU_SLOWED_POWER && isfinite(g->watts_most))
        (void)snprintf(more, sizeof more, ", at a cap of %.0f W", g->watts_most);
    (void)snprintf(ret, size, "; its GPU is %s, %s of %s MHz%s", why[g->slowed],
                   text_grouped(g->clock_mhz, now, sizeof now),
                   text_grouped(g->clock_most_mhz, most, sizeof most), more);
}

/* Describe a slow connection; node: names of the plan's nodes.  Return the length as snprintf does.
 */
static int link_text(const struct slow_link *l, char (*node)[256], char *ret, size_t size)
{
    return snprintf(ret, size,
                    "the connection from %.64s to %.64s carries %.3g MB/s instead of %.3g, and is "
                    "busy for %.3g of %.3g ms a step",
                    node[l->from], node[l->to], 1e-6 * l->bytes_per_s, 1e-6 * l->usual_bytes_per_s,
                    1e3 * l->busy_s, 1e3 * l->step_s);
}

/* Describe how long a worker waits for its data.  Return the length as snprintf does. */
static int input_text(const struct straggler *w, char *ret, size_t size)
{
    char rate[64] = "";

    if (w->data_per_s > 0)
        (void)snprintf(rate, sizeof rate, ", which arrives at %.3g samples/s at least",
                       w->data_per_s);
    return snprintf(ret, size, "it waits %.3g of %.3g ms a step for its data%s", 1e3 * w->input_s,
                    1e3 * w->own_s, rate);
}

/* Describe how a worker's computing has slowed down.  Return the length as snprintf does. */
static int compute_text(const struct straggler *w, char *ret, size_t size)
{
    char lost[LOSS], gpu[SHARE + 64], queued[SHARE] = "";
    bool has_loss = loss_text(w, lost, sizeof lost);

    if (isfinite(w->queued_part))
        (void)snprintf(queued, sizeof queued,
                       ", and for %.0f %% of that time its main thread waits for a processor%s",
                       100 * w->queued_part,
                       w->cause == STRAGGLER_PROCESSOR && !has_loss ? ", which other programs use"
                                                                    : "");
    gpu_text(&w->gpu, gpu, sizeof gpu);
    return snprintf(ret, size, "it takes %.3g ms a step instead of %.3g%s%s%s", 1e3 * w->own_s,
                    1e3 * w->usual_s, queued, lost, gpu);
}

/* Describe the cause of a worker's slowness; node: names of the plan's nodes; ret has CAUSE bytes.
 */
static void cause_text(const struct straggler *w, char (*node)[256], char *ret)
{
    int n = snprintf(ret, CAUSE, "%s explains %.0f %% of it: ", cause_word(w->cause),
                     100 * w->confidence);

    if (w->cause == STRAGGLER_INPUT)
        n += input_text(w, ret + n, (size_t)(CAUSE - n));
    else if (w->cause == STRAGGLER_NETWORK)
        n += link_text(&w->link, node, ret + n, (size_t)(CAUSE - n));
    else
        n += compute_text(w, ret + n, (size_t)(CAUSE - n));
    if (w->waited_s > 0 && n < CAUSE)
        (void)snprintf(ret + n, (size_t)(CAUSE - n), "; the others wait %.3g ms a step for it",
                       1e3 * w->waited_s);
}

/* Describe a worker's share of the batch; ret has SHARE bytes.  divides: the program divides its
 * data itself.
 */
static void share_text(const struct straggler *w, int64_t batch, bool divides, char *ret)
{
    if (divides)
        (void)snprintf(ret, SHARE, "the program divides its data itself");
    else if (w->usual_count > 0 && batch != w->usual_count)
        (void)snprintf(ret, SHARE, "it gets %" PRId64 " samples instead of %" PRId64, batch,
                       w->usual_count);
    else
        (void)snprintf(ret, SHARE, "it has %" PRId64 " samples a step", batch);
}

/* Return a phrase, a string constant, for what a worker's speed is compared with: "before",
 * "in earlier jobs" or "without waits for data".
 */
static const char *before_text(const struct straggler *w)
{
    if (w->bound)
        return "without waits for data";
    return w->learnt ? "in earlier jobs" : "before";
}

/* Report that most workers are slow, or that they are no longer, and record it in the status. */
static void tell_all(struct straggling *s, const struct straggler *w)
{
    char lost[LOSS];
    bool has_loss = loss_text(w, lost, sizeof lost);
    enum job_event type;

    s->n_all += !w->over;
    type = s->n_all <= ALL_TOLD ? JOB_EVENT_SAY : JOB_EVENT_NOTE;
    if (w->over)
        job_run_sayf(s->run, type, -1, -1, "the workers are as fast as %s again", before_text(w));
    else
        job_run_sayf(s->run, type, -1, -1,
                     "most workers take %.1f times as long as %s%s%s%s, so no single worker is "
                     "reported as slow",
                     w->times, before_text(w), has_loss ? " (" : "",
                     lost + (has_loss ? strlen("; ") : 0), has_loss ? ")" : "");
    s->run->status.all_slow_times = w->over ? NAN : w->times;
}

/* Describe a slow or recovered worker, without its name; ret has SAYS bytes. divides: the program
 * divides its data itself.
 */
static void says_text(const struct straggler *w, const struct plan *p, bool divides, char *ret)
{
    char cause[CAUSE], share[SHARE];

    cause_text(w, p->node, cause);
    share_text(w, p->worker[w->rank].batch, divides, share);
    if (w->over)
        (void)snprintf(ret, SAYS, "has been as fast as before since step %" PRId64 "; %s", w->since,
                       share);
    else
        (void)snprintf(ret, SAYS, "takes %.1f times as long as %s since step %" PRId64 " (%s); %s",
                       w->times, before_text(w), w->since, cause, share);
}

/* ---- the status ---- */

/* Fill a slow or recovered worker's row of the status, and count a slow worker there. */
static void fill_status(struct job_status *s, const struct straggler *w, const char *says)
{
    struct worker_status *row = &s->worker[w->rank];

    s->stragglers += !w->over;
    (void)snprintf(row->straggler, sizeof row->straggler, "%s",
                   w->over ? "" : cause_word(w->cause));
    (void)snprintf(row->straggler_says, sizeof row->straggler_says, "%.*s",
                   (int)sizeof row->straggler_says - 1, w->over ? "" : says);
    if (w->over)
        return;
    row->straggler_times = w->times;
    row->straggler_since = w->since;
    row->straggler_confidence = w->confidence;
}

void straggling_report(struct straggling *s, const struct plan *p, const int *agent, int64_t now_ns)
{
    struct straggler w;

    while (s->found && stragglers_next(s->found, (double)now_ns / CLOCK_S, &w)) {
        const struct plan_worker *of = w.rank >= 0 ? &p->worker[w.rank] : NULL;
        char says[SAYS];

        if (!of) {
            tell_all(s, &w);
            continue;
        }
        says_text(&w, p, s->steps != NULL, says);
        job_run_sayf(s->run, w.over ? JOB_EVENT_STRAGGLER_OVER : JOB_EVENT_STRAGGLER,
                     agent[of->node], w.rank, "rank %d on %.255s %s", w.rank, p->node[of->node],
                     says);
        if (w.rank < s->run->status.n_workers)
            fill_status(&s->run->status, &w, says);
    }
}
