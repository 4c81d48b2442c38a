/* SPDX-License-Identifier: Apache-2.0 */
/* driver_loop.c - the driver's event loop: wait for signals, requests, starts, files and time */
#include "driver_impl.h"

#include "agents/driver/checkpoints/checkpoint_newest.h"

#include "agents/protocol/timing.h"
#include "lib/base/clock.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int64_t look_ns = CLOCK_S / 5; /* longest sleep of the loop */

/* Check whether a signal cancels a pending pause (Ctrl-Z). */
static bool ends_pause(int sig)
{
    return sig == SIGCONT || sig == SIGINT || sig == SIGTERM || sig == SIGQUIT || sig == SIGHUP;
}

void driver_take_signals(struct driver *d)
{
    struct signalfd_siginfo i;

    while (read(d->signals, &i, sizeof i) == sizeof i) {
        if (i.ssi_signo == SIGCONT && !d->pausing.wanted)
            continue; /* the pause is over already */
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

/* Return the time at which the driver's loop must wake up at the latest. */
static int64_t next_ns(const struct driver *d)
{
    int64_t at = state_deadline(&d->run.state);

    for (int i = 0; i < d->run.n_agents; i++)
        if (d->run.agent[i].orders.poll)
            at = timing_least_ns(at, d->run.agent[i].orders.poll_deadline_ns);
    at = timing_least_ns(at, job_report_next_ns(&d->job_report));
    at = timing_least_ns(at, pausing_next_ns(&d->pausing));
    return timing_least_ns(at, starter_next_ns(d->registration.starter));
}

/* Report the newest checkpoint to the state machine (checkpoint_newest_fn, on the driver's thread).
 */
static void checkpoint_seen(void *ctx, const struct checkpoint_found *f)
{
    struct driver *d = ctx;

    d->looking = false;
    state_checkpoint_seen(&d->run.state, f->step);
}

/* Call everything in the driver that is due by time.  While the job waits for a checkpoint that it
 * requested before its end, keep searching for it (d->looking: a search is in progress).
 */
static void tick(struct driver *d, int64_t now_ns)
{
    if (d->run.state.preempt_ns && d->run.state.checkpoint != STATE_CHECKPOINT_SEEN &&
        !d->looking) {
        d->looking = true;
        checkpoint_newest(&d->run, checkpoint_seen, d);
    }
    slurm_query_turn(&d->slurm, now_ns);
    dispatch_tick(d, now_ns);
}

/* If this process stood still, by SIGSTOP or with its machine, since *looked_ns, report that to the
 * state machine.  This may have happened inside poll or anywhere else.  Set *looked_ns to the
 * present time and return it.
 */
static int64_t notice_pause(struct driver *d, int64_t *looked_ns)
{
    int64_t now_ns = clock_now_ns(), gone_ns = now_ns - *looked_ns;

    if (gone_ns > look_ns + timing_pause_ns(d->run.o->job->timeouts.lease_ns))
        state_paused(&d->run.state, gone_ns, now_ns);
    *looked_ns = now_ns;
    return now_ns;
}

/* If the user asked for a pause (Ctrl-Z) and the workers have stopped, stop this process until
 * SIGCONT.  Set *looked_ns afterwards, so that this time does not count as an unexpected pause.
 */
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
    struct pollfd fds[] = { { .fd = request_queue_fd(d->request_queue), .events = POLLIN },
                            { .fd = d->signals, .events = POLLIN },
                            { .fd = starter_fd(d->registration.starter), .events = POLLIN },
                            { .fd = file_thread_fd(d->run.records), .events = POLLIN },
                            { .fd = file_thread_fd(d->run.reader), .events = POLLIN },
                            { .fd = slurm_query_fd(&d->slurm), .events = POLLIN } };
    const struct driver_view *v = &d->run.o->view;
    int64_t looked_ns = clock_now_ns();

    while (d->run.state.phase != STATE_PHASE_OVER) {
        struct request_item *i;

        (void)poll(fds, sizeof fds / sizeof *fds,
                   clock_poll_ms(timing_least_ns(next_ns(d), clock_now_ns() + look_ns)));
        (void)notice_pause(d, &looked_ns);
        driver_take_signals(d);
        dispatch_files(d);
        while ((i = request_queue_take(d->request_queue)))
            dispatch_item(d, i);
        (void)notice_pause(d, &looked_ns); /* before the driver blames an agent for ending */
        /* after the requests: an agent that registered did so before it ended */
        dispatch_starts(d);
        registration_say_waiting(&d->registration);
        tick(d, notice_pause(d, &looked_ns)); /* or blames one for its silence */
        pause_if_due(d, &looked_ns);
        v->turn(v->ctx);
    }
}
