/* SPDX-License-Identifier: Apache-2.0 */
/* board_steps.c - show the steps of a program that reports only their numbers, on its page */
#include "board.h"

/* The steps between the previous call and this one, or none if this is the first call. */
struct stretch {
    int64_t first, steps;    /* the new steps; steps 0: only a sign that the program is alive */
    int64_t samples, end_ns; /* samples of the steps; end of their time */
    struct board_times t;    /* sums over the steps */
};

/* Return the times of the reported steps, which began at since_ns unless the report has their time.
 * A reported time is limited to the clock's, so that sums over all workers do not overflow.
 * Without own times, computing and waiting are not separated, and all counts as computing.
 */
static struct board_times times_of(const struct board_reported *t, int64_t since_ns)
{
    int64_t given_ns = t->step_ns < t->now_ns ? t->step_ns : t->now_ns;
    int64_t all_ns = t->step_ns > 0 ? given_ns : t->now_ns - since_ns;
    struct board_times ret = { .compute_ns = all_ns, .total_ns = all_ns };

    if (t->compute_ns <= 0)
        return ret;
    ret.compute_ns = t->compute_ns < all_ns ? t->compute_ns : all_ns;
    ret.wait_ns = t->wait_ns < all_ns - ret.compute_ns ? t->wait_ns : all_ns - ret.compute_ns;
    ret.exposed_ns = all_ns - ret.compute_ns - ret.wait_ns;
    return ret;
}

/* Return the steps that a call reports up to `step`, with these samples: those after the last shown
 * one.  If it is the first call, or step is no new number, one step if it has samples, or own times
 * in the first call.  The phase BOARD_COMPUTING shows that there was a call before; any other phase
 * shows that there was none.
 */
static struct stretch stretch_to(const struct board_page *p, int64_t step, int64_t samples,
                                 const struct board_reported *t)
{
    bool begun = p->phase == BOARD_COMPUTING;
    struct stretch s = { .samples = samples, .end_ns = t->now_ns };

    s.t = times_of(t, begun ? p->phase_ns : t->now_ns);
    if (begun && step >= p->steps_done)
        s.steps = step + 1 - p->steps_done;
    else
        s.steps = samples > 0 || (!begun && step >= 0 && s.t.total_ns > 0);
    s.first = step + 1 - s.steps;
    return s;
}

/* Return step i of the stretch, with an equal part of its times and samples.  The step has no plan,
 * since the program divides its samples itself, so device speeds must not be derived from it.
 */
static struct board_step step_of(const struct stretch *s, int64_t i)
{
    int64_t ns = s->t.total_ns / s->steps;

    return (struct board_step){ .step = s->first + i,
                                .count = s->samples / s->steps + (i < s->samples % s->steps),
                                .end_ns = s->end_ns - (s->steps - 1 - i) * ns,
                                .t = { .compute_ns = s->t.compute_ns / s->steps,
                                       .exposed_ns = s->t.exposed_ns / s->steps,
                                       .wait_ns = s->t.wait_ns / s->steps,
                                       .total_ns = ns } };
}

/* Add n to a sum, which saturates at INT64_MAX: the numbers come from programs. */
static void add(int64_t *sum, int64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum))
        *sum = INT64_MAX;
}

/* Write the new steps to the page's ring and sums. */
static void show_steps(struct board_page *p, const struct stretch *s)
{
    int64_t from = s->steps > BOARD_RING ? s->steps - BOARD_RING : 0;

    for (int64_t i = from; i < s->steps; i++)
        p->ring[(s->first + i) % BOARD_RING] = step_of(s, i);
    p->steps_here += s->steps;
    add(&p->samples_done, s->samples);
    add(&p->sum.compute_ns, s->t.compute_ns);
    add(&p->sum.exposed_ns, s->t.exposed_ns);
    add(&p->sum.wait_ns, s->t.wait_ns);
    add(&p->sum.total_ns, s->t.total_ns);
}

void board_show_steps(struct board *b, const struct board_reported *t)
{
    struct board_page *p = board_begin(b);
    bool back = t->step < p->steps_done - 1;
    int64_t step = back ? p->steps_done - 1 : t->step;
    struct stretch s = stretch_to(p, step, back ? 0 : t->samples, t);

    if (s.steps > 0) {
        show_steps(p, &s);
        p->own_times = t->compute_ns > 0;
    }
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
