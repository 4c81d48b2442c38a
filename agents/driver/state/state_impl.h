/* SPDX-License-Identifier: Apache-2.0 */
/* state_impl.h - functions shared by the state machine's files; a file calls only files above it
 *
 *     state_queue.c     actions for the caller
 *     state_phase.c     the table of phases, and the one function that changes the phase
 *     state_count.c     questions about nodes and ranks
 *     state_end.c       stopping, and what follows a stop
 *     state_failure.c   the first failure, and what follows from it
 *     handlers          state_agent.c   nodes: registered, lost, started again
 *                       state_launch.c  from the plan to mpirun, and orders that failed
 *                       state_probe.c   which network the nodes use: its probe
 *                       state_rank.c    ranks and mpirun: started, ended
 *                       state_hang.c    progress, and ranks that make none
 *                       state_stop.c    confirmed stops, and the agents' leaving
 *                       state_request.c    requests of the user or the caller, and time limits
 *     state_table.c     phase x input: which handler
 *     state_time.c      deadlines
 *     state.c           the interface: every call as an input
 */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_IMPL_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_IMPL_H

#include "state.h"

#include "lib/base/clock.h"
#include "lib/base/exit_code.h"

#include <stddef.h>

/* The state machine's own times, in seconds. */
enum {
    LADDER_S = 3,  /* duration of a stop ladder, without the grace time */
    CONFIRM_S = 5, /* time to confirm a stop, or to leave, beyond the duration of the ladder */
    /* time to wait for agents that are started again; most are up after one or two seconds */
    REGROUP_S = 5,
    FORGET_S = 3600,   /* age from which failures no longer count */
    LIVED_S = 60,      /* age from which a generation counts as progress */
    SETTLE_S = 2,      /* maximum difference of arrival of simultaneous events */
    MPIRUN_END_S = 10, /* time that mpirun has to clean up after the end of its ranks */
    REPEAT_S =
        2, /* time in which a repeated signal counts as the same, since wrappers pass signals on */
    PROBE_S = 30,    /* time limit of a network probe; only slow networks take more than 3 s */
    PROBE_SLOW = 4,  /* multiple of PROBE_S that is added once on a slow network */
    STOP_LATE_S = 1, /* interval between checks of a stop that is late */
};

/* state_queue.c */
/* Initialize an empty queue of actions.  Return 0 or -ENOMEM. */
int state_queue_init(struct action_queue *q);
/* Append an action to the queue, and return it, borrowed until the next push, for the caller to
 * fill in; without memory the action is lost.
 */
