/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c - the job's summary, and what the user must know about its end */
#include "summary.h"

#include "agents/driver/checkpoints/checkpoint_end.h"
#include "agents/driver/checkpoints/checkpoint_newest.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

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

/* Time limits for the reads and writes that are pending: without a signal, and after one. */
static const int64_t wait_ns = 10 * CLOCK_S, signalled_ns = CLOCK_S;

/* How long to wait for files. */
struct patience {
    int signals;    /* signalfd; -1: none */
    int64_t end_ns; /* end of the wait */
};

/* If a signal has come, let the wait end in one second at the latest: the user does not want to
 * wait, and a folder that answers needs less.  SIGCONT does not count; it comes after Ctrl-Z.
 */
static void shorten(struct patience *p)
{
    struct signalfd_siginfo i;
    int64_t soon_ns = clock_now_ns() + signalled_ns;

    while (p->signals >= 0 && read(p->signals, &i, sizeof i) == sizeof i)
        if (i.ssi_signo != SIGCONT && soon_ns < p->end_ns)
            p->end_ns = soon_ns;
}

/* Wait until the file thread has done everything, or until p->end_ns, which a signal shortens.
 * Blocks.
 */
static void wait_for(struct patience *p, struct file_thread *t)
{
    struct pollfd fds[] = { { .fd = file_thread_fd(t), .events = POLLIN },
                            { .fd = p->signals, .events = POLLIN } };

    while (!file_thread_idle(t) && clock_now_ns() < p->end_ns) {
        (void)poll(fds, 2, clock_poll_ms(p->end_ns));
        file_thread_turn(t);
        shorten(p);
    }
    file_thread_turn(t);
}

/* Copy the result of the search for checkpoints to *ctx (checkpoint_newest_fn, on the driver's
 * thread).
 */
static void take_found(void *ctx, const struct checkpoint_found *f)
{
    *(struct checkpoint_found *)ctx = *f;
}

/* ---- sentences of the summary ---- */

/* If all steps used --measure-equal's equal split, explain that the plan never took effect, so that
 * the job's metrics compare the split with itself.
 */
static void say_only_equal(struct job_report *t)
{
    static const char text[] = "the job ended before the plan took effect: all its steps used the "
                               "equal split of --measure-equal";
    struct job_status *s = &t->run->status;

    if (!t->plans->equal || s->steps_done == 0 || metrics_real_begun(&t->run->metrics))
        return;
    if (!s->message[0])
        (void)snprintf(s->message, sizeof s->message, "%s", text);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* For a job that was stopped, add to its message at which step it stopped and how to resume it. */
static void say_how_to_go_on(struct job_report *t, const struct checkpoint_found *newest)
{
    struct job_status *s = &t->run->status;

    if (strcmp(s->reason, "interrupted") != 0 && strcmp(s->reason, "preempted") != 0 &&
        strcmp(s->reason, "timeout") != 0)
        return;
    if (s->steps_done > 0)
        text_append(s->message, sizeof s->message, " at step %" PRId64, s->steps_done);
    if (!t->run->o->folder)
        return;
    if (newest->step >= 0)
        text_append(s->message, sizeof s->message,
                    "; newest checkpoint: step %" PRId64 "; continue with --resume %s",
                    newest->step, newest->resume);
    else if (newest->begun_step >= 0)
        text_append(s->message, sizeof s->message,
                    "; it wrote no checkpoint and began with the one of step %" PRId64
                    "; continue from that with --resume %s",
                    newest->begun_step, newest->resume);
    else if (s->steps_done > 0 && t->run->state.any_page) /* other programs save by themselves */
        text_append(s->message, sizeof s->message,
                    "; no checkpoint was written, so the job cannot be resumed");
}

/* If the program ended the job early by eddis_stop, explain that in the message. */
static void say_stopped(struct job_report *t)
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

/* If no worker was connected to another, explain that the workers trained separate models, if they
 * trained.
 */
static void say_alone(struct job_report *t)
{
    const struct state *s = &t->run->state;
    struct job_status *u = &t->run->status;

    if (strcmp(u->reason, "ok") != 0 || u->message[0] || s->n_ranks < 2 || s->any_page ||
        s->generation > 1 || t->n_alone < s->n_ranks)
        return;
    (void)snprintf(u->message, sizeof u->message,
                   "if these %d workers trained, each trained a separate model: none used libeddis "
                   "or MPI, or listened on MASTER_PORT or another port, so nothing combined the "
                   "models; see eddis-python(7)",
                   s->n_ranks);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, u->message);
}

