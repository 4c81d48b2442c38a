/* SPDX-License-Identifier: Apache-2.0 */
/* phase.c - the clock of phases, and all that a worker shows of its steps on the board */
#include "phase.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/model/precision.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void phase_clock_init(struct phase_clock *c, int64_t now_ns)
{
    *c = (struct phase_clock){ .phase = EDDIS_PHASE_START,
                               .since_ns = now_ns,
                               .blocked_ns = INT64_MAX };
}

enum eddis_phase phase_clock_set(struct phase_clock *c, enum eddis_phase phase, int64_t now_ns)
{
    enum eddis_phase before = c->phase;

    c->spent_ns[before] += now_ns - c->since_ns;
    c->phase = phase;
    c->since_ns = now_ns;
    return before;
}

/* Return the smaller number. */
static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct board_times phase_clock_step(struct phase_clock *c, int64_t now_ns, int64_t compute_ns,
                                    int64_t input_ns, int64_t read_ns)
{
    struct board_times t;
    int64_t blocked;

    phase_clock_set(c, EDDIS_PHASE_INPUT, now_ns);
    t.compute_ns = c->spent_ns[EDDIS_PHASE_COMPUTE];
    t.input_ns = c->spent_ns[EDDIS_PHASE_INPUT];
    t.total_ns = t.input_ns + t.compute_ns + c->spent_ns[EDDIS_PHASE_WAIT];
    t.compute_ns = least(compute_ns > 0 ? compute_ns : t.compute_ns, t.total_ns);
    t.input_ns = least(input_ns > 0 ? input_ns : t.input_ns, t.total_ns - t.compute_ns);
    blocked = t.total_ns - t.compute_ns - t.input_ns;
    c->blocked_ns = blocked - least(blocked, c->reported_ns);
    c->reported_ns = 0;
    /* Input time that overlaps the wait for other workers must count too.  Otherwise the driver
     * would see none and give this worker more samples, until its input is the slowest part again.
     */
    if (t.input_ns < read_ns - t.compute_ns)
        t.input_ns = least(read_ns, t.total_ns) - t.compute_ns;
    blocked = t.total_ns - t.compute_ns - t.input_ns;
    /* not known yet: the first wait is for workers that started later */
    if (c->exposed_ns == INT64_MAX)
        c->exposed_ns = 0;
    t.exposed_ns = least(blocked, c->exposed_ns);
    t.wait_ns = blocked - t.exposed_ns;
    memset(c->spent_ns, 0, sizeof c->spent_ns);
    return t;
}

int64_t phase_clock_blocked(struct phase_clock *c)
{
    c->reported_ns = c->spent_ns[EDDIS_PHASE_WAIT];
    return c->blocked_ns == INT64_MAX ? INT64_MAX : c->blocked_ns + c->reported_ns;
}

/* ---- functions called with the lock held ---- */

/* Write the present phase to the progress page, if there is a board. */
static void show_phase(struct phase *p)
{
    struct board_page *page;

    if (!p->board)
        return;
    page = board_begin(p->board);
    page->phase = (int32_t)p->clock.phase;
    page->phase_ns = p->clock.since_ns;
    board_end(p->board);
}

/* Write the rank that this worker waits for to the progress page; -1: nobody. */
static void show_peer(struct phase *p, int rank)
{
    p->peer_shown = rank >= 0;
    if (!p->board || board_own(p->board)->waits_for == rank)
        return;
    board_begin(p->board)->waits_for = rank;
    board_end(p->board);
}

/* Let the progress page show no wait any more, also none that timed out and was kept for a repeated
 * call: this worker does something else.
 */
static void something_else(struct phase *p)
{
    if (p->peer_shown)
        show_peer(p, -1);
    p->waiting = false;
}

/* Add the times of a step to a sum. */
static void times_add(struct board_times *sum, const struct board_times *t)
{
    sum->input_ns += t->input_ns;
    sum->compute_ns += t->compute_ns;
    sum->exposed_ns += t->exposed_ns;
    sum->wait_ns += t->wait_ns;
    sum->total_ns += t->total_ns;
}

/* Write a finished step to the progress page, with the program's report: add it to the page's sums
 * and ring.  The first step of another plan first moves the sums so far to the members for the time
 * before.
 */
