/* SPDX-License-Identifier: Apache-2.0 */
/* state_impl.h - what the state machine's files share; see state.h */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_IMPL_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_IMPL_H

#include "state.h"

#include "lib/base/clock.h"

enum { EXIT_FAULT = 1, EXIT_START = 3, EXIT_RESUMABLE = 75, EXIT_TIMEOUT = 124 };

/* What a rank is doing, as enum eddis_phase of lib/eddis.h numbers it. */
enum rank_phase {
    RANK_START,
    RANK_INPUT,
    RANK_COMPUTE,
    RANK_WAIT,
    RANK_EVALUATE,
    RANK_CHECKPOINT,
    RANK_DONE,
};

/* state.c */
struct action *state_push(struct state *s, enum action_type type);
void state_say(struct state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void state_enter(struct state *s, enum driver_phase p, enum action_type a, int64_t now_ns);

/* state_agent.c */
const char *state_host(const struct state *s, int agent); /* as people know it */
int state_count_usable(const struct state *s);
bool state_all_parts(const struct state *s, size_t member); /* offset of a bool; of all parts */
int64_t state_silence_ns(const struct state *s);            /* how long an agent may be silent */
void state_find_lost(struct state *s, int64_t now_ns);
void state_revive_due(struct state *s, int64_t now_ns);
bool state_may_revive(const struct state *s, int agent);

/* state_rank.c */
int state_ranks_left(const struct state *s);             /* that have not ended */
int state_first_not(const struct state *s, bool exited); /* exited, or started; -1: all are */
void state_rank_started(struct state *s, int agent, const struct event *e);
void state_rank_exit(struct state *s, int agent, const struct event *e, int64_t now_ns);
void state_mpirun_exit(struct state *s, int agent, const struct event *e, int64_t now_ns);
void state_settle(struct state *s, int64_t now_ns); /* settle_ns has come */

/* state_failure.c */
void state_rank_failed(struct state *s, const struct event *e, int agent, int64_t now_ns);
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
void state_failed(struct state *s, const struct state_failure *f, int64_t now_ns);
bool state_any_step(const struct state *s);

/* state_hang.c */
void state_find_hang(struct state *s, int64_t now_ns);

/* state_end.c */
void state_end(struct state *s, const char *reason, int exit_code, enum stop_ladder l,
               int64_t now_ns);
void state_stop(struct state *s, enum stop_ladder l, enum state_next next, int64_t now_ns);
void state_stopped(struct state *s, int64_t now_ns); /* leave PHASE_STOP when all have confirmed */
void state_stop_late(struct state *s, int64_t now_ns);
void state_regroup(struct state *s, int64_t now_ns); /* go on when nobody is worth waiting for */
void state_over(struct state *s);                    /* leave PHASE_BYE when all have ended */
int state_preempted_code(const struct state *s);

/* state_network.c */
void state_network(struct state *s, int64_t now_ns); /* PROFILE is done, or a probe has failed */
void state_probe_failed(struct state *s, const char *why, int64_t now_ns);
void state_probe_ended(struct state *s, int64_t now_ns);

#endif
