/* SPDX-License-Identifier: Apache-2.0 */
/* status_page.c - writes a job's status as a page of text */
#include "status_page.h"

#include "table.h"

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/model/algorithm.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 24 };

#define SLOW_BELOW 0.7 /* of the worker's own expected speed, NVRx's threshold */
/* Seconds without a step from which a job is said to stall. */
#define STALLED_S 2.0

static const struct table_column worker_columns[] = {
    { "rank", true },   { "node", false },     { "device", false }, { "step", true },
    { "batch", true },  { "samples/s", true }, { "step ms", true }, { "compute", true },
    { "input", true },  { "exposed", true },   { "wait", true },    { "speed", true },
    { "state", false },
};

/* Of the other modes. */
static const struct table_column elastic_columns[] = {
    { "rank", true },  { "node", false },     { "device", false }, { "step", true },
    { "batch", true }, { "samples/s", true }, { "step ms", true }, { "compute", true },
    { "input", true }, { "exposed", true },   { "wait", true },    { "speed", true },
    { "group", true }, { "stale", true },     { "state", false },
};

static bool is_elastic(const struct job_status *s)
{
    return algorithm_has(s->algorithm, ALGORITHM_SEVERAL);
}

enum status_mark status_mark(const struct worker_status *w)
{
    static const char *const gone[] = { "killed", "lost" };

    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strcmp(w->state, gone[i]) == 0)
            return STATUS_GONE;
    return w->relative_speed < SLOW_BELOW ? STATUS_SLOW : STATUS_PLAIN;
}

/* ---- the head ---- */

static void add_clean(struct strbuf *b, const char *text)
{
    cleanup_free char *clean = strdup(text);

    if (!clean) {
        b->failed = true;
        return;
    }
    text_strip_control(clean);
    strbuf_add(b, clean);
}

static void add_job(struct strbuf *b, const struct job_status *s)
{
    strbuf_add(b, "job     ");
    add_clean(b, s->job);
    strbuf_addf(b, "   %s", job_state_name(s->state));
    if (s->reason[0]) {
        strbuf_add(b, " (");
        add_clean(b, s->reason);
        if (s->exit_code > 0)
            strbuf_addf(b, ", exit code %d", s->exit_code);
        strbuf_add(b, ")");
    }
    if (s->mode[0]) {
        strbuf_add(b, "   ");
        add_clean(b, s->mode);
        strbuf_add(b, ", ");
        add_clean(b, s->algorithm);
    }
    if (s->n_workers)
        strbuf_addf(b, "   %d worker%s on %d node%s", s->n_workers, s->n_workers == 1 ? "" : "s",
                    s->n_nodes, s->n_nodes == 1 ? "" : "s");
    strbuf_add(b, s->emulated ? "   emulated devices\n" : "\n");
}

static void add_bar(struct strbuf *b, double part, bool ascii)
{
    int full = (int)(part * BAR + 0.5);

    strbuf_add(b, "   ");
    for (int i = 0; i < BAR; i++)
        strbuf_add(b, i < full ? (ascii ? "#" : "\u2501") : (ascii ? "." : "\u2500"));
    strbuf_addf(b, " %.0f %%", 100 * part);
}

static void add_progress(struct strbuf *b, const struct job_status *s, bool ascii)
{
    char time[32];

    strbuf_add(b, "where   ");
    if (s->epochs > 0)
        strbuf_addf(b, "epoch %" PRId64 "/%" PRId64 "   ", s->epoch, s->epochs);
    strbuf_addf(b, "step %" PRId64, s->steps_done);
    if (s->steps_total > 0) {
        strbuf_addf(b, "/%" PRId64, s->steps_total);
        add_bar(b, fmin((double)s->steps_done / (double)s->steps_total, 1), ascii);
    }
    if (isfinite(s->wall_s))
        strbuf_addf(b, "   %s", job_status_duration(s->wall_s, time, sizeof time));
    if (isfinite(s->eta_s) && s->state == JOB_RUNNING)
        strbuf_addf(b, ", ETA %s", job_status_duration(s->eta_s, time, sizeof time));
    strbuf_add(b, "\n");
}

static void add_result(struct strbuf *b, const struct job_status *s)
{
    if (!isfinite(s->loss) && !isfinite(s->accuracy))
        return;
    strbuf_add(b, "result  ");
    if (isfinite(s->loss))
        strbuf_addf(b, "loss %.4g", s->loss);
    if (isfinite(s->accuracy))
        strbuf_addf(b, "%stest accuracy %.3f", isfinite(s->loss) ? "   " : "", s->accuracy);
    strbuf_add(b, "\n");
}

