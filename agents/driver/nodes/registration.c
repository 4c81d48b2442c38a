/* SPDX-License-Identifier: Apache-2.0 */
/* registration.c - start agents, handle their registration, and end all that is left of them */
#include "registration.h"

#include "agent_config_make.h"
#include "compatibility.h"
#include "leftovers.h"

#include "agents/job/node_list.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/ip.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time limits for ending processes that remain: at the job's end, besides the lease, and when
 * agents are killed.
 */
static const int64_t clean_ns = 10 * CLOCK_S, kill_ns = 5 * CLOCK_S;

/* ---- starting ---- */

/* Arguments and input of the supervisor (eddis-keeper) at a start. */
struct start_words {
    char lease[32], wait[32], mark[NODE_IDENTITY_DIGITS + 1];
    const char *args[6]; /* NULL-terminated */
    char *input;
};

/* Make the identity of an agent's next start, in r->run->agent[agent].identity.  Nodes that are
 * started together share a mark, and their names are part of their identities.  Return 0 or a
 * negative error.
 */
static int make_identity(struct registration *r, int agent, struct eddis_error *err)
{
    struct node_identity *id = &r->run->agent[agent].identity;
    bool shared = starter_group(r->starter, agent) >= 0;
    int rc;

    if (id->mark[0])
        return node_identity_next(id, err);
    if (shared && r->stem[0]) {
        (void)node_identity_read(r->stem, id);
        rc = 0;
    } else {
        rc = node_identity_make(id, err);
    }
    if (rc < 0 || !shared)
        return rc;
    memcpy(r->stem, id->mark, sizeof r->stem);
    node_identity_name(id, starter_host(r->starter, agent));
    return 0;
}

/* Make in *w the supervisor's arguments, and its input, which holds a secret and which the caller
 * wipes and frees. first: all nodes are being started together.  Return 0 or a negative error.
 */
static int make_words(struct registration *r, int agent, int64_t deadline_ns, bool first,
                      struct start_words *w, struct eddis_error *err)
{
    const struct job *job = r->run->o->job;
    struct node_identity id = r->run->agent[agent].identity;
    int group = starter_group(r->starter, agent), n = 0;

    *w = (struct start_words){ .input = NULL };
    (void)snprintf(w->lease, sizeof w->lease, "%" PRId64, job->timeouts.lease_ns);
    (void)snprintf(w->wait, sizeof w->wait, "%" PRId64, job->timeouts.launch_ns);
    if (group >= 0) {
        node_identity_unname(&id);
        w->args[n++] = "--join";
    }
    memcpy(w->mark, id.mark, sizeof w->mark);
    w->args[n++] = w->lease;
    if (group >= 0)
        w->args[n++] = w->wait;
    w->args[n++] = w->mark;
    if (group < 0)
        return agent_config_make(r->run, agent, r->listeners, r->log_marker, &w->input, err);
    return admission_invite(&r->admission, agent, first ? group : -1, deadline_ns, &w->input, err);
}

/* Start the agent of a host, for the first time (first) or again; it must register by deadline_ns.
 * An earlier agent of the host loses its token and its orders.  Return 0 or a negative error.
 */
static int start_agent(struct registration *r, int agent, int64_t deadline_ns, bool first,
                       struct eddis_error *err)
{
    struct run_agent *a = &r->run->agent[agent];
    struct start_words w = { .input = NULL };
    int rc = make_identity(r, agent, err);

    starter_drop(r->starter, agent);
    orders_fini(&a->orders);
    a->pid = 0;
    a->paused = false;
    a->sequence = 0;
    if (rc == 0) /* an abandoned agent may still run: its token must no longer work */
        rc = http_tokens_renew(r->listeners->agent_tokens, agent, err);
    if (rc == 0)
        rc = make_words(r, agent, deadline_ns, first, &w, err);
    if (rc == 0 && r->run->o->folder) {
        cleanup_free char *line =
            starter_record(r->starter, agent, r->run->o->folder->id, &a->identity);

        journal_line(&r->run->journal, JOB_NODES_FILE, line);
    }
    if (rc == 0)
        rc = starter_add(r->starter, agent, w.args, w.input, deadline_ns, err);
    if (w.input)
        explicit_bzero(w.input, strlen(w.input));
    free(w.input);
    return rc;
}

