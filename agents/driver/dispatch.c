/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - pass requests, events and actions to the modules that they are for */
#include "driver_impl.h"

#include "agents/driver/nodes/check.h"

#include "agents/protocol/timing.h"
#include "lib/base/clock.h"

#include <signal.h>
#include <stddef.h>

/* The entry points and the struct of each module. */
static const struct {
    const struct subject_ops *ops;
    size_t at; /* offset of the module's struct in struct driver */
} subjects[SUBJECTS] = {
    [SUBJECT_REGISTRATION] = { &registration_ops, offsetof(struct driver, registration) },
    [SUBJECT_CHECK] = { &check_ops, offsetof(struct driver, run) },
    [SUBJECT_NETWORK] = { &network_choice_ops, offsetof(struct driver, network) },
    [SUBJECT_PLANNING] = { &planning_ops, offsetof(struct driver, planning) },
    [SUBJECT_LAUNCH] = { &launch_orders_ops, offsetof(struct driver, launch_orders) },
    [SUBJECT_LOGS] = { &logs_ops, offsetof(struct driver, logs) },
    [SUBJECT_REPORT] = { &job_report_ops, offsetof(struct driver, job_report) },
};

const struct subject_ops *dispatch_ops(enum subject s)
{
    return subjects[s].ops;
}

/* Return the struct in *d that a module's functions get as self; never NULL.  The driver owns
 * it.
 */
static void *self_of(struct driver *d, enum subject s)
{
    return (char *)d + subjects[s].at;
}

/* ---- actions ---- */

/* Carry out an action: call the modules on its route, in order, until one returns true, which means
 * that the action has to wait.
 */
static void act(struct driver *d, const struct action *a)
{
    bool wait = false;

    for (const enum subject *s = routes_actions[a->type].to; *s && !wait; s++)
        wait = subjects[*s].ops->on_action(self_of(d, *s), a);
}

/* If all wanted logs have been fetched, send every agent the order to leave; otherwise do nothing.
 */
static void let_agents_leave(struct driver *d)
{
    if (logs_fetched(&d->logs))
        registration_bye(&d->registration);
}

/* Move the next action of the state machine to *ret and return true; return false if there is none.
 * First fail the job if an action was lost for lack of memory.
 */
static bool next_action(struct state *s, struct action *ret)
{
    if (state_lost_action(s))
        state_fail(s, "internal", 1, "no memory for the next action", clock_now_ns());
    return state_action(s, ret);
}

void dispatch_actions(struct driver *d)
{
    struct action a;

    let_agents_leave(d);
    while (next_action(&d->run.state, &a)) {
        act(d, &a);
        let_agents_leave(d);
    }
}

/* ---- events ---- */

/* Pass an event to the modules on its route, in order, until one returns another value than HEARD:
 * it has taken the event or changed *e.  Return the last value.
 */
static enum heard report_subjects(struct driver *d, int agent, struct event *e, int64_t now_ns)
{
    enum heard h = HEARD;

    for (const enum subject *s = routes_events[e->type].to; *s && h == HEARD; s++)
        h = subjects[*s].ops->on_event(self_of(d, *s), agent, e, now_ns);
    return h;
}

/* On SIGINT, SIGTERM, SIGQUIT or a request to stop (sig 0), give up the logs that are still to be
 * fetched, since the user does not want to wait for them, and let the agents leave.
 */
static void hasten_end(struct driver *d, int sig)
{
    if (sig != SIGINT && sig != SIGTERM && sig != SIGQUIT && sig != 0)
        return;
    logs_stop(&d->logs);
    let_agents_leave(d);
}

/* Handle one event: pass it to the modules and the state machine, then carry out the resulting
 * actions, which find the event in d->run.event meanwhile. *event stays unchanged.
 */
static void hear_event(struct driver *d, int agent, const struct event *event, int64_t now_ns)
{
    struct event e = *event;
    enum heard h;

    if (e.type == EVENT_SIGNAL && e.signal == SIGTERM) /* counts like a SIGTERM to the driver */
        hasten_end(d, e.signal);
    do
        h = report_subjects(d, agent, &e, now_ns);
    while (h == HEARD_FAILED);
    if (h == HEARD) {
        d->run.event = &e;
        state_event(&d->run.state, agent, &e, now_ns);
    }
    dispatch_actions(d);
    d->run.event = NULL;
}

