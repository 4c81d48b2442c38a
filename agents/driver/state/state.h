/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the driver's decisions as a state machine
 *
 *     REGISTER -> PROFILE -> [NETWORK] -> PLAN -> PREPARE -> [CHECK] -> START -> RUN -> STOP
 *                             |    ^        ^                                            |
 *                             v    |        +--------------- REGROUP <-------------------+-> BYE
 *     PROBE_PREPARE -> _START -> _RUN -> _STOP                                            -> OVER
 *
 * It knows no socket, process or clock: what happens is told to it with the time, and what is to
 * be done it puts into a queue of actions that the caller takes with state_action after every
 * call.
 *
 * A start of the ranks is a *generation*, numbered from 1; the nodes that have ranks in it are its
 * parts.  Number 0 is the probe of a network with one rank on each node, in phases of its own:
 * from PROBE_STOP the next network is tried, or a plan made when it worked.  The first failure of a
 * generation decides (scheduler/recovery.h) whether the job ends with it or goes on with the next
 * generation on the nodes that are left; whatever comes next, every node first confirms that
 * nothing of the generation is left, unless it is lost.
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
    bool check_only;  /* the job ends well where the ranks would start */
    bool share;       /* the parts must share the checkpoint folder: have them check it */
    bool unsaved;     /* there is no folder for checkpoints: an interrupt does not wait for one */
    bool resumes;     /* the job itself goes on from a checkpoint */
    int64_t restarts; /* at most */
    int64_t node_losses; /* at most; 0: no bound, unless restarts is 0 */
    bool restarts_asked; /* somebody has written that number */
    bool furthest;       /* steps are those that ranks print, and some print fewer than others */
    int64_t launch_ns, lease_ns, node_lost_ns, hang_ns, first_step_ns, grace_ns, checkpoint_ns,
        job_ns;
    /* CLOCK_NEVER: no limit; node_lost_ns, hang_ns and first_step_ns: 0 is that too, but a node is
     * never given less than it takes to be sure that its lease has run out */
};

enum state_next { NEXT_BYE, NEXT_REGROUP, NEXT_NETWORK, NEXT_PLAN };

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
    int64_t since_ns;         /* when it began, where it lasted until at_ns; 0: it did not */
    int64_t alive_ns, age_ns; /* since the generation's first sign of life (0: none yet), since its
                               * start */
    int64_t at_once;          /* samples that the rank held at most in its last step; 0: unknown */
    bool silent;              /* the rank has printed nothing, and nothing else tells of it */
    bool echo;                /* another rank made it fail, as it says */
    bool trained;             /* the rank had no step left, or had left the others */
    char node[256];
    char what[512];
};

