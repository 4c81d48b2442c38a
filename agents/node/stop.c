/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - the ladder of signals that ends a generation, and its timing */
#include "stop.h"

#include "lib/base/clock.h"

#include <signal.h>

/* Interval between repetitions of the last row. */
#define LAST_WAIT_NS (20 * CLOCK_MS)

/* Rows of the ladder.  If the ranks have to end soon, mpirun is killed before they are signalled:
 * it would signal the ranks itself, and kill ranks that still save after one second.
 */
static const struct stop_row ladder[] = {
    { STOP_RANKS, SIGTERM, STOP_GRACE }, /* STOP_ORDERLY begins here */
    { STOP_MPIRUN, SIGKILL, 0 },         /* STOP_FAILURE */
    { STOP_RANKS, SIGTERM, CLOCK_S },
    { STOP_ALL, SIGKILL, LAST_WAIT_NS }, /* STOP_KILL */
};

enum { ROWS = sizeof ladder / sizeof *ladder };

/* First row of each kind of stop. */
static const size_t begins[] = { [STOP_ORDERLY] = 0, [STOP_FAILURE] = 1, [STOP_KILL] = ROWS - 1 };

void stop_begin(struct stop *s, enum stop_ladder which, int64_t grace_ns, int64_t now_ns)
{
    if (s->active && begins[which] < s->at)
        return;
    if (s->active && begins[which] == 0)
        return;
    if (!s->active)
        s->began_ns = now_ns;
    s->active = true;
    s->at = begins[which];
    s->grace_ns = grace_ns;
    s->next_ns = now_ns;
}

const struct stop_row *stop_due(struct stop *s, int64_t now_ns)
{
    const struct stop_row *row;

    if (!s->active || now_ns < s->next_ns)
        return NULL;
    row = &ladder[s->at];
    s->next_ns = clock_after_ns(now_ns, row->wait_ns == STOP_GRACE ? s->grace_ns : row->wait_ns);
    if (s->at + 1 < ROWS)
        s->at++;
    return row;
}

void stop_hasten(struct stop *s, int64_t now_ns)
{
    if (s->active && s->next_ns - now_ns > LAST_WAIT_NS)
        s->next_ns = now_ns;
}

int64_t stop_next_ns(const struct stop *s)
{
    return s->active ? s->next_ns : CLOCK_NEVER;
}
