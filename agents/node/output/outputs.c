/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - queues the ranks' output until a report takes it */
#include "outputs.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1024 };

/* Some lines of a rank, as one message brought them. */
struct piece {
    struct piece *next;
    int64_t dropped; /* lines missing before this piece */
    size_t n;
    char *text;
    bool early;
};

/* The queue of one rank. */
struct queue {
    int rank;
    struct piece *first, **last; /* oldest piece; where the pointer to the next new piece goes */
    size_t bytes;                /* bytes of all its pieces */
    int64_t dropped;             /* further lines missing before the first piece */
};

struct outputs {
    struct queue **queue; /* [n], in the order of their ranks' first output */
    int n;
    int turn; /* index of the queue to take from next */
};

struct outputs *outputs_new(void)
{
    return calloc(1, sizeof(struct outputs));
}

void outputs_free(struct outputs *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->n; i++) {
        struct piece *p = o->queue[i]->first, *next;

        for (; p; p = next) {
            next = p->next;
            free(p->text);
            free(p);
        }
        free(o->queue[i]);
    }
    free(o->queue);
    free(o);
}

/* Return the rank's queue, borrowed from o; make it if there is none yet.  NULL: no memory. */
static struct queue *queue_of(struct outputs *o, int rank)
{
    struct queue *q, **more;

    for (int i = 0; i < o->n; i++)
        if (o->queue[i]->rank == rank)
            return o->queue[i];
    q = calloc(1, sizeof *q);
    more = q ? realloc(o->queue, (size_t)(o->n + 1) * sizeof *more) : NULL;
    if (!more) {
        free(q);
        return NULL;
    }
    o->queue = more;
    q->rank = rank;
    q->last = &q->first;
    return o->queue[o->n++] = q;
}

/* Return the number of whole lines in text; an unfinished line, which ends in "\r\n", does not
 * count.
 */
static int64_t count_lines(const char *text)
{
    int64_t n = 0;

    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        n += end == text || end[-1] != '\r';
    return n;
}

/* Remove the oldest piece from a queue that has one, and return it for the caller to free.  Its
 * `dropped` then counts all lines missing before it.
 */
static struct piece *unlink_first(struct queue *q)
{
    struct piece *p = q->first;

    q->first = p->next;
    if (!q->first)
        q->last = &q->first;
    q->bytes -= p->n;
    p->dropped += q->dropped;
    q->dropped = 0;
    return p;
}

void outputs_add(struct outputs *o, const struct output *x)
{
    struct queue *q = queue_of(o, x->rank);
    size_t n = strlen(x->text);
    struct piece *p = q ? malloc(sizeof *p) : NULL;
    char *copy = p ? strdup(x->text) : NULL;

    if (!copy) {
        if (q)
            q->dropped += x->dropped + count_lines(x->text);
        free(p);
        return;
    }
    *p = (struct piece){ .dropped = x->dropped, .n = n, .text = copy, .early = x->early };
    while (q->first && q->bytes + n > OUTPUTS_RANK) {
        struct piece *old = unlink_first(q);

        q->dropped = old->dropped + count_lines(old->text);
        free(old->text);
        free(old);
    }
    *q->last = p;
    q->last = &p->next;
    q->bytes += n;
}

/* Check whether no output is queued. */
bool outputs_empty(const struct outputs *o)
{
    for (int i = 0; i < o->n; i++)
        if (o->queue[i]->first)
            return false;
    return true;
}

/* Return the next queue with output, in rotation, borrowed from o; NULL: none. */
static struct queue *next_queue(struct outputs *o)
{
    for (int i = 0; i < o->n; i++) {
        struct queue *q = o->queue[(o->turn + i) % o->n];

        if (q->first) {
            o->turn = (o->turn + i + 1) % o->n;
            return q;
        }
    }
    return NULL;
}

int outputs_take(struct outputs *o, size_t bytes, struct output **ret)
{
    struct output *row;
    struct queue *q;
    size_t used = 0;
    int n = 0;

    if (outputs_empty(o) || !(row = calloc(MOST_ROWS, sizeof *row)))
        return 0;
    while (n < MOST_ROWS && (n == 0 || used < bytes) && (q = next_queue(o))) {
        struct piece *p = unlink_first(q);

        row[n++] = (struct output){
            .rank = q->rank, .dropped = p->dropped, .text = p->text, .early = p->early
        };
        used += p->n;
        free(p);
    }
    *ret = row;
    return n;
}

void outputs_free_rows(struct output *row, int n)
{
    for (int i = 0; i < n; i++)
        free(row[i].text);
    free(row);
}
