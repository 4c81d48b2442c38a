/* SPDX-License-Identifier: Apache-2.0 */
/* state_queue.c - what the state machine wants done, until the caller takes it */
#include "state_impl.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct action *state_push(struct state *s, enum action_type type)
{
    struct action *a;

    assert(s->n_queue < (int)(sizeof s->queue / sizeof *s->queue));
    a = &s->queue[s->n_queue++];
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
    if (s->n_queue == 0)
        return false;
    *ret = s->queue[0];
    memmove(s->queue, s->queue + 1, (size_t)--s->n_queue * sizeof *s->queue);
    return true;
}
