/* SPDX-License-Identifier: Apache-2.0 */
#include "run_view.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>

enum { VIEW_BAR = 16, VIEW_LINE = 512 };

static const int64_t redraw_ns = CLOCK_S / 10;
static const int64_t plain_ns = 10 * CLOCK_S;

/* The window may change its size at any time. */
static void measure(struct run_view *v)
{
    struct winsize w;

    if (v->terminal && ioctl(fileno(v->stream), TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        v->columns = w.ws_col;
}

void run_view_init(struct run_view *v, FILE *out, bool quiet)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");

    *v = (struct run_view){ .out = quiet ? NULL : out, .stream = out, .columns = 80 };
    v->terminal = isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
    v->colour = v->terminal && !(no_colour && *no_colour);
    v->utf8 = setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    measure(v);
}

/* VIEW_BAR characters, `part` of them full. */
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

static void add_where(const struct job_status *s, struct strbuf *b)
{
    if (s->epochs > 0)
        strbuf_addf(b, "epoch %" PRId64 "/%" PRId64, s->epoch, s->epochs);
    else if (s->steps_total > 0)
        strbuf_addf(b, "step %" PRId64 "/%" PRId64, s->steps_done, s->steps_total);
    else
        strbuf_addf(b, "step %" PRId64, s->steps_done);
}

static void add_figures(const struct job_status *s, struct strbuf *b)
{
    char text[32];

    if (isfinite(s->loss))
        strbuf_addf(b, "  loss %.3f", s->loss);
    if (isfinite(s->recent_samples_per_s))
        strbuf_addf(b, "  %s samples/s", text_grouped(s->recent_samples_per_s, text, sizeof text));
    if (isfinite(s->recent_samples_per_s) && s->ideal_samples_per_s > 0)
        strbuf_addf(b, "  %.0f %%", 100 * s->recent_samples_per_s / s->ideal_samples_per_s);
    if (isfinite(s->eta_s) && s->eta_s < 1e7)
        strbuf_addf(b, "  ETA %s", job_status_duration(s->eta_s, text, sizeof text));
}

/* A line that the terminal wraps cannot be drawn over: without the bar where that is too much, and
 * cut where all is too much.  One column stays free, for some terminals wrap behind the last.
 */
void run_view_text(const struct run_view *v, const struct job_status *s, char *ret, size_t size)
{
    struct strbuf line = { 0 }, figures = { 0 };
    size_t plain;

    add_where(s, &line);
    add_figures(s, &figures);
    plain = line.len + figures.len;
    if (v->terminal && s->steps_total > 0 && plain + 1 + VIEW_BAR < (size_t)v->columns) {
        strbuf_add(&line, " ");
        add_bar(v, &line, (double)s->steps_done / (double)s->steps_total);
    } else if (v->terminal && plain >= (size_t)v->columns && size > (size_t)v->columns) {
        size = (size_t)v->columns;
    }
    strbuf_add(&line, strbuf_text(&figures));
    (void)snprintf(ret, size, "%s", strbuf_text(&line));
    strbuf_fini(&line);
    strbuf_fini(&figures);
}

void run_view_clear(struct run_view *v)
{
    if (!v->drawn)
        return;
    fputs("\r\033[K", v->out);
    fflush(v->out);
    v->drawn = false;
}

void run_view_progress(struct run_view *v, const struct job_status *s)
{
    int64_t now_ns = clock_now_ns();
    char line[VIEW_LINE];

    if (!v->out || s->state != JOB_RUNNING || s->steps_done == 0 || now_ns < v->next_ns)
        return;
    v->next_ns = now_ns + (v->terminal ? redraw_ns : plain_ns);
    measure(v);
    run_view_text(v, s, line, sizeof line);
    if (v->terminal)
        fprintf(v->out, "\r%s\033[K", line);
    else
        fprintf(v->out, "%s\n", line);
    fflush(v->out);
    v->drawn = v->terminal;
}

void run_view_waiting(struct run_view *v, const char *text)
{
    cleanup_free char *clean = strdup(text);
    int most;

    if (!v->out || !clean)
        return;
    measure(v);
    text_strip_control(clean);
    most = v->terminal && v->columns > 1 ? v->columns - 1 : (int)strlen(clean);
    if (v->terminal)
        fprintf(v->out, "\r%.*s\033[K", most, clean);
    else
        fprintf(v->out, "%s\n", clean);
    fflush(v->out);
    v->drawn = v->terminal;
}

void run_view_say(struct run_view *v, const char *sentence)
{
    cleanup_free char *clean = strdup(sentence);

    if (!clean)
        return;
    text_strip_control(clean);
    run_view_clear(v);
    fprintf(stderr, "eddis-run: %s\n", clean);
}

void run_view_last_lines(struct run_view *v, int rank, const char *lines)
{
    run_view_clear(v);
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        cleanup_free char *line = strndup(lines, n);

        if (line) {
            text_strip_control(line);
            if (rank < 0)
                fprintf(stderr, "  mpirun: %s\n", line);
            else
                fprintf(stderr, "  rank %d: %s\n", rank, line);
        }
        lines += n + (lines[n] == '\n');
    }
}
