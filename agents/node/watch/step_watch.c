/* SPDX-License-Identifier: Apache-2.0 */
/* step_watch.c - reads new steps from the ring of a progress page into a window of steps */
#include "step_watch.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <math.h>
#include <string.h>

void step_watch_init(struct step_watch *w)
{
    *w = (struct step_watch){ .reported_since = -1 };
    step_window_init(&w->window);
}

/* Convert nanoseconds to seconds. */
static double seconds(int64_t ns)
{
    return (double)ns / CLOCK_S;
}

/* Add step s, of a program that reports own times, to the window.  The program divides its samples
 * itself, so the step has no plan, and each step counts as equal work.
 */
static void take_reported(struct step_watch *w, const struct board_step *s)
{
    const struct window_step one = { .step = s->step,
                                     .plan = 1,
                                     .count = s->count > 0 ? s->count : 1,
                                     .work = 1,
                                     .compute_s = seconds(s->t.compute_ns),
                                     .exposed_s = seconds(s->t.exposed_ns),
                                     .total_s = seconds(s->t.total_ns) };

    step_window_add(&w->window, &one, 0);
}

/* Add step s of the page's ring to the window, with the batch that its plan gives this worker. */
static void take(struct step_watch *w, const struct board_page *page, const struct board *b,
                 const struct board_step *s)
{
    const struct window_step one = { .step = s->step,
                                     .plan = s->plan,
                                     .count = s->count,
                                     .work = s->work > 0 ? s->work : (double)s->count,
                                     .compute_s = seconds(s->t.compute_ns),
                                     .input_s = seconds(s->t.input_ns),
                                     .exposed_s = seconds(s->t.exposed_ns),
                                     .total_s = seconds(s->t.total_ns) };

    if (s->plan != w->batch_plan) {
        w->batch_plan = s->plan;
        w->batch = board_batch(b, s->plan, page->local_rank);
    }
    step_window_add(&w->window, &one, w->batch);
}

void step_watch_take(struct step_watch *w, const struct board_page *page, const struct board *b)
{
    int64_t from = page->steps_done - BOARD_RING;
    bool reported = page->steps_source != 0 && page->own_times != 0;

    if (page->steps_done <= w->window.last || page->steps_here < w->steps_here) {
        step_window_init(&w->window);
        w->reported_since = -1;
    }
    w->steps_here = page->steps_here;
    if (from < page->steps_done - page->steps_here) /* the worker began at a checkpoint's step */
        from = page->steps_done - page->steps_here;
    if (from <= w->window.last)
        from = w->window.last + 1;
    for (int64_t step = from < 0 ? 0 : from; step < page->steps_done; step++) {
        const struct board_step *s = &page->ring[step % BOARD_RING];

        if (s->step == step && reported)
            take_reported(w, s);
        else if (s->step == step)
            take(w, page, b, s);
    }
}

/* Check whether the window has measurements of a plan or a speed that report_metrics has not
 * reported yet.
 */
static bool is_another(const struct step_watch *w)
{
    return w->window.points >= STEP_WINDOW_CHANGE &&
           (w->window.plan != w->reported_plan || w->window.since != w->reported_since);
}

bool step_watch_has_news(const struct step_watch *w)
{
    return is_another(w) || (w->unsure && w->window.points >= STEP_WINDOW_SURE);
}

/* Return the mean time per step, in seconds, that the worker's thread waited in the run queue since
 * the plan or speed of the window was first reported; NAN: unknown. queued_ns: total time until
 * now.
 */
static double queued_s(const struct step_watch *w, const struct board_page *page, int64_t queued_ns)
{
    int64_t steps = page->steps_here - w->queued_at;

    return w->queued_ns >= 0 && queued_ns >= w->queued_ns && steps > 0
               ? seconds(queued_ns - w->queued_ns) / (double)steps
               : NAN;
}

/* Store the window's measurements in ret->metrics, or in ret->reported if the program reports own
 * times, and the mean time in the run queue in ret->queued_s; plan 0: there are none, or they are
 * invalid.  Record what was reported,
 * and set w->unsure while measurements of a new speed of the same plan are few.
 */
static void report_metrics(struct step_watch *w, const struct board_page *page,
                           struct progress *ret)
{
    int64_t queued_ns = process_load_queued_ns(w->load.pid, w->load.thread);
    struct step_metrics *f = ret->own_times ? &ret->reported : &ret->metrics;

    w->unsure = (w->unsure || (is_another(w) && w->window.plan == w->reported_plan)) &&
                w->window.points < STEP_WINDOW_SURE;
    if (is_another(w)) {
        w->reported_plan = w->window.plan;
        w->reported_since = w->window.since;
        w->queued_ns = queued_ns;
        w->queued_at = page->steps_here;
    }
    if (step_window_metrics(&w->window, f) && step_metrics_are_valid(f))
        ret->queued_s = queued_s(w, page, queued_ns);
    else
        *f = (struct step_metrics){ .plan = 0 };
}

void step_watch_look_at_memory(struct step_watch *w)
{
    process_load_memory(w->load.pid, &w->memory);
}

void step_watch_report(struct step_watch *w, const struct board_page *page, pid_t wrapper,
                       struct progress *ret)
{
    bool known = process_load_find(&w->load, wrapper, page->pid, (pid_t)page->thread);

    if (!known)
        w->memory = (struct process_memory){ 0 };
    ret->queued_s = NAN;
    report_metrics(w, page, ret);
    ret->memory_told = page->memory_bytes > 0;
    ret->memory_bytes = page->memory_bytes;
    if (!ret->memory_told)
        ret->memory_bytes = w->memory.peak_bytes;
}

/* Return n, or 0 if it is negative. */
static int64_t valid(int64_t n)
{
    return n > 0 ? n : 0;
}

void progress_checkpoints(struct progress *p, const struct board_page *page)
{
    p->checkpoints_written = valid(page->checkpoints_written);
    p->checkpoints_failed = valid(page->checkpoints_failed);
    p->checkpoint_step = valid(page->checkpoint_step);
    memcpy(p->checkpoint_why, page->checkpoint_why, sizeof p->checkpoint_why);
    p->checkpoint_why[sizeof p->checkpoint_why - 1] = '\0';
    text_make_plain(p->checkpoint_why); /* cutting may have split a UTF-8 character */
}
