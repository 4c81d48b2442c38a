/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the driver's decisions as a state machine
 *
 *     REGISTER -> PROFILE -> [NETWORK] -> PLAN -> PREPARE -> [CHECK] -> START -> RUN -> STOP
 *                                          ^                                             |
 *                                          +------------------ REGROUP <-----------------+-> BYE
 *     -> OVER
 *
 * It knows no socket, process or clock: what happens is told to it with the time, and what is to
 * be done it puts into a short queue of actions that the caller takes with state_action after
 * every call.
 *
 * A start of the ranks is a *generation*, numbered from 1; the nodes that have ranks in it are its
 * parts.  Number 0 is the probe of a network with one rank on each node, which goes the same way
 * from PREPARE to STOP.  The first failure of a generation decides (scheduler/recovery.h) whether
 * the job ends with it or goes on with the next generation on the nodes that are left; whatever
 * comes next, every node first confirms that nothing of the generation is left, unless it is lost.
 *
 *     state.c           phases and time
 *     state_agent.c     nodes: registered, lost, started again
 *     state_rank.c      ranks and mpirun: started, ended
 *     state_failure.c   who failed first, and what follows from it
 *     state_hang.c      progress, and ranks that make none
 *     state_end.c       stopping, and what comes after it
 *     state_network.c   which network the nodes use
 *     state_signal.c    what the user wants
 */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_H

#include "agents/protocol/protocol.h"
#include "lib/base/error.h"
#include "scheduler/recovery.h"

#include <stdbool.h>
#include <stdint.h>

enum driver_phase {
    PHASE_REGISTER, /* agents were started and have to dial back */
    PHASE_PROFILE,  /* measuring */
    PHASE_NETWORK,  /* the caller has been asked for the next network to try */
    PHASE_PLAN,     /* the caller has been asked for a plan */
    PHASE_PREPARE,  /* nodes make their boards */
    PHASE_CHECK,    /* nodes look for what they must share */
    PHASE_START,    /* mpirun was ordered, not all ranks are up */
    PHASE_RUN,      /* all are up */
    PHASE_STOP,     /* whatever is left has to go */
    PHASE_REGROUP,  /* nodes that can come back at once may do so before the next plan */
    PHASE_BYE,      /* agents have to end */
    PHASE_OVER,
};

enum action_type {
    ACTION_PROFILE,    /* order .agent (-1: all) to profile */
    ACTION_NETWORK,    /* answer with state_network_try, state_network_known or state_fail */
    ACTION_FORGET,     /* the cached network did not work: drop it */
    ACTION_PLAN,       /* make a plan of the usable nodes and call state_planned, state_finish,
                        * state_unplannable or state_fail */
    ACTION_PREPARE,    /* order the parts to prepare */
    ACTION_CHECK,      /* order the parts to check */
    ACTION_START,      /* order the first part to start mpirun */
    ACTION_CHECKPOINT, /* publish a plan that says: write a checkpoint and stop */
    ACTION_SIGNAL,     /* hand SIGUSR2 on to the ranks */
    ACTION_STOP,       /* order the parts to stop by .ladder */
    ACTION_REVIVE,     /* start .agent again, shutting out what there may be of it */
    ACTION_RECOVERED,  /* the generation has done its first step: .text */
    ACTION_BYE,        /* order every agent to leave */
    ACTION_KILL,       /* some agents did not end by themselves: end their process trees */
    ACTION_SAY,        /* tell people .text */
    ACTION_LAST_LINES, /* show the last output of .rank, which came with this event */
};

struct action {
    enum action_type type;
    enum stop_ladder ladder;
    int agent, rank;
    char text[600];
};

struct state_options {
    int n_agents;
    bool check_only;  /* the job ends well where the ranks would start */
    bool share;       /* the parts must share the checkpoint folder: have them check it */
    int64_t restarts; /* at most */
    int64_t launch_ns, lease_ns, node_lost_ns, hang_ns, grace_ns, checkpoint_ns, job_ns;
    /* CLOCK_NEVER: no limit; node_lost_ns and hang_ns: 0 is that too, but a node is never given
     * less than it takes to be sure that its lease has run out */
};

struct state_agent {
    bool remote;               /* its process is not on this machine; the caller's to set */
    bool registered, profiled; /* this start of it */
    bool starting;             /* again */
    bool lost;                 /* not heard of for too long: nothing is expected of it */
    bool ended;                /* nothing of it is left */
    bool part, prepared, checked, stopped; /* of the generation */
    int failed_starts;                     /* running, that did not come to having ranks */
    bool idle_end;                         /* its last agent ended without ever having ranks */
    int64_t revive_ns;                     /* not before then */
    int64_t heard_ns;
    char host[256];
};

struct state_rank {
    int agent, pid, code, signal; /* as in struct event */
    bool started, exited, by_us, oom;
    int64_t steps;    /* done; -1 unknown */
    bool stepped;     /* it has finished a step of this generation */
    int phase;        /* enum eddis_phase; -1: it has no page */
    int waits_for;    /* the rank without which it cannot go on; -1: none that is known */
    int64_t still_ns; /* without a step or another phase, when it was last reported */
    int64_t moved_ns; /* when its steps or phase last changed, as seen from here */
};

/* What failed first: by arrival less age, so that clocks of nodes are never compared. */
struct state_failure {
    bool set;
    enum recovery_cause cause;
    const char *reason; /* "rank_exit", ... */
    int exit_code;      /* that the job has when it ends by this */
    int64_t at_ns;
    int rank, pid, code, signal; /* rank -1: not a rank */
    bool of_daemon;              /* mpirun's daemon went by itself, as it does when mpirun has */
    int64_t step;                /* -1 unknown */
    bool stepped;
    char node[256];
    char what[512];
};

