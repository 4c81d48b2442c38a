/* SPDX-License-Identifier: Apache-2.0 */
/* status_print.c - prints the summary at the end of a run */
#include "status_json.h"

#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define AT_ONCE_S 0.1 /* wall time, s, below which "failed at once" is printed */

/* Least part of the predicted rate for a comparison with an equal split.  A job below it is slowed
 * by a cause that would slow an equal split, too.
 */
static const double AS_PREDICTED = 0.9;
static const double LOW_PART = 0.8; /* part of the ideal rate below which the cause is printed */

char *job_status_duration(double s, char *ret, size_t size)
{
    int64_t all = isfinite(s) && s > 0 && s < 1e15 ? (int64_t)(s + 0.5) : 0;

    if (all >= 3600)
        snprintf(ret, size, "%" PRId64 ":%02d:%02d", all / 3600, (int)(all / 60 % 60),
                 (int)(all % 60));
    else
        snprintf(ret, size, "%d:%02d", (int)(all / 60), (int)(all % 60));
    return ret;
}

char *job_status_elapsed(double s, char *ret, size_t size)
{
    if (!(s < 9.95))
        return job_status_duration(s, ret, size);
    if (s < 0.1)
        snprintf(ret, size, "%.0f ms", s > 0 ? s * 1e3 : 0);
    else
        snprintf(ret, size, "%.1f s", s);
    return ret;
}

/* Append text that may come from other programs, without its control characters, which could change
 * the terminal.
 */
static void add_clean(struct strbuf *b, const char *text)
{
    char clean[sizeof(((struct job_status *)0)->message)];

    snprintf(clean, sizeof clean, "%s", text);
    text_strip_control(clean);
    strbuf_add(b, clean);
}

/* Append text as an indented line; nothing if it is "". */
static void print_line(struct strbuf *b, const char *text)
{
    if (!text[0])
        return;
    strbuf_add(b, "  ");
    add_clean(b, text);
    strbuf_add(b, "\n");
}

/* Check whether the user, a signal or the job's time limit ended the job, which is no failure. */
static bool was_stopped(const struct job_status *s)
{
    return strcmp(s->reason, "interrupted") == 0 || strcmp(s->reason, "preempted") == 0 ||
           strcmp(s->reason, "timeout") == 0;
}

bool job_status_failed(const struct job_status *s)
{
    return s->state == JOB_LOST ||
           (s->state == JOB_ENDED && strcmp(s->reason, "ok") != 0 && !was_stopped(s));
}

/* Return the words that describe a reason of struct job_status; an unknown reason is returned as it
 * is.  The caller does not free them.
 */
