/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.c - the status, the lines of events.jsonl and metrics.jsonl, and answers to HTTP
 * readers
 */
#include "job_report.h"

#include "agents/job/prometheus.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOW_NS (CLOCK_S / 10) /* shortest interval between two updates */
#define EQUAL_NS                                                                                   \
    (30 * CLOCK_S) /* time for a program to open libeddis, from its first sign of life */

/* ---- the status ---- */

void job_report_begin(struct job_report *t)
{
    const struct driver_options *o = t->run->o;
    struct job_status *s = &t->run->status;

    job_status_init(s);
    (void)snprintf(s->job, sizeof s->job, "%s", o->folder ? o->folder->id : "");
    (void)snprintf(s->name, sizeof s->name, "%s", o->job->name);
    s->n_nodes = t->run->n_agents;
    s->start_s = (double)clock_wall_ns() / CLOCK_S;
    s->exit_code = -1;
}

/* Copy a failure into the status as the job's first failure. */
static void fill_failure(const struct state_failure *f, struct job_status *t)
{
    t->failure = (struct first_failure){ .set = f->set,
                                         .rank = f->rank,
                                         .pid = f->pid,
                                         .code = f->code,
                                         .signal = f->signal,
                                         .step = f->step };
    (void)snprintf(t->failure.node, sizeof t->failure.node, "%s", f->node);
    (void)snprintf(t->failure.what, sizeof t->failure.what, "%.255s", f->what);
}

/* Copy the job's result into the status. */
static void fill_end(const struct state *s, struct job_status *t)
{
    (void)snprintf(t->reason, sizeof t->reason, "%s", s->reason);
    (void)snprintf(t->message, sizeof t->message, "%s", s->message);
    t->exit_code = s->exit_code;
}

void job_report_fill_refused(struct job_report *t)
{
    struct job_status *s = &t->run->status;

    if (listeners_refused(t->listeners))
        listeners_refusals_text(t->listeners, s->refused, sizeof s->refused);
}

/* Record in the metrics that ranks are lost whose agent is lost or has ended, since nobody will
 * report their end.
 */
static void note_lost(struct job_report *t)
{
    const struct state *s = &t->run->state;

    for (int i = 0; i < s->n_ranks; i++) {
        const struct state_agent *a = &s->agent[s->rank[i].agent];

        if (s->rank[i].started && !s->rank[i].exited && (a->lost || a->ended))
            metrics_end(&t->run->metrics, i, "lost");
    }
}

void job_report_fill(struct job_report *t)
{
    const struct state *s = &t->run->state;
    struct job_status *u = &t->run->status;
    const struct state_failure *failure = state_failure_reported(s);
    int64_t now_ns = clock_now_ns();

    u->state = state_shown(s);
    u->wall_s = (double)(now_ns - t->run->begun_ns) / CLOCK_S;
    (void)snprintf(u->waiting, sizeof u->waiting, "%s",
                   s->phase == STATE_PHASE_REGISTER ? t->waiting : "");
    job_report_fill_refused(t);
    u->generation = u->generations = s->n_ranks ? s->generation : 0;
    u->restarts = s->restarts;
    u->node_losses = s->node_losses;
    note_lost(t);
    metrics_fill(&t->run->metrics, now_ns, u);
    model_watch_fill(t->run, u);
    if (failure->set)
        fill_failure(failure, u);
    if (s->reason)
        fill_end(s, u);
}

/* ---- events ---- */

/* Return the type in events.jsonl for an agent's event. */
static enum job_event word_of(enum event_type type)
{
    static const enum job_event word[] = {
        [EVENT_PROFILE] = JOB_EVENT_PROFILED,    [EVENT_UNMEASURED] = JOB_EVENT_UNMEASURED,
        [EVENT_GPUS] = JOB_EVENT_GPUS,           [EVENT_PREPARED] = JOB_EVENT_PREPARED,
        [EVENT_CHECKED] = JOB_EVENT_CHECKED,     [EVENT_RANK_STARTED] = JOB_EVENT_RANK_STARTED,
        [EVENT_RANK_EXIT] = JOB_EVENT_RANK_EXIT, [EVENT_MPIRUN_EXIT] = JOB_EVENT_MPIRUN_EXIT,
        [EVENT_RELAY] = JOB_EVENT_RELAY,         [EVENT_NETWORK] = JOB_EVENT_NETWORK,
        [EVENT_CHOICE] = JOB_EVENT_CHOICE,       [EVENT_COMMITTED] = JOB_EVENT_COMMITTED,
        [EVENT_STOPPED] = JOB_EVENT_STOPPED,     [EVENT_FAILED] = JOB_EVENT_FAILED,
        [EVENT_UNSETTLED] = JOB_EVENT_FAILED,    [EVENT_NOTE] = JOB_EVENT_NOTE,
        [EVENT_QUIET] = JOB_EVENT_NOTE,          [EVENT_PLACE] = JOB_EVENT_NOTE,
        [EVENT_SIGNAL] = JOB_EVENT_SIGNAL,       [EVENT_LEFT] = JOB_EVENT_LEFT,
    };

    return word[type];
}

