/* SPDX-License-Identifier: Apache-2.0 */
/* output_view.c - shows what ranks print: whole lines, folded, prefixed with node and rank */
#include "output_view.h"

#include "agents/protocol/protocol.h"
#include "begun_lines.h"
#include "fold.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/crc32.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shown lines that are kept; ranks named in a message; bytes of a list of ranks. */
enum { RECENT = 64, NAMED = 3, LIST = 32 };

/* First interval between two messages about lines that are not shown; it doubles each time. */
static const int64_t report_ns = 10 * CLOCK_S;

/* One of the RECENT lines that were shown last. */
struct recent {
    uint32_t hash;
    int rank; /* -1: several ranks */
};

/* The view of the workers of one plan. */
struct output_view {
    struct output_view_options o;
    struct fold *fold;
    struct recent recent[RECENT]; /* ring of the newest lines shown */
    int64_t n_shown;
    bool is_new; /* lines were not shown since the last message about such lines */
    /* When the next message about lines not shown may come, and the interval after it. */
    int64_t next_ns, between_ns;
    bool wrote; /* something was printed since the live line was last drawn */
    struct begun_lines *begun;
    bool begun_news;  /* unfinished lines have changed since they were last drawn */
    int64_t drawn_ns; /* when they were drawn */
    struct rank_row {
        char *node;       /* owned; NULL: the rank has printed nothing yet */
        int64_t left_out; /* lines that were not shown */
    } row[];              /* [n_ranks] */
};

/* On a terminal, unfinished lines are drawn at this interval, and this many of them. */
static const int64_t draw_ns = CLOCK_S / 10;
enum { SHOWN_BEGUN = 4 };

/* Return the checksum of a line's beginning, as much as the stored last lines of a failed rank have
 * of it.
 */
static uint32_t hash_of(const char *line)
{
    size_t n = strcspn(line, "\n");

    return crc32_update(0, line, n < PROTOCOL_LINE - 8 ? n : PROTOCOL_LINE - 8);
}

/* ---- one line ---- */

int output_view_label(const char *node, int rank, char *ret, size_t size)
{
    return snprintf(ret, size, strchr(node, ':') ? "[%s]:%d" : "%s:%d", node, rank);
}

/* Append to b "node:rank:" or, for a line of several ranks, "0-3 (4 ranks):", with the rank's
 * color, and padded to the width of the longest "node:rank:".
 */
static void add_own_prefix(const struct output_view *o, const struct fold_line *l, struct strbuf *b)
{
    static const char *const colour[] = { "36", "33", "32", "35", "34", "96", "93", "95" };
    bool many = l->count > 1, coloured = o->o.view->colour;
    char name[320], list[LIST];

    if (many) {
        rank_list_text(l->bits, o->o.n_ranks, list, sizeof list);
        (void)snprintf(name, sizeof name, "%s (%d ranks):", list, l->count);
    } else {
        (void)output_view_label(o->row[l->rank].node, l->rank, name, sizeof name - 1);
        (void)strcat(name, ":");
    }
    if (coloured)
        strbuf_addf(b, "\033[%sm", many ? "1" : colour[l->rank % 8]);
    strbuf_add(b, name);
    if (coloured)
        strbuf_add(b, "\033[0m");
    strbuf_addf(b, "%*s",
                o->o.width + 2 > (int)strlen(name) ? o->o.width + 2 - (int)strlen(name) : 1, "");
}

/* Append to b the user's prefix (logs.prefix), with {node} and {rank} replaced by those of the
 * rank.
 */
static void add_users_prefix(const struct output_view *o, int rank, struct strbuf *b)
{
    const char *s = o->o.prefix;

    while (*s) {
        if (strncmp(s, "{node}", 6) == 0) {
            strbuf_add(b, o->row[rank].node);
            s += 6;
        } else if (strncmp(s, "{rank}", 6) == 0) {
            strbuf_addf(b, "%d", rank);
            s += 6;
        } else {
            strbuf_add_bytes(b, s++, 1);
        }
    }
}

/* Count this number of further lines of a rank as not shown. */
static void leave_out(struct output_view *o, int rank, int64_t lines)
{
    o->row[rank].left_out += lines;
    o->is_new = o->is_new || lines > 0;
}

/* Count a folded line as not shown for each of its ranks. */
static void leave_out_all(struct output_view *o, const struct fold_line *l)
{
    for (int r = 0; r < o->o.n_ranks; r++)
        if (l->bits ? l->bits[r / 8] & 1 << r % 8 : r == l->rank)
            leave_out(o, r, 1);
}

/* Append a line with its prefix, and without a newline, to b. */
static void add_line(const struct output_view *o, const struct fold_line *l, struct strbuf *b)
{
    if (o->o.prefix)
        add_users_prefix(o, l->rank, b);
    else
        add_own_prefix(o, l, b);
    strbuf_add(b, l->text);
}