struct action *state_push(struct state *s, enum action_type type);
/* Queue a sentence to print for the user; it is cut to the size of struct action's text. */
void state_say(struct state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* state_phase.c */
/* Enter a phase: set its deadline and queue its action. */
void state_go(struct state *s, enum state_phase to, int64_t now_ns);
/* Let the time limit of the present phase begin at from_ns. */
void state_extend(struct state *s, int64_t from_ns);
const char *state_phase_name(enum state_phase p);
/* Check whether nodes were ordered to prepare, so that there may be something to stop. */
bool state_is_launched(const struct state *s);
/* Check whether nodes were ordered to stop the generation or the probe. */
bool state_is_stopping(const struct state *s);
/* Check whether the job is before its first training generation, or plans the next generation. */
bool state_is_early(const struct state *s);
/* Check whether a network is being chosen or probed. */
bool state_is_probe(const struct state *s);
/* A duty of agents in a phase. what: its words after "took longer than 60 s to ...". member: offset
 * of the bool in struct state_agent that records that the duty is done. parts: only parts have the
 * duty.
 */
struct state_awaited {
    const char *what;
    size_t member;
    bool parts;
};
/* Return the duty of agents in the present phase; NULL: they have none. */
const struct state_awaited *state_awaited(const struct state *s);

/* state_count.c */
/* Return the name of an agent's node for messages, borrowed from s; "this machine" until the agent
 * has registered.
 */
const char *state_host(const struct state *s, int agent);
/* Return the number of agents that can have ranks in the next generation. */
int state_count_usable(const struct state *s);
/* Return the number of agents that have ranks in this generation. */
int state_count_parts(const struct state *s);
/* Return the first agent (if parts: the first part) whose bool at offset `member` of struct
 * state_agent is false; -1: none.
 */
int state_first_without(const struct state *s, size_t member, bool parts);
/* Return how long an agent may be silent before it counts as lost. */
int64_t state_silence_ns(const struct state *s);
/* Return the number of ranks that have not exited, including ranks that have not started. */
int state_ranks_left(const struct state *s);
/* Return the first rank that has not exited (exited false: that has not started); -1: none. */
int state_first_not(const struct state *s, bool exited);
/* Check whether all ranks have exited 0. */
bool state_all_zero(const struct state *s);
/* Check whether all ranks of the job have exited 0 with their work done. A rank that eddis stopped
 * may exit 0 with unfinished work, unless it had reported STATE_RANK_DONE before.
 */
bool state_all_done(const struct state *s);
/* Check whether the bool at this offset of struct state_rank is true of any rank. */
bool state_any_rank(const struct state *s, size_t member);
/* Check whether any rank has finished a step in this generation. */
bool state_any_step(const struct state *s);

/* state_end.c */
/* End the job with this outcome, and stop the ranks by this ladder; do nothing if the end of the
 * job is already decided.
 */
void state_end(struct state *s, enum state_outcome o, enum stop_ladder l, int64_t now_ns);
/* End the job with STATE_OUTCOME_FAILED or STATE_OUTCOME_FAULT, with this reason (a static string)
 * and this exit code.
 */
void state_end_by(struct state *s, enum state_outcome o, const char *reason, int exit_code,
                  int64_t now_ns);
/* End a job in STATE_OUTCOME_SAVING, with the outcome for which the checkpoint was requested. */
void state_end_saving(struct state *s, enum stop_ladder l, int64_t now_ns);
/* Stop all that is launched by this ladder, then continue with `next`; if nothing is launched,
 * continue immediately.
 */
void state_stop(struct state *s, enum stop_ladder l, enum state_next next, int64_t now_ns);
/* Continue after a stop if every part has confirmed the stop, is lost or has ended. */
void state_stopped(struct state *s, int64_t now_ns);
/* Begin to choose a network; if only one node is usable, go on to the plan. */
void state_begin_network(struct state *s, int64_t now_ns);
/* Continue from REGROUP if no agent is worth waiting for: plan, or give up if no node is usable. */
void state_regroup(struct state *s, int64_t now_ns);
/* Reset the recent restarts and node losses after an hour without a failure. */
void state_forget_failures(struct state *s, int64_t now_ns);
/* End the job with the previous generation's failure, and print why the job cannot be restarted. */
void state_give_up(struct state *s, const char *why, int64_t now_ns);
/* Record that a checkpoint of this step exists, if it fulfils the request for a checkpoint. */
void state_note_checkpoint(struct state *s, int64_t step);
/* Enter OVER if every agent has ended, or is remote and lost. */
void state_over(struct state *s);

/* state_failure.c */
/* A failure other than that of a rank: of a node, of mpirun, of the launch, or of the probe */
struct state_trouble {
    enum recovery_cause cause;
    const char *reason;
    int exit_code, agent;
    int64_t at_ns;
    const char *text;
    int signal;     /* signal that ended mpirun or its daemon; 0: none */
    bool of_daemon; /* as in struct state_failure */
};
/* Return whether a rank lacked memory and can be given fewer samples. */
bool state_failure_less(const struct state_failure *f);
/* Handle a failure other than that of a rank. During a probe it only fails the probe, unless a node
 * was lost.
 */
void state_trouble(struct state *s, const struct state_trouble *t, int64_t now_ns);
/* Handle a rank's exit with an error; ignore the exit if eddis stopped the rank. */
void state_rank_failed(struct state *s, const struct event *e, int agent, int64_t now_ns);
/* Handle a rank that exited 0 at at_ns although its work was not done. */
void state_rank_left(struct state *s, int rank, int64_t at_ns, int64_t now_ns);
/* If the failure is the first of the generation, record and report it, and decide between the job's
 * end and another generation.
 */
void state_failed(struct state *s, const struct state_failure *failure, int64_t now_ns);
/* Turn the job's end into a success if exit 0 of the last rank arrives after a failure other than
 * that of a rank.
 */
void state_done_late(struct state *s, int64_t now_ns);
/* Stop the present probe, then try the next network; why: reason, copied. */
void state_probe_failed(struct state *s, const char *why, int64_t now_ns);
/* Handle the failure of a launch at at_ns, which ends the job with EXIT_START if the job is not
 * restarted.
 */
void state_launch_failed(struct state *s, int agent, int64_t at_ns, const char *text,
                         int64_t now_ns);

#endif