enum state_next { NEXT_BYE, NEXT_REGROUP, NEXT_NETWORK, NEXT_PLAN };

struct state {
    struct state_options o;
    enum driver_phase phase;
    int64_t generation;
    int64_t begun_ns;    /* of the job */
    int64_t started_ns;  /* mpirun was ordered; 0: never */
    int64_t deadline_ns; /* of the phase */
    struct state_agent *agent;
    struct state_rank *rank; /* [n_ranks] once there is a plan */
    int n_ranks, first;      /* first: the part that runs mpirun */
    bool mpirun_over;
    int mpirun_code, mpirun_signal;
    char mpirun_text[160];        /* what it says of itself, in one sentence; "" nothing */
    int64_t mpirun_ns, settle_ns; /* when it ended; its ranks may be told of until then, 0: not */
    int64_t preempt_ns;           /* a checkpoint was asked for; until then it may take; 0: not */
    int64_t asked_ns;             /* when it was asked for */
    int64_t asked_step; /* a checkpoint of this step or a later one will do; -1: not asked */
    bool checkpointed;  /* and it is there */
    bool launched;      /* a node was asked to prepare: there may be something to stop */
    bool unwanted;      /* somebody has asked for the job's end: there is no other generation */
    int interrupts;
    int64_t pause_ns, paused_ns; /* the driver itself was stopped: how long, and until when */
    enum stop_ladder ladder;     /* ordered last, in PHASE_STOP */
    int64_t stop_ns;             /* and when */
    enum state_next next;        /* behind PHASE_STOP */
    /* the network of several nodes */
    bool network_cached, network_works;
    int64_t probe_ns;        /* the probe under way has until then; 0: there is none */
    char probe_trouble[512]; /* why it failed; "": it did not so far */
    /* recovery */
    int64_t restarts;            /* so far */
    int64_t resume_step;         /* newest checkpoint that nodes told when they stopped; -1: none */
    bool resume_known;           /* somebody told */
    int64_t regroup_ns;          /* in PHASE_REGROUP: who can come back at once has until then */
    struct state_failure before; /* that ended the generation before */
    int64_t recovery_ns;         /* from the last failure to the next step; -1: none yet */
    /* the end */
    bool ending, by_failure;
    const char *reason; /* "ok", "rank_exit", ...; NULL until the end is decided */
    int exit_code;
    char message[512];
    struct state_failure failure; /* of this generation */
    struct action queue[16];
    int n_queue;
};

int state_init(struct state *s, const struct state_options *o, int64_t now_ns,
               struct eddis_error *err);
void state_fini(struct state *s);

/* An agent dialled back. */
void state_registered(struct state *s, int agent, const char *host, int64_t now_ns);

/* Whether messages of this agent are to be taken: it has registered and was not given up. */
bool state_is_known(const struct state *s, int agent);

/* Whether it can have ranks in the next generation. */
bool state_is_usable(const struct state *s, int agent);

/* Whether there is such a rank in this generation, and on its node. */
bool state_has_rank(const struct state *s, int agent, int rank);

/* Any authenticated request of a known agent came in. */
void state_heard(struct state *s, int agent, int64_t now_ns);

void state_event(struct state *s, int agent, const struct event *e, int64_t now_ns);
bool state_is_echo(const struct state *s); /* a failure now is the first seen by another node */
void state_progress(struct state *s, const struct progress *p, int64_t now_ns);

/* An agent's process has ended, or could not be started; how is for people, "agent exited 3". */
void state_ended(struct state *s, int agent, const char *how, int64_t now_ns);

/* It could not be started; the sentence names the host. */
void state_not_started(struct state *s, int agent, const char *sentence, int64_t now_ns);

/* The driver itself was stopped for so long, longer than the lease that agents hold. */
void state_paused(struct state *s, int64_t pause_ns, int64_t now_ns);

/* Answers to ACTION_NETWORK: probe this one, with one rank on each usable node; or it is known,
 * from the cache or because the nodes need none.  state_network_failed: the probe under way has.
 */
int state_network_try(struct state *s, int64_t now_ns, struct eddis_error *err);
void state_network_failed(struct state *s, const char *why, int64_t now_ns);
void state_network_known(struct state *s, bool cached, int64_t now_ns);

/* Answers to ACTION_PLAN: rank r runs on agent node[r]; nothing is to be launched; the nodes that
 * are left cannot do what the job asks for.
 */
int state_planned(struct state *s, int n_ranks, const int *node, int64_t now_ns,
                  struct eddis_error *err);
void state_finish(struct state *s, int64_t now_ns);
void state_unplannable(struct state *s, const char *why, int64_t now_ns);

/* Write for a plan of a later generation on so many nodes: "restarting from step 1000 on 3 nodes
 * (generation 2 of at most 4)".
 */
void state_restart_text(const struct state *s, int n_nodes, char *ret, size_t size);

/* Agents are told to leave at this moment only, and have the usual time from then on. */
void state_bye_from(struct state *s, int64_t from_ns);

/* The caller cannot go on. */
void state_fail(struct state *s, const char *reason, int exit_code, const char *sentence,
                int64_t now_ns);

/* SIGINT, SIGTERM, SIGUSR1, SIGUSR2 or SIGHUP came, or --stop, which is 0 and ends as SIGINT. */
void state_signal(struct state *s, int sig, int64_t now_ns);

/* This is the newest complete checkpoint that the caller sees itself. */
void state_checkpoint_seen(struct state *s, int64_t step);

/* Let deadlines act, and when the next one is. */
void state_tick(struct state *s, int64_t now_ns);
int64_t state_deadline(const struct state *s);

/* Take the oldest action; false when there is none. */
bool state_action(struct state *s, struct action *ret);

#endif