/* Print a folded line and store its hash in o->recent, or count the line as not shown if the screen
 * has no room for it. A fold_fn of o->fold; ctx: the output_view.
 */
static void show(void *ctx, const struct fold_line *l)
{
    struct output_view *o = ctx;
    cleanup_strbuf struct strbuf b = { 0 };

    add_line(o, l, &b);
    strbuf_add(&b, "\n");
    run_view_clear(o->o.view);
    o->wrote = true;
    if (b.failed || !screen_write(o->o.view->out, b.text, b.len))
        leave_out_all(o, l);
    else
        o->recent[o->n_shown++ % RECENT] =
            (struct recent){ hash_of(l->text), l->count > 1 ? -1 : l->rank };
}

/* ---- unfinished lines ---- */

/* If unfinished lines have changed and draw_ns has passed, store those of the first SHOWN_BEGUN
 * ranks and the number of further ones as rows to be drawn above the live line (for a terminal).
 */
static void draw_begun(struct output_view *o, int64_t now_ns)
{
    struct strbuf b = { 0 };
    const char *text;
    int shown = 0, more = 0;

    if (!o->begun_news || now_ns < o->drawn_ns + draw_ns)
        return;
    o->o.view->n_rows = 0;
    for (int r = 0; (r = begun_lines_next(o->begun, r, &text)) >= 0; r++) {
        const struct fold_line line = { .text = text, .rank = r, .count = 1 };

        if (shown++ >= SHOWN_BEGUN) {
            more++;
            continue;
        }
        add_line(o, &line, &b);
        run_view_add_row(o->o.view, strbuf_text(&b));
        strbuf_fini(&b);
    }
    if (more) {
        strbuf_addf(&b, "and lines of %d more rank%s", more, more == 1 ? "" : "s");
        run_view_add_row(o->o.view, strbuf_text(&b));
        strbuf_fini(&b);
    }
    o->begun_news = false;
    o->drawn_ns = now_ns;
    o->wrote = true;
}

/* Print what is due of the unfinished lines as whole lines (for output that is not a terminal). */
static void print_begun(struct output_view *o, int64_t now_ns)
{
    const char *text;

    for (int r = 0; (r = begun_lines_due(o->begun, r, now_ns, &text)) >= 0; r++)
        fold_add(o->fold, r, text, now_ns);
}

/* Show the unfinished lines: by redrawing on a terminal, else as whole lines when they are due. */
static void show_begun(struct output_view *o, int64_t now_ns)
{
    if (o->o.view->terminal)
        draw_begun(o, now_ns);
    else
        print_begun(o, now_ns);
}

/* Print what was not shown of the unfinished lines as finished lines, since their ranks have ended.
 */
static void end_begun(struct output_view *o, int64_t now_ns)
{
    const char *text, *rest;

    for (int r = 0; (r = begun_lines_next(o->begun, r, &text)) >= 0; r++) {
        cleanup_free char *line = strdup(text);

        rest = line ? begun_lines_end(o->begun, r, line) : NULL;
        if (rest)
            fold_add(o->fold, r, rest, now_ns);
    }
    o->o.view->n_rows = 0;
}

/* Process one line of a rank, without its newline: fold and print it or, if '\r' at its end marks
 * it as unfinished (output_copy.h), store it as the rank's unfinished line. The '\r' and control
 * characters in `line` are replaced.
 */
static void take_line(struct output_view *o, int rank, char *line, int64_t now_ns)
{
    size_t n = strlen(line);
    bool begun = n && line[n - 1] == '\r';
    const char *rest = line;

    if (begun)
        line[n - 1] = '\0';
    text_make_plain(line);
    o->begun_news = o->begun_news || begun || begun_lines_has(o->begun, rank);
    if (begun)
        begun_lines_set(o->begun, rank, line, now_ns);
    else
        rest = begun_lines_end(o->begun, rank, line);
    if (!begun && rest)
        fold_add(o->fold, rank, rest, now_ns);
}

/* Draw the live line again if something was printed since it was last drawn. */
static void redraw(struct output_view *o)
{
    if (o->wrote)
        run_view_redraw(o->o.view);
    o->wrote = false;
}

/* ---- entry points ---- */

struct output_view *output_view_new(const struct output_view_options *options)
{
    struct output_view *o = calloc(1, sizeof *o + (size_t)options->n_ranks * sizeof *o->row);

    if (!o)
        return NULL;
    o->o = *options;
    o->between_ns = report_ns;
    o->fold = fold_new(o->o.n_ranks, o->o.prefix ? 1 : rank_list_count(o->o.ranks, o->o.n_ranks),
                       show, o);
    o->begun = begun_lines_new(o->o.n_ranks);
    if (o->fold && o->begun)
        return o;
    output_view_free(o);
    return NULL;
}

