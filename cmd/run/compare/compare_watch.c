/* SPDX-License-Identifier: Apache-2.0 */
/* compare_watch.c - trains one run of a comparison as a job of its own, until its target */
#include "compare_watch.h"

#include "agents/job/status_fetch.h"
#include "cmd/run/compare/compare_facts.h"
#include "cmd/run/compare/compare_reach.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/process_fd.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_NS  (CLOCK_S / 5)  /* interval of asking the job for its status */
#define MANY     256            /* the status of more workers is asked for each SHOW_NS only */
#define SHOW_NS  CLOCK_S        /* interval of showing it */
#define AGAIN_NS (15 * CLOCK_S) /* a job that has not ended this long after SIGINT gets another */

/* A run that is being trained. */
struct watch {
    const struct compare_watch *w;
    struct compare_run *r;
    struct job_folder folder;
    pid_t pid;
    double paused_s;  /* time since the first step in which the job was stopped, as by Ctrl-Z */
    double first_s;   /* time of the first step, seconds since 1970; NAN: not yet */
    int by_user;      /* the first signal that was passed on; 0: none */
    int64_t asked_ns; /* when the job got its last SIGINT from eddis; 0: not yet */
    int64_t look_ns;  /* interval of looking at the job */
    int64_t show_ns;  /* when to show progress next */
};

/* Start the job. Return 0 or a negative errno. */
static int start(struct watch *t, struct eddis_error *err)
{
    int log = open(t->w->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), rc;
    struct spawn s = { .argv = (const char *const *)t->w->argv,
                       .in = -1,
                       .out = -1,
                       .err = log,
                       .own_group = true,
                       .parent_death_signal = SIGINT };

    if (log < 0)
        return eddis_fail_errno(err, -errno, "cannot write '%s'", t->w->log);
    rc = spawn_start(&s, &t->pid, err);
    (void)close(log);
    return rc;
}

/* ---- signals ---- */

/* Stop the job and this process as Ctrl-Z does, and let both go on together. */
static void pause_both(struct watch *t)
{
    int64_t begun_ns = clock_now_ns();

    (void)kill(t->pid, SIGTSTP);
    (void)kill(getpid(), SIGSTOP);
    (void)kill(t->pid, SIGCONT);
    t->paused_s += (double)(clock_now_ns() - begun_ns) / CLOCK_S;
}

/* Read the pending signals and pass them on to the job. */
static void take_signals(struct watch *t)
{
    struct signalfd_siginfo info;

    while (read(t->w->signals, &info, sizeof info) == sizeof info) {
        int number = (int)info.ssi_signo;

        if (number == SIGTSTP) {
            pause_both(t);
            continue;
        }
        if (!t->by_user)
            t->by_user = number;
        (void)kill(t->pid, number);
    }
}

/* Ask the job to end, again if it has not ended for long. */
static void ask_to_end(struct watch *t)
{
    int64_t now_ns = clock_now_ns();

    if (t->asked_ns && now_ns < t->asked_ns + AGAIN_NS)
        return;
    t->asked_ns = now_ns;
    (void)kill(t->pid, SIGINT);
}

/* ---- the job's status ---- */

/* Determine the time of the first step, once the job has trained. */
static void find_first(struct watch *t, const struct job_status *s)
{
    if (!isnan(t->first_s) || s->samples <= 0)
        return;
    t->paused_s = 0;
    t->first_s = compare_event_s(t->w->dir, "plan_agreed");
    if (isnan(t->first_s))
        t->first_s = s->start_s + s->wall_s;
}

/* Add the status at `now_s`, seconds since 1970, to the curve, and note whether the run is at its
 * target or takes too long: then its figures are those of this moment.
 */
static void add_status(struct watch *t, const struct job_status *s, double now_s)
{
    struct compare_run *r = t->r;
    struct curve_point before = r->curve.last, now;
    double seconds;

    find_first(t, s);
    if (isnan(t->first_s))
        return;
    seconds = fmax(now_s - t->first_s - t->paused_s, 0);
    (void)curve_add(
        &r->curve,
        &(struct curve_point){
            .seconds = seconds, .samples = s->samples, .loss = s->loss, .accuracy = s->accuracy },
        s->global_batch);
    r->samples_per_s = s->samples_per_s;
    if (r->state != COMPARE_OPEN)
        return;
    now = r->curve.last;
    now.seconds = seconds;
    if (compare_reached(&now, &t->w->target)) {
        r->state = COMPARE_REACHED;
        now = compare_crossing(&before, &now, &t->w->target);
    } else if (now.seconds > t->w->late_s) {
        r->state = COMPARE_LATE;
    }
    r->seconds = now.seconds;
    r->samples = now.samples;
}

