/* SPDX-License-Identifier: Apache-2.0 */
/* status_page.c - writes a job's status as a page of text */
#include "status_page.h"

#include "status_gpus.h"

#include "cmd/shared/table.h"

#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/model/algorithm.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 8 }; /* columns of a line's label, as "where   " */
/* Columns of the progress bar: most, least (else no bar), and blanks before it. */
enum { BAR = 24, LEAST_BAR = 5, BAR_GAP = 3 };

enum { WORKER_LINES = 10 }; /* most lines about workers below the table */

/* Columns of the table of workers. */
static const struct table_column worker_columns[] = {
    { "rank", true },  { "node", false },     { "device", false }, { "step", true },
    { "batch", true }, { "samples/s", true }, { "step ms", true }, { "compute", true },
    { "input", true }, { "exposed", true },   { "wait", true },    { "speed", true },
    { "group", true }, { "stale", true },     { "state", false },
};

/* Bits of the columns "group" and "stale", only for modes in which several models are trained. */
enum { OF_SEVERAL = 3 << 12 };

/* Columns that a narrow window leaves out, in this order. Rank, speed and state always stay. */
static const char *const spare_columns[] = { "device", "batch", "step ms",   "input",
                                             "stale",  "group", "samples/s", "exposed",
                                             "node",   "wait",  "compute",   "step" };

enum status_mark status_mark(const struct worker_status *w)
{
    if (strcmp(w->state, "killed") == 0 || strcmp(w->state, "lost") == 0)
        return STATUS_GONE;
    return w->straggler[0] ? STATUS_SLOW : STATUS_PLAIN;
}

/* ---- the head ---- */

