/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the driver's decisions as a state machine
 *
 *     REGISTER -> PROFILE -> [NETWORK] -> PLAN -> PREPARE -> [CHECK] -> START -> RUN -> STOP
 *                             |    ^        ^                                            |
 *                             v    |        +--------------- REGROUP <-------------------+-> BYE
 *     PROBE_PREPARE -> _START -> _RUN -> _STOP                                            -> OVER
 *
 * The state machine uses no socket, process or clock. The caller reports each event with its time,
 * and after every call takes the actions to perform with state_action.
 *
 * A start of the ranks is a *generation*, with a number from 1; the nodes that have ranks in it are
 * its parts. Generation 0 is the probe of a network with one rank on each node, in phases of its
 * own. After PROBE_STOP the caller plans if the network worked, otherwise tries the next network.
 * The first failure of a generation decides (scheduler/recovery.h) whether the job ends or
 * continues with another generation on the remaining nodes. In both cases every node that is not
 * lost first confirms that nothing of the generation remains.
 */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_H

#include "state_action.h"
#include "state_members.h"
#include "state_phase.h"

#include "lib/base/error.h"
#include "scheduler/recovery.h"

#include <stdbool.h>
#include <stdint.h>

struct state_options {
    int n_agents;
    bool check_only;  /* do not start the ranks: end the job with success */
    bool share;       /* let the parts check that they share the checkpoint folder */
    bool unsaved;     /* there is no checkpoint folder: an interrupt ends the job without saving */
    bool resumes;     /* the job itself resumes from a checkpoint */
    int64_t restarts; /* maximum restarts after failures of the program */
    int64_t node_losses; /* maximum lost nodes; 0: no bound, unless restarts is 0 */
    bool restarts_asked; /* the user has set restarts */
    bool furthest;       /* steps are read from output, in which some ranks print fewer */
    int64_t gpus_ns, launch_ns, lease_ns, node_lost_ns, hang_ns, first_step_ns, grace_ns,
        checkpoint_ns, job_ns;
    /* CLOCK_NEVER: no limit. 0 in node_lost_ns, hang_ns, first_step_ns: no limit, too, but no node
     * is lost before its lease has certainly expired. 0 in gpus_ns: nodes wait for no GPU.
     */
};

enum state_next { NEXT_BYE, NEXT_REGROUP, NEXT_NETWORK, NEXT_PLAN };

/* A generation's first failure, by time of arrival minus age: nodes' clocks are not compared. */
struct state_failure {
    bool set;
    enum recovery_cause cause;
    const char *reason; /* static string, "rank_exit", ... */
    int exit_code;      /* exit code of the job if this failure ends it */
    int64_t at_ns;
    int rank, pid, code, signal; /* rank -1: not a rank's failure */
    bool of_daemon; /* mpirun's daemon ended by itself, as it does after mpirun's end */
    int64_t step;   /* -1: unknown */
    bool stepped;
    int64_t since_ns;         /* start of a failure that lasted until at_ns; 0: no duration */
    int64_t alive_ns, age_ns; /* time since the first sign of life (0: none), and since the start */
    int64_t at_once;          /* most samples that the rank held in its last step; 0: unknown */
    bool silent;              /* the rank has printed nothing, and no cause is known */
    bool echo;                /* the rank reports that another rank made it fail */
    bool trained;             /* the rank had no step left, or was leaving */
    char node[256];
    char what[512];
};