static void show_step(struct board *b, const struct board_step *s, const struct phase_step *more,
                      const struct eddis_report *report)
{
    struct board_page *page = board_begin(b);

    if (s->plan != page->step_plan) {
        page->step_plan = s->plan;
        page->sum_before = page->sum;
        page->steps_before = page->steps_here;
        page->samples_before = page->samples_done;
        page->memory_bytes = 0;
    }
    page->phase = EDDIS_PHASE_INPUT;
    page->phase_ns = s->end_ns;
    page->steps_done = s->step + 1;
    page->steps_here++;
    page->samples_done += s->count;
    page->bytes_sent = more->sent_bytes;
    page->staleness = (int32_t)more->staleness;
    page->exchanges += more->exchange_ns > 0;
    page->exchange_ns += more->exchange_ns;
    if (__builtin_add_overflow(page->overrun_ns, report->overrun_ns, &page->overrun_ns))
        page->overrun_ns = INT64_MAX;
    if (report->precision)
        page->program.precision = precision_find(report->precision);
    if (report->memory_bytes > page->memory_bytes)
        page->memory_bytes = report->memory_bytes;
    if (report->has_loss) {
        page->loss = report->loss;
        page->has_loss = 1;
        /* A late loss is of an earlier step than this one, which may be without samples. */
        if (!page->loss_step && (s->count > 0 || report->loss_age > 0) && !isfinite(report->loss))
            page->loss_step = s->step >= report->loss_age ? s->step + 1 - report->loss_age : 1;
    }
    times_add(&page->sum, &s->t);
    page->ring[s->step % BOARD_RING] = *s;
    board_end(b);
}

/* Store the value in the metric of this name on the progress page, or in a new one.  Return 0 or
 * -ENOSPC: there is no free metric.
 */
static int show_metric(struct board *b, const char *name, double value, struct eddis_error *err)
{
    const struct board_metric *own = board_own(b)->metric;
    struct board_metric *m;
    int i = 0;

    while (i < BOARD_METRICS && own[i].name[0] && strcmp(own[i].name, name) != 0)
        i++;
    if (i == BOARD_METRICS)
        return eddis_fail(err, -ENOSPC, "no room for metric '%s', there are %d already", name, i);
    m = &board_begin(b)->metric[i];
    strcpy(m->name, name);
    m->value = value;
    board_end(b);
    return 0;
}

/* Note that the calling thread makes the steps, and write its number to the progress page if it is
 * not there.  The agent reads from the kernel how long that thread waited for a processor; reading
 * it here would cost a system call in every step.  (The caller's show_phase ends the write.)
 */
static void show_thread(struct phase *p)
{
    pthread_t self = pthread_self();
    bool same = p->stepped && pthread_equal(p->thread, self);

    p->thread = self;
    p->stepped = true;
    if (p->board && !(same && board_own(p->board)->thread))
        board_begin(p->board)->thread = gettid();
}

/* Check whether the calling thread makes the steps; also true before the first step. */
static bool is_stepper(const struct phase *p)
{
    return !p->stepped || pthread_equal(p->thread, pthread_self());
}

/* Reset the kernel's peak of this process's memory, which the agent reads.  The worker does it
 * itself: a writer to this file waits while the process allocates or pins memory, which would hold
 * up the agent.
 */
static void forget_peak(void)
{
    static const char what[] = "5"; /* proc(5): the peak resident set size */
    cleanup_fd int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, what, strlen(what)) < 0)
        return; /* then the agent reads the peak since the start, which is a bound as well */
}

/* ---- functions that take the lock ---- */

void phase_init(struct phase *p, int64_t now_ns)
{
    *p = (struct phase){ .board = NULL };
    pthread_mutex_init(&p->lock, NULL);
    phase_clock_init(&p->clock, now_ns);
}

void phase_fini(struct phase *p)
{
    pthread_mutex_destroy(&p->lock);
}

enum eddis_phase phase_enter(struct phase *p, enum eddis_phase phase)
{
    enum eddis_phase before;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&p->lock);

    before = phase_clock_set(&p->clock, phase, clock_now_ns());
    show_phase(p);
    something_else(p);
    return before;
}

bool phase_is_training(struct phase *p)
{
    enum eddis_phase phase;

    pthread_mutex_lock(&p->lock);
    phase = p->clock.phase;
    pthread_mutex_unlock(&p->lock);
    return phase == EDDIS_PHASE_COMPUTE || phase == EDDIS_PHASE_INPUT;
}

bool phase_is_own(struct phase *p)
{
    enum eddis_phase phase;
    bool own;

    pthread_mutex_lock(&p->lock);
    phase = p->clock.phase;
    own = is_stepper(p);
    pthread_mutex_unlock(&p->lock);
    return own || (phase != EDDIS_PHASE_COMPUTE && phase != EDDIS_PHASE_INPUT &&
                   phase != EDDIS_PHASE_WAIT);
}

