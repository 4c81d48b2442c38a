/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - the steps of a program that has no handle, on the process's page of the board */
#include "environment.h"
#include "lib/eddis.h"
#include "process.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

/* From the call before to this one, or from now on where that was none. */
struct stretch {
    int64_t first, steps; /* new ones; 0 steps: a sign of life */
    int64_t samples, since_ns, end_ns;
};

/* Since a program that computes is in that phase, another one is no call's. */
static struct stretch stretch_to(const struct board_page *p, int64_t step, int64_t samples,
                                 int64_t now_ns)
{
    bool begun = p->phase == EDDIS_PHASE_COMPUTE;
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

static void show(struct board *b, int64_t step, int64_t samples)
{
    struct board_page *p = board_begin(b);
    struct stretch s;

    if (step < p->steps_done - 1) {
        step = p->steps_done - 1;
        samples = 0;
    }
    s = stretch_to(p, step, samples, clock_now_ns());
    if (s.steps > 0)
        show_steps(p, &s);
    p->steps_done = step + 1;
    if (p->plan_since < 0)
        p->step_plan = p->plan_version = board_newest(b);
    p->plan_since = 0;
    p->phase = EDDIS_PHASE_COMPUTE;
    p->phase_ns = s.end_ns;
    p->thread = gettid();
    board_end(b);
}

int eddis_progress(int64_t step, int64_t samples, struct eddis_error *err)
{
    struct environment env;
    struct board *board;
    int rc;

    if (step < -1 || step == INT64_MAX || samples < 0 || samples > INT64_MAX / BOARD_MAX_RANKS ||
        (step < 0 && samples > 0))
        return eddis_fail(err, -EINVAL,
                          "there is no step %" PRId64 " of %" PRId64 " samples; step -1 of 0 says "
                          "that none has ended yet",
                          step, samples);
    rc = environment_read(&env, err);
    if (rc < 0 || !env.board_path)
        return rc;
    rc = process_board_lock(env.board_path, env.local_rank, &board, err);
    if (rc < 0)
        return rc;
    show(board, step, samples);
    process_board_unlock();
    return 0;
}
