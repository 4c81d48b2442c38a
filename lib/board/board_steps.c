/* SPDX-License-Identifier: Apache-2.0 */
/* board_steps.c - show the steps of a program that reports only their numbers, on its page */
#include "board.h"

/* The steps between the previous call and this one, or none if this is the first call. */
struct stretch {
    int64_t first, steps; /* the new steps; steps 0: only a sign that the program is alive */
    int64_t samples, since_ns, end_ns; /* samples of the steps; begin and end of their time */
};

/* Return the steps that a call reports: those after the last shown one.  If it is the first call,
 * or step is no new number, one step if it has samples.  The phase BOARD_COMPUTING shows that there
 * was a call before; any other phase shows that there was none.
 */
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

/* Return step i of the stretch, with an equal part of its time and samples.  The step has no plan,
 * since the program divides its samples itself.  Compute and waiting are not separated, so device
 * speeds must not be derived from such a step.
 */
static struct board_step step_of(const struct stretch *s, int64_t i)
{
    int64_t ns = (s->end_ns - s->since_ns) / s->steps;

    return (struct board_step){ .step = s->first + i,
                                .count = s->samples / s->steps + (i < s->samples % s->steps),
                                .end_ns = s->end_ns - (s->steps - 1 - i) * ns,
                                .t = { .compute_ns = ns, .total_ns = ns } };
}

/* Write the new steps to the page's ring and sums. */
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

void board_show_steps(struct board *b, const struct board_reported *t)
{
    struct board_page *p = board_begin(b);
    bool back = t->step < p->steps_done - 1;
    int64_t step = back ? p->steps_done - 1 : t->step;
    struct stretch s = stretch_to(p, step, back ? 0 : t->samples, t->now_ns);

    if (s.steps > 0)
        show_steps(p, &s);
    p->steps_done = step + 1;
    if (!p->steps_source)
        p->steps_source = BOARD_STEPS_CALLS;
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