int registration_open(struct registration *r, struct eddis_error *err)
{
    const struct job *job = r->run->o->job;
    const struct start_options o = { .host = job->n_hosts ? job->host : NULL,
                                     .n = r->run->n_agents,
                                     .ssh = &job->ssh,
                                     .slurm = r->run->o->slurm,
                                     .launch_ns = job->timeouts.launch_ns };
    int rc = starter_open(&o, &r->starter, err);

    r->admission =
        (struct admission){ .run = r->run, .listeners = r->listeners, .log_marker = r->log_marker };
    if (rc == 0)
        rc = admission_open(&r->admission, err);
    r->waiting_ns = r->run->begun_ns + 2 * CLOCK_S;
    for (int i = 0; rc == 0 && i < r->run->n_agents; i++)
        r->run->state.agent[i].remote = !starter_is_local(r->starter, i);
    for (int i = 0; rc == 0 && i < r->run->n_agents; i++)
        rc =
            start_agent(r, i, clock_after_ns(r->run->begun_ns, job->timeouts.launch_ns), true, err);
    return rc;
}

/* Start the agent of a node again that was given up or has ended.  Pass a failure to the state
 * machine.
 */
static void revive(struct registration *r, int agent)
{
    int64_t deadline_ns = clock_after_ns(clock_now_ns(), r->run->o->job->timeouts.launch_ns);
    struct eddis_error err = { 0 };

    job_run_say(r->run, JOB_EVENT_START_AGAIN, agent, -1, "");
    if (start_agent(r, agent, deadline_ns, false, &err) < 0)
        state_not_started(&r->run->state, agent, err.text, clock_now_ns());
}

/* ---- registering ---- */

/* Check that a new agent has the versions of this program, and the MPI version of a node that has
 * registered.  Return 0, or -EPROTO with both versions in err.
 */
static int check_versions(const struct job_run *r, const struct request_item *i, const char *host,
                          struct eddis_error *err)
{
    const struct hello *h = &i->hello;
    const struct versions its = { host, h->protocol, h->eddis_version, h->mpi_version };
    char name[64] = "this machine";
    struct versions other = { name, PROTOCOL_VERSION, EDDIS_VERSION, "" };
    int rc;

    if (gethostname(name, sizeof name - 1) < 0)
        (void)strcpy(name, "this machine");
    rc = compatibility_check(&its, &other, err);
    for (int k = 0; k < r->n_agents && rc == 0; k++)
        if (k != i->agent && r->agent[k].mpi_version[0]) {
            other = (struct versions){ r->state.agent[k].host, 0, "", r->agent[k].mpi_version };
            return compatibility_check(&its, &other, err); /* the others have the same version */
        }
    return rc;
}

/* Store a node's addresses and its MPI library's traits, for the choice of a network.  Return 0 or
 * -ENOMEM.
 */
static int keep_addresses(struct run_agent *a, const struct request_item *i,
                          struct eddis_error *err)
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
    a->mpi_guarded = h->mpi_guarded;
    a->mpi_v4_only = h->mpi_v4_only;
    return 0;
}

int registration_hello(struct registration *r, const struct request_item *i, int64_t now_ns,
                       struct eddis_error *err)
{
    struct job_run *run = r->run;
    struct run_agent *a = &run->agent[i->agent];
    const struct hello *h = &i->hello;
    char host[256];
    int rc;

    if ((a->pid && a->pid != h->pid) || run->state.agent[i->agent].ended) {
        http_reply_error(i->x, 409,
                         "this agent has already registered, or the driver has given it up");
        return 1;
    }
    (void)snprintf(host, sizeof host, "%s", h->host);
    text_strip_control(host);
    rc = check_versions(run, i, host, err);
    if (rc == 0)
        rc = keep_addresses(a, i, err);
    if (rc < 0) {
        http_reply_error(i->x, 409, err->text);
        return rc;
    }
    a->pid = h->pid;
    a->may_have_left = true; /* from now on; what was there its supervisor has ended */
    a->shared_logs = h->shared_logs;
    (void)snprintf(a->log_dir, sizeof a->log_dir, "%s", h->log_dir);
    memcpy(run->state.agent[i->agent].machine, h->machine, sizeof h->machine);
    starter_registered(r->starter, i->agent);
    admission_registered(&r->admission, i->agent);
    http_reply(i->x, 200, "{}");
    job_run_say(run, JOB_EVENT_REGISTERED, i->agent, -1, "");
    state_registered(&run->state, i->agent, host, now_ns);
    return 0;
}