static const char *reason_words(const char *reason)
{
    static const struct {
        const char *reason, *words;
    } row[] = {
        { "rank_exit", "a rank failed" },
        { "rank_signal", "a rank was killed" },
        { "oom", "a rank ran out of memory" },
        { "node_lost", "a node was lost" },
        { "hang", "the job made no steps" },
        { "timeout", "its time limit has passed" },
        { "interrupted", "by the user" },
        { "preempted", "by a signal" },
        { "usage", "options, job file or nodes do not allow it" },
        { "start", "the job could not start" },
        { "internal", "an error in eddis or in MPI" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strcmp(row[i].reason, reason) == 0)
            return row[i].words;
    return reason;
}

/* Return " (saved)" or " (not saved)", string constants, for a preempted job, by its exit code; ""
 * for other jobs.
 */
static const char *code_words(const struct job_status *s)
{
    if (strcmp(s->reason, "preempted") != 0)
        return "";
    return s->exit_code == EX_TEMPFAIL ? " (saved)" : " (not saved)";
}

/* Append the job's message as a line and, unless the message begins with it, what failed first. */
static void print_failure(const struct job_status *s, struct strbuf *b)
{
    const struct first_failure *f = &s->failure;

    print_line(b, s->message);
    if (!f->set || strncmp(f->what, s->message, strlen(f->what)) == 0) /* already in the message */
        return;
    strbuf_add(b, "  first failure: ");
    if (f->rank >= 0)
        strbuf_addf(b, "rank %d, ", f->rank);
    if (f->node[0]) {
        strbuf_add(b, "node ");
        add_clean(b, f->node);
        strbuf_add(b, ", ");
    }
    if (f->pid)
        strbuf_addf(b, "pid %d, ", f->pid);
    if (f->signal)
        strbuf_addf(b, "signal %d", f->signal);
    else if (f->code >= 0)
        strbuf_addf(b, "exit code %d", f->code);
    else
        strbuf_add(b, "not in a rank");
    if (f->step >= 0)
        strbuf_addf(b, ", at step %" PRId64, f->step);
    strbuf_add(b, "\n");
    print_line(b, f->what);
}

/* Check whether the plan is the equal split, by their predicted rates; then there is nothing to
 * compare.
 */
static bool plan_is_equal(const struct job_status *s)
{
    return fabs(s->predicted_samples_per_s - s->equal_predicted_samples_per_s) <=
           1e-9 * s->predicted_samples_per_s;
}

/* Check whether the job reached AS_PREDICTED of its predicted rate.  After a re-plan only the rate
 * under the last plan is compared, and an unknown rate passes, since a rate over different plans
 * has no prediction.
 */
static bool is_as_predicted(const struct job_status *s)
{
    const struct plan_status *last = s->n_plans ? &s->plan[s->n_plans - 1] : NULL;

    if (s->replans > 0 && last)
        return !(last->samples_per_s < AS_PREDICTED * last->predicted_samples_per_s);
    return s->samples_per_s >= AS_PREDICTED * s->predicted_samples_per_s;
}

double job_status_equal(const struct job_status *s, bool *ret_measured)
{
    *ret_measured = isfinite(s->equal_measured_samples_per_s);
    if (*ret_measured)
        return s->equal_measured_samples_per_s;
    return s->emulated && !plan_is_equal(s) && is_as_predicted(s) ? s->equal_predicted_samples_per_s
                                                                  : NAN;
}

/* Return the part of the ideal rate that was reached, 1: all; NAN: unknown.  After a re-plan it is
 * that of the last plan, since the ideal rate is that of one plan.
 */
static double part_of_ideal(const struct job_status *s)
{
    const struct plan_status *last = s->n_plans ? &s->plan[s->n_plans - 1] : NULL;

    if (s->replans == 0)
        return s->ideal_samples_per_s > 0 ? s->samples_per_s / s->ideal_samples_per_s : NAN;
    return last && last->ideal_samples_per_s > 0 ? last->samples_per_s / last->ideal_samples_per_s
                                                 : NAN;
}

/* Append the part of the ideal rate that was reached: " = 97 % of ideal", or after a re-plan "
 * (last plan 1 690 = 97 % of ideal)"; nothing if it is unknown.
 */
static void print_ideal(const struct job_status *s, struct strbuf *b)
{
    double part = part_of_ideal(s);
    char number[40];

    if (isfinite(part) && s->replans == 0)
        strbuf_addf(b, " = %.0f %% of ideal", 100 * part);
    else if (isfinite(part))
        strbuf_addf(b, " (last plan %s = %.0f %% of ideal)",
                    text_grouped(s->plan[s->n_plans - 1].samples_per_s, number, sizeof number),
                    100 * part);
}

/* Append the job's rate, such as "21 900 samples/s = 97 % of ideal, 2.4x an equal split (measured 9
 * 200)"; nothing if it is unknown.
 */
static void print_speed(const struct job_status *s, struct strbuf *b)
{
    bool measured;
    double equal = job_status_equal(s, &measured);
    char number[40];

    if (!isfinite(s->samples_per_s))
        return;
    strbuf_addf(b, "   %s samples/s", text_grouped(s->samples_per_s, number, sizeof number));
    print_ideal(s, b);
    if (equal > 0)
        strbuf_addf(b, ", %.1fx an equal split (%s %s)", s->samples_per_s / equal,
                    measured ? "measured" : "predicted",
                    text_grouped(equal, number, sizeof number));
}

/* If the job reached less than LOW_PART of the ideal rate, append a line with the largest cause:
 * emulated devices whose real work takes longer than the emulated time, or communication.  The
 * ideal rate includes neither.  Only causes of a tenth of a step or more are printed, for the worst
 * worker.
 */
static void print_below_ideal(const struct job_status *s, struct strbuf *b)
{
    const struct worker_status *busy = NULL, *talks = NULL;
    double part = part_of_ideal(s);

    if (!(part < LOW_PART)) /* also if part is NAN */
        return;
    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];

        if (s->emulated && w->overrun_ms > w->step_ms / 10 &&
            (!busy || w->overrun_ms > busy->overrun_ms))
            busy = w;
        if (w->exposed_ms > w->step_ms / 10 && (!talks || w->exposed_ms > talks->exposed_ms))
            talks = w;
    }
    if (busy)
        strbuf_addf(b,
                    "  %.0f %% of ideal: the real work of rank %d takes %.1f ms of each step (%.1f "
                    "ms) longer than the emulated device\n",
                    100 * part, busy->rank, busy->overrun_ms, busy->step_ms);
    else if (talks)
        strbuf_addf(b,
                    "  %.0f %% of ideal: rank %d communicates for %.1f ms of each step (%.1f ms)\n",
                    100 * part, talks->rank, talks->exposed_ms, talks->step_ms);
}

