/* SPDX-License-Identifier: Apache-2.0 */
/* board_steps.c - the steps of a program that only tells their numbers, on its page */
#include "board.h"

/* From the call before to this one, or from now on where that was none. */
struct stretch {
    int64_t first, steps; /* new ones; 0 steps: a sign of life */
    int64_t samples, since_ns, end_ns;
};

/* Since a program that computes is in that phase, another one is no call's. */
static struct stretch stretch_to(const struct board_page *p, int64_t step, int64_t samples,
                                 int64_t now_ns)
{
    bool begun = p->phase == BOARD_COMPUTING;
    struct stretch s = { .samples = samples, .end_ns = now_ns };

    s.since_ns = begun ? p->phase_ns : now_ns;
    if (begun && step >= p->steps_done)
        s.steps = step + 1 - p->steps_done;
    else
        s.steps = samples > 0;
    s.first = step + 1 - s.steps;
    return s;
}

/* An even part of what the stretch took.  Under no plan, since the program divides its samples
 * itself, and does not tell compute from waiting: devices are not to be known by it.
 */
static struct board_step step_of(const struct stretch *s, int64_t i)
{
    int64_t ns = (s->end_ns - s->since_ns) / s->steps;

    return (struct board_step){ .step = s->first + i,
                                .count = s->samples / s->steps + (i < s->samples % s->steps),
                                .end_ns = s->end_ns - (s->steps - 1 - i) * ns,
                                .t = { .compute_ns = ns, .total_ns = ns } };
}

static void show_steps(struct board_page *p, const struct stretch *s)
{
    int64_t from = s->steps > BOARD_RING ? s->steps - BOARD_RING : 0;

    for (int64_t i = from; i < s->steps; i++)
        p->ring[(s->first + i) % BOARD_RING] = step_of(s, i);
    p->steps_here += s->steps;
    if (__builtin_add_overflow(p->samples_done, s->samples, &p->samples_done))
        p->samples_done = INT64_MAX;
    p->sum.compute_ns += s->end_ns - s->since_ns;
    p->sum.total_ns += s->end_ns - s->since_ns;
}

void board_show_steps(struct board *b, const struct board_told *t)
{
    struct board_page *p = board_begin(b);
    bool back = t->step < p->steps_done - 1;
    int64_t step = back ? p->steps_done - 1 : t->step;
    struct stretch s = stretch_to(p, step, back ? 0 : t->samples, t->now_ns);

    if (s.steps > 0)
        show_steps(p, &s);
    p->steps_done = step + 1;
    if (!p->told)
        p->told = BOARD_TOLD_CALLS;
    if (t->total > 0)
        p->steps_total = t->total;
    if (p->plan_since < 0)
        p->step_plan = p->plan_version = board_newest(b);
    p->plan_since = 0;
    p->phase = BOARD_COMPUTING;
    p->phase_ns = s.end_ns;
    p->thread = t->thread;
    board_end(b);
}