/* ---- results of starts ---- */

/* Describe a start that failed or is late in *ret, and report it as an event. */
static void fill_failure(struct registration *r, const struct start_event *e,
                         struct registration_start *ret)
{
    ret->agent = e->host;
    ret->late = e->type == START_LATE;
    ret->gone = e->gone;
    (void)snprintf(ret->trouble, sizeof ret->trouble, "%s", e->text);
    if (!ret->late || starter_waiting(r->starter, ret->sentence, sizeof ret->sentence) < 2)
        (void)snprintf(ret->sentence, sizeof ret->sentence, "%s", e->text);
    job_run_say(r->run, JOB_EVENT_START_FAILED, e->host, -1, e->text);
}

bool registration_take_start(struct registration *r, struct registration_start *ret)
{
    struct start_event e;

    *ret = (struct registration_start){ .agent = -1 };
    if (!starter_event(r->starter, &e))
        return false;
    switch (e.type) {
    case START_FAILED:
    case START_LATE:
        fill_failure(r, &e, ret);
        break;
    case START_ENDED:
        if (e.swept)
            r->run->agent[e.host].may_have_left = false;
        else if (*starter_words(r->starter, e.host)) /* otherwise nothing was started there */
            r->run->agent[e.host].may_have_left = true;
        job_run_say(r->run, JOB_EVENT_AGENT_ENDED, e.host, -1, e.text);
        state_ended(&r->run->state, e.host, e.text, clock_now_ns());
        break;
    case START_CUT: /* the agent still reports over HTTP, or is lost */
        job_run_say(r->run, JOB_EVENT_SESSION_ENDED, e.host, -1, e.text);
        break;
    }
    return true;
}

void registration_say_waiting(struct registration *r)
{
    char text[sizeof r->waiting];
    int64_t now_ns = clock_now_ns();

    if (r->run->state.phase != STATE_PHASE_REGISTER || now_ns < r->waiting_ns)
        return;
    r->waiting_ns = now_ns + CLOCK_S;
    if (starter_waiting(r->starter, text, sizeof text) == 0 || strcmp(text, r->waiting) == 0)
        return;
    (void)snprintf(r->waiting, sizeof r->waiting, "%s", text);
    job_run_say(r->run, JOB_EVENT_WAITING, -1, -1, text);
    r->run->o->view.waiting(r->run->o->view.ctx, text);
}

/* Check whether a peer may be an old agent of a node that was given up and started again: such an
 * agent still connects, with an old token.
 */
static bool is_given_up(const struct job_run *r, const char *peer)
{
    for (int i = 0; i < r->n_agents; i++)
        if (r->state.generation > 1 && strcmp(r->agent[i].came_from, peer) == 0)
            return true;
    return false;
}

/* Report each peer without a valid token once. */
static void say_refused(struct registration *r)
{
    char peer[HTTP_PEER_CHARS];

    while (listeners_refusal(r->listeners, peer, sizeof peer))
        job_run_sayf(r->run, is_given_up(r->run, peer) ? JOB_EVENT_REFUSED : JOB_EVENT_SAY, -1, -1,
                     "refused a request from %s: it has no valid token", peer);
}

/* ---- the end ---- */

void registration_bye(struct registration *r)
{
    job_run_order_all(r->run, &(struct order){ .type = ORDER_BYE });
    if (r->starter)
        starter_abandon(r->starter);
}

/* End all processes that the starts of agents have begun.  Return true if no process is left.
 * Otherwise report what is left, return false, and name it in err.  Blocks for wait_ns at most.
 */
static bool clean(struct registration *r, int64_t patience_ns, int64_t wait_ns,
                  struct eddis_error *err)
{
    int rc = starter_clean(r->starter, patience_ns, clock_now_ns() + wait_ns, err);
    bool gone = rc >= 0 || rc == -EINPROGRESS;

    if (rc < 0)
        job_run_say(r->run, gone ? JOB_EVENT_NOTE : JOB_EVENT_SAY, -1, -1, err->text);
    return gone;
}

/* Kill all processes that the starts of agents have begun, without patience, and report what is
 * left.  Blocks for kill_ns at most.
 */
