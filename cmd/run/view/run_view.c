/* SPDX-License-Identifier: Apache-2.0 */
/* run_view.c - turns events and the status of a job into lines on the terminal */
#include "run_view.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

enum { VIEW_BAR = 16 }; /* characters of the progress bar */

/* Least interval between two live lines on a terminal. */
static const int64_t redraw_ns = CLOCK_S / 10;
/* Least interval between two progress lines elsewhere. */
static const int64_t plain_ns = 10 * CLOCK_S;
/* Interval of checks for a signal; longest wait for room. */
static const int64_t patience_ns = CLOCK_S / 5;

/* Store the terminal's present width in v->columns, since its window may change its size at any
 * time. Do nothing if standard output is not a terminal.
 */
static void measure(struct run_view *v)
{
    struct winsize w;

    if (v->terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        v->columns = w.ws_col;
}

/* Check whether standard output and standard error are the same file, so that one screen must keep
 * their order.
 */
static bool is_one_place(void)
{
    struct stat out, errors;

    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &errors) == 0 &&
           out.st_dev == errors.st_dev && out.st_ino == errors.st_ino;
}

void run_view_look(struct run_view *v)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");

    v->columns = 80;
    v->terminal = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    v->colour = v->terminal && !(no_colour && *no_colour);
    v->utf8 = setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    measure(v);
}

int run_view_open(struct run_view *v, bool quiet, struct eddis_error *err)
{
    int rc;

    *v = (struct run_view){ .quiet = quiet };
    run_view_look(v);
    rc = screen_open(STDOUT_FILENO, &v->out, err);
    if (rc == 0 && is_one_place())
        v->errors = v->out;
    else if (rc == 0)
        rc = screen_open(STDERR_FILENO, &v->errors, err);
    if (rc < 0)
        run_view_close(v);
    return rc;
}