struct state {
    struct state_options o;
    enum state_phase phase;
    int64_t generation;
    int64_t begun_ns;    /* start of the job */
    int64_t started_ns;  /* time at which mpirun was ordered; 0: not ordered */
    int64_t alive_ns;    /* time of the generation's first sign of life; 0: none yet */
    int64_t deadline_ns; /* end of the phase */
    int64_t gpus_ns;     /* PROFILE: end of the time to wait for GPUs, with o.gpus_ns */
    struct state_agent *agent;
    struct state_rank *rank; /* [n_ranks]; NULL before the first plan or probe */
    int n_ranks, first;      /* first: the agent that runs mpirun */
    int64_t look_ns;         /* time at which agents were asked where ranks stand; 0: not asked */
    bool mpirun_over;
    int mpirun_code, mpirun_signal;
    char mpirun_text[160];         /* mpirun's own error sentence; "": none */
    int64_t mpirun_ns, settle_ns;  /* end of mpirun; time limit for missing reports, 0: none */
    int64_t preempt_ns;            /* time limit for the requested checkpoint; 0: none */
    int64_t asked_ns;              /* time at which the checkpoint was requested */
    int preempt_signal;            /* SIGTERM, SIGUSR1 or SIGHUP that ends the job; 0: none */
    int preempt_count;             /* number of preempting signals that counted */
    bool at_limit;                 /* one of these signals came because of Slurm's time limit */
    int asked_by;                  /* agent that received the signal; < 0: see state_request.c */
    enum state_outcome saving_for; /* outcome of the job after the checkpoint */
    int64_t steps;                 /* steps done by the job, as its checkpoints count them */
    int64_t asked_step;            /* oldest step whose checkpoint fulfils the request */
    enum state_checkpoint checkpoint;
    int64_t pause_ns, paused_ns; /* last stop of the driver itself: duration and end */
    enum stop_ladder ladder;     /* ladder of the last stop order */
    int64_t stop_ns;             /* time of the last stop order */
    enum state_next next;        /* what follows STOP */
    /* the choice of a network between several nodes */
    enum state_network network;
    int64_t probe_ns;        /* deadline of the present probe */
    bool probe_slow;         /* the probe's deadline was extended */
    char probe_trouble[512]; /* why the probe failed; "": it has not */
    /* recovery */
    int64_t restarts;                       /* restarts after failures of the program, total */
    int64_t node_losses;                    /* lost nodes, total */
    int64_t restarts_recent, losses_recent; /* counts since the last hour without failures */
    int64_t counted_ns;                     /* time of the last counted restart or loss; 0: none */
    int64_t lost_step;                      /* resume_step after the last lost node */
    int lost_usable;     /* usable nodes after the last lost node; -1: none was lost */
    int losses_in_vain;  /* consecutive losses that left lost_step and lost_usable unchanged */
    int failed_starts;   /* consecutive failed starts; not counted as restarts */
    int in_vain;         /* consecutive generations that made no progress */
    int64_t again_ns;    /* REGROUP: no new generation before this time; 0: no pause */
    bool models;         /* ranks found that their models differ, or are not finite */
    bool any_page;       /* a rank has ever used libeddis, and so reports its steps */
    bool any_reported;   /* a rank has ever reported step numbers without libeddis */
    int64_t resume_step; /* newest checkpoint that nodes reported when they stopped; -1: none */
    bool resume_known;   /* a node has reported whether it sees a checkpoint */
    int64_t begun_step;  /* step from which the job itself resumed; -1: unknown */
    int64_t regroup_ns;  /* REGROUP: time limit for agents that can return immediately */
    char gone[320];      /* why no agent can be started again; "": it can */
    struct state_failure before; /* failure that ended the previous generation */
    int64_t recovery_ns; /* time from the last failure to the end of the next step; -1: none */
    /* the end */
    enum state_outcome outcome;
    const char *reason; /* static string, "ok", "rank_exit", ...; NULL until the end is decided */
    int exit_code;
    char message[512];
    struct state_failure failure; /* first failure of the present generation */
    struct state_failure unsaved; /* first failed rank while the job saved */
    struct action_queue queue;
    int impossible; /* number of inputs that no correct caller gives in the phase */
};

/* Initialize *s. Return 0 or -ENOMEM; in both cases the caller calls state_fini. */
int state_init(struct state *s, const struct state_options *o, int64_t now_ns,
               struct eddis_error *err);
void state_fini(struct state *s);

/* Record that an agent has registered; host: name of its node for messages, copied. */
void state_registered(struct state *s, int agent, const char *host, int64_t now_ns);

/* Check whether messages of this agent are accepted: it has registered and is not lost. */
bool state_is_known(const struct state *s, int agent);

/* Check whether an agent can have ranks in the next generation. */
bool state_is_usable(const struct state *s, int agent);

/* Check whether the present generation has this rank, on this agent's node. */
bool state_has_rank(const struct state *s, int agent, int rank);

/* Record that an authenticated request of an agent has arrived. */
void state_heard(struct state *s, int agent, int64_t now_ns);

/* Handle an event that an agent reported.  Events of other generations are ignored. */
void state_event(struct state *s, int agent, const struct event *e, int64_t now_ns);

/* Borrow the first failure of the generation that ended the job; if there is none, of the last
 * generation from whose failure the job recovered; .set is false if there is none at all.
 */
