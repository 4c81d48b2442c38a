/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c - the last word about a job: its summary, and what people should know of it */
#include "summary.h"

#include "agents/driver/checkpoints/checkpoint_end.h"
#include "agents/driver/checkpoints/checkpoint_newest.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* ---- waiting for files ---- */

/* For all that is left to be read and written, and behind a signal. */
static const int64_t wait_ns = 10 * CLOCK_S, hurry_ns = CLOCK_S;

struct patience {
    int signals; /* -1: none */
    int64_t end_ns;
};

/* Whoever presses Ctrl-C does not want to wait; a folder that answers needs no second.  A SIGCONT
 * is read behind Ctrl-Z.
 */
static void hurry(struct patience *p)
{
    struct signalfd_siginfo i;
    int64_t soon_ns = clock_now_ns() + hurry_ns;

    while (p->signals >= 0 && read(p->signals, &i, sizeof i) == sizeof i)
        if (i.ssi_signo != SIGCONT && soon_ns < p->end_ns)
            p->end_ns = soon_ns;
}

/* Until the thread has done all, or the time is over. */
static void wait_for(struct patience *p, struct file_thread *t)
{
    struct pollfd fds[] = { { .fd = file_thread_fd(t), .events = POLLIN },
                            { .fd = p->signals, .events = POLLIN } };

    while (!file_thread_idle(t) && clock_now_ns() < p->end_ns) {
        (void)poll(fds, 2, clock_poll_ms(p->end_ns));
        file_thread_turn(t);
        hurry(p);
    }
    file_thread_turn(t);
}

static void take_found(void *ctx, const struct checkpoint_found *f)
{
    *(struct checkpoint_found *)ctx = *f;
}

/* ---- what is to be said ---- */

/* Figures of --measure-equal that compare a split with itself need a word. */
static void say_only_equal(struct telling *t)
{
    static const char text[] = "the job ended before the plan took force: all its steps had the "
                               "equal split of --measure-equal";
    struct job_status *s = &t->run->status;

    if (!t->plans->equal || s->steps_done == 0 || figures_real_begun(&t->run->figures))
        return;
    if (!s->message[0])
        (void)snprintf(s->message, sizeof s->message, "%s", text);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* A job that was stopped can go on: from where, and how. */
static void say_how_to_go_on(struct telling *t, const struct checkpoint_found *newest)
{
    struct job_status *s = &t->run->status;
    size_t n = strlen(s->message);

    if (strcmp(s->reason, "interrupted") != 0 && strcmp(s->reason, "preempted") != 0 &&
        strcmp(s->reason, "timeout") != 0)
        return;
    if (s->steps_done > 0)
        (void)snprintf(s->message + n, sizeof s->message - n, " at step %" PRId64, s->steps_done);
    n = strlen(s->message);
    if (!t->run->o->folder)
        return;
    if (newest->step >= 0)
        (void)snprintf(s->message + n, sizeof s->message - n,
                       "; newest checkpoint: step %" PRId64 "; go on with --resume %s",
                       newest->step, newest->resume);
    else if (newest->begun_step >= 0)
        (void)snprintf(s->message + n, sizeof s->message - n,
                       "; no checkpoint but the one it began with, of step %" PRId64
                       "; go on from it with --resume %s",
                       newest->begun_step, newest->resume);
    else if (s->steps_done > 0 && t->run->state.any_page) /* others may save by themselves */
        (void)snprintf(s->message + n, sizeof s->message - n,
                       "; no checkpoint was written, so that none of it can be gone on from");
}

/* It has ended well, and before all its steps were made. */
static void say_stopped(struct telling *t)
{
    struct job_status *s = &t->run->status;
    char of[32] = "";

    if (!s->stopped_by_program || strcmp(s->reason, "ok") != 0 || s->message[0])
        return;
    if (s->steps_total > 0)
        (void)snprintf(of, sizeof of, " of %" PRId64, s->steps_total);
    (void)snprintf(s->message, sizeof s->message,
                   "stopped by the program after step %" PRId64 "%s (eddis_stop)", s->steps_done,
                   of);
}

/* Each by itself, whatever the plan said.  Whether they train nobody sees. */
static void say_alone(struct telling *t)
{
    const struct state *s = &t->run->state;
    struct job_status *u = &t->run->status;

    if (strcmp(u->reason, "ok") != 0 || u->message[0] || s->n_ranks < 2 || s->any_page ||
        s->generation > 1 || t->n_alone < s->n_ranks)
        return;
    (void)snprintf(u->message, sizeof u->message,
                   "if these %d workers trained, each trained a model of its own: nothing combined "
                   "them, for none used libeddis or MPI, or listened on MASTER_PORT or another "
                   "port; see eddis-python(7)",
                   s->n_ranks);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, u->message);
}

