/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - may a job that failed go on with another generation?
 *
 * Pure: the rules of eddis-run(1) as one table, first row that fits.
 */
#ifndef EDDIS_SCHEDULER_RECOVERY_H
#define EDDIS_SCHEDULER_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

enum recovery_cause {
    CAUSE_EXIT,   /* a rank exited with a code other than 0 */
    CAUSE_SIGNAL, /* a rank died of a signal */
    CAUSE_OOM,    /* of the kernel's, for lack of memory */
    CAUSE_NODE,   /* a node or its agent was lost */
    CAUSE_HANG,   /* no step for timeouts.hang */
    CAUSE_MPIRUN, /* mpirun or one of its daemons ended, no rank is to blame */
    CAUSE_LAUNCH, /* the generation did not come up */
    CAUSES,
};

/* The same rank's failure in the generation before. */
struct recovery_rank {
    int rank;     /* -1: no rank */
    int64_t step; /* -1: unknown */
    bool stepped; /* the rank had finished a step of that generation */
};

struct recovery_case {
    enum recovery_cause cause;
    int code;                         /* exit code of CAUSE_EXIT */
    int64_t generation;               /* that failed, from 1 */
    bool any_step;                    /* it had finished a step */
    struct recovery_rank now, before; /* before: rank -1 in generation 1 */
    int64_t restarts_done, restarts;  /* so far, and at most */
};

enum recovery {
    RECOVERY_RESTART,
    RECOVERY_NO_STEP,   /* nothing was done that could be gone on with */
    RECOVERY_NEVER,     /* exit 2, 126, 127: the program says that it cannot run */
    RECOVERY_SAME_STEP, /* the same rank at the same step twice running */
    RECOVERY_USED_UP,   /* no restart is left */
    RECOVERIES,
};

enum recovery recovery_decide(const struct recovery_case *c);

/* Why not, for people: "all restarts are used up"; "" for RECOVERY_RESTART. */
const char *recovery_words(enum recovery r);

#endif