/* Append a count and its noun: "no restarts", "1 restart" or "3 restarts" for what = "restart". */
static void print_count(struct strbuf *b, int64_t n, const char *what)
{
    if (n == 0)
        strbuf_addf(b, "no %ss", what);
    else
        strbuf_addf(b, "%" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* Most plans that are printed; of more, the first plan and the newest ones. */
enum { PLANS_PRINTED = 6 };

/* Append the rate under each plan, such as " (613, 1 203, 1 690 samples/s)", if there was a re-plan
 * and at least two rates are known.
 */
static void print_plans(const struct job_status *s, struct strbuf *b)
{
    int known = 0;
    char number[40];

    for (int i = 0; i < s->n_plans; i++)
        known += isfinite(s->plan[i].samples_per_s);
    if (s->replans == 0 || known < 2)
        return;
    strbuf_add(b, " (");
    for (int i = 0; i < s->n_plans; i++) {
        double rate = s->plan[i].samples_per_s;

        if (i == 1 && s->n_plans > PLANS_PRINTED) {
            strbuf_add(b, ", ...");
            i = s->n_plans - PLANS_PRINTED + 1;
            rate = s->plan[i].samples_per_s;
        }
        strbuf_addf(b, "%s%s", i ? ", " : "",
                    isfinite(rate) ? text_grouped(rate, number, sizeof number) : "?");
    }
    strbuf_add(b, " samples/s)");
}

/* Check whether step times of any worker were measured; otherwise no worker can be found slow. */
static bool was_watched(const struct job_status *s)
{
    bool ret = s->stragglers > 0;

    for (int i = 0; i < s->n_workers; i++)
        ret = ret || s->worker[i].metrics.plan > 0;
    return ret;
}

/* Append the number of stragglers during the run and, of the workers whose slowdown is known, the
 * slowest.  Append nothing if there were too few steps to detect one.
 */
static void print_stragglers(const struct job_status *s, struct strbuf *b)
{
    const struct worker_status *w = NULL;

    if (!was_watched(s))
        return;
    for (int i = 0; i < s->n_workers; i++)
        if (isfinite(s->worker[i].straggler_times) &&
            (!w || s->worker[i].straggler_times > w->straggler_times))
            w = &s->worker[i];
    print_count(b, s->stragglers, "straggler");
    if (w)
        strbuf_addf(b, " (rank %d took %.1f times as long from step %" PRId64 " on)", w->rank,
                    w->straggler_times, w->straggler_since);
    strbuf_add(b, ", ");
}

/* Append a line with the numbers of stragglers, restarts, lost nodes and re-plans. */
static void print_events(const struct job_status *s, struct strbuf *b)
{
    char time[32];

    print_stragglers(s, b);
    print_count(b, s->restarts, "restart");
    if (s->node_losses) {
        strbuf_add(b, ", ");
        print_count(b, s->node_losses, "lost node");
    }
    if (s->restarts + s->node_losses && isfinite(s->recovery_s))
        strbuf_addf(b, " (%s from the last failure to the next step)",
                    job_status_elapsed(s->recovery_s, time, sizeof time));
    strbuf_add(b, ", ");
    print_count(b, s->replans, "re-plan");
    print_plans(s, b);
    strbuf_add(b, "\n");
}

/* Append lines about models that differ and losses that were not finite, also for a job that ended
 * well.
 */
static void print_models(const struct job_status *s, struct strbuf *b)
{
    if (!strstr(s->message, s->models_say))
        print_line(b, s->models_say);
    print_line(b, s->loss_says);
    if (s->models_unlike > 0)
        strbuf_addf(b,
                    "  %" PRId64 " of %" PRId64
                    " comparisons of the models found small differences, at most %.1g of their "
                    "size, as different kinds of devices cause\n",
                    s->models_unlike, s->models_compared, s->models_largest);
}

void job_status_print_more(const struct job_status *s, const char *name, struct strbuf *b)
{
    strbuf_add(b, "more: eddis-status ");
    add_clean(b, name ? name : s->job);
    strbuf_add(b, " --report\n");
}

/* No command to stop the workers is printed: they end by themselves without a driver. */
void job_status_print_advice(const struct job_status *s, const char *name, struct strbuf *b)
{
    if (s->state != JOB_LOST)
        return;
    strbuf_add(b, "  eddis-run --cleanup ");
    add_clean(b, name ? name : s->job);
    strbuf_add(
        b,
        " ends processes that may be left, --resume continues from its last checkpoint, if any\n");
}

void job_status_print_checkpoints(const struct job_status *s, const char *before, struct strbuf *b)
{
    const struct checkpoint_status *c = &s->checkpoints;

    if (c->failed == 0)
        return;
    strbuf_addf(b, "%s%" PRId64 " of %" PRId64 " checkpoint%s not written", before, c->failed,
                c->failed + c->written, c->failed == 1 && !c->written ? " was" : "s were");
    if (c->newest >= 0)
        strbuf_addf(b, ", the newest checkpoint is of step %" PRId64, c->newest);
    else
        strbuf_add(b, ", there is no checkpoint");
    if (c->reason[0]) {
        strbuf_add(b, ": ");
        add_clean(b, c->reason);
    }
    strbuf_add(b, "\n");
}

/* Append how the job ended and its wall time, such as "done in 7.2 s" or "failed after 0:42". */
static void print_time(const struct job_status *s, struct strbuf *b)
{
    char time[32];

    if (s->state == JOB_LOST)
        strbuf_addf(b, "lost%s%s", isfinite(s->wall_s) ? " after " : "",
                    isfinite(s->wall_s) ? job_status_elapsed(s->wall_s, time, sizeof time) : "");
    else if (s->exit_code && s->wall_s < AT_ONCE_S)
        strbuf_addf(b, "%s at once", was_stopped(s) ? "stopped" : "failed");
    else
        strbuf_addf(b, "%s %s",
                    s->exit_code == 0 ? "done in"
                    : was_stopped(s)  ? "stopped after"
                                      : "failed after",
                    job_status_elapsed(s->wall_s, time, sizeof time));
}

void job_status_print(const struct job_status *s, const char *name, struct strbuf *b)
{
    bool ok = s->exit_code == 0;

    print_time(s, b);
    if (!ok && s->reason[0]) {
        strbuf_add(b, "   ");
        add_clean(b, reason_words(s->reason));
        if (s->exit_code >= 0)
            strbuf_addf(b, ", exit code %d%s", s->exit_code, code_words(s));
    }
    if (isfinite(s->accuracy))
        strbuf_addf(b, "   test accuracy %.3f", s->accuracy);
    else if (isfinite(s->loss))
        strbuf_addf(b, "   loss %.4g", s->loss);
    print_speed(s, b);
    strbuf_add(b, s->emulated ? "   (emulated devices)\n" : "\n");
    if (ok) {
        print_below_ideal(s, b);
        print_line(b, s->message);
    } else {
        print_failure(s, b);
    }
    job_status_print_advice(s, name, b);
    job_status_print_checkpoints(s, "  ", b);
    plan_left_print(s->left, s->n_left, "  left out: ", b);
    print_models(s, b);
    print_events(s, b);
}
