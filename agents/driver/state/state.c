/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - the state machine's interface: most calls become an input of the table */
#include "state_input.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int state_init(struct state *s, const struct state_options *o, int64_t now_ns,
               struct eddis_error *err)
{
    *s = (struct state){ .o = *o,
                         .generation = 1,
                         .begun_ns = now_ns,
                         .resume_step = -1,
                         .begun_step = -1,
                         .recovery_ns = -1,
                         .before.rank = -1,
                         .lost_usable = -1,
                         .exit_code = -1 };
    s->agent = calloc((size_t)o->n_agents, sizeof *s->agent);
    if (!s->agent || state_queue_init(&s->queue) < 0) {
        state_fini(s);
        return eddis_fail(err, -ENOMEM, "no memory for %d agents", o->n_agents);
    }
    state_go(s, STATE_PHASE_REGISTER, now_ns);
    return 0;
}

/* Free what s owns, but not s itself. */
void state_fini(struct state *s)
{
    free(s->agent);
    free(s->rank);
    free(s->queue.at);
    s->agent = NULL;
    s->rank = NULL;
    s->queue = (struct action_queue){ 0 };
}

/* ---- agents ---- */

void state_heard(struct state *s, int agent, int64_t now_ns)
{
    if (state_is_known(s, agent))
        s->agent[agent].heard_ns = now_ns;
}

void state_registered(struct state *s, int agent, const char *host, int64_t now_ns)
{
    state_take(s, &(struct state_input){
                      .type = INPUT_REGISTERED, .agent = agent, .text = host, .now_ns = now_ns });
}

void state_ended(struct state *s, int agent, const char *how, int64_t now_ns)
{
    state_take(s, &(struct state_input){
                      .type = INPUT_AGENT_ENDED, .agent = agent, .text = how, .now_ns = now_ns });
}

void state_not_started(struct state *s, int agent, const char *sentence, int64_t now_ns)
{
    state_take(s,
               &(struct state_input){
                   .type = INPUT_NOT_STARTED, .agent = agent, .text = sentence, .now_ns = now_ns });
}

void state_no_more_starts(struct state *s, const char *sentence)
{
    if (!s->gone[0])
        (void)snprintf(s->gone, sizeof s->gone, "%s", sentence);
}

/* Check whether an event is to be handled: it is of the present generation, or the input that it
 * becomes (type) belongs to no generation.
 */
static bool is_current(const struct state *s, enum input_type type, const struct event *e)
{
    switch (type) {
    case INPUT_PROFILED:
    case INPUT_UNMEASURED:
    case INPUT_GPUS:
    case INPUT_PROFILE_FAILED:
    case INPUT_NOTE:
        return true;
    default:
        return e->generation == s->generation;
    }
}

/* Check whether this agent has reported its profile and the phases REGISTER and PROFILE are over.
 * Otherwise the profile order is the only one that can have failed.
 */
static bool is_measured(const struct state *s, int agent)
{
    return s->agent[agent].profiled && s->phase != STATE_PHASE_REGISTER &&
           s->phase != STATE_PHASE_PROFILE;
}

/* Return the input that an event of this agent becomes; INPUTS: none, the event has no row in the
 * table.
 */
static enum input_type input_of(const struct state *s, int agent, const struct event *e)
{
    switch (e->type) {
    case EVENT_PROFILE:
        return INPUT_PROFILED;
    case EVENT_UNMEASURED:
        return INPUT_UNMEASURED;
    case EVENT_GPUS:
        return INPUT_GPUS;
    case EVENT_PREPARED:
        return INPUT_PREPARED;
    case EVENT_CHECKED:
        return INPUT_CHECKED;
    case EVENT_RANK_STARTED:
        return INPUT_RANK_STARTED;
    case EVENT_RANK_EXIT:
        return INPUT_RANK_EXIT;
    case EVENT_MPIRUN_EXIT:
        return agent == s->first ? INPUT_MPIRUN_EXIT : INPUT_DAEMON_EXIT;
    case EVENT_NETWORK:
        return INPUT_PROBE_RESULT;
    case EVENT_STOPPED:
        return INPUT_STOPPED;
    case EVENT_FAILED:
        return is_measured(s, agent) ? INPUT_ORDER_FAILED : INPUT_PROFILE_FAILED;
    case EVENT_NOTE:
        return INPUT_NOTE;
    case EVENT_RELAY:
    case EVENT_CHOICE:
    case EVENT_COMMITTED:
    case EVENT_LOGS:
    case EVENT_UNSETTLED:
    case EVENT_QUIET:
    case EVENT_PLACE:
    case EVENT_SIGNAL:
    case EVENT_REFUSED:
    case EVENT_LEFT:
        break;
    }
    return INPUTS;
}

