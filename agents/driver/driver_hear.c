/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_impl.h"

#include "prometheus.h"
#include "versions.h"

#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- agents ---- */

/* Whether the new one has what this program and the nodes before it have. */
static int check_versions(const struct driver *d, const struct inbox_item *i, const char *host,
                          struct eddis_error *err)
{
    const struct hello *h = &i->hello;
    const struct versions its = { host, h->protocol, h->eddis_version, h->mpi_version };
    char name[64] = "this machine";
    struct versions other = { name, PROTOCOL_VERSION, EDDIS_VERSION, "" };
    int rc;

    if (gethostname(name, sizeof name - 1) < 0)
        (void)strcpy(name, "this machine");
    rc = versions_agree(&its, &other, err);
    for (int k = 0; k < d->run.n_agents && rc == 0; k++)
        if (k != i->agent && d->run.agent[k].mpi_version[0]) {
            other =
                (struct versions){ d->run.state.agent[k].host, 0, "", d->run.agent[k].mpi_version };
            return versions_agree(&its, &other, err); /* the others are as that one */
        }
    return rc;
}

/* What is kept of a node, for the choice of a network. */
static int keep_addresses(struct run_agent *a, const struct inbox_item *i, struct eddis_error *err)
{
    const struct hello *h = &i->hello;
    struct node_address *known = calloc((size_t)h->n_addresses + 1, sizeof *known);

    if (!known)
        return eddis_fail(err, -ENOMEM, "no memory for a node's addresses");
    memcpy(known, h->address, (size_t)h->n_addresses * sizeof *known);
    free(a->known);
    a->known = known;
    a->n_known = h->n_addresses;
    (void)snprintf(a->came_from, sizeof a->came_from, "%s", i->peer);
    (void)snprintf(a->mpi_version, sizeof a->mpi_version, "%s", h->mpi_version);
    return 0;
}

static void hear_hello(struct driver *d, const struct inbox_item *i, int64_t now_ns)
{
    struct run_agent *a = &d->run.agent[i->agent];
    const struct hello *h = &i->hello;
    struct eddis_error err = { 0 };
    char host[256];

    if ((a->pid && a->pid != i->hello.pid) || d->run.state.agent[i->agent].ended) {
        http_reply_error(i->x, 409, "this agent has registered before, or was given up");
        return;
    }
    (void)snprintf(host, sizeof host, "%s", h->host);
    text_strip_control(host);
    if (check_versions(d, i, host, &err) < 0 || keep_addresses(a, i, &err) < 0) {
        http_reply_error(i->x, 409, err.text);
        driver_check_trouble(d, i->agent, err.text);
        state_not_started(&d->run.state, i->agent, err.text, now_ns);
        return;
    }
    a->pid = h->pid;
    a->shared_logs = h->shared_logs;
    (void)snprintf(a->log_dir, sizeof a->log_dir, "%s", h->log_dir);
    starter_registered(d->starter, i->agent);
    http_reply(i->x, 200, "{}");
    job_run_say(&d->run, JOB_EVENT_REGISTERED, i->agent, -1, "");
    state_registered(&d->run.state, i->agent, host, now_ns);
    driver_check_heard(d, now_ns);
}

static int keep_profile(struct driver *d, int agent, const struct event *e, struct eddis_error *err)
{
    int rc = profile_parse(e->text, strlen(e->text), "profile", &d->run.agent[agent].profile, err);

    return rc < 0 ? eddis_fail_prefix(err, rc, "what it has measured cannot be read") : 0;
}

static enum job_event word_of(enum event_type type)
{
    static const enum job_event word[] = {
        [EVENT_PROFILE] = JOB_EVENT_PROFILED,    [EVENT_PREPARED] = JOB_EVENT_PREPARED,
        [EVENT_CHECKED] = JOB_EVENT_CHECKED,     [EVENT_RANK_STARTED] = JOB_EVENT_RANK_STARTED,
        [EVENT_RANK_EXIT] = JOB_EVENT_RANK_EXIT, [EVENT_MPIRUN_EXIT] = JOB_EVENT_MPIRUN_EXIT,
        [EVENT_RELAY] = JOB_EVENT_RELAY,         [EVENT_NETWORK] = JOB_EVENT_NETWORK,
        [EVENT_CHOICE] = JOB_EVENT_CHOICE,       [EVENT_STOPPED] = JOB_EVENT_STOPPED,
        [EVENT_FAILED] = JOB_EVENT_FAILED,       [EVENT_NOTE] = JOB_EVENT_NOTE,
        [EVENT_LEFT] = JOB_EVENT_LEFT,
    };

