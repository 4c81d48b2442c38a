/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the driver's decisions as a state machine
 *
 *     REGISTER -> PROFILE -> PLAN -> PREPARE -> START -> RUN -> STOP -> BYE -> OVER
 *
 * It knows no socket, process or clock: what happens is told to it with the time, and what is to
 * be done it puts into a short queue of actions that the caller takes with state_action after
 * every call.  The first thing that ends the job decides reason and exit code; from then on it
 * only sees to it that every node confirms that nothing is left.
 */
#ifndef EDDIS_AGENTS_DRIVER_STATE_H
#define EDDIS_AGENTS_DRIVER_STATE_H

#include "agents/protocol.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum driver_phase {
    PHASE_REGISTER, /* agents were started and have to dial back */
    PHASE_PROFILE,  /* measuring */
    PHASE_PLAN,     /* the caller has been asked for a plan */
    PHASE_PREPARE,  /* nodes make their boards */
    PHASE_START,    /* mpirun was ordered, not all ranks are up */
    PHASE_RUN,      /* all are up */
    PHASE_STOP,     /* whatever is left has to go */
    PHASE_BYE,      /* agents have to end */
    PHASE_OVER,
};

enum action_type {
    ACTION_PROFILE,    /* order every agent to profile */
    ACTION_PLAN,       /* make a plan and call state_planned, state_finish or state_fail */
    ACTION_PREPARE,    /* order every agent to prepare */
    ACTION_START,      /* order the first agent to start mpirun */
    ACTION_CHECKPOINT, /* publish a plan that says: write a checkpoint and stop */
    ACTION_SIGNAL,     /* hand SIGUSR2 on to the ranks */
    ACTION_STOP,       /* order every agent to stop by .ladder */
    ACTION_BYE,        /* order every agent to leave */
    ACTION_KILL,       /* agent .agent (-1: all) did not end by itself: end its process tree */
    ACTION_SAY,        /* tell people .text */
    ACTION_LAST_LINES, /* show the last output of .rank, which came with this event */
};

struct action {
    enum action_type type;
    enum stop_ladder ladder;
    int agent, rank;
    char text[512];
};

struct state_options {
    int n_agents;
    int64_t launch_ns, lease_ns, grace_ns, checkpoint_ns, job_ns; /* CLOCK_NEVER: no limit */
};

struct state_agent {
    bool registered, profiled, prepared, stopped;
    bool lost;  /* not heard of for too long: nothing is expected of it but its end */
    bool ended; /* its process has ended */
    int64_t heard_ns;
    char host[256];
};

struct state_rank {
    int agent, pid;
    bool started, exited;
    int code, signal; /* as in struct event */
    bool by_us, oom;
    int64_t steps; /* done; -1 unknown */
};

/* What failed first: by arrival less age, so that clocks of nodes are never compared. */
struct state_failure {
    bool set;
    int64_t at_ns;
    int rank, pid, code, signal; /* rank -1: not a rank */
    int64_t step;                /* -1 unknown */
    char node[256];
    char what[512];
};

struct state {
    struct state_options o;
    enum driver_phase phase;
    int64_t generation;
    int64_t begun_ns;    /* of the job */
    int64_t started_ns;  /* mpirun was ordered; 0: never */
    int64_t deadline_ns; /* of the phase */
    struct state_agent *agent;
    struct state_rank *rank; /* [n_ranks] once there is a plan */
    int n_ranks;
    bool mpirun_over;
    int mpirun_code, mpirun_signal;
    int64_t settle_ns;  /* mpirun has ended, its ranks have until then to be reported; 0: not */
    int64_t preempt_ns; /* a checkpoint was asked for; until then it may take; 0: not */
    int64_t asked_ns;   /* when it was asked for */
    bool checkpointed;  /* and it is there */
    bool launched;      /* a node was asked to prepare: there may be something to stop */
    int interrupts;
    int64_t pause_ns, paused_ns; /* the driver itself was stopped: how long, and until when */
    enum stop_ladder ladder;     /* ordered last, in PHASE_STOP */
    /* the end */
    bool ending;
    const char *reason; /* "ok", "rank_exit", ...; NULL until the end is decided */
    int exit_code;
    char message[512];
    struct state_failure failure;
    struct action queue[16];
    int n_queue;
};

int state_init(struct state *s, const struct state_options *o, int64_t now_ns,
               struct eddis_error *err);
void state_fini(struct state *s);

/* An agent dialled back. */
void state_registered(struct state *s, int agent, const char *host, int64_t now_ns);

/* Any authenticated request of an agent came in. */
void state_heard(struct state *s, int agent, int64_t now_ns);

void state_event(struct state *s, int agent, const struct event *e, int64_t now_ns);
void state_progress(struct state *s, int rank, int64_t steps_done);

/* An agent's process has ended; how is for people, "agent exited 3". */
void state_ended(struct state *s, int agent, const char *how, int64_t now_ns);

/* The driver itself was stopped for so long, longer than the lease that agents hold. */
void state_paused(struct state *s, int64_t pause_ns, int64_t now_ns);

/* Answers to ACTION_PLAN: rank r runs on agent node[r]; nothing is to be launched. */
int state_planned(struct state *s, int n_ranks, const int *node, int64_t now_ns,
                  struct eddis_error *err);
void state_finish(struct state *s, int64_t now_ns);

/* The caller cannot go on. */
void state_fail(struct state *s, const char *reason, int exit_code, const char *sentence,
                int64_t now_ns);

/* SIGINT, SIGTERM, SIGUSR1, SIGUSR2 or SIGHUP came. */
void state_signal(struct state *s, int sig, int64_t now_ns);

/* The checkpoint that was asked for is complete. */
void state_checkpointed(struct state *s);

/* Let deadlines act, and when the next one is. */
void state_tick(struct state *s, int64_t now_ns);
int64_t state_deadline(const struct state *s);

/* Take the oldest action; false when there is none. */
bool state_action(struct state *s, struct action *ret);

#endif