/* Record in a rank's record since when the rank neither prints nor computes, from an EVENT_QUIET of
 * the agent; e->quiet_ns 0: the rank works again.  Ignore a rank of another node.  The next search
 * for a hang uses the record.
 */
static void note_quiet(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    struct state_rank *r;

    if (!state_has_rank(s, agent, e->rank))
        return;
    r = &s->rank[e->rank];
    r->quiet = e->quiet_ns > 0;
    r->quiet_ns = now_ns - e->age_ns - e->quiet_ns;
}

/* Record where an agent found its rank, from its EVENT_PLACE.  If a search for a hang has asked for
 * that, continue the search.  Ignore a rank of another node.
 */
static void note_place(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    struct state_rank *r;

    if (!state_has_rank(s, agent, e->rank))
        return;
    r = &s->rank[e->rank];
    r->answered = true;
    (void)snprintf(r->where, sizeof r->where, "%s", e->text ? e->text : "");
    r->place = e->code;
    if (s->look_ns)
        state_take(s, &(struct state_input){ .type = INPUT_LOOK_FOR_HANG, .now_ns = now_ns });
}

/* Handle SIGTERM or SIGUSR1 that an agent's Slurm step received, as if the driver had received it.
 * Ignore other signals.
 */
static void note_signal(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    if (e->signal == SIGTERM || e->signal == SIGUSR1)
        state_take(
            s, &(struct state_input){
                   .type = INPUT_PREEMPT, .agent = agent, .signal = e->signal, .now_ns = now_ns });
}

void state_event(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    struct state_input in = {
        .type = input_of(s, agent, e), .agent = agent, .event = e, .now_ns = now_ns
    };

    if (e->type == EVENT_QUIET && e->generation == s->generation)
        note_quiet(s, agent, e, now_ns);
    if (e->type == EVENT_PLACE && e->generation == s->generation)
        note_place(s, agent, e, now_ns);
    if (e->type == EVENT_SIGNAL)
        note_signal(s, agent, e, now_ns);
    if (in.type != INPUTS && is_current(s, in.type, e))
        state_take(s, &in);
}

void state_progress(struct state *s, const struct progress *p, int64_t now_ns)
{
    state_take(s, &(struct state_input){ .type = INPUT_PROGRESS, .progress = p, .now_ns = now_ns });
}

void state_steps(struct state *s, int64_t steps)
{
    s->steps = steps;
}

void state_lives(struct state *s, int64_t now_ns)
{
    if (s->started_ns && !s->alive_ns)
        s->alive_ns = now_ns;
}

/* ---- the caller's answers ---- */

/* Allocate the records of n_ranks ranks, rank r on agent node[r], and pass them to the handler of
 * an input of this type; free them if no handler takes them over.  Return 0 or -ENOMEM, without a
 * message.
 */
static int place(struct state *s, enum input_type type, int n_ranks, const int *node,
                 int64_t now_ns)
{
    struct state_rank *rank = calloc((size_t)n_ranks + 1, sizeof *rank);

    if (!rank)
        return -ENOMEM;
    for (int r = 0; r < n_ranks; r++) {
        rank[r].agent = node[r];
        rank[r].steps = rank[r].phase = rank[r].waits_for = -1;
    }
    state_take(s, &(struct state_input){
                      .type = type, .rank = rank, .n_ranks = n_ranks, .now_ns = now_ns });
    if (s->rank != rank)
        free(rank); /* no handler took it over: the job has ended meanwhile */
    return 0;
}