enum eddis_phase phase_wait_enter(struct phase *p)
{
    enum eddis_phase before;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&p->lock);

    before = phase_clock_set(&p->clock, EDDIS_PHASE_WAIT, clock_now_ns());
    if (!p->waiting)
        show_phase(p);
    p->waiting = true;
    return before;
}

void phase_wait_leave(struct phase *p, enum eddis_phase before, int rc)
{
    if (rc != -ETIMEDOUT) {
        phase_enter(p, before);
        return;
    }
    pthread_mutex_lock(&p->lock);
    phase_clock_set(&p->clock, before, clock_now_ns());
    pthread_mutex_unlock(&p->lock);
}

void phase_show_peer(struct phase *p, int rank)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&p->lock);

    show_peer(p, rank);
}

void phase_hide_peer(struct phase *p)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&p->lock);

    if (p->peer_shown)
        show_peer(p, -1);
}

/* Begin a write of the progress page: what is known of a step at its beginning.  (The caller's
 * show_phase ends the write.)
 */
static void show_beginning(struct board *b, int64_t asked_step, int64_t at_once)
{
    struct board_page *page = board_begin(b);

    page->asked_step = asked_step;
    page->at_once = at_once;
}

void phase_step_begin(struct phase *p, int64_t asked_step, int64_t at_once)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&p->lock);

    phase_clock_set(&p->clock, EDDIS_PHASE_COMPUTE, clock_now_ns());
    something_else(p);
    show_thread(p);
    if (p->board)
        show_beginning(p->board, asked_step, at_once);
    show_phase(p);
}

void phase_show_held(struct phase *p, int64_t n)
{
    struct board *b = phase_lock_board(p);

    if (!b)
        return;
    board_begin(b)->at_once = n;
    board_end(b);
    phase_unlock_board(p);
}

void phase_step_end(struct phase *p, const struct phase_step *s, int64_t end_ns,
                    const struct eddis_report *report)
{
    struct board_step shown = {
        .step = s->step,
        .count = s->count,
        .plan = s->plan,
        .end_ns = end_ns,
        .work = report->work,
    };
    bool peak_begins;

    pthread_mutex_lock(&p->lock);
    peak_begins = p->board && board_own(p->board)->step_plan != s->plan && !report->memory_bytes;
    shown.t =
        phase_clock_step(&p->clock, end_ns, report->compute_ns, report->input_ns, report->read_ns);
    if (p->board)
        show_step(p->board, &shown, s, report);
    something_else(p);
    pthread_mutex_unlock(&p->lock);
    if (peak_begins)
        forget_peak();
}

int64_t phase_blocked_ns(struct phase *p)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&p->lock);

    return phase_clock_blocked(&p->clock);
}

void phase_set_exposed(struct phase *p, int64_t exposed_ns)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&p->lock);

    p->clock.exposed_ns = exposed_ns;
}

int phase_show_metric(struct phase *p, const char *name, double value, struct eddis_error *err)
{
    int rc = 0;

    if (!text_is_name(name, BOARD_METRIC_NAME - 1))
        return eddis_fail(
            err, -EINVAL,
            "'%.40s' is not a name of a metric: write at most %d letters, digits, '.', '_', '-'",
            name, BOARD_METRIC_NAME - 1);
    if (!p->board)
        return 0;
    pthread_mutex_lock(&p->lock);
    rc = show_metric(p->board, name, value, err);
    pthread_mutex_unlock(&p->lock);
    return rc;
}

void phase_show_restored(struct phase *p, int64_t done)
{
    struct board *b = phase_lock_board(p);
    struct board_page *page;

    if (!b)
        return;
    page = board_begin(b);
    page->restored_samples = done;
    page->restored_at = page->samples_done;
    page->trained = page->ended = 0;
    board_end(b);
    phase_unlock_board(p);
}

void phase_show_checkpoint(struct phase *p, int64_t step, const char *why)
{
    struct board *b = phase_lock_board(p);
    struct board_page *page;

    if (!b)
        return;
    page = board_begin(b);
    page->checkpoints_written += !why;
    page->checkpoints_failed += !!why;
    if (!why)
        page->checkpoint_step = step;
    (void)snprintf(page->checkpoint_why, sizeof page->checkpoint_why, "%s", why ? why : "");
    board_end(b);
    phase_unlock_board(p);
}

struct board *phase_lock_board(struct phase *p)
{
    if (p->board)
        pthread_mutex_lock(&p->lock);
    return p->board;
}

void phase_unlock_board(struct phase *p)
{
    pthread_mutex_unlock(&p->lock);
}
