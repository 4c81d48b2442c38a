/* SPDX-License-Identifier: Apache-2.0 */
/* state_impl.h - what the state machine's files share, in layers: a file knows those above it only
 *
 *     state_queue.c     actions for the caller
 *     state_phase.c     the table of phases, and the one function that changes the phase
 *     state_count.c     questions about nodes and ranks
 *     state_end.c       stopping, and what comes after it
 *     state_failure.c   who failed first, and what follows from it
 *     handlers          state_agent.c   nodes: registered, lost, started again
 *                       state_launch.c  from the plan to mpirun, and orders that failed
 *                       state_probe.c   which network the nodes use: its probe
 *                       state_rank.c    ranks and mpirun: started, ended
 *                       state_hang.c    progress, and ranks that make none
 *                       state_stop.c    what is heard while things are stopped, and when all leave
 *                       state_wish.c    what the user or the caller wants, and limits of time
 *     state_table.c     phase x input: which handler
 *     state_time.c      deadlines
 *     state.c           the interface: every call as an input
 */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_IMPL_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_IMPL_H

#include "state.h"

#include "lib/base/clock.h"

#include <stddef.h>

enum { EXIT_FAULT = 1, EXIT_START = 3, EXIT_RESUMABLE = 75, EXIT_TIMEOUT = 124 };

/* Times that are the machine's own, in seconds. */
enum {
    LADDER_S = 3,      /* a stop ladder takes so long beside the time of grace */
    CONFIRM_S = 5,     /* to confirm a stop, or to leave, beyond what they take themselves */
    REGROUP_S = 5,     /* an agent is up again in a second or two */
    FORGET_S = 3600,   /* failures so long ago count no more */
    LIVED_S = 60,      /* a generation that has lived for longer has shown something */
    SETTLE_S = 2,      /* events of one moment may travel apart */
    MPIRUN_END_S = 10, /* its own clean-up takes mpirun a moment */
    REPEAT_S = 2,      /* wrappers hand on a signal that came to us too */
    PROBE_S = 30,      /* more than three seconds a probe takes on slow networks only */
    PROBE_SLOW = 4,    /* times that, which it may take there beyond it */
    STOP_LATE_S = 1,   /* a stop that is late is looked at so often */
};

/* state_queue.c */
int state_queue_init(struct action_queue *q); /* -ENOMEM */
struct action *state_push(struct state *s, enum action_type type);
void state_say(struct state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* state_phase.c */
void state_go(struct state *s, enum state_phase to, int64_t now_ns);
void state_extend(struct state *s, int64_t from_ns); /* the phase's time counts from there */
const char *state_phase_name(enum state_phase p);
bool state_is_launched(const struct state *s); /* nodes were asked to prepare: there may be
                                                * something to stop */
bool state_is_stopping(const struct state *s); /* ... and they have been asked to stop it */
bool state_is_early(const struct state *s);    /* no part of a training generation was launched */
bool state_is_probe(const struct state *s);    /* looking for a network */
/* What an agent has to do, "took longer than 60 s to ...", the bool of struct state_agent that says
 * it has, and whether only parts have to.
 */
struct state_awaited {
    const char *what;
    size_t member;
    bool parts;
};
const struct state_awaited *state_awaited(const struct state *s); /* NULL: nothing */

/* state_count.c */
const char *state_host(const struct state *s, int agent); /* as people know it */
int state_count_usable(const struct state *s);
int state_count_parts(const struct state *s);
/* The first agent, or part, without this bool of struct state_agent; -1: all have it. */
int state_first_without(const struct state *s, size_t member, bool parts);
int64_t state_silence_ns(const struct state *s);         /* how long an agent may be silent */
int state_ranks_left(const struct state *s);             /* that have not ended */
int state_first_not(const struct state *s, bool exited); /* exited, or started; -1: all are */
bool state_all_zero(const struct state *s);              /* exited 0, all of them */
bool state_all_done(const struct state *s);              /* ... by themselves, none of a probe */
bool state_any_started(const struct state *s);
bool state_any_step(const struct state *s);

/* state_end.c */
/* End the job with this outcome, stopping what runs by this ladder; nothing when its end has been
 * decided already.
 */
void state_end(struct state *s, enum state_outcome o, enum stop_ladder l, int64_t now_ns);
/* The same with STATE_OUTCOME_FAILED or _FAULT, which have no reason and exit code of their own. */
void state_end_by(struct state *s, enum state_outcome o, const char *reason, int exit_code,
                  int64_t now_ns);
/* The same for what the checkpoint was asked for, of STATE_OUTCOME_SAVING. */
void state_end_saving(struct state *s, enum stop_ladder l, int64_t now_ns);
void state_stop(struct state *s, enum stop_ladder l, enum state_next next, int64_t now_ns);
void state_stopped(struct state *s, int64_t now_ns); /* go on when all have confirmed */
void state_begin_network(struct state *s, int64_t now_ns);
void state_regroup(struct state *s, int64_t now_ns); /* go on when nobody is worth waiting for */
void state_forget_failures(struct state *s, int64_t now_ns); /* an hour without one */
void state_give_up(struct state *s, const char *why, int64_t now_ns);
void state_note_checkpoint(struct state *s, int64_t step);
void state_over(struct state *s); /* when all have ended */

/* state_failure.c */
/* A failure that is no rank's: of a node, of mpirun, of the launch, or of the probe. */
struct state_trouble {
    enum recovery_cause cause;
    const char *reason;
    int exit_code, agent;
    int64_t at_ns;
    const char *text;
    int signal;     /* that ended it; 0: none */
    bool of_daemon; /* as in struct state_failure */
};
void state_trouble(struct state *s, const struct state_trouble *t, int64_t now_ns);
void state_rank_failed(struct state *s, const struct event *e, int agent, int64_t now_ns);
void state_rank_left(struct state *s, int rank, int64_t at_ns, int64_t now_ns); /* by exit 0 */
void state_failed(struct state *s, const struct state_failure *failure, int64_t now_ns);
void state_done_late(struct state *s, int64_t now_ns); /* a rank's end was heard of meanwhile */
void state_probe_failed(struct state *s, const char *why, int64_t now_ns);
void state_launch_failed(struct state *s, int agent, int64_t at_ns, const char *text,
                         int64_t now_ns);

#endif
