/* SPDX-License-Identifier: Apache-2.0 */
/* begun_lines.c - keeps the unfinished line of each rank */
#include "begun_lines.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* If output is not a terminal: time without a change after which new text of a line is shown, and
 * least interval between two states of a progress bar.
 */
static const int64_t quiet_ns = CLOCK_S / 2, bar_ns = 10 * CLOCK_S;

/* Unfinished line of one rank. */
struct begun {
    char *text;  /* NULL: the rank has no unfinished line */
    char *shown; /* the text when it was last shown; NULL: never */
    /* When the line began, was changed last, and was shown last (monotonic). */
    int64_t begun_ns, changed_ns, shown_ns;
};

/* Unfinished lines of all ranks. */
struct begun_lines {
    int n_ranks, n;     /* n: number of ranks with an unfinished line */
    struct begun row[]; /* [n_ranks] */
};

struct begun_lines *begun_lines_new(int n_ranks)
{
    struct begun_lines *b = calloc(1, sizeof *b + (size_t)n_ranks * sizeof *b->row);

    if (b)
        b->n_ranks = n_ranks;
    return b;
}

/* Drop the unfinished line of a rank, if it has one. */
static void forget(struct begun_lines *b, struct begun *r)
{
    b->n -= r->text != NULL;
    free(r->text);
    free(r->shown);
    *r = (struct begun){ .text = NULL };
}

void begun_lines_free(struct begun_lines *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->n_ranks; i++)
        forget(b, &b->row[i]);
    free(b);
}

void begun_lines_set(struct begun_lines *b, int rank, const char *text, int64_t now_ns)
{
    struct begun *r = &b->row[rank];
    char *copy = strdup(text);

    if (!copy)
        return;
    if (!r->text) {
        r->begun_ns = now_ns;
        b->n++;
    }
    free(r->text);
    r->text = copy;
    r->changed_ns = now_ns;
}

/* Borrow the part of text that follows what was shown of the rank's line: all of it if nothing was
 * shown. NULL: text does not begin with what was shown.
 */
static const char *growth(const struct begun *r, const char *text)
{
    size_t n = r->shown ? strlen(r->shown) : 0;

    return strncmp(text, r->shown ? r->shown : "", n) == 0 ? text + n : NULL;
}

const char *begun_lines_end(struct begun_lines *b, int rank, const char *line)
{
    struct begun *r = &b->row[rank];
    const char *rest = growth(r, line);
    bool shown = r->shown && rest && !*rest;

    forget(b, r);
    return shown ? NULL : rest ? rest : line;
}

bool begun_lines_has(const struct begun_lines *b, int rank)
{
    return b->row[rank].text != NULL;
}

int begun_lines_next(const struct begun_lines *b, int rank, const char **ret_text)
{
    for (; b->n > 0 && rank < b->n_ranks; rank++)
        if (b->row[rank].text) {
            *ret_text = b->row[rank].text;
            return rank;
        }
    return -1;
}

/* Return when the line is due to be shown, or shown again (monotonic); CLOCK_NEVER: it has not
 * changed since it was shown.
 */
static int64_t due_ns(const struct begun *r)
{
    const char *more = growth(r, r->text);
    int64_t quiet = r->changed_ns + quiet_ns, next = r->shown_ns + bar_ns;

    if (!r->shown)
        return r->begun_ns + quiet_ns;
    if (more && !*more)
        return CLOCK_NEVER;
    return more && quiet < next ? quiet : next;
}

int begun_lines_due(struct begun_lines *b, int rank, int64_t now_ns, const char **ret_text)
{
    const char *text;

    for (; (rank = begun_lines_next(b, rank, &text)) >= 0; rank++) {
        struct begun *r = &b->row[rank];
        const char *more = growth(r, text);
        char *copy = now_ns >= due_ns(r) ? strdup(text) : NULL;

        if (!copy)
            continue;
        free(r->shown);
        r->shown = copy;
        r->shown_ns = now_ns;
        *ret_text = more ? more : text;
        return rank;
    }
    return -1;
}
