/* SPDX-License-Identifier: Apache-2.0 */
/* status_print.c - the lines that a run ends with */
#include "status_json.h"

#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this share of its own expected speed a worker is named (NVRx's threshold). */
#define STRAGGLER_BELOW 0.7
#define AT_ONCE_S       0.1 /* before it began, in truth */

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

/* Append text from elsewhere without what could drive a terminal. */
static void add_clean(struct strbuf *b, const char *text)
{
    char clean[sizeof(((struct job_status *)0)->message)];

    snprintf(clean, sizeof clean, "%s", text);
    text_strip_control(clean);
    strbuf_add(b, clean);
}

static void print_message(const struct job_status *s, struct strbuf *b)
{
    if (!s->message[0])
        return;
    strbuf_add(b, "  ");
    add_clean(b, s->message);
    strbuf_add(b, "\n");
}

/* Somebody wanted the end: no failure. */
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
        { "timeout", "its time was over" },
        { "interrupted", "by hand" },
        { "preempted", "by a signal" },
        { "usage", "options, job file or nodes do not allow it" },
        { "start", "the job could not start" },
        { "internal", "a fault of eddis or of MPI" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strcmp(row[i].reason, reason) == 0)
            return row[i].words;
    return reason;
}

static void print_failure(const struct job_status *s, struct strbuf *b)
{
    const struct first_failure *f = &s->failure;

    print_message(s, b);
    if (!f->set || strcmp(f->what, s->message) == 0) /* the sentence says it all */
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
        strbuf_add(b, "not of a rank");
    if (f->step >= 0)
        strbuf_addf(b, ", at step %" PRId64, f->step);
    strbuf_add(b, "\n");
    if (f->what[0] && strcmp(f->what, s->message) != 0) {
        strbuf_add(b, "  ");
        add_clean(b, f->what);
        strbuf_add(b, "\n");
    }
}

/* There is nothing to compare with when the plan is the equal split. */
static bool plan_is_equal(const struct job_status *s)
{
    return fabs(s->predicted_samples_per_s - s->equal_predicted_samples_per_s) <=
           1e-9 * s->predicted_samples_per_s;
}

/* "21 900 samples/s = 97 % of ideal, 2.4x an equal split (measured 9 200)" */
static void print_speed(const struct job_status *s, struct strbuf *b)
{
    bool measured = isfinite(s->equal_measured_samples_per_s);
    double equal = measured ? s->equal_measured_samples_per_s : s->equal_predicted_samples_per_s;
    char number[40];

    if (!isfinite(s->samples_per_s))
        return;
    strbuf_addf(b, "   %s samples/s", text_grouped(s->samples_per_s, number, sizeof number));
    if (s->ideal_samples_per_s > 0)
        strbuf_addf(b, " = %.0f %% of ideal", 100 * s->samples_per_s / s->ideal_samples_per_s);
    if (equal > 0 && (measured || !plan_is_equal(s)))
        strbuf_addf(b, ", %.1fx an equal split (%s %s)", s->samples_per_s / equal,
                    measured ? "measured" : "predicted",
                    text_grouped(equal, number, sizeof number));
}

static void print_count(struct strbuf *b, int64_t n, const char *what)
{
    if (n == 0)
        strbuf_addf(b, "no %ss", what);
    else
        strbuf_addf(b, "%" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

static void print_events(const struct job_status *s, const char *name, struct strbuf *b)
{
    int known = 0, slow = 0, slowest = -1;
    char time[32];

    for (int i = 0; i < s->n_workers; i++) {
        double speed = s->worker[i].relative_speed;

        known += isfinite(speed);
        if (!(speed < STRAGGLER_BELOW))
            continue;
        if (slowest < 0 || speed < s->worker[slowest].relative_speed)
            slowest = i;
        slow++;
    }
    if (known) {
        print_count(b, slow, "straggler");
        if (slow)
            strbuf_addf(b, " (rank %d at %.2f of its own expected speed)", s->worker[slowest].rank,
                        s->worker[slowest].relative_speed);
        strbuf_add(b, ", ");
    }
    print_count(b, s->restarts, "restart");
    if (s->restarts && isfinite(s->recovery_s))
        strbuf_addf(b, " (%s from the last failure to the next step)",
                    job_status_elapsed(s->recovery_s, time, sizeof time));
    strbuf_add(b, ", ");
    print_count(b, s->replans, "re-plan");
    strbuf_add(b, "\nmore: eddis-status ");
    add_clean(b, name ? name : s->job);
    strbuf_add(b, " --report\n");
}

static void print_time(const struct job_status *s, struct strbuf *b)
{
    char time[32];

    if (s->exit_code && s->wall_s < AT_ONCE_S)
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
    if (!ok) {
        strbuf_add(b, "   ");
        add_clean(b, reason_words(s->reason));
        if (s->exit_code >= 0)
            strbuf_addf(b, ", exit code %d", s->exit_code);
    }
    if (isfinite(s->accuracy))
        strbuf_addf(b, "   test accuracy %.3f", s->accuracy);
    else if (isfinite(s->loss))
        strbuf_addf(b, "   loss %.4g", s->loss);
    print_speed(s, b);
    strbuf_add(b, s->emulated ? "   (emulated devices)\n" : "\n");
    if (!ok)
        print_failure(s, b);
    else
        print_message(s, b);
    print_events(s, name, b);
}