/* A job that resumed behind its last step. */
static void say_nothing_left(struct telling *t)
{
    static const char text[] = "nothing was left to train: the checkpoint is of the last step";
    struct job_status *s = &t->run->status;
    const struct figures *f = &t->run->figures;

    if (s->message[0] || strcmp(s->reason, "ok") != 0 || s->generations > 1 ||
        strcmp(t->run->o->job->checkpoint.resume, "auto") == 0 || s->steps_total <= 0 ||
        !figures_any_seen(f) || figures_steps_here(f) > 0)
        return;
    (void)snprintf(s->message, sizeof s->message, "%s", text);
}

/* Devices are emulated by libeddis, in the programs that use it: claim nothing for others. */
static void say_not_emulated(struct telling *t)
{
    static const char text[] = "the program does not use libeddis, so no device was emulated";
    struct job_status *s = &t->run->status;

    if (!s->emulated || s->exit_code != 0 || figures_any_seen(&t->run->figures))
        return;
    s->emulated = false;
    s->ideal_samples_per_s = s->predicted_samples_per_s = NAN;
    s->equal_predicted_samples_per_s = NAN;
    if (!s->message[0])
        (void)snprintf(s->message, sizeof s->message, "%s", text);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* What the folder lacks is no failure of the job. */
static void say_gaps(struct telling *t)
{
    const struct journal *j = &t->run->journal;
    cleanup_free char *text = NULL, *left_out = NULL;
    const char *folder = t->run->o->folder ? t->run->o->folder->path : "";

    if (j->metrics_left_out &&
        asprintf(&left_out,
                 "%" PRId64 " lines of metrics.jsonl were left out, for '%s' did not "
                 "answer for so long",
                 j->metrics_left_out, folder) >= 0)
        t->run->o->view.say(t->run->o->view.ctx, left_out);
    if (!j->trouble.code)
        return;
    if (asprintf(&text, "%s%smissing or with gaps in '%s': %s; the job's own result stands",
                 t->told_trouble ? "" : j->trouble.text, t->told_trouble ? "" : "; ", folder,
                 j->missing) >= 0)
        t->run->o->view.say(t->run->o->view.ctx, text);
}

static void record(struct telling *t, const struct checkpoint_found *newest)
{
    struct job_status *s = &t->run->status;

    telling_fill(t);
    s->state = JOB_ENDED; /* also of a job that could not begin */
    model_watch_look(&t->models, t->run, clock_now_ns(), true);
    model_watch_end(&t->models, t->run);
    say_only_equal(t);
    say_stopped(t);
    say_nothing_left(t);
    say_alone(t);
    say_how_to_go_on(t, newest);
    say_not_emulated(t);
    s->eta_s = 0;
    journal_metrics(&t->run->journal, s);
    journal_event(&t->run->journal, JOB_EVENT_ENDED, NULL, -1, s->reason);
    journal_summary(&t->run->journal, s);
    journal_remove(&t->run->journal, JOB_DRIVER_FILE);
}

void summary_tell(struct telling *t, int signals)
{
    struct checkpoint_found newest = { .step = -1, .begun_step = -1 };
    struct patience p = { signals, clock_now_ns() + wait_ns };
    bool no_parts;

    checkpoint_end(t->run, &no_parts);
    checkpoint_look(t->run, take_found, &newest);
    wait_for(&p, t->run->looks);
    if (!no_parts)
        checkpoint_end_give_up(t->run);
    state_checkpoint_seen(&t->run->state, newest.step);
    record(t, &newest);
    if (p.end_ns < clock_now_ns() + hurry_ns) /* it may be another file system that answers */
        p.end_ns = clock_now_ns() + hurry_ns;
    wait_for(&p, t->run->records);
    t->run->status.folder_hangs = journal_give_up(&t->run->journal) < 0;
    say_gaps(t);
}