/* If the job resumed from its last step, explain in the message that nothing was left to train. */
static void say_nothing_left(struct job_report *t)
{
    static const char text[] = "nothing was left to train: the checkpoint is of the last step";
    struct job_status *s = &t->run->status;
    const struct metrics *f = &t->run->metrics;

    if (s->message[0] || strcmp(s->reason, "ok") != 0 || s->generations > 1 ||
        strcmp(t->run->o->job->checkpoint.resume, "auto") == 0 || s->steps_total <= 0 ||
        !metrics_any_seen(f) || metrics_steps_here(f) > 0)
        return;
    (void)snprintf(s->message, sizeof s->message, "%s", text);
}

/* If no device was emulated, because the program does not use libeddis, explain that and delete the
 * metrics that depend on the emulation.
 */
static void say_not_emulated(struct job_report *t)
{
    static const char text[] = "the program does not use libeddis, so no device was emulated";
    struct job_status *s = &t->run->status;

    if (!s->emulated || s->exit_code != 0 || metrics_any_seen(&t->run->metrics))
        return;
    s->emulated = false;
    s->ideal_samples_per_s = s->predicted_samples_per_s = NAN;
    s->equal_predicted_samples_per_s = NAN;
    if (!s->message[0])
        (void)snprintf(s->message, sizeof s->message, "%s", text);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* Report files in the job's folder that are missing or incomplete, if there are any.  They are no
 * failure of the job.
 */
static void say_gaps(struct job_report *t)
{
    const struct journal *j = &t->run->journal;
    cleanup_free char *text = NULL, *left_out = NULL;
    const char *folder = t->run->o->folder ? t->run->o->folder->path : "";

    if (j->metrics_left_out &&
        asprintf(&left_out,
                 "%" PRId64
                 " lines of metrics.jsonl were dropped, because '%s' did not answer for too long",
                 j->metrics_left_out, folder) >= 0)
        t->run->o->view.say(t->run->o->view.ctx, left_out);
    if (!j->trouble.code)
        return;
    if (asprintf(&text, "%s%smissing or incomplete in '%s': %s; the job's result is not affected",
                 t->reported_trouble ? "" : j->trouble.text, t->reported_trouble ? "" : "; ",
                 folder, j->missing) >= 0)
        t->run->o->view.say(t->run->o->view.ctx, text);
}

/* Complete the status with its final sentences, and write the last metrics, event and summary. */
static void record(struct job_report *t, const struct checkpoint_found *newest)
{
    struct job_status *s = &t->run->status;

    job_report_fill(t);
    s->state = JOB_ENDED; /* also if the job could not begin */
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

void summary_report(struct job_report *t, int signals)
{
    struct checkpoint_found newest = { .step = -1, .begun_step = -1 };
    struct patience p = { signals, clock_now_ns() + wait_ns };
    bool no_parts;

    checkpoint_end(t->run, &no_parts);
    checkpoint_newest(t->run, take_found, &newest);
    wait_for(&p, t->run->reader);
    if (!no_parts)
        checkpoint_end_give_up(t->run);
    state_checkpoint_seen(&t->run->state, newest.step);
    record(t, &newest);
    if (p.end_ns < clock_now_ns() + signalled_ns) /* maybe another file system */
        p.end_ns = clock_now_ns() + signalled_ns;
    wait_for(&p, t->run->records);
    t->run->status.folder_hangs = journal_give_up(&t->run->journal) < 0;
    say_gaps(t);
}