/* Check whether SIGINT or SIGTERM is pending (both are blocked while a job runs). */
static bool is_asked_to_end(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

int run_view_flush(struct run_view *v, int64_t most_ns, struct eddis_error *err)
{
    struct screen *both[] = { v->errors, v->out };
    int64_t end_ns = clock_after_ns(clock_now_ns(), most_ns);
    int rc = 0, one;

    for (int i = v->errors == v->out; i < 2; i++) {
        do
            one = screen_flush(both[i], clock_now_ns() + patience_ns, err);
        while (one == -ETIMEDOUT && !is_asked_to_end() && clock_now_ns() < end_ns);
        rc = one < 0 ? one : rc;
    }
    return rc;
}

void run_view_close(struct run_view *v)
{
    if (v->errors != v->out)
        screen_close(v->errors);
    screen_close(v->out);
    v->out = v->errors = NULL;
}

/* Append a progress bar of VIEW_BAR characters to b. The share `part` (0 to 1) of it is full. */
static void add_bar(const struct run_view *v, struct strbuf *b, double part)
{
    int halves = (int)(part * VIEW_BAR * 2 + 0.5);

    if (v->colour)
        strbuf_add(b, "\033[32m");
    for (int i = 0; i < VIEW_BAR; i++) {
        if (halves >= 2 * i + 2)
            strbuf_add(b, v->utf8 ? "━" : "#");
        else if (halves == 2 * i + 1)
            strbuf_add(b, v->utf8 ? "╸" : "#");
        else
            strbuf_add(b, v->utf8 ? (v->colour ? "\033[90m━\033[32m" : "─") : ".");
    }
    if (v->colour)
        strbuf_add(b, "\033[0m");
}

/* Append how far the job is: epochs if their number is known, else steps. */
static void add_where(const struct job_status *s, struct strbuf *b)
{
    if (s->epochs > 0)
        strbuf_addf(b, "epoch %" PRId64 "/%" PRId64, s->epoch, s->epochs);
    else if (s->steps_total > 0)
        strbuf_addf(b, "step %" PRId64 "/%" PRId64, s->steps_done, s->steps_total);
    else
        strbuf_addf(b, "step %" PRId64, s->steps_done);
}

/* Append to b the job's loss, a warning if checkpoints fail, speed, or step time if samples are
 * unknown, or time since the last step, share of the ideal speed, and estimated time left; each
 * only if it is known.
 */
static void add_metrics(const struct job_status *s, struct strbuf *b)
{
    double stalled_s = job_status_stalled_s(s), step_ms = job_status_step_ms(s);
    char text[32];

    if (isfinite(s->loss))
        strbuf_addf(b, "  loss %.3f", s->loss);
    if (s->checkpoints.reason[0] && s->checkpoints.newest >= 0)
        strbuf_addf(b, "  NO CHECKPOINT since step %" PRId64, s->checkpoints.newest);
    else if (s->checkpoints.reason[0])
        strbuf_add(b, "  NO CHECKPOINT");
    if (isfinite(s->recent_samples_per_s))
        strbuf_addf(b, "  %s samples/s", text_grouped(s->recent_samples_per_s, text, sizeof text));
    else if (isfinite(step_ms))
        strbuf_addf(b, "  %.3g ms a step", step_ms);
    else if (stalled_s > 0)
        strbuf_addf(b, "  no step for %s", job_status_duration(stalled_s, text, sizeof text));
    if (isfinite(s->recent_samples_per_s) && s->recent_ideal_samples_per_s > 0)
        strbuf_addf(b, "  %.0f %%", 100 * s->recent_samples_per_s / s->recent_ideal_samples_per_s);
    if (isfinite(s->eta_s) && s->eta_s < 1e7)
        strbuf_addf(b, "  ETA %s", job_status_duration(s->eta_s, text, sizeof text));
}

/* Write the text of the live line. Leave out the bar if the line would be wider than the terminal,
 * and cut the line if it still is: a wrapped line cannot be drawn over. One column stays free,
 * since some terminals wrap after the last one.
 */
void run_view_text(const struct run_view *v, const struct job_status *s, char *ret, size_t size)
{
    cleanup_strbuf struct strbuf line = { 0 }, metrics = { 0 };
    size_t plain;

    add_where(s, &line);
    add_metrics(s, &metrics);
    plain = line.len + metrics.len;
    if (v->terminal && s->steps_total > 0 && plain + 1 + VIEW_BAR < (size_t)v->columns) {
        strbuf_add(&line, " ");
        add_bar(v, &line, (double)s->steps_done / (double)s->steps_total);
    } else if (v->terminal && plain >= (size_t)v->columns && size > (size_t)v->columns) {
        size = (size_t)v->columns;
    }
    strbuf_add(&line, strbuf_text(&metrics));
    (void)snprintf(ret, size, "%s", strbuf_text(&line));
}

/* Remove our lines from the terminal: the first one, and all that is below it. */
void run_view_clear(struct run_view *v)
{
    char away[32];
    int n = 0;

    if (v->n_drawn > 1)
        n = snprintf(away, sizeof away, "\033[%dA", v->n_drawn - 1);
    n += snprintf(away + n, sizeof away - (size_t)n, v->n_drawn > 1 ? "\r\033[J" : "\r\033[K");
    if (v->n_drawn)
        (void)screen_say(v->out, away, (size_t)n);
    v->n_drawn = 0;
}

/* Draw our lines over the old ones, without clearing those first, to avoid flicker. */
void run_view_redraw(struct run_view *v)
{
    cleanup_strbuf struct strbuf b = { 0 };
    int n = 0;

    if (v->n_drawn > 1)
        strbuf_addf(&b, "\033[%dA", v->n_drawn - 1);
    for (int i = 0; i < v->n_rows; i++)
        strbuf_addf(&b, "%s\r%s\033[K", n++ ? "\n" : "", v->row[i]);
    if (v->line[0])
        strbuf_addf(&b, "%s\r%s\033[K", n++ ? "\n" : "", v->line);
    if (v->n_drawn > n)
        strbuf_add(&b, n ? "\033[J" : "\r\033[J");
    if (v->terminal && b.len && screen_write(v->out, strbuf_text(&b), b.len))
        v->n_drawn = n;
}

/* Return how many columns the UTF-8 character at s takes, and store its length in *ret_bytes. A
 * byte that begins no valid character counts as one column.
 */
static int width_of(const char *s, size_t *ret_bytes)
{
    wchar_t c;
    mbstate_t state = { 0 };
    size_t n = mbrtowc(&c, s, MB_CUR_MAX, &state);
    int width;

    *ret_bytes = n > 0 && n <= MB_CUR_MAX ? n : 1;
    width = n > 0 && n <= MB_CUR_MAX ? wcwidth(c) : 1;
    return width >= 0 ? width : 1;
}

/* Return the length of the color code ("\033[1;31m") at s; 0: there is none. */
static size_t colour_code(const char *s)
{
    size_t n = strlen("\033[");

    if (strncmp(s, "\033[", n) != 0)
        return 0;
    n += strspn(s + n, "0123456789;");
    return s[n] == 'm' ? n + 1 : 0;
}

void run_view_add_row(struct run_view *v, const char *text)
{
    char *row = v->row[v->n_rows < RUN_VIEW_ROWS ? v->n_rows++ : RUN_VIEW_ROWS - 1];
    size_t n = 0;
    int columns = 0;

    measure(v);
    while (*text && n + 16 < RUN_VIEW_LINE) {
        size_t bytes = colour_code(text);
        bool is_code = bytes > 0;
        int width = is_code ? 0 : width_of(text, &bytes);

        if (n + bytes + 16 >= RUN_VIEW_LINE || columns + width >= v->columns)
            break;
        memcpy(row + n, text, bytes);
        if (*text == '\t')
            row[n] = ' ';
        else if (*text == '\033' && !is_code)
            row[n] = '?';
        n += bytes;
        text += bytes;
        columns += width;
    }
    (void)snprintf(row + n, RUN_VIEW_LINE - n, "%s", v->colour ? "\033[0m" : "");
}

/* Draw v->line, which has changed, in place on a terminal; elsewhere print it as a line. */
static void draw(struct run_view *v)
{
    char text[RUN_VIEW_LINE + 8];
    int n = snprintf(text, sizeof text, "%s\n", v->line);

    if (v->terminal)
        run_view_redraw(v);
    else
        (void)screen_write(v->out, text, (size_t)n);
}

void run_view_progress(struct run_view *v, const struct job_status *s)
{
    int64_t now_ns = clock_now_ns();

    if (v->quiet || s->state != JOB_RUNNING || s->steps_done == 0 || now_ns < v->next_ns)
        return;
    v->next_ns = now_ns + (v->terminal ? redraw_ns : plain_ns);
    measure(v);
    run_view_text(v, s, v->line, sizeof v->line);
    draw(v);
}

void run_view_waiting(struct run_view *v, const char *text)
{
    size_t most;

    if (v->quiet)
        return;
    measure(v);
    most = v->terminal && v->columns > 1 ? (size_t)v->columns : sizeof v->line;
    (void)snprintf(v->line, most < sizeof v->line ? most : sizeof v->line, "%s", text);
    text_strip_control(v->line);
    draw(v);
}

void run_view_print(struct run_view *v, const char *text)
{
    int64_t end_ns = clock_now_ns() + patience_ns;
    size_t left = strlen(text);

    run_view_clear(v);
    v->line[0] = '\0';
    while (left > 0) {
        size_t n = left < SCREEN_BYTES ? left : SCREEN_BYTES;

        if (screen_say(v->out, text, n)) {
            text += n;
            left -= n;
        } else if (screen_flush(v->out, end_ns, NULL) < 0) {
            return; /* nobody reads it */
        }
    }
}

void run_view_say(struct run_view *v, const char *sentence)
{
    cleanup_free char *clean = strdup(sentence), *line = NULL;

    if (!clean)
        return;
    text_strip_control(clean);
    run_view_clear(v);
    if (asprintf(&line, "eddis-run: %s\n", clean) < 0)
        line = NULL;
    if (line)
        (void)screen_say(v->errors, line, strlen(line));
}

void run_view_last_lines(struct run_view *v, int rank, const char *lines)
{
    cleanup_strbuf struct strbuf b = { 0 };

    while (*lines) {
        size_t n = strcspn(lines, "\n");
        cleanup_free char *line = strndup(lines, n);

        if (line) {
            text_make_plain(line);
            if (rank < 0)
                strbuf_addf(&b, "  mpirun: %s\n", line);
            else
                strbuf_addf(&b, "  rank %d: %s\n", rank, line);
        }
        lines += n + (lines[n] == '\n');
    }
    run_view_clear(v);
    (void)screen_say(v->errors, strbuf_text(&b), b.len);
}

/* Return the size of a file in bytes; -1: there is no such file, or path is NULL. */
static int64_t file_bytes(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

void run_view_add_output(const char *log_dir, int rank, int n, struct strbuf *b)
{
    cleanup_free char *path = file_join(log_dir, "rank-%04d.log", rank >= 0 ? rank : 0);
    cleanup_free char *mpirun = file_join(log_dir, "mpirun.log");
    bool one = rank >= 0 || n == 1;

    if (one && file_bytes(path) == 0 && file_bytes(mpirun) > 0)
        strbuf_addf(b, "output in %s\n", mpirun);
    else if (file_bytes(path) >= 0)
        strbuf_addf(b, "output in %s%s\n", path, one ? "" : " and so on");
}