    return word[type];
}

/* One line of events.jsonl for what an agent has reported. */
static void note_event(struct driver *d, int agent, const struct event *e)
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
    } else if (e->type == EVENT_RANK_STARTED) {
        (void)snprintf(text, sizeof text, "pid %d", e->pid);
    } else if (e->type == EVENT_FAILED || e->type == EVENT_NOTE || e->type == EVENT_LEFT) {
        (void)snprintf(text, sizeof text, "%s", e->text);
        text_strip_control(text);
    }
    job_run_say(&d->run, word_of(e->type), agent, e->rank, text);
}

static void hear_event(struct driver *d, int agent, const struct event *e, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    struct event failed = *e;

    if (e->type == EVENT_PROFILE && keep_profile(d, agent, e, &err) < 0) {
        failed.type = EVENT_FAILED;
        failed.text = err.text;
        e = &failed;
    }
    if (e->type != EVENT_LOGS)
        note_event(d, agent, e);
    driver_logs_note(d, agent, e);
    driver_logs_event(d, agent, e);
    if (e->type == EVENT_FAILED && !state_is_echo(&d->run.state))
        driver_check_trouble(d, agent, e->text);
    if (e->type == EVENT_LEFT)
        starter_left(d->starter, agent, e->text, now_ns);
    if (e->type == EVENT_RANK_EXIT && e->generation == d->run.state.generation &&
        state_has_rank(&d->run.state, agent, e->rank))
        figures_end(&d->figures, e->rank,
                    e->by_us    ? "stopped by eddis"
                    : e->signal ? "killed"
                                : "exited");
    if (e->type == EVENT_NETWORK && !driver_probed(d, e)) {
        driver_act(d);
        return;
    }
    if (e->type == EVENT_RELAY)
        driver_relay(d, agent, e);
    if (e->type == EVENT_CHOICE)
        driver_hear_choice(d, e);
    d->run.event = e;
    state_event(&d->run.state, agent, e, now_ns);
    driver_act(d);
    d->run.event = NULL;
}