static void kill_left_over(struct registration *r)
{
    struct eddis_error err = { 0 };

    (void)clean(r, 0, kill_ns, &err);
}

void registration_clean(struct registration *r, int stop)
{
    int64_t lease_ns = r->run->o->job->timeouts.lease_ns;
    struct eddis_error err = { 0 };

    if (!clean(r, timing_all_over_ns(lease_ns, clean_ns / 2),
               timing_all_over_ns(lease_ns, clean_ns), &err))
        state_left_behind(&r->run->state, err.text);
    if (leftovers_end(r->run, stop, &err) >= 0)
        return;
    job_run_say(r->run, JOB_EVENT_SAY, -1, -1, err.text);
    state_left_behind(&r->run->state, err.text);
}

/* Parse an agent's profile and store it in r->agent[agent].profile.  Return 0 or a negative error.
 */
static int keep_profile(struct job_run *r, int agent, const struct event *e,
                        struct eddis_error *err)
{
    int rc = profile_parse(e->text, strlen(e->text), "profile", &r->agent[agent].profile, err);

    if (rc < 0)
        return eddis_fail_prefix(err, rc, "its measurements cannot be read");
    if (r->o->job->n_hosts)
        r->agent[agent].profile.software = host_program_mark(&r->o->job->host[agent]);
    return 0;
}

/* ---- entry points ---- */

/* Store an agent's profile and return HEARD.  If the profile cannot be read, change *e into a
 * failure and return HEARD_FAILED.
 */
static enum heard take_profile(struct registration *r, int agent, struct event *e)
{
    r->unreadable = (struct eddis_error){ 0 };
    if (keep_profile(r->run, agent, e, &r->unreadable) == 0)
        return HEARD;
    e->type = EVENT_FAILED;
    e->text = r->unreadable.text;
    return HEARD_FAILED;
}

/* Report, once per address, that mpirun or one of its daemons rejected a connection. */
static void take_refused(struct registration *r, int agent, const struct event *e)
{
    char peer[HTTP_PEER_CHARS];
    struct ip any;

    (void)snprintf(peer, sizeof peer, "%s", ip_parse(e->text, &any) ? e->text : "others");
    if (listeners_refused_at_node(r->listeners, peer, e->refused))
        job_run_sayf(r->run, JOB_EVENT_SAY, -1, -1,
                     "refused a connection from %s to a port of mpirun on %.200s: it did not send "
                     "the job's secret, or belongs to another user",
                     peer, r->run->state.agent[agent].host);
}

/* Handle a profile, a rejected connection, or an agent that leaves.  Return HEARD, so that other
 * modules get the event too; HEARD_FAILED if a profile cannot be read: *e is then a failure event
 * (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    struct registration *r = self;

    if (e->type == EVENT_PROFILE)
        return take_profile(r, agent, e);
    if (e->type == EVENT_REFUSED) {
        take_refused(r, agent, e);
        return HEARD;
    }
    r->run->agent[agent].may_have_left = false;
    starter_left(r->starter, agent, e->text, now_ns);
    return HEARD;
}

/* Start a node again, order all agents to leave, invalidate the groups' join secrets, or kill what
 * is left.  Return false: the other modules of the route get the action too
 * (subject_ops.on_action).
 */
static bool on_action(void *self, const struct action *a)
{
    if (a->type == ACTION_REVIVE)
        revive(self, a->agent);
    else if (a->type == ACTION_BYE)
        registration_bye(self);
    else if (a->type == ACTION_START)
        admission_shut(&((struct registration *)self)->admission);
    else
        kill_left_over(self);
    return false;
}

/* Report unauthenticated peers, invalidate old join secrets, and answer polls that have waited long
 * enough (subject_ops.tick).
 */
static void tick(void *self, int64_t now_ns)
{
    struct registration *r = self;

    say_refused(r);
    admission_tick(&r->admission, now_ns);
    for (int i = 0; i < r->run->n_agents; i++)
        orders_tick(&r->run->agent[i].orders, now_ns);
}

const struct subject_ops registration_ops = { .on_event = on_event,
                                              .on_action = on_action,
                                              .tick = tick };

void registration_close(struct registration *r)
{
    starter_close(r->starter);
    admission_close(&r->admission);
}