/* Record an agent's event in events.jsonl. */
static void note_event(struct job_run *r, int agent, const struct event *e)
{
    char text[600] = "";

    if (e->type == EVENT_RANK_EXIT || e->type == EVENT_MPIRUN_EXIT) {
        if (e->signal)
            (void)snprintf(text, sizeof text, "pid %d, signal %d%s", e->pid, e->signal,
                           e->oom ? ", out of memory" : "");
        else
            (void)snprintf(text, sizeof text, "pid %d, code %d", e->pid, e->code);
        if (e->by_us)
            (void)strncat(text, ", stopped by eddis", sizeof text - strlen(text) - 1);
    } else if (e->type == EVENT_COMMITTED) {
        (void)snprintf(text, sizeof text, "a model of %lld bytes", (long long)e->model_bytes);
    } else if (e->type == EVENT_QUIET) {
        (void)snprintf(text, sizeof text,
                       e->quiet_ns ? "neither prints nor computes" : "prints or computes again");
    } else if (e->type == EVENT_PLACE) {
        (void)snprintf(text, sizeof text, "%s",
                       e->text && *e->text ? e->text : "its position in the program is unknown");
        text_strip_control(text);
    } else if (e->type == EVENT_RANK_STARTED) {
        (void)snprintf(text, sizeof text, "pid %d", e->pid);
    } else if (e->type == EVENT_SIGNAL) {
        (void)snprintf(text, sizeof text, "%s", strsignal(e->signal));
    } else if (e->type == EVENT_FAILED || e->type == EVENT_UNSETTLED || e->type == EVENT_NOTE ||
               e->type == EVENT_LEFT) {
        (void)snprintf(text, sizeof text, "%s", e->text);
        text_strip_control(text);
    }
    job_run_say(r, word_of(e->type), agent, e->rank, text);
}

/* Record an agent's event in events.jsonl, and a rank's end in the metrics. Return HEARD: other
 * modules get the event too (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    struct job_run *r = ((struct job_report *)self)->run;

    (void)now_ns;
    note_event(r, agent, e);
    if (e->type == EVENT_RANK_EXIT && e->generation == r->state.generation &&
        state_has_rank(&r->state, agent, e->rank)) {
        ((struct job_report *)self)->n_alone += e->alone;
        metrics_end(&r->metrics, e->rank,
                    e->by_us    ? "stopped by eddis"
                    : e->signal ? "killed"
                                : "exited");
    }
    return HEARD;
}

void job_report_output(struct job_report *t, int agent, const struct output *o)
{
    const struct state *s = &t->run->state;
    const struct driver_view *v = &t->run->o->view;

    if (state_has_rank(s, agent, o->rank))
        v->output(v->ctx, s->agent[agent].host, o->rank, o->text, o->dropped);
}

/* ---- actions ---- */

/* Show the last lines that a failed rank (-1: mpirun) printed, from the event that is being
 * handled.
 */
static void show_last_lines(const struct job_run *r, int rank)
{
    const struct driver_view *v = &r->o->view;

    if (r->event && r->event->last_lines && *r->event->last_lines)
        v->last_lines(v->ctx, rank, r->event->last_lines);
}

/* Show a failed rank's last lines or a sentence to the user, or report a recovery. Return false:
 * the other modules of the route get the action too (subject_ops.on_action).
 */
static bool on_action(void *self, const struct action *a)
{
    struct job_run *r = ((struct job_report *)self)->run;

    if (a->type == ACTION_LAST_LINES) {
        show_last_lines(r, a->rank);
    } else if (a->type == ACTION_RECOVERED) {
        r->status.recovery_s = (double)r->state.recovery_ns / CLOCK_S;
        job_run_say(r, JOB_EVENT_RECOVERED, -1, -1, a->text);
    } else {
        job_run_say(r, JOB_EVENT_SAY, -1, -1, a->text);
    }
    return false;
}

/* ---- HTTP readers ---- */

void job_report_answer(struct job_report *t, const struct request_item *i)
{
    cleanup_free char *text = NULL;

    job_report_fill(t);
    switch (i->type) {
    case REQUEST_JOB:
        text = job_status_text(&t->run->status);
        break;
    case REQUEST_WORKERS:
        text = job_status_workers_text(&t->run->status);
        break;
    case REQUEST_EVENTS:
        text = journal_events_text(&t->run->journal, i->after);
        break;
    case REQUEST_PLAN:
        if (!t->plans->plan) {
            http_reply_error(i->x, 404, "there is no plan yet");
            return;
        }
        text = plan_text(t->plans->plan);
        break;
    default:
        text = prometheus_text(&t->run->status, listeners_refused(t->listeners));
        if (text) {
            http_reply_text(i->x, 200, PROMETHEUS_TYPE, text);
            return;
        }
    }
    if (text)
        http_reply(i->x, 200, text);
    else
        http_reply_error(i->x, 503, "no memory");
}

/* ---- timed reports ---- */

/* Report that the job's folder has not answered for FILE_THREAD_LATE_NS, and later that it answers
 * again.
 */