void output_view_free(struct output_view *o)
{
    if (!o)
        return;
    for (int r = 0; r < o->o.n_ranks; r++)
        free(o->row[r].node);
    fold_free(o->fold);
    begun_lines_free(o->begun);
    free(o);
}

/* Store the node's name, without control characters, for the prefix of the rank's lines. If the
 * rank has moved to another node, first print all pending lines under the old name. Return false
 * without memory.
 */
static bool name_node(struct output_view *o, int rank, const char *node)
{
    struct rank_row *row = &o->row[rank];
    cleanup_free char *name = strdup(node);

    if (!name)
        return false;
    text_strip_control(name);
    if (row->node && strcmp(row->node, name) == 0)
        return true;
    if (row->node)
        fold_flush(o->fold);
    free(row->node);
    row->node = cleanup_keep(name);
    return true;
}

void output_view_add(struct output_view *o, const char *node, int rank, const char *text,
                     int64_t dropped, int64_t now_ns)
{
    cleanup_free char *copy = NULL;

    if (rank < 0 || rank >= o->o.n_ranks || !rank_list_has(o->o.ranks, rank))
        return;
    leave_out(o, rank, dropped);
    copy = strdup(text);
    if (!copy || !name_node(o, rank, node))
        return;
    for (char *line = copy, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        take_line(o, rank, line, now_ns);
    }
    show_begun(o, now_ns);
    redraw(o);
}

void output_view_flush(struct output_view *o)
{
    fold_flush(o->fold);
    o->wrote = false; /* the caller prints something and draws the live line again */
}

bool output_view_has(const struct output_view *o, int rank, const char *lines)
{
    int64_t n = o->n_shown < RECENT ? o->n_shown : RECENT;

    for (; *lines; lines += *lines ? strcspn(lines, "\n") + 1 : 0) {
        uint32_t hash = hash_of(lines);
        bool found = false;

        for (int64_t i = 0; i < n && !found; i++)
            found =
                o->recent[i].hash == hash && (o->recent[i].rank == rank || o->recent[i].rank < 0);
        if (!found)
            return false;
    }
    return true;
}

/* ---- what was left out ---- */

/* Return the rank r with the most lines not shown, of those with named[r] false; -1: none has any.
 */
static int most_left_out(const struct output_view *o, const bool *named)
{
    int best = -1;

    for (int r = 0; r < o->o.n_ranks; r++)
        if (o->row[r].left_out && !named[r] &&
            (best < 0 || o->row[r].left_out > o->row[best].left_out))
            best = r;
    return best;
}

/* Print on standard error how many lines of which ranks were not shown, and their log files;
 * nothing if all were shown. so_far: " so far", or "" at the end.
 */
static void report_left_out(struct output_view *o, const char *so_far)
{
    cleanup_free bool *named = calloc((size_t)o->o.n_ranks + 1, sizeof *named);
    int64_t lines = 0;
    cleanup_strbuf struct strbuf b = { 0 };
    int n = 0, others = 0, first = -1;
    char text[32];

    for (int r; named && n < NAMED && (r = most_left_out(o, named)) >= 0; n++) {
        named[r] = true;
        first = n ? first : r;
        strbuf_addf(&b, "%srank %d: %s lines", n ? ", " : "", r,
                    text_grouped((double)o->row[r].left_out, text, sizeof text));
    }
    for (int r = 0; named && r < o->o.n_ranks; r++)
        if (o->row[r].left_out && !named[r]) {
            lines += o->row[r].left_out;
            others++;
        }
    if (others)
        strbuf_addf(&b, ", %d other rank%s: %s lines", others, others == 1 ? "" : "s",
                    text_grouped((double)lines, text, sizeof text));
    strbuf_addf(&b, " not shown%s; see %s/rank-", so_far, o->o.log_dir);
    if (n == 1)
        strbuf_addf(&b, "%04d.log", first);
    else
        strbuf_add(&b, "*.log");
    if (n)
        run_view_say(o->o.view, strbuf_text(&b));
    o->is_new = false;
}

void output_view_tick(struct output_view *o, int64_t now_ns)
{
    show_begun(o, now_ns);
    o->wrote = o->wrote || (o->o.view->n_rows && !o->o.view->n_drawn);
    fold_tick(o->fold, now_ns);
    if (!o->next_ns)
        o->next_ns = now_ns + o->between_ns;
    if (o->is_new && now_ns >= o->next_ns) {
        report_left_out(o, " so far");
        o->wrote = true;
        o->between_ns *= 2;
        o->next_ns = now_ns + o->between_ns;
    }
    redraw(o);
}

bool output_view_end(struct output_view *o)
{
    end_begun(o, o->drawn_ns);
    fold_flush(o->fold);
    report_left_out(o, "");
    return o->n_shown > 0;
}