int state_planned(struct state *s, int n_ranks, const int *node, int64_t now_ns,
                  struct eddis_error *err)
{
    if (place(s, INPUT_PLANNED, n_ranks, node, now_ns) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for %d ranks", n_ranks);
    return 0;
}

int state_network_try(struct state *s, int64_t now_ns, struct eddis_error *err)
{
    int n = 0, *node = calloc((size_t)s->o.n_agents, sizeof *node), rc;

    if (!node)
        return eddis_fail(err, -ENOMEM, "no memory for the network probe");
    for (int i = 0; i < s->o.n_agents; i++)
        if (state_is_usable(s, i))
            node[n++] = i;
    s->probe_trouble[0] = '\0'; /* the caller has reported the last probe's */
    rc = place(s, INPUT_NETWORK_TRY, n, node, now_ns);
    free(node);
    return rc < 0 ? eddis_fail(err, rc, "no memory for %d ranks", n) : 0;
}

void state_network_failed(struct state *s, const char *why, int64_t now_ns)
{
    state_take(
        s, &(struct state_input){ .type = INPUT_NETWORK_FAILED, .text = why, .now_ns = now_ns });
}

void state_network_known(struct state *s, bool cached, int64_t now_ns)
{
    state_take(s, &(struct state_input){
                      .type = INPUT_NETWORK_KNOWN, .cached = cached, .now_ns = now_ns });
}

void state_finish(struct state *s, int64_t now_ns)
{
    state_take(s, &(struct state_input){ .type = INPUT_FINISH, .now_ns = now_ns });
}

void state_plan_again(struct state *s)
{
    if (s->phase == STATE_PHASE_PLAN)
        state_push(s, ACTION_PLAN);
}

void state_unplannable(struct state *s, const char *why, int64_t now_ns)
{
    state_take(s,
               &(struct state_input){ .type = INPUT_UNPLANNABLE, .text = why, .now_ns = now_ns });
}

void state_fail(struct state *s, const char *reason, int exit_code, const char *sentence,
                int64_t now_ns)
{
    state_take(s, &(struct state_input){ .type = INPUT_FAIL,
                                         .reason = reason,
                                         .exit_code = exit_code,
                                         .text = sentence,
                                         .now_ns = now_ns });
}

void state_left_behind(struct state *s, const char *sentence)
{
    if (s->exit_code != 0) /* the first error counts */
        return;
    s->exit_code = EXIT_FAULT;
    s->reason = "internal";
    (void)snprintf(s->message, sizeof s->message, "%s", sentence);
}

/* ---- other inputs from outside ---- */

void state_signal(struct state *s, int sig, int64_t now_ns)
{
    struct state_input in = { .type = INPUT_PREEMPT, .agent = -1, .signal = sig, .now_ns = now_ns };

    switch (sig) {
    case 0:
        in.type = INPUT_INTERRUPT;
        in.text = "eddis-run --stop";
        in.again = "run --stop";
        break;
    case SIGINT:
        in.type = INPUT_INTERRUPT;
        in.text = "Ctrl-C";
        in.again = "press Ctrl-C";
        break;
    case SIGQUIT:
        in.type = INPUT_QUIT;
        break;
    case SIGTERM:
    case SIGUSR1:
    case SIGHUP:
        break;
    case SIGUSR2:
        in.type = INPUT_USR2;
        break;
    default:
        return;
    }
    state_take(s, &in);
}

void state_checkpoint_seen(struct state *s, int64_t step)
{
    state_take(s, &(struct state_input){ .type = INPUT_CHECKPOINT_SEEN, .step = step });
}

void state_bye_from(struct state *s, int64_t from_ns)
{
    state_take(s, &(struct state_input){ .type = INPUT_BYE_FROM, .from_ns = from_ns });
}

void state_paused(struct state *s, int64_t pause_ns, int64_t now_ns)
{
    s->pause_ns = pause_ns;
    s->paused_ns = now_ns;
    for (int i = 0; i < s->o.n_agents; i++)
        s->agent[i].waits = false;
}

void state_waits(struct state *s, int agent)
{
    s->agent[agent].waits = true;
}
