/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - decides whether a failed job, its network measurement or its nodes are started again
 *
 * Pure: the rules of eddis-run(1) as one table; the first row that fits decides.
 *
 * If no rank has reported a step, the program is restarted only if the user set the number of
 * restarts. Then progress is judged by the program's age: the time since its first sign of life, or
 * since its start if it gave no sign. A program that uses libeddis is treated in the same way
 * before its first call.
 */
#ifndef EDDIS_SCHEDULER_RECOVERY_H
#define EDDIS_SCHEDULER_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

enum recovery_cause {
    CAUSE_EXIT,   /* a rank exited with a code other than 0 */
    CAUSE_SIGNAL, /* a rank died of a signal */
    CAUSE_OOM,    /* a rank died of a signal or exited because memory was short */
    CAUSE_NODE,   /* a node or its agent was lost */
    CAUSE_HANG,   /* no step for timeouts.hang, or no first step for timeouts.first_step */
    CAUSE_MPIRUN, /* mpirun or one of its daemons ended, but no rank failed */
    CAUSE_LAUNCH, /* not all ranks of the generation came up */
    CAUSES,
};

/* Failure of a rank, in this generation or the previous one */
struct recovery_rank {
    int rank;     /* the rank that failed; -1: the failure is not that of a rank */
    int64_t step; /* step at which the rank failed; -1: unknown */
    bool stepped; /* the rank had finished a step of the generation in which it failed */
    int code;     /* exit code, 128 + signal, or -1 */
    double age_s; /* time of the failure, since the generation's start */
};

struct recovery_case {
    enum recovery_cause cause;
    int code;           /* exit code of CAUSE_EXIT */
    int64_t generation; /* generation that failed, from 1 */
    bool any_step;      /* some rank of that generation had finished a step */
    /* failures in this and in the previous generation; before.rank is -1 in generation 1 */
    struct recovery_rank now, before;
    /* restarts so far, and maximum; restarts after the loss of a node, or with fewer samples after
     * a lack of memory, are not counted, and are made even if the maximum is 0
     */
    int64_t restarts_done, restarts;
    /* lost nodes so far, and maximum; losses 0: no bound, but if restarts is 0, too, no node may be
     * lost
     */
    int64_t losses_done, losses;
    /* number of consecutive generations, after the first, that failed to start before this one */
    int failed_starts;
    int signal;          /* signal by which the rank died; 0: none */
    bool unwanted;       /* the user has asked for the end of the job */
    bool started;        /* the driver had ordered the start of mpirun for the generation */
    bool any_up, all_up; /* some rank, or every rank, of the generation was up */
    bool all_done;       /* every rank has exited 0 by itself */
    /* a rank of the job has used libeddis; so steps are reported, even if no step was done yet */
    bool any_page;
    bool asked; /* the user has set the number of restarts */
    /* seconds since the generation's first sign of life; 0: there was none yet */
    double alive_s;
    bool echo;           /* the rank reports that another rank made it fail */
    bool trained;        /* the rank had no step left to do */
    bool less;           /* memory was short, and the rank can be given fewer samples */
    bool one_sample;     /* the rank exited because memory was too small for a single sample */
    bool network_cached; /* the network used is the result of an earlier job's search */
    /* the workers have found that their models differ from each other */
    bool models;
};

/* Decision after a failure: restart, or the reason why not. */
enum recovery {
    RECOVERY_RESTART,
    RECOVERY_DONE, /* all workers had finished: the job has ended successfully */
    /* the program failed by itself after its last step, and would fail again */
    RECOVERY_TRAINED,
    RECOVERY_NO_STEP, /* no step was done from which a restart could continue */
    RECOVERY_NEVER,   /* exit code 2, 126 or 127: the program cannot run */
    /* models differ: a checkpoint may hold the wrong model, and a restart would hide the fault */
    RECOVERY_MODELS,
    RECOVERY_ONE_SAMPLE, /* a rank's memory is too small for one sample, so no plan helps */
    RECOVERY_SAME_STEP,  /* the same rank failed at the same step twice in a row */
    /* a rank failed by itself, in the same way and at the same step as a rank of the previous
     * generation
     */
    RECOVERY_SAME_FAULT,
    RECOVERY_TOO_YOUNG, /* no steps are known, and the program exited soon after its start */
    /* no steps are known: the same rank failed in the same way at the same age twice in a row */
    RECOVERY_SAME_AGE,
    RECOVERY_USED_UP,  /* the permitted restarts, or losses of nodes, are used up */
    RECOVERY_NO_START, /* the job failed to start RECOVERY_STARTS times in a row */
    RECOVERY_UNWANTED, /* the user has asked for the end of the job */
    RECOVERIES,
};

/* Number of consecutive failed launches (CAUSE_LAUNCH) after which a job that ran before ends.
 * Failed launches do not count as restarts, since the program did not fail.
 */
#define RECOVERY_STARTS 10

/* Decide by the table of rules: return RECOVERY_RESTART, or the reason against a restart. */
enum recovery recovery_decide(const struct recovery_case *c);

/* Return a constant text with the reason why the job is not restarted, such as "all restarts are
 * used up"; "" if it is restarted, or if no restart is expected.
 */
const char *recovery_reasons(const struct recovery_case *c);

/* Check whether the launch may have failed because of a network that an earlier job had found: the
 * network may have changed, so the caller measures it again and repeats the launch. True in
 * generation 1 only, and never if all ranks were up, because then the program has begun.
 */
bool recovery_network_again(const struct recovery_case *c);

/* ---- the nodes of the next generation ---- */

struct recovery_nodes {
    int usable;   /* number of nodes on which the generation could start now */
    bool coming;  /* another node may become usable soon */
    bool soon;    /* waiting for that node is still worth the time */
    bool in_time; /* the time limit for the first node is not over */
};

enum recovery_gather { RECOVERY_WAIT, RECOVERY_BEGIN, RECOVERY_NOBODY };

/* Decide whether to wait for nodes (RECOVERY_WAIT), to begin with the usable nodes
 * (RECOVERY_BEGIN), or to give up because no node is usable (RECOVERY_NOBODY), and return that.
 */
enum recovery_gather recovery_gather(const struct recovery_nodes *n);

/* Return the seconds to wait before the next generation, if the last in_vain generations made no
 * progress: 0, 1, 2, 4, ..., at most 60.
 */
int recovery_backoff_s(int in_vain);

/* Return whether the job ends because losses_in_vain consecutive losses of nodes brought no
 * progress. A loss is in vain if the newest checkpoint and the number of remaining nodes are the
 * same as after the previous loss. Always false if there is no checkpoint.
 */
bool recovery_losses_end(int losses_in_vain, bool any_checkpoint);

/* Return the seconds to wait before an agent is started again on a node where the last
 * failed_starts attempts failed: 1, 2, 4, ..., at most 30.
 */
int recovery_pause_s(int failed_starts);

#endif