static void add_speed(struct strbuf *b, const struct job_status *s)
{
    bool measured = isfinite(s->equal_measured_samples_per_s);
    double equal = measured ? s->equal_measured_samples_per_s : s->equal_predicted_samples_per_s;
    char n[40];

    if (isfinite(s->samples_per_s)) {
        strbuf_addf(b, "speed   %s samples/s", text_grouped(s->samples_per_s, n, sizeof n));
        if (isfinite(s->recent_samples_per_s) && s->state == JOB_RUNNING)
            strbuf_addf(b, " (now %s)", text_grouped(s->recent_samples_per_s, n, sizeof n));
        if (s->ideal_samples_per_s > 0)
            strbuf_addf(b, "   %.0f %% of ideal (%s)",
                        100 * s->samples_per_s / s->ideal_samples_per_s,
                        text_grouped(s->ideal_samples_per_s, n, sizeof n));
        if (equal > 0)
            strbuf_addf(b, "   %.1fx an equal split (%s %s)", s->samples_per_s / equal,
                        measured ? "measured" : "predicted", text_grouped(equal, n, sizeof n));
        strbuf_add(b, "\n");
    }
    if (s->plan_version > 0)
        strbuf_addf(b,
                    "plan    generation %" PRId64 ", version %" PRId64 ", global batch %" PRId64
                    ", %" PRId64 " re-plans, %" PRId64 " restarts\n",
                    s->generation, s->plan_version, s->global_batch, s->replans, s->restarts);
}

/* ---- the workers ---- */

static void add_measure(struct table *t, double x, int digits)
{
    if (isfinite(x))
        table_add(t, "%.*f", digits, x);
    else
        table_add(t, "-");
}

static void add_worker(struct table *t, const struct worker_status *w, bool elastic)
{
    char n[40];

    table_add(t, "%d", w->rank);
    table_add(t, "%s", w->node[0] ? w->node : "-");
    table_add(t, "%s", w->device[0] ? w->device : "-");
    table_add(t, "%" PRId64, w->steps_done);
    table_add(t, "%" PRId64, w->batch);
    if (isfinite(w->samples_per_s))
        table_add(t, "%s", text_grouped(w->samples_per_s, n, sizeof n));
    else
        table_add(t, "-");
    add_measure(t, w->step_ms, 1);
    add_measure(t, w->compute_ms, 1);
    add_measure(t, w->input_ms, 1);
    add_measure(t, w->exposed_ms, 1);
    add_measure(t, w->wait_ms, 1);
    add_measure(t, w->relative_speed, 2);
    if (elastic) {
        table_add(t, "%d", w->group);
        table_add(t, "%d", w->staleness);
    }
    table_add(t, "%s", w->state);
}

/* Why: what takes the worker longer than its plan expects. */
static void add_slow(FILE *out, const struct worker_status *w)
{
    char node[sizeof w->node];

    memcpy(node, w->node, sizeof node);
    text_strip_control(node);
    fprintf(out, "slow    rank %d on %s runs at %.2f of its own expected speed: ", w->rank, node,
            w->relative_speed);
    if (w->input_ms > w->compute_ms)
        fprintf(out, "it waits %.1f ms a step for data\n", w->input_ms);
    else if (isfinite(w->expected_ms))
        fprintf(out, "it computes for %.1f ms a step, %.1f were expected\n", w->compute_ms,
                w->expected_ms);
    else
        fprintf(out, "it computes for %.1f ms a step\n", w->compute_ms);
}

static bool has_ended(const struct worker_status *w)
{
    return strcmp(w->state, "done") == 0 || strcmp(w->state, "exited") == 0 ||
           status_mark(w) == STATUS_GONE;
}

/* Seconds without a step of any worker that has not ended; 0: steps are made. */
static double stalled_s(const struct job_status *s)
{
    double least = INFINITY;

    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];

        if (has_ended(w))
            continue;
        /* Steps that take long are no stall. */
        if (!(w->last_step_age_s > fmax(STALLED_S, 10e-3 * w->step_ms)))
            return 0;
        least = fmin(least, w->last_step_age_s);
    }
    return s->state == JOB_RUNNING && isfinite(least) ? least : 0;
}

