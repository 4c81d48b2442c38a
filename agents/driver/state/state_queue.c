/* SPDX-License-Identifier: Apache-2.0 */
/* state_queue.c - the queue of actions for the caller */
#include "state_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 16 }; /* actions that a new queue has room for */

int state_queue_init(struct action_queue *q)
{
    /* One more slot, to receive actions that are lost. */
    *q = (struct action_queue){ .at = calloc(ROOM + 1, sizeof *q->at), .room = ROOM };
    return q->at ? 0 : -ENOMEM;
}

/* Make room for another action, by doubling a full queue.  Return false if there is no memory. */
static bool has_room(struct action_queue *q)
{
    struct action *more;

    if (q->n < q->room)
        return true;
    more = realloc(q->at, (size_t)(2 * q->room + 1) * sizeof *more);
    if (!more)
        return false;
    q->at = more;
    q->room *= 2;
    return true;
}

struct action *state_push(struct state *s, enum action_type type)
{
    struct action_queue *q = &s->queue;
    struct action *a;

    if (has_room(q)) {
        a = &q->at[q->n++];
    } else {
        a = &q->at[q->room];
        q->lost++;
    }
    *a = (struct action){ .type = type, .agent = -1, .rank = -1 };
    return a;
}

void state_say(struct state *s, const char *fmt, ...)
{
    struct action *a = state_push(s, ACTION_SAY);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(a->text, sizeof a->text, fmt, ap);
    va_end(ap);
}

bool state_action(struct state *s, struct action *ret)
{
    struct action_queue *q = &s->queue;

    if (q->n == 0)
        return false;
    *ret = q->at[0];
    memmove(q->at, q->at + 1, (size_t)--q->n * sizeof *q->at);
    return true;
}

bool state_lost_action(struct state *s)
{
    bool lost = s->queue.lost > 0;

    s->queue.lost = 0;
    return lost;
}