/* The equal split has been measured long enough: publish the real plan. */
static void end_equal_split(struct driver *d)
{
    struct eddis_error err = { 0 };

    if (!d->equal || d->newest_version > 1 ||
        figures_steps_here(&d->figures) < driver_equal_until(d))
        return;
    if (driver_publish(d, d->plan, 0, &err) < 0)
        job_run_say(&d->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

/* Workers agree among themselves from which step a plan holds; the first to say so is noted. */
static void note_agreement(struct driver *d, const struct progress *p)
{
    char text[96];

    if (p->plan_since < 0 || p->plan_version <= d->agreed_version)
        return;
    d->agreed_version = p->plan_version;
    (void)snprintf(text, sizeof text, "version %" PRId64 " from step %" PRId64, p->plan_version,
                   p->plan_since);
    job_run_say(&d->run, JOB_EVENT_PLAN_AGREED, -1, -1, text);
}

/* Its page is of the generation that has ranks there: an agent has no other. */
static void hear_progress(struct driver *d, int agent, const struct progress *p, int64_t now_ns)
{
    const struct state *s = &d->run.state;

    if (s->generation == 0 || s->phase < PHASE_START || s->phase > PHASE_STOP ||
        !state_has_rank(s, agent, p->rank))
        return;
    note_agreement(d, p);
    driver_hear_model(d, p->model_bytes);
    figures_progress(&d->figures, p, now_ns);
    state_progress(&d->run.state, p, now_ns);
}

/* An agent speaks for the ranks of its node only. */
static void hear_output(struct driver *d, int agent, const struct output *o)
{
    const struct driver_view *v = &d->run.o->view;

    if (state_has_rank(&d->run.state, agent, o->rank))
        v->output(v->ctx, d->run.state.agent[agent].host, o->rank, o->text, o->dropped);
}

static void hear_report(struct driver *d, const struct inbox_item *i, int64_t now_ns)
{
    struct run_agent *a = &d->run.agent[i->agent];
    const struct report *r = i->report;
    struct eddis_error err = { 0 };

    if (!state_is_known(&d->run.state, i->agent)) {
        http_reply_error(i->x, 409, "this agent was given up");
        return;
    }
    state_heard(&d->run.state, i->agent, now_ns);
    if (r->sequence > a->sequence && driver_logs_pieces(d, i->agent, r, &err) < 0) {
        http_reply_error(i->x, 400, err.text); /* comes again without them */
        return;
    }
    http_reply(i->x, 200, "{}");
    if (r->sequence <= a->sequence)
        return; /* sent again because the answer got lost */
    a->sequence = r->sequence;
    for (int w = 0; w < r->n_workers; w++) {
        hear_progress(d, i->agent, &r->worker[w], now_ns);
    }
    for (int o = 0; o < r->n_outputs; o++)
        hear_output(d, i->agent, &r->output[o]);
    for (int e = 0; e < r->n_events; e++)
        hear_event(d, i->agent, &r->event[e], now_ns);
    if (r->n_workers) {
        end_equal_split(d);
        driver_fill_status(d);
        d->run.o->view.progress(d->run.o->view.ctx, &d->run.status);
    }
}

/* ---- readers ---- */

static void answer_reader(struct driver *d, const struct inbox_item *i)
{
    cleanup_free char *text = NULL;

    driver_fill_status(d);
    switch (i->type) {
    case INBOX_JOB:
        text = job_status_text(&d->run.status, false);
        break;
    case INBOX_WORKERS:
        text = job_status_workers_text(&d->run.status);
        break;
    case INBOX_EVENTS:
        text = journal_events_text(&d->run.journal, i->after);
        break;
    case INBOX_PLAN:
        if (!d->plan) {
            http_reply_error(i->x, 404, "there is no plan yet");
            return;
        }
        text = plan_text(d->plan);
        break;
    default:
        text = prometheus_text(&d->run.status, listeners_refused(&d->listeners));
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

/* As Ctrl-C: the first one ends the job in order, the next one at once. */
static void hear_stop(struct driver *d, const struct inbox_item *i, int64_t now_ns)
{
    http_reply(i->x, 202, "{}");
    journal_event(&d->run.journal, JOB_EVENT_SIGNAL, NULL, -1, "asked to stop");
    driver_logs_stop(d);
    state_signal(&d->run.state, 0, now_ns);
}

static void hear_poll(struct driver *d, const struct inbox_item *i, int64_t now_ns)
{
    if (!state_is_known(&d->run.state, i->agent)) {
        http_reply_error(i->x, 409, "this agent was given up");
        return;
    }
    state_heard(&d->run.state, i->agent, now_ns);
    orders_poll(&d->run.agent[i->agent].orders, i->after, i->x,
                now_ns + timing_poll_ns(d->run.o->job->timeouts.lease_ns));
}

void driver_take_item(struct driver *d, struct inbox_item *i)
{
    int64_t now_ns = clock_now_ns();

    switch (i->type) {
    case INBOX_HELLO:
        hear_hello(d, i, now_ns);
        break;
    case INBOX_POLL:
        hear_poll(d, i, now_ns);
        break;
    case INBOX_REPORT:
        hear_report(d, i, now_ns);
        break;
    case INBOX_STOP:
        hear_stop(d, i, now_ns);
        break;
    case INBOX_LOGS:
        driver_logs_look(d, i, now_ns);
        break;
    default:
        answer_reader(d, i);
    }
    inbox_item_free(i);
    driver_act(d);
}

/* A start that failed ends a job that waits for all of them; later it is of no consequence. */
static void start_failed(struct driver *d, const struct start_event *e, int64_t now_ns)
{
    char text[sizeof d->waiting];
    const char *sentence = e->text;

    if (e->type == START_LATE && starter_waiting(d->starter, text, sizeof text) > 1)
        sentence = text;
    job_run_say(&d->run, JOB_EVENT_START_FAILED, e->host, -1, e->text);
    driver_check_trouble(d, e->host, e->text);
    if (e->type == START_FAILED && driver_check_waits(d))
        return;
    driver_check_heard(d, now_ns);
    state_not_started(&d->run.state, e->host, sentence, now_ns);
}

void driver_hear_start(struct driver *d, const struct start_event *e)
{
    int64_t now_ns = clock_now_ns();

    switch (e->type) {
    case START_FAILED:
    case START_LATE:
        start_failed(d, e, now_ns);
        break;
    case START_ENDED:
        job_run_say(&d->run, JOB_EVENT_AGENT_ENDED, e->host, -1, e->text);
        state_ended(&d->run.state, e->host, e->text, now_ns);
        break;
    case START_CUT: /* it is heard of over HTTP, or it is lost */
        job_run_say(&d->run, JOB_EVENT_SESSION_ENDED, e->host, -1, e->text);
        break;
    }
    driver_act(d);
}
