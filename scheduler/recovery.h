/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - every decision to start again: a job that failed, its network, its nodes
 *
 * Pure: the rules of eddis-run(1) as one table, first row that fits.
 *
 * A program of which no step is known, since no rank has told of any, is started again only where
 * somebody has asked for restarts.  How far it had come is judged by its age then, since its first
 * sign of life, or since its start where it has given none.  One that uses libeddis is not told
 * from it before its first call.
 */
#ifndef EDDIS_SCHEDULER_RECOVERY_H
#define EDDIS_SCHEDULER_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

enum recovery_cause {
    CAUSE_EXIT,   /* a rank exited with a code other than 0 */
    CAUSE_SIGNAL, /* a rank died of a signal */
    CAUSE_OOM,    /* likewise, or exited, for lack of memory */
    CAUSE_NODE,   /* a node or its agent was lost */
    CAUSE_HANG,   /* no step for timeouts.hang, or no first one for .first_step */
    CAUSE_MPIRUN, /* mpirun or one of its daemons ended, no rank is to blame */
    CAUSE_LAUNCH, /* the generation did not come up */
    CAUSES,
};

/* The same rank's failure in the generation before. */
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
    int64_t generation;               /* that failed, from 1 */
    bool any_step;                    /* it had finished a step */
    struct recovery_rank now, before; /* before: rank -1 in generation 1 */
    int64_t restarts_done, restarts;  /* so far, and at most, but for nodes that were lost */
    int64_t losses_done, losses;      /* the same of these; 0 at most: no bound where there may be
                                       * restarts at all */
    int failed_starts;                /* of generations behind the first, running, before this */
    int signal;                       /* that it failed by; 0: none */
    bool unwanted;                    /* somebody has asked for the job's end */
    bool started;                     /* its mpirun was ordered */
    bool any_up, all_up;              /* and some rank, every rank of it was up */
    bool all_done;                    /* ... and has exited 0 by itself */
    bool any_page;                    /* a rank of the job has ever used libeddis, and so tells of
                                       * its steps, if only that it has none */
    bool asked;                       /* somebody has written how often the job may start again */
    double alive_s;                   /* since the generation's first sign of life; 0: none yet */
    bool echo;                        /* the rank says that another one made it fail */
    bool trained;                     /* the rank had no step left to do */
    bool less;                        /* for lack of memory, and less can be asked of the rank */
    bool network_cached;              /* an earlier job has found the network that it used */
    bool models;                      /* its workers have found that their models are not one */
};

enum recovery {
    RECOVERY_RESTART,
    RECOVERY_DONE,       /* its work was done before: it has ended well */
    RECOVERY_TRAINED,    /* the program fails by itself behind its last step: it would again */
    RECOVERY_NO_STEP,    /* nothing was done that could be gone on with */
    RECOVERY_NEVER,      /* exit 2, 126, 127: the program says that it cannot run */
    RECOVERY_MODELS,     /* a checkpoint may hold the wrong model, and would hide it */
    RECOVERY_SAME_STEP,  /* the same rank at the same step twice running */
    RECOVERY_SAME_FAULT, /* any rank, by itself and in the same way, likewise */
    RECOVERY_TOO_YOUNG,  /* without known steps: it exited soon after its start */
    RECOVERY_SAME_AGE,   /* without known steps: the same rank in the same way at the same age */
    RECOVERY_USED_UP,    /* no restart is left, or no loss of a node */
    RECOVERY_NO_START,   /* its surroundings have kept it from starting RECOVERY_STARTS times */
    RECOVERY_UNWANTED,   /* the job is to end */
    RECOVERIES,
};

/* A generation behind the first one that does not come up (CAUSE_LAUNCH) is tried again so often in
 * a row, by itself: that is no failure of the program, and counts as no restart.
 */
enum { RECOVERY_STARTS = 10 };

enum recovery recovery_decide(const struct recovery_case *c);

/* Say why the job is not started again: "all restarts are used up"; "" when it is, or when nobody
 * expects it.
 */
const char *recovery_words(const struct recovery_case *c);

/* Whether the launch failed over a network that an earlier job had found, which may have changed
 * since: it is measured anew and the launch tried again, once.  Never true once all ranks were up,
 * for then the program has begun, nor of what recovery_decide lets go on.
 */
bool recovery_network_again(const struct recovery_case *c);

/* ---- the nodes of the next generation ---- */

struct recovery_nodes {
    int usable;   /* nodes that it could begin on */
    bool coming;  /* another one may be there in a moment */
    bool soon;    /* it is still worth waiting for that one */
    bool in_time; /* there is still time to wait for a first one */
};

enum recovery_gather { RECOVERY_WAIT, RECOVERY_BEGIN, RECOVERY_NOBODY };

enum recovery_gather recovery_gather(const struct recovery_nodes *n);

/* Seconds before the next generation begins, behind so many running that have shown nothing: 0, 1,
 * 2, 4, at most 60.
 */
int recovery_backoff_s(int in_vain);

/* Return whether the job ends because of losses_in_vain lost nodes in a row.  A loss is in vain if
 * it leaves the newest checkpoint and the number of nodes as the loss before it did.  Without any
 * checkpoint the job does not end by this.
 */
bool recovery_losses_end(int losses_in_vain, bool any_checkpoint);

/* Seconds before a node is started again whose starts have failed so many times in a row. */
int recovery_pause_s(int failed_starts);

#endif
