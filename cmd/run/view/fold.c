/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - folds lines that several ranks print at the same time into one */
#include "fold.h"

#include "lib/base/crc32.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 1024, MOST_BYTES = 1 << 20 }; /* limits of pending lines */

/* A pending line, and the ranks that have printed it. */
struct waiting {
    char *text;
    size_t n;
    uint32_t hash;
    /* The rank that printed the line first, and the number of ranks that have printed it. */
    int rank, count;
    /* The set of the ranks that have printed it, bit r % 8 of byte r / 8. */
    unsigned char *bits;
    /* When the first rank printed it. */
    int64_t at_ns;
};

/* Ring of pending lines. */
struct fold {
    fold_fn fn;
    void *ctx;
    int n_ranks, all;
    int64_t first;                   /* number of the oldest pending line; numbers begin at 1 */
    struct waiting line[MOST_LINES]; /* the line of number i is at i % MOST_LINES */
    int n;
    size_t bytes;
    int64_t spoken[]; /* [n_ranks] number of the rank's newest line; 0: none */
};

struct fold *fold_new(int n_ranks, int all, fold_fn fn, void *ctx)
{
    struct fold *f = calloc(1, sizeof *f + (size_t)n_ranks * sizeof *f->spoken);

    if (!f)
        return NULL;
    f->fn = fn;
    f->ctx = ctx;
    f->n_ranks = n_ranks;
    f->all = all;
    f->first = 1;
    return f;
}

/* Return the entry for the pending line of this number, borrowed from f, never NULL; the entry of
 * another line if the number is not pending.
 */
static struct waiting *line_of(struct fold *f, int64_t number)
{
    return &f->line[number % MOST_LINES];
}

/* Remove the oldest pending line and free its memory. */
static void drop_first(struct fold *f)
{
    struct waiting *w = line_of(f, f->first);

    f->bytes -= w->n;
    free(w->text);
    free(w->bits);
    f->first++;
    f->n--;
}

/* Print the oldest pending line through the callback, then remove it. */
static void give_first(struct fold *f)
{
    const struct waiting *w = line_of(f, f->first);
    const struct fold_line l = { w->text, w->rank, w->count, w->bits };

    f->fn(f->ctx, &l);
    drop_first(f);
}

void fold_free(struct fold *f)
{
    if (!f)
        return;
    while (f->n)
        drop_first(f);
    free(f);
}

/* Return the number of the oldest pending line with this text that the rank may join: it must be
 * newer than the rank's own newest line. 0: none.
 */
static int64_t find(struct fold *f, int rank, const char *text, size_t n, uint32_t hash)
{
    int64_t from = f->spoken[rank] >= f->first ? f->spoken[rank] + 1 : f->first;

    for (int64_t i = from; i < f->first + f->n; i++) {
        const struct waiting *w = line_of(f, i);

        if (w->hash == hash && w->n == n && memcmp(w->text, text, n) == 0)
            return i;
    }
    return 0;
}

/* Print all pending lines, and then this line of the rank without folding it. */
static void give_alone(struct fold *f, int rank, const char *text)
{
    const struct fold_line l = { text, rank, 1, NULL };

    fold_flush(f);
    f->fn(f->ctx, &l);
}

/* Add a pending line, which no rank has joined yet, and return its number; 0: no memory. If there
 * are too many, first print the oldest ones.
 */
static int64_t append(struct fold *f, int rank, const char *text, uint32_t hash, int64_t now_ns)
{
    struct waiting w = {
        .text = strdup(text), .n = strlen(text), .hash = hash, .rank = rank, .at_ns = now_ns
    };

    w.bits = calloc(1, (size_t)f->n_ranks / 8 + 1);
    if (!w.text || !w.bits) {
        free(w.text);
        free(w.bits);
        return 0;
    }
    while (f->n == MOST_LINES || (f->n && f->bytes + w.n > MOST_BYTES))
        give_first(f);
    *line_of(f, f->first + f->n) = w;
    f->bytes += w.n;
    return f->first + f->n++;
}

/* Print the oldest pending lines for as long as all ranks have joined them. */
static void give_complete(struct fold *f)
{
    while (f->n && line_of(f, f->first)->count >= f->all)
        give_first(f);
}

void fold_add(struct fold *f, int rank, const char *text, int64_t now_ns)
{
    size_t n = strlen(text);
    uint32_t hash = crc32_update(0, text, n);
    int64_t at;
    struct waiting *w;

    if (rank < 0 || rank >= f->n_ranks) {
        give_alone(f, rank, text);
        return;
    }
    at = find(f, rank, text, n, hash);
    if (!at)
        at = append(f, rank, text, hash, now_ns);
    if (!at) {
        give_alone(f, rank, text);
        return;
    }
    w = line_of(f, at);
    w->bits[rank / 8] |= (unsigned char)(1 << rank % 8);
    w->count++;
    f->spoken[rank] = at;
    give_complete(f);
}

void fold_tick(struct fold *f, int64_t now_ns)
{
    while (f->n && now_ns >= line_of(f, f->first)->at_ns + FOLD_WAIT_NS)
        give_first(f);
    give_complete(f);
}

void fold_flush(struct fold *f)
{
    while (f->n)
        give_first(f);
}