const struct state_failure *state_failure_reported(const struct state *s);

/* Check whether a failed launch is being stopped, so that other nodes' failures only repeat it. */
bool state_is_echo(const struct state *s);
/* Record the progress that a rank reported. */
void state_progress(struct state *s, const struct progress *p, int64_t now_ns);
void state_steps(struct state *s, int64_t steps);  /* record the job's steps, not a rank's own */
void state_lives(struct state *s, int64_t now_ns); /* record a sign of life of a rank */

/* Record that an agent's process has ended; how: a phrase for messages, "agent exited 3". */
void state_ended(struct state *s, int agent, const char *how, int64_t now_ns);

/* Record that an agent could not be started; the sentence names the host. */
void state_not_started(struct state *s, int agent, const char *sentence, int64_t now_ns);

/* Record that no agent can be started again: the job ends if its last node is lost. */
void state_no_more_starts(struct state *s, const char *sentence);

/* Record that the driver itself was stopped for pause_ns until now: silence during the pause does
 * not count. The pause is blamed for agents that end soon, unless silent before or in state_waits.
 */
void state_paused(struct state *s, int64_t pause_ns, int64_t now_ns);
/* Record, after state_paused, that an agent waits by order: the pause is not blamed for its end. */
void state_waits(struct state *s, int agent);

/* Add ns to all deadlines and recorded times: the job was paused for so long on request. */
void state_put_off(struct state *s, int64_t ns);

/* Answer ACTION_NETWORK: probe this network, with one rank on each usable node.  Return 0 or
 * -ENOMEM.
 */
int state_network_try(struct state *s, int64_t now_ns, struct eddis_error *err);
/* Report that the present probe has failed, and why. */
void state_network_failed(struct state *s, const char *why, int64_t now_ns);
/* Answer ACTION_NETWORK: the network is known, from the cache or because the nodes need none. */
void state_network_known(struct state *s, bool cached, int64_t now_ns);

/* Answer ACTION_PLAN: rank r runs on agent node[r], which is copied.  Return 0 or -ENOMEM. */
int state_planned(struct state *s, int n_ranks, const int *node, int64_t now_ns,
                  struct eddis_error *err);
/* Answer ACTION_PLAN: launch nothing, end the job with success. */
void state_finish(struct state *s, int64_t now_ns);
/* Answer ACTION_PLAN: the remaining nodes cannot do what the job requires. */
void state_unplannable(struct state *s, const char *why, int64_t now_ns);

/* Queue ACTION_PLAN again if a plan is still wanted; the caller could not answer the last one. */
void state_plan_again(struct state *s);

/* Return the step from which the next generation resumes; -1: the beginning, or unknown. */
int64_t state_resume_step(const struct state *s);

/* Write to ret "restarting from step 1000 on 3 nodes (start 2, restart 1 of at most 3)". */
void state_restart_text(const struct state *s, int n_nodes, char *ret, size_t size);

/* Let the time limit for agents to leave begin at from_ns, when they get the order. */
void state_bye_from(struct state *s, int64_t from_ns);

/* End the job because the caller cannot continue; reason must be a static string. */
void state_fail(struct state *s, const char *reason, int exit_code, const char *sentence,
                int64_t now_ns);

/* Turn a success into an internal error: part of the job remains on this machine. */
void state_left_behind(struct state *s, const char *sentence);

/* Handle SIGINT, QUIT, TERM, HUP, USR1 or USR2 to the driver; sig 0: --stop, as SIGINT. */
void state_signal(struct state *s, int sig, int64_t now_ns);

/* Check whether the job ends, or saves to end, because of SIGTERM, SIGUSR1 or SIGHUP. */
bool state_is_preempted(const struct state *s);

/* Record that the preempting signal came because of the job's time limit in Slurm. */
void state_at_limit(struct state *s);

/* Give up the silent node of this agent now, since Slurm reports the node as down. */
void state_node_down(struct state *s, int agent, int64_t now_ns);

/* Record the step of the newest complete checkpoint that the caller itself has found. */
void state_checkpoint_seen(struct state *s, int64_t step);

/* Handle the deadlines that have passed, and check for a hang. */
void state_tick(struct state *s, int64_t now_ns);
/* Return the time of the next deadline; CLOCK_NEVER: none. */
int64_t state_deadline(const struct state *s);

#endif