/* Nobody makes steps: those who wait for others are not to blame. */
static void add_stalled(FILE *out, const struct job_status *s, double age_s)
{
    int blamed = 0;

    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];
        char node[sizeof w->node];

        if (has_ended(w) || strcmp(w->state, "wait") == 0)
            continue;
        memcpy(node, w->node, sizeof node);
        text_strip_control(node);
        fprintf(out, "stalled rank %d on %s has made no step for %.0f s, its state is %s\n",
                w->rank, node, w->last_step_age_s, w->state);
        blamed++;
    }
    if (!blamed)
        fprintf(out, "stalled no rank has made a step for %.0f s: all wait for one another\n",
                age_s);
}

static void print_workers(const struct job_status *s, FILE *out)
{
    double age_s = stalled_s(s);
    struct table t = { .column = worker_columns,
                       .n_columns = sizeof worker_columns / sizeof *worker_columns };

    if (is_elastic(s))
        t = (struct table){ .column = elastic_columns,
                            .n_columns = sizeof elastic_columns / sizeof *elastic_columns };
    for (int i = 0; i < s->n_workers; i++)
        add_worker(&t, &s->worker[i], is_elastic(s));
    fputc('\n', out);
    table_print(&t, 2, out);
    table_fini(&t);
    fputc('\n', out);
    if (age_s > 0) {
        add_stalled(out, s, age_s);
        return;
    }
    for (int i = 0; i < s->n_workers; i++)
        if (status_mark(&s->worker[i]) == STATUS_SLOW)
            add_slow(out, &s->worker[i]);
}

static int count_lines(const char *text)
{
    int n = 0;

    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

static void add_note(struct strbuf *b, const char *text)
{
    if (!*text)
        return;
    strbuf_add(b, "note    ");
    add_clean(b, text);
    strbuf_add(b, "\n");
}

int status_page_make(const struct job_status *s, bool ascii, struct status_page *ret,
                     struct eddis_error *err)
{
    struct strbuf head = { 0 };
    char *text = NULL;
    size_t n = 0;
    FILE *out;

    add_job(&head, s);
    add_progress(&head, s, ascii);
    add_speed(&head, s);
    add_result(&head, s);
    add_note(&head, s->waiting);
    add_note(&head, s->refused);
    add_note(&head, s->message);
    out = head.failed ? NULL : open_memstream(&text, &n);
    if (!out) {
        strbuf_fini(&head);
        return eddis_fail(err, -ENOMEM, "no memory for the status");
    }
    fputs(strbuf_text(&head), out);
    if (s->n_workers)
        print_workers(s, out);
    if (fclose(out) != 0 || !text) {
        strbuf_fini(&head);
        free(text);
        return eddis_fail(err, -ENOMEM, "no memory for the status");
    }
    *ret = (struct status_page){ text, count_lines(strbuf_text(&head)) + 2, s->n_workers };
    strbuf_fini(&head);
    return 0;
}

void status_page_fini(struct status_page *p)
{
    free(p->text);
    p->text = NULL;
}

/* ---- printing ---- */

/* Bytes of the first `columns` characters of a line of n bytes. */
static size_t cut(const char *line, size_t n, int columns)
{
    int width = 0;

    for (size_t i = 0; i < n; i++)
        if (((unsigned char)line[i] & 0xc0) != 0x80 && ++width > columns)
            return i;
    return n;
}

static const char *color_of(const struct status_page *p, const struct job_status *s, int line)
{
    static const char *const codes[] = {
        [STATUS_PLAIN] = "", [STATUS_SLOW] = "\033[33m", [STATUS_GONE] = "\033[31m"
    };

    if (line == p->first - 1 && p->n_workers)
        return "\033[1m";
    if (line < p->first || line >= p->first + p->n_workers)
        return "";
    return codes[status_mark(&s->worker[line - p->first])];
}

int status_page_print(const struct status_page *p, const struct job_status *s,
                      const struct status_print *o)
{
    int n_lines = count_lines(p->text), line = 0;

    for (const char *at = p->text; *at; line++) {
        const char *end = strchr(at, '\n');
        const char *color = o->color ? color_of(p, s, line) : "";
        size_t n = o->columns ? cut(at, (size_t)(end - at), o->columns) : (size_t)(end - at);

        if (o->rows && n_lines > o->rows && line == o->rows - 1) {
            fprintf(o->out, "... %d more lines; eddis-status --once shows all%s", n_lines - line,
                    o->window ? "\033[K" : "\n");
            return o->rows;
        }
        fprintf(o->out, "%s%.*s%s%s\n", color, (int)n, at, *color ? "\033[0m" : "",
                o->window ? "\033[K" : "");
        at = end + 1;
    }
    return line;
}