/* Handle one worker's progress: pass it to the modules on its route until one withholds it, and
 * otherwise to the state machine too.  Ignore a rank that is not on that agent's node in this
 * generation.
 */
static void hear_progress(struct driver *d, int agent, const struct progress *p, int64_t now_ns)
{
    const struct state *s = &d->run.state;
    enum heard h = HEARD;

    if (!state_has_workers(s) || !state_has_rank(s, agent, p->rank))
        return;
    for (const enum subject *to = routes_progress.to; *to && h == HEARD; to++)
        h = subjects[*to].ops->on_progress(self_of(d, *to), p, now_ns);
    if (h == HEARD)
        state_progress(&d->run.state, p, now_ns);
}

/* Have the modules that handle progress act on a whole report of it (subject_ops.on_report). */
static void end_report(struct driver *d, int64_t now_ns)
{
    for (const enum subject *to = routes_progress.to; *to; to++)
        subjects[*to].ops->on_report(self_of(d, *to), now_ns);
}

/* Handle lines that a rank printed: show them, and count them as a sign of life of the job. */
static void hear_output(struct driver *d, int agent, const struct output *o, int64_t now_ns)
{
    job_report_output(&d->job_report, agent, o);
    if (!o->early && state_has_workers(&d->run.state) &&
        state_has_rank(&d->run.state, agent, o->rank))
        state_lives(&d->run.state, now_ns);
}

/* ---- requests ---- */

/* Handle an agent whose start failed: pass that to the state machine, but in a check only after the
 * other nodes have answered, unless they can no longer be expected to.  Record it too if no further
 * start can succeed.
 */
static void hear_trouble(struct driver *d, const struct registration_start *s, int64_t now_ns)
{
    check_trouble(&d->run, s->agent, s->trouble);
    if (s->gone)
        state_no_more_starts(&d->run.state, s->trouble);
    if (!s->late && check_waits(&d->run))
        return;
    check_heard(&d->run, now_ns);
    state_not_started(&d->run.state, s->agent, s->sentence, now_ns);
}

/* Handle an agent's registration.  If it is rejected, treat the agent as not started. */
static void hear_hello(struct driver *d, const struct request_item *i, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    int rc = registration_hello(&d->registration, i, now_ns, &err);

    if (rc == 0)
        check_heard(&d->run, now_ns);
    if (rc >= 0)
        return;
    check_trouble(&d->run, i->agent, err.text);
    state_not_started(&d->run.state, i->agent, err.text, now_ns);
}

/* Handle a node's request to join.  Fail the job if two agents came for one node, because the
 * secret has leaked then.
 */
static void hear_join(struct driver *d, const struct request_item *i, int64_t now_ns)
{
    struct eddis_error err = { 0 };

    if (admission_hear(&d->registration.admission, i, &err) < 0)
        state_fail(&d->run.state, "start", 3, err.text, now_ns);
}

/* Reply that the driver has given up this agent. */
static void refuse_given_up(const struct request_item *i)
{
    http_reply_error(i->x, 409, "the driver has given up this agent");
}

/* Return true and record that the agent lives, if it still takes part.  Otherwise reply that it was
 * given up and return false.
 */
static bool admit(struct driver *d, const struct request_item *i, int64_t now_ns)
{
    if (!state_is_known(&d->run.state, i->agent)) {
        refuse_given_up(i);
        return false;
    }
    state_heard(&d->run.state, i->agent, now_ns);
    return true;
}

/* Handle an agent's long poll: keep its HTTP exchange until there is an order for the agent, or the
 * time of a poll has passed.
 */
static void hear_poll(struct driver *d, const struct request_item *i, int64_t now_ns)
{
    if (admit(d, i, now_ns))
        orders_poll(&d->run.agent[i->agent].orders, i->after, i->x,
                    now_ns + timing_poll_ns(d->run.o->job->timeouts.lease_ns));
}

/* Pass everything in an agent's report to the modules: progress, then output, then events. */
static void take_report(struct driver *d, int agent, const struct report *r, int64_t now_ns)
{
    for (int w = 0; w < r->n_workers; w++)
        hear_progress(d, agent, &r->worker[w], now_ns);
    if (r->n_workers)
        state_steps(&d->run.state, metrics_steps(&d->run.metrics));
    job_report_heard(&d->job_report); /* before the output that results from it */
    model_watch_look(&d->job_report.models, &d->run, now_ns,
                     false); /* before an event ends the job */
    for (int o = 0; o < r->n_outputs; o++)
        hear_output(d, agent, &r->output[o], now_ns);
    for (int e = 0; e < r->n_events; e++)
        hear_event(d, agent, &r->event[e], now_ns);
    if (r->n_workers)
        end_report(d, now_ns);
}