static void say_held(struct job_report *t, int64_t now_ns)
{
    int64_t held_ns = t->run->records ? file_thread_held_ns(t->run->records, now_ns) : 0;

    if (!t->run->o->folder)
        return;
    if (!t->held_ns && held_ns >= FILE_THREAD_LATE_NS) {
        t->held_ns = now_ns - held_ns;
        job_run_sayf(t->run, JOB_EVENT_SAY, -1, -1,
                     "the job's folder '%s' has not answered for %.1f s; the job continues, and "
                     "its records are written when the folder answers",
                     t->run->o->folder->path, (double)held_ns / CLOCK_S);
    } else if (t->held_ns && held_ns < FILE_THREAD_LATE_NS) {
        job_run_sayf(t->run, JOB_EVENT_SAY, -1, -1, "the job's folder answers again, after %.1f s",
                     (double)(now_ns - t->held_ns) / CLOCK_S);
        t->held_ns = 0;
    }
}

/* Write ", which is predicted to be 1.80x as fast" if the plan gains at least 5 % over the equal
 * split, otherwise "".
 */
static void gain_text(const struct plan *p, char *ret, size_t size)
{
    double gain =
        p && p->equal_samples_per_s > 0 ? p->predicted_samples_per_s / p->equal_samples_per_s : 0;

    ret[0] = '\0';
    if (gain >= 1.05)
        (void)snprintf(ret, size, ", which is predicted to be %.*fx as fast", gain < 2 ? 2 : 1,
                       gain);
}

/* Report once, EQUAL_NS after the first sign of life, what a program that runs without libeddis
 * misses: batches by the plan.
 */
static void say_equal(struct job_report *t, int64_t now_ns)
{
    const struct state *s = &t->run->state;
    char gain[64];

    if (t->reported_equal || s->phase != STATE_PHASE_RUN || s->n_ranks < 2 || s->any_page ||
        !s->alive_ns || now_ns - s->alive_ns < EQUAL_NS)
        return;
    t->reported_equal = true;
    gain_text(t->plans ? t->plans->plan : NULL, gain, sizeof gain);
    job_run_sayf(t->run, JOB_EVENT_SAY, -1, -1,
                 "the program divides its data itself, so all workers have batches of the same "
                 "size; with eddis.torch or libeddis the batches follow the plan%s; see "
                 "eddis-python(7)",
                 gain);
}

/* Report problems while the user can still do something about them: with files, models or losses,
 * or a program without libeddis (subject_ops.tick).
 */
static void say_trouble(void *self, int64_t now_ns)
{
    struct job_report *t = self;
    char text[600];

    say_held(t, now_ns);
    say_equal(t, now_ns);
    model_watch_look(&t->models, t->run, now_ns, false);
    if (!t->run->journal.trouble.code || t->reported_trouble)
        return;
    t->reported_trouble = true;
    (void)snprintf(text, sizeof text, "%s; the job continues; %s, or its records will have gaps",
                   t->run->journal.trouble.text, file_room_advice(t->run->journal.trouble.code));
    t->run->o->view.say(t->run->o->view.ctx, text);
}

void job_report_heard(struct job_report *t)
{
    const struct driver_view *v = &t->run->o->view;

    if (t->reported_joined || !t->run->state.any_page)
        return;
    t->reported_joined = true;
    v->joined(v->ctx);
}

/* Return when the next line of metrics.jsonl is due; CLOCK_NEVER: not all ranks are up. */
static int64_t next_line_ns(const struct job_report *t)
{
    return state_all_up(&t->run->state) ? t->metrics_ns : CLOCK_NEVER;
}

int64_t job_report_next_ns(const struct job_report *t)
{
    int64_t line_ns = next_line_ns(t);

    return t->stepped && t->show_ns < line_ns ? t->show_ns : line_ns;
}

void job_report_metrics(struct job_report *t, int64_t now_ns)
{
    const struct driver_view *v = &t->run->o->view;

    if (now_ns < job_report_next_ns(t))
        return;
    job_report_fill(t);
    if (now_ns >= next_line_ns(t)) {
        journal_metrics(&t->run->journal, &t->run->status);
        t->metrics_ns = now_ns + CLOCK_S;
    }
    v->progress(v->ctx, &t->run->status); /* also for programs without libeddis */
    t->stepped = false;
    t->show_ns = now_ns + SHOW_NS;
}

/* Count a worker's progress in the metrics and its checkpoints. Return HEARD: other modules get the
 * progress too (subject_ops.on_progress).
 */
static enum heard on_progress(void *self, const struct progress *p, int64_t now_ns)
{
    struct job_report *t = self;

    metrics_progress(&t->run->metrics, p, now_ns);
    checkpoint_count_take(&t->checkpoints, t->run, p);
    return HEARD;
}

/* Record that there is new progress, which job_report_metrics shows at most ten times a second:
 * filling the status takes long if there are many workers (subject_ops.on_report).
 */
static void on_report(void *self, int64_t now_ns)
{
    struct job_report *t = self;

    t->stepped = true;
}

const struct subject_ops job_report_ops = { .on_event = on_event,
                                            .on_action = on_action,
                                            .on_progress = on_progress,
                                            .on_report = on_report,
                                            .tick = say_trouble };