/* Ask the job for its status and record it; show it once a second. */
static void look(struct watch *t)
{
    struct job_status s;
    int64_t now_ns = clock_now_ns();

    if (!t->folder.path[0] && job_folder_find(t->w->dir, &t->folder, NULL) < 0)
        return;
    if (job_driver_check(&t->folder, NULL) != 1 || status_fetch(&t->folder, &s, NULL) < 0)
        return;
    t->look_ns = s.n_workers > MANY ? SHOW_NS : LOOK_NS;
    if (s.state == JOB_RUNNING) {
        add_status(t, &s, s.start_s + s.wall_s);
        if (t->w->progress && now_ns >= t->show_ns) {
            t->w->progress(t->w->ctx, &s, &t->r->curve.last);
            t->show_ns = now_ns + SHOW_NS;
        }
    }
    job_status_fini(&s);
}

/* ---- the end ---- */

/* Fill why the run has no result: the job's own sentence, or that of its eddis-run, or its exit
 * code.
 */
static void fill_why(struct watch *t, const char *message, int code)
{
    struct compare_run *r = t->r;

    (void)snprintf(r->why, sizeof r->why, "%s", message);
    if (!r->why[0])
        compare_facts_why(t->w->log, r->why, sizeof r->why);
    if (!r->why[0])
        (void)snprintf(r->why, sizeof r->why, "eddis-run has exited with code %d", code);
}

/* Fill the result of the run, whose eddis-run has exited with this code. */
static void finish(struct watch *t, int code)
{
    struct compare_run *r = t->r;
    struct job_status s;
    double end_s;

    job_status_init(&s);
    if (job_folder_find(t->w->dir, &t->folder, NULL) == 0)
        (void)status_from_files(&t->folder, &s, NULL);
    /* Between the last step and the end of the job lie the ends of many processes. */
    end_s = compare_last_event_s(t->w->dir, "rank_exit");
    if (s.samples > 0 && !t->by_user)
        add_status(t, &s, isnan(end_s) ? s.start_s + s.wall_s : end_s);
    r->accuracy = s.accuracy;
    r->test_loss = s.test_loss;
    r->loss = r->curve.last.samples ? r->curve.last.loss : NAN;
    curve_end(&r->curve);
    compare_facts_plan(t->w->dir, r);
    if (t->by_user && !t->asked_ns) {
        r->state = COMPARE_OPEN;
    } else if (r->state == COMPARE_OPEN && code != 0) {
        r->state = code == EXIT_USAGE && !r->curve.last.samples ? COMPARE_NOT_RUN : COMPARE_FAILED;
        fill_why(t, s.message, code);
    } else if (r->state == COMPARE_OPEN && !r->curve.last.samples) {
        r->state = COMPARE_FAILED;
        fill_why(t, "the program has reported no steps to eddis, so nothing can be compared", code);
    } else if (r->state == COMPARE_OPEN) {
        r->state = t->w->target.goal == COMPARE_EPOCHS ? COMPARE_REACHED : COMPARE_ENDED;
    }
    job_status_fini(&s);
}

/* Follow the job until it has ended. Return its exit code. */
static int follow(struct watch *t)
{
    struct pollfd p[] = { { .fd = t->w->signals, .events = POLLIN },
                          { .fd = process_fd_open(t->pid), .events = POLLIN } };
    int status = 0;

    for (;;) {
        (void)poll(p, 2, clock_poll_ms(clock_now_ns() + t->look_ns));
        if (p[0].revents)
            take_signals(t);
        if (waitpid(t->pid, &status, WNOHANG) == t->pid)
            break;
        if (!t->by_user)
            look(t);
        if (t->r->state != COMPARE_OPEN && !t->by_user)
            ask_to_end(t);
    }
    if (p[1].fd >= 0)
        (void)close(p[1].fd);
    return spawn_exit_code(status);
}

int compare_watch(const struct compare_watch *w, struct compare_run *r, struct eddis_error *err)
{
    struct watch t = { .w = w, .r = r, .first_s = NAN, .look_ns = LOOK_NS };
    int64_t begun_ns = clock_now_ns();
    int rc = start(&t, err);

    if (rc < 0)
        return rc;
    finish(&t, follow(&t));
    r->took_s = (double)(clock_now_ns() - begun_ns) / CLOCK_S;
    return t.by_user;
}