/* Return the number of UTF-8 characters in n bytes. */
static int width_of(const char *text, size_t n)
{
    int width = 0;

    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Append to b a line with this label and the text `parts`, whose parts are separated by three
 * blanks. A part that does not fit into `columns` (0: no limit) begins a new line. Free what
 * `parts` holds.
 */
static void add_parts(struct strbuf *b, const char *label, struct strbuf *parts, int columns)
{
    int at = LABEL;

    strbuf_addf(b, "%-*s", LABEL, label);
    for (const char *part = strbuf_text(parts), *gap; *part; part = gap) {
        size_t blank = strspn(part, " "), n;

        gap = strstr(part + blank, "   ");
        n = gap ? (size_t)(gap - part) : strlen(part);
        gap = part + n;
        if (columns && at > LABEL && at + width_of(part, n) > columns) {
            strbuf_addf(b, "\n%*s", LABEL, "");
            part += blank;
            n -= blank;
            at = LABEL;
        }
        strbuf_addf(b, "%.*s", (int)n, part);
        at += width_of(part, n);
    }
    strbuf_add(b, "\n");
    b->failed = b->failed || parts->failed;
    strbuf_fini(parts);
}

/* Append the parts of the line "job" to b: id, state, mode, number of workers, and whether devices
 * are emulated.
 */
static void job_parts(struct strbuf *b, const struct job_status *s)
{
    text_add_clean(b, "%s   %s", s->job, job_state_name(s->state));
    if (s->reason[0]) {
        text_add_clean(b, " (%s", s->reason);
        if (s->exit_code > 0)
            strbuf_addf(b, ", exit code %d", s->exit_code);
        strbuf_add(b, ")");
    }
    if (s->mode[0])
        text_add_clean(b, "   %s, %s", s->mode, s->algorithm);
    if (s->n_workers)
        strbuf_addf(b, "   %d worker%s on %d node%s", s->n_workers, s->n_workers == 1 ? "" : "s",
                    s->n_nodes, s->n_nodes == 1 ? "" : "s");
    if (s->emulated)
        strbuf_add(b, "   emulated devices");
}

/* Append BAR_GAP blanks and a progress bar of `cells` characters. The share `part` (0 to 1) of the
 * bar is full.
 */
static void add_bar(struct strbuf *b, double part, int cells, bool ascii)
{
    int full = (int)(part * cells + 0.5);

    strbuf_addf(b, "%*s", BAR_GAP, "");
    for (int i = 0; i < cells; i++)
        strbuf_add(b, i < full ? (ascii ? "#" : "\u2501") : (ascii ? "." : "\u2500"));
}

/* Append the time that the job has taken and, while it runs, the estimated time left. */
static void add_times(struct strbuf *b, const struct job_status *s)
{
    char time[32];

    if (isfinite(s->wall_s))
        strbuf_addf(b, "   %s", job_status_duration(s->wall_s, time, sizeof time));
    if (isfinite(s->eta_s) && s->state == JOB_RUNNING)
        strbuf_addf(b, ", ETA %s", job_status_duration(s->eta_s, time, sizeof time));
}

/* Return the length in characters of the bar that fits between the texts `before` and `after` into
 * `columns` (0: no limit); 0: there is no room for a bar.
 */
static int bar_cells(const struct strbuf *before, const struct strbuf *after, int columns)
{
    int left = columns - (int)before->len - (int)after->len - BAR_GAP;

    if (!columns || left > BAR)
        return BAR;
    return left < LEAST_BAR ? 0 : left;
}

/* Append the line "where": epoch, step, bar, percentage and times. */
static void add_progress(struct strbuf *b, const struct job_status *s, bool ascii, int columns)
{
    cleanup_strbuf struct strbuf before = { 0 }, after = { 0 };
    double part = s->steps_total > 0 ? fmin((double)s->steps_done / (double)s->steps_total, 1) : 0;
    int cells;

    strbuf_add(&before, "where   ");
    if (s->epochs > 0)
        strbuf_addf(&before, "epoch %" PRId64 "/%" PRId64 "   ", s->epoch, s->epochs);
    strbuf_addf(&before, "step %" PRId64, s->steps_done);
    if (s->steps_total > 0) {
        strbuf_addf(&before, "/%" PRId64, s->steps_total);
        strbuf_addf(&after, " %.0f %%", 100 * part);
    }
    add_times(&after, s);
    cells = s->steps_total > 0 ? bar_cells(&before, &after, columns) : 0;
    strbuf_add(b, strbuf_text(&before));
    if (cells)
        add_bar(b, part, cells, ascii);
    strbuf_addf(b, "%s\n", strbuf_text(&after));
    b->failed = b->failed || before.failed || after.failed;
}

/* Append the line "result" with loss and test accuracy, if known. */
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

/* Append the parts of the line "speed": samples/s, share of the ideal, and gain over an equal
 * split.
 */
static void speed_parts(struct strbuf *b, const struct job_status *s)
{
    bool measured;
    double equal = job_status_equal(s, &measured);
    char n[40];

    strbuf_addf(b, "%s samples/s", text_grouped(s->samples_per_s, n, sizeof n));
    if (isfinite(s->recent_samples_per_s) && s->state == JOB_RUNNING)
        strbuf_addf(b, " (now %s)", text_grouped(s->recent_samples_per_s, n, sizeof n));
    /* After a re-plan the line of the plan has the ideal. */
    if (s->ideal_samples_per_s > 0 && s->replans == 0)
        strbuf_addf(b, "   %.0f %% of ideal (%s)", 100 * s->samples_per_s / s->ideal_samples_per_s,
                    text_grouped(s->ideal_samples_per_s, n, sizeof n));
    if (equal > 0)
        strbuf_addf(b, "   %.1fx an equal split (%s %s)", s->samples_per_s / equal,
                    measured ? "measured" : "predicted", text_grouped(equal, n, sizeof n));
}

/* Append a number and its noun, ", 3 re-plans" or ", 1 re-plan". */
static void add_count(struct strbuf *b, int64_t n, const char *what)
{
    strbuf_addf(b, ", %" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* Append the line "plan" about the current plan; if it replaced another one, also a line with its
 * speed and its reason. Append nothing before the first plan.
 */
static void add_plan(struct strbuf *b, const struct job_status *s)
{
    const struct plan_status *p = s->n_plans ? &s->plan[s->n_plans - 1] : NULL;
    char n[40];

    if (s->plan_version == 0)
        return;
    strbuf_addf(b, "plan    attempt %" PRId64 ", version %" PRId64, s->generation, s->plan_version);
    if (p && p->since >= 0)
        strbuf_addf(b, " from step %" PRId64, p->since);
    strbuf_addf(b, ", global batch %" PRId64, s->global_batch);
    add_count(b, s->replans, "re-plan");
    add_count(b, s->restarts, "restart");
    if (s->node_losses)
        add_count(b, s->node_losses, "lost node");
    strbuf_add(b, "\n");
    if (!p || s->n_plans < 2)
        return;
    strbuf_add(b, "        ");
    if (isfinite(p->samples_per_s))
        strbuf_addf(b, "%s samples/s", text_grouped(p->samples_per_s, n, sizeof n));
    else
        strbuf_add(b, "not measured yet");
    if (p->ideal_samples_per_s > 0 && isfinite(p->samples_per_s))
        strbuf_addf(b, ", %.0f %% of its ideal", 100 * p->samples_per_s / p->ideal_samples_per_s);
    if (p->reason[0])
        text_add_clean(b, "; why: %s", p->reason);
    strbuf_add(b, "\n");
}

/* ---- the workers ---- */

/* Append a cell with measurement x to t; "-" if x was not measured (NAN). */
static void add_measure(struct table *t, double x, int digits)
{
    if (isfinite(x))
        table_add(t, "%.*f", digits, x);
    else
        table_add(t, "-");
}

/* Add the row of a worker. */
static void add_worker(struct table *t, const struct worker_status *w)
{
    char n[40];

    table_add(t, "%d", w->rank);
    table_add(t, "%s", w->node[0] ? w->node : "-");
    table_add(t, "%s", w->device[0] ? w->device : "-");
    table_add(t, "%" PRId64, w->steps_done);
    table_add(t, "%" PRId64, w->batch);
    if (isfinite(w->samples_per_s))
        table_add(t, "%s", text_grouped(w->samples_per_s, n, sizeof n));
    else if (isfinite(w->compute_ms)) /* its samples are unknown */
        table_add(t, "%.1f ms", w->compute_ms + w->input_ms);
    else
        table_add(t, "-");
    add_measure(t, w->step_ms, 1);
    add_measure(t, w->compute_ms, 1);
    add_measure(t, w->input_ms, 1);
    add_measure(t, w->exposed_ms, 1);
    add_measure(t, w->wait_ms, 1);
    add_measure(t, w->relative_speed, 2);
    table_add(t, "%d", w->group);
    table_add(t, "%d", w->staleness);
    table_add(t, "%s", w->state);
}

/* Insert a worker into the list of the slowest ones, slowest first, if it belongs there. Return the
 * new length.
 */
static int keep_slowest(const struct worker_status **slowest, int n, const struct worker_status *w)
{
    int at = n;

    while (at > 0 && slowest[at - 1]->straggler_times < w->straggler_times)
        at--;
    if (at == WORKER_LINES)
        return n;
    n += n < WORKER_LINES;
    memmove(&slowest[at + 1], &slowest[at], (size_t)(n - 1 - at) * sizeof *slowest);
    slowest[at] = w;
    return n;
}

/* Append a line for each of the slowest workers, in the words of the driver, and one if most
 * workers have become slow.
 */
static void add_slowest(struct strbuf *b, const struct job_status *s)
{
    const struct worker_status *slowest[WORKER_LINES];
    int n = 0, all = 0;

    for (int i = 0; i < s->n_workers; i++)
        if (status_mark(&s->worker[i]) == STATUS_SLOW) {
            n = keep_slowest(slowest, n, &s->worker[i]);
            all++;
        }
    if (isfinite(s->all_slow_times))
        strbuf_addf(b, "slow    most workers take %.1f times as long as before\n",
                    s->all_slow_times);
    for (int i = 0; i < n; i++) {
        text_add_clean(b, "slow    rank %d on %s %s", slowest[i]->rank, slowest[i]->node,
                       slowest[i]->straggler_says);
        strbuf_add(b, "\n");
    }
    if (all > n)
        strbuf_addf(b, "slow    and %d more workers\n", all - n);
}

/* Append which ranks make no step while the job stalls. Ranks that only wait for others are not
 * named.
 */
static void add_stalled(struct strbuf *b, const struct job_status *s, double age_s)
{
    int blamed = 0;

    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];

        if (job_status_has_ended(w) || strcmp(w->state, "wait") == 0)
            continue;
        if (++blamed > WORKER_LINES)
            continue;
        text_add_clean(b, "stalled rank %d on %s has made no step for %.0f s, its state is %s",
                       w->rank, w->node, w->last_step_age_s, w->state);
        strbuf_add(b, "\n");
    }
    if (blamed > WORKER_LINES)
        strbuf_addf(b, "stalled and %d more ranks\n", blamed - WORKER_LINES);
    if (!blamed)
        strbuf_addf(b, "stalled no rank has made a step for %.0f s: all wait for one another\n",
                    age_s);
}

/* Append the table of workers. */
static void add_table(struct strbuf *b, const struct job_status *s, int columns)
{
    cleanup_table struct table t = { .column = worker_columns,
                                     .n_columns = sizeof worker_columns / sizeof *worker_columns,
                                     .hidden = algorithm_has(s->algorithm, ALGORITHM_SEVERAL)
                                                   ? 0
                                                   : OF_SEVERAL };

    for (int i = 0; i < s->n_workers; i++)
        add_worker(&t, &s->worker[i]);
    if (columns)
        table_fit(&t, 2, columns, spare_columns, sizeof spare_columns / sizeof *spare_columns);
    table_print(&t, 2, b);
}

/* Append the table of workers or of their GPUs, then the lines about stalled or slow workers. */
static void add_workers(struct strbuf *b, const struct job_status *s,
                        const struct status_page_form *form)
{
    double age_s = job_status_stalled_s(s);

    strbuf_add(b, "\n");
    if (form->gpus)
        status_gpus_add(b, s, form->columns);
    else
        add_table(b, s, form->columns);
    strbuf_add(b, "\n");
    if (age_s > 0)
        add_stalled(b, s, age_s);
    else
        add_slowest(b, s);
}

/* Return the number of newlines in a text. */
static int count_lines(const char *text)
{
    int n = 0;

    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* Append a line "note" with the text, unless it is empty. */
static void add_note(struct strbuf *b, const char *text)
{
    if (!*text)
        return;
    text_add_clean(b, "note    %s", text);
    strbuf_add(b, "\n");
}

int status_page_make(const struct job_status *s, const struct status_page_form *form,
                     struct status_page *ret, struct eddis_error *err)
{
    struct strbuf page = { 0 }, job = { 0 }, speed = { 0 };
    struct status_page p = { .n_workers = s->n_workers };

    job_parts(&job, s);
    add_parts(&page, "job", &job, form->columns);
    add_progress(&page, s, form->ascii, form->columns);
    if (isfinite(s->samples_per_s))
        speed_parts(&speed, s);
    else if (isfinite(job_status_step_ms(s)))
        strbuf_addf(&speed, "%.3g ms a step", job_status_step_ms(s));
    if (speed.len > 0)
        add_parts(&page, "speed", &speed, form->columns);
    add_plan(&page, s);
    add_result(&page, s);
    job_status_print_checkpoints(s, "saves   ", &page);
    plan_left_print(s->left, s->n_left, "plan    left out: ", &page);
    add_note(&page, s->waiting);
    add_note(&page, s->refused);
    add_note(&page, s->message);
    p.first = count_lines(strbuf_text(&page)) + 2;
    if (s->n_workers)
        add_workers(&page, s, form);
    p.text = strbuf_steal(&page);
    if (!p.text)
        return eddis_fail(err, -ENOMEM, "no memory for the status");
    *ret = p;
    return 0;
}

void status_page_fini(struct status_page *p)
{
    free(p->text);
    p->text = NULL;
}

/* ---- printing ---- */

/* Return how many bytes the first `columns` UTF-8 characters of a line of n bytes have; n if it has
 * no more characters.
 */
static size_t cut(const char *line, size_t n, int columns)
{
    int width = 0;

    for (size_t i = 0; i < n; i++)
        if (((unsigned char)line[i] & 0xc0) != 0x80 && ++width > columns)
            return i;
    return n;
}

/* Borrow the escape code for a line of the page (from 0): bold for the head of the table of
 * workers; yellow for a slow worker, red for one that was killed or lost; "" for all other lines.
 */
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