struct state {
    struct state_options o;
    enum state_phase phase;
    int64_t generation;
    int64_t begun_ns;    /* of the job */
    int64_t started_ns;  /* mpirun was ordered; 0: never */
    int64_t alive_ns;    /* the generation's first sign of life was seen; 0: none yet */
    int64_t deadline_ns; /* of the phase */
    struct state_agent *agent;
    struct state_rank *rank; /* [n_ranks] once there is a plan */
    int n_ranks, first;      /* first: the part that runs mpirun */
    int64_t look_ns; /* agents were asked where their ranks stand, for a hang; 0: they were not */
    bool mpirun_over;
    int mpirun_code, mpirun_signal;
    char mpirun_text[160];         /* what it says of itself, in one sentence; "" nothing */
    int64_t mpirun_ns, settle_ns;  /* when it ended; its ranks may be told of until then, 0: not */
    int64_t preempt_ns;            /* a checkpoint was asked for; until then it may take; 0: not */
    int64_t asked_ns;              /* when it was asked for */
    int preempt_signal;            /* SIGTERM or SIGUSR1, that has ended or ends the job; 0: none */
    int preempt_count;             /* how many of them have asked for the end */
    bool at_limit;                 /* one came with the end of the job's time in Slurm */
    int asked_by;                  /* an agent that has got the signal; < 0: see state_wish.c */
    enum state_outcome saving_for; /* what the job ends as behind it */
    int64_t asked_step;            /* a checkpoint of this step or a later one will do */
    enum state_checkpoint checkpoint;
    int64_t pause_ns, paused_ns; /* the driver itself was stopped: how long, and until when */
    enum stop_ladder ladder;     /* ordered last */
    int64_t stop_ns;             /* and when */
    enum state_next next;        /* when it has stopped */
    /* the network of several nodes */
    enum state_network network;
    int64_t probe_ns;        /* the probe under way has until then */
    bool probe_slow;         /* and got more time */
    char probe_trouble[512]; /* why it failed; "": it did not so far */
    /* recovery */
    int64_t restarts;                       /* after failures of the program */
    int64_t node_losses;                    /* after lost nodes */
    int64_t restarts_recent, losses_recent; /* of these, since the last hour without a failure */
    int64_t counted_ns;                     /* when the last of both was counted; 0: none is */
    int64_t lost_step;                      /* resume_step behind the last lost node */
    int lost_usable;                        /* usable nodes behind it; -1: none was lost */
    int losses_in_vain;                     /* lost nodes running that left both as they were */
    int failed_starts; /* of generations behind the first, running: no restart was spent on them */
    int in_vain;       /* generations running that have shown nothing */
    int64_t again_ns;  /* regrouping: a pause until then; 0: none, or it is over */
    bool models;       /* ranks have found that their models are not one, or not finite */
    bool any_page; /* a rank has ever used libeddis, and so tells of its steps, if only of none */
    bool any_told; /* a rank has ever told the number of a step, and nothing else of it */
    int64_t resume_step;         /* newest checkpoint that nodes told when they stopped; -1: none */
    bool resume_known;           /* somebody told */
    int64_t begun_step;          /* of the checkpoint that the job itself went on from, when it has
                                  * none of its own; -1: not looked for, or without a number */
    int64_t regroup_ns;          /* regrouping: who can come back at once has until then */
    char gone[320];              /* why nothing can be started again; "": it can */
    struct state_failure before; /* that ended the generation before */
    int64_t recovery_ns;         /* from the last failure to the next step; -1: none yet */
    /* the end */
    enum state_outcome outcome;
    const char *reason; /* "ok", "rank_exit", ...; NULL until the end is decided */
    int exit_code;
    char message[512];
    struct state_failure failure; /* of this generation */
    struct state_failure unsaved; /* of a rank while the job saved; it ends in any case */
    struct action_queue queue;
    int impossible; /* inputs that came in a phase where no honest caller gives them: ignored */
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

/* Borrows what has failed first, in the generation that ended the job or the last one that it
 * recovered from; not set: nothing.
 */
const struct state_failure *state_failure_told(const struct state *s);

bool state_is_echo(const struct state *s); /* a failure now is the first seen by another node */
void state_progress(struct state *s, const struct progress *p, int64_t now_ns);
void state_lives(struct state *s, int64_t now_ns); /* a rank has given a sign of life */

/* An agent's process has ended, or could not be started; how is for people, "agent exited 3". */
void state_ended(struct state *s, int agent, const char *how, int64_t now_ns);

/* It could not be started; the sentence names the host. */
void state_not_started(struct state *s, int agent, const char *sentence, int64_t now_ns);

/* What nodes are started in has gone: none is from here on, and the job ends with its last one. */
void state_no_more_starts(struct state *s, const char *sentence);

/* The driver itself was stopped for so long: no node was silent meanwhile, and the ends of agents
 * soon after are put down to it, but of those that were silent before, or wait by order.
 */
void state_paused(struct state *s, int64_t pause_ns, int64_t now_ns);
void state_waits(struct state *s, int agent);

/* All of the job has stood still for so long, as was wanted: no deadline has come nearer, and no
 * age counts that time.
 */
void state_put_off(struct state *s, int64_t ns);

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

/* The caller had to find out something first and does not wait for it: ACTION_PLAN comes again,
 * unless there is no plan wanted any more.
 */
void state_plan_again(struct state *s);

/* Where the next generation begins: at the job's newest checkpoint, or where the job did; -1: at
 * the beginning, or unknown.
 */
int64_t state_resume_step(const struct state *s);

/* Write for a plan of a later generation on so many nodes: "restarting from step 1000 on 3 nodes
 * (generation 2, restart 1 of at most 3)".
 */
void state_restart_text(const struct state *s, int n_nodes, char *ret, size_t size);

/* Agents are told to leave at this moment only, and have the usual time from then on. */
void state_bye_from(struct state *s, int64_t from_ns);

/* The caller cannot go on. */
void state_fail(struct state *s, const char *reason, int exit_code, const char *sentence,
                int64_t now_ns);

/* The job is over, and something of it is left here: it has not ended well then. */
void state_left_behind(struct state *s, const char *sentence);

/* SIGINT, SIGTERM, SIGUSR1, SIGUSR2 or SIGHUP came here, or --stop, which is 0 and ends as SIGINT.
 */
void state_signal(struct state *s, int sig, int64_t now_ns);

/* Whether the job ends, or saves before its end, because of such a signal. */
bool state_is_preempted(const struct state *s);

/* That signal came with the end of the time limit that the job has in Slurm. */
void state_at_limit(struct state *s);

/* Slurm has set the node of this agent down, which is silent: it is not waited for any longer. */
void state_node_down(struct state *s, int agent, int64_t now_ns);

/* This is the newest complete checkpoint that the caller sees itself. */
void state_checkpoint_seen(struct state *s, int64_t step);

/* Let deadlines act, and when the next one is. */
void state_tick(struct state *s, int64_t now_ns);
int64_t state_deadline(const struct state *s);

#endif