/* Reply to a report and handle it.  If rc, the result of writing the log chunks that came with it,
 * is negative, only reply with the error why.
 */
static void answer_report(struct driver *d, const struct request_item *i, int rc, const char *why)
{
    struct run_agent *a = &d->run.agent[i->agent];

    if (rc < 0) {
        http_reply_error(i->x, 400, why); /* the agent sends the report again, without chunks */
        return;
    }
    http_reply(i->x, 200, "{}");
    a->sequence = i->report->sequence;
    take_report(d, i->agent, i->report, clock_now_ns());
}

/* Handle an agent's report.  Return true if its log chunks must be written first, or if it repeats
 * a report whose chunks are being written: the item is then taken.  Otherwise it has been answered
 * and stays the caller's.
 */
static bool hear_report(struct driver *d, struct request_item *i, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    int rc;

    if (!admit(d, i, now_ns))
        return false;
    if (i->report->sequence <= d->run.agent[i->agent].sequence) {
        http_reply(i->x, 200, "{}"); /* a repetition: the reply was lost */
        return false;
    }
    rc = logs_chunks(&d->logs, i, &err);
    if (rc <= 0)
        answer_report(d, i, rc, err.text);
    return rc > 0;
}

void dispatch_files(struct driver *d)
{
    struct eddis_error err = { 0 };
    struct request_item *i;
    int rc;

    file_thread_turn(d->run.records);
    file_thread_turn(d->run.reader);
    while ((i = logs_written(&d->logs, &rc, &err))) {
        if (state_is_known(&d->run.state, i->agent))
            answer_report(d, i, rc, err.text);
        else
            refuse_given_up(i);
        request_item_free(i);
    }
    dispatch_actions(d);
}

void dispatch_stop(struct driver *d, int sig, int64_t now_ns)
{
    hasten_end(d, sig);
    state_signal(&d->run.state, sig, now_ns);
}

/* Handle a person's request to stop the job like Ctrl-C: the first request ends the job in order,
 * the second kills it.
 */
static void hear_stop(struct driver *d, const struct request_item *i, int64_t now_ns)
{
    http_reply(i->x, 202, "{}");
    journal_event(&d->run.journal, JOB_EVENT_SIGNAL, NULL, -1, "asked to stop");
    dispatch_stop(d, 0, now_ns);
}

void dispatch_item(struct driver *d, struct request_item *i)
{
    int64_t now_ns = clock_now_ns();
    bool taken = false;

    switch (i->type) {
    case REQUEST_HELLO:
        hear_hello(d, i, now_ns);
        break;
    case REQUEST_JOIN:
        hear_join(d, i, now_ns);
        break;
    case REQUEST_POLL:
        hear_poll(d, i, now_ns);
        break;
    case REQUEST_REPORT:
        taken = hear_report(d, i, now_ns);
        break;
    case REQUEST_STOP:
        hear_stop(d, i, now_ns);
        break;
    case REQUEST_LOGS:
        logs_look(&d->logs, i, now_ns);
        break;
    default:
        job_report_answer(&d->job_report, i);
    }
    if (!taken)
        request_item_free(i);
    dispatch_actions(d);
}

void dispatch_starts(struct driver *d)
{
    struct registration_start s;

    starter_turn(d->registration.starter, clock_now_ns());
    while (registration_take_start(&d->registration, &s)) {
        if (s.agent >= 0)
            hear_trouble(d, &s, clock_now_ns());
        dispatch_actions(d);
    }
}

/* ---- time ---- */

/* Call every module's tick and the state machine's, carry out the actions, and update the metrics
 * last, so that they show the resulting state.
 */
void dispatch_tick(struct driver *d, int64_t now_ns)
{
    for (enum subject s = SUBJECT_NONE + 1; s < SUBJECTS; s++)
        if (subjects[s].ops->tick)
            subjects[s].ops->tick(self_of(d, s), now_ns);
    state_tick(&d->run.state, now_ns);
    dispatch_actions(d);
    job_report_metrics(&d->job_report, now_ns);
}
