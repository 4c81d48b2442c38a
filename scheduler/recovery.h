/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - decides every restart: of a failed job, its network and its nodes
 *
 * Pure: the rules of eddis-run(1) as one table; the first row that fits decides.
 *
 * If no rank has reported a step, the program is restarted only if the user asked for restarts. Its
 * progress is then judged by its age, since its first sign of life, or since its start if it gave
 * none. A program that uses libeddis looks the same before its first call.
 */
#ifndef EDDIS_SCHEDULER_RECOVERY_H
#define EDDIS_SCHEDULER_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

enum recovery_cause {
    CAUSE_EXIT,   /* a rank exited with a code other than 0 */
    CAUSE_SIGNAL, /* a rank died of a signal */
    CAUSE_OOM,    /* a rank died of a signal or exited, for lack of memory */
    CAUSE_NODE,   /* a node or its agent was lost */
    CAUSE_HANG,   /* no step for timeouts.hang, or no first one for timeouts.first_step */
    CAUSE_MPIRUN, /* mpirun or one of its daemons ended, without a failed rank */
    CAUSE_LAUNCH, /* the generation did not come up */
    CAUSES,
};

/* A rank's failure, in this generation or the one before. */
struct recovery_rank {
    int rank;     /* -1: no rank */
    int64_t step; /* -1: unknown */
    bool stepped; /* the rank had finished a step of that generation */
    int code;     /* exit code, 128 + signal, or -1 */
    double age_s; /* since the generation's start */
};

struct recovery_case {
    enum recovery_cause cause;
    int code;                         /* exit code of CAUSE_EXIT */
    int64_t generation;               /* generation that failed, from 1 */
    bool any_step;                    /* it had finished a step */
    struct recovery_rank now, before; /* before: rank -1 in generation 1 */
    int64_t restarts_done, restarts;  /* so far, and at most; lost nodes not counted */
    int64_t losses_done, losses; /* lost nodes so far, and at most; 0 at most: no bound, or none
                                  * if restarts is 0 */
    int failed_starts;           /* later generations that failed to start in a row before */
    int signal;                  /* signal of the failure; 0: none */
    bool unwanted;               /* somebody has asked for the job's end */
    bool started;                /* mpirun was ordered for the generation */
    bool any_up, all_up;         /* some rank, or every rank, of it was up */
    bool all_done;               /* every rank has exited 0 by itself */
    bool any_page;               /* a rank of the job has used libeddis, so that steps are
                                  * reported, even if there is none yet */
    bool asked;                  /* the user has set the number of restarts */
    double alive_s;              /* since the generation's first sign of life; 0: none yet */
    bool echo;                   /* the rank reports that another one made it fail */
    bool trained;                /* the rank had no step left to do */
    bool less;                   /* memory was short, and the rank can be given less */
    bool network_cached;         /* an earlier job had found the network used */
    bool models;                 /* the workers have found that their models differ */
};

/* Decision after a failure: restart, or the reason why not. */
enum recovery {
    RECOVERY_RESTART,
    RECOVERY_DONE,       /* all workers had finished: the job has ended well */
    RECOVERY_TRAINED,    /* the program failed by itself after its last step, and would again */
    RECOVERY_NO_STEP,    /* no step was done that a restart could continue from */
    RECOVERY_NEVER,      /* exit code 2, 126 or 127: the program cannot run */
    RECOVERY_MODELS,     /* a checkpoint may hold the wrong model, and would hide the fault */
    RECOVERY_SAME_STEP,  /* the same rank failed at the same step twice in a row */
    RECOVERY_SAME_FAULT, /* a rank failed by itself, in the same way at the same step as before */
    RECOVERY_TOO_YOUNG,  /* without known steps: it exited soon after its start */
    RECOVERY_SAME_AGE,   /* without known steps: same rank, same failure, same age as before */
    RECOVERY_USED_UP,    /* no restart, or no loss of a node, is left */
    RECOVERY_NO_START,   /* it failed to start RECOVERY_STARTS times in a row */
    RECOVERY_UNWANTED,   /* somebody has asked for the job's end */
    RECOVERIES,
};

/* Starts in a row of a later generation that does not come up (CAUSE_LAUNCH). They count as no
 * restart, since the program did not fail.
 */
enum { RECOVERY_STARTS = 10 };

/* Decide by the table of rules whether the job is restarted, or why not. */
enum recovery recovery_decide(const struct recovery_case *c);

/* Borrow the words for why the job is not restarted, as "all restarts are used up"; "" if it is, or
 * if no restart is expected.
 */
const char *recovery_reasons(const struct recovery_case *c);

/* Check whether the launch failed over a network that an earlier job had found. The network may
 * have changed, so it is measured again and the launch repeated once. Never true once all ranks
 * were up: then the program has begun.
 */
bool recovery_network_again(const struct recovery_case *c);

/* ---- the nodes of the next generation ---- */

struct recovery_nodes {
    int usable;   /* number of nodes that the generation could begin on */
    bool coming;  /* another node may join soon */
    bool soon;    /* waiting for that node is still worth it */
    bool in_time; /* the time to wait for a first node is not over */
};

enum recovery_gather { RECOVERY_WAIT, RECOVERY_BEGIN, RECOVERY_NOBODY };

/* Decide whether to wait for nodes, begin with those that are there, or give up without any. */
enum recovery_gather recovery_gather(const struct recovery_nodes *n);

/* Return the seconds to wait before the next generation, after in_vain generations in a row that
 * made no progress: 0, 1, 2, 4, at most 60.
 */
int recovery_backoff_s(int in_vain);

/* Return whether the job ends because of losses_in_vain lost nodes in a row.  A loss is in vain if
 * it leaves the newest checkpoint and the number of nodes as the loss before it did.  Without any
 * checkpoint the job does not end by this.
 */
bool recovery_losses_end(int losses_in_vain, bool any_checkpoint);

/* Return the seconds to wait before a node is started again whose last failed_starts starts failed:
 * 1, 2, 4, at most 30.
 */
int recovery_pause_s(int failed_starts);

#endif
