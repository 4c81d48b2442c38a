/* SPDX-License-Identifier: Apache-2.0 */
/* driver_loop.c - the driver's one thread: it waits for signals, requests, starts and time */
#include "driver_impl.h"

#include "agents/driver/checkpoints/checkpoint_newest.h"

#include "agents/protocol/timing.h"
#include "lib/base/clock.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int64_t look_ns = CLOCK_S / 5; /* an awake driver looks round that often */

/* Whether nobody wants this process to stop any more. */
static bool ends_pause(int sig)
{
    return sig == SIGCONT || sig == SIGINT || sig == SIGTERM || sig == SIGQUIT || sig == SIGHUP;
}

void driver_take_signals(struct driver *d)
{
    struct signalfd_siginfo i;

    while (read(d->signals, &i, sizeof i) == sizeof i) {
        if (i.ssi_signo == SIGCONT && !d->pausing.wanted)
            continue; /* it has gone on already */
        journal_event(&d->run.journal, JOB_EVENT_SIGNAL, NULL, -1, strsignal((int)i.ssi_signo));
        if (ends_pause((int)i.ssi_signo))
            pausing_cancel(&d->pausing, &d->run);
        if (i.ssi_signo == SIGTSTP)
            pausing_begin(&d->pausing, &d->run, clock_now_ns());
        else if (i.ssi_signo != SIGCONT)
            dispatch_stop(d, (int)i.ssi_signo, clock_now_ns());
        dispatch_actions(d);
    }
}

static int64_t earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static int64_t next_ns(const struct driver *d)
{
    int64_t at = state_deadline(&d->run.state);

    for (int i = 0; i < d->run.n_agents; i++)
        if (d->run.agent[i].orders.poll)
            at = earlier(at, d->run.agent[i].orders.poll_deadline_ns);
    at = earlier(at, telling_next_ns(&d->telling));
    at = earlier(at, pausing_next_ns(&d->pausing));
    return earlier(at, starter_next_ns(d->registration.starter));
}

static void checkpoint_seen(void *ctx, const struct checkpoint_found *f)
{
    struct driver *d = ctx;

    d->looking = false;
    state_checkpoint_seen(&d->run.state, f->step);
}

static void tick(struct driver *d, int64_t now_ns)
{
    if (d->run.state.preempt_ns && d->run.state.checkpoint != STATE_CHECKPOINT_SEEN &&
        !d->looking) {
        d->looking = true;
        checkpoint_look(&d->run, checkpoint_seen, d);
    }
    slurm_ask_turn(&d->slurm, now_ns);
    dispatch_tick(d, now_ns);
}

/* kill -STOP, or a machine that stood still, which need not have come while we slept in poll.
 * Returns the time. */
static int64_t notice_pause(struct driver *d, int64_t *looked_ns)
{
    int64_t now_ns = clock_now_ns(), gone_ns = now_ns - *looked_ns;

    if (gone_ns > look_ns + timing_pause_ns(d->run.o->job->timeouts.lease_ns))
        state_paused(&d->run.state, gone_ns, now_ns);
    *looked_ns = now_ns;
    return now_ns;
}

/* Stop with the workers where somebody wants it; that is no pause that surprises anybody. */
static void pause_if_due(struct driver *d, int64_t *looked_ns)
{
    pausing_look(&d->pausing, &d->run);
    if (!pausing_due(&d->pausing, &d->run, clock_now_ns()))
        return;
    pausing_stop(&d->pausing, &d->run);
    *looked_ns = clock_now_ns();
}

void driver_loop(struct driver *d)
{
    struct pollfd fds[] = { { .fd = inbox_fd(d->inbox), .events = POLLIN },
                            { .fd = d->signals, .events = POLLIN },
                            { .fd = starter_fd(d->registration.starter), .events = POLLIN },
                            { .fd = file_thread_fd(d->run.records), .events = POLLIN },
                            { .fd = file_thread_fd(d->run.looks), .events = POLLIN },
                            { .fd = slurm_ask_fd(&d->slurm), .events = POLLIN } };
    const struct driver_view *v = &d->run.o->view;
    int64_t looked_ns = clock_now_ns();

    while (d->run.state.phase != STATE_PHASE_OVER) {
        struct inbox_item *i;

        (void)poll(fds, sizeof fds / sizeof *fds,
                   clock_poll_ms(earlier(next_ns(d), clock_now_ns() + look_ns)));
        (void)notice_pause(d, &looked_ns);
        driver_take_signals(d);
        dispatch_files(d);
        while ((i = inbox_take(d->inbox)))
            dispatch_item(d, i);
        (void)notice_pause(d, &looked_ns); /* before the ends of agents are put down to them */
        dispatch_starts(d); /* behind the inbox: what has registered did so before it ended */
        registration_say_waiting(&d->registration);
        tick(d, notice_pause(d, &looked_ns)); /* or their silence */
        pause_if_due(d, &looked_ns);
        v->turn(v->ctx);
    }
}
