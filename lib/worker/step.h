/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - the state of the present step: what was announced, what is waited for
 *
 * A set's round begins with its first announcement or the wait for it, and is over when that wait
 * has succeeded.
 *
 * announce_lock guards the second block of members, which announcing from any thread looks at, and
 * the marks of parameters.  It is held while mail is sent, so that the order of mail is the order
 * of calls; it is the first in the order of locks.  The first block belongs to the thread that
 * makes steps.
 */
#ifndef EDDIS_WORKER_STEP_H
#define EDDIS_WORKER_STEP_H

#include "lib/data/sampler.h"
#include "lib/sync/comm_thread.h"

#include <pthread.h>

/* The rounds of a set, which eddis_commit makes. */
struct step_set {
    int n;          /* parameters with a gradient */
    int64_t rounds; /* begun so far, in all steps */
    int number;     /* of the last one among its step's, from 0 */
    bool met;       /* there was one in this step, or is */
    bool open;      /* it is not over ... */
    bool finished;  /* ... but is waited for, and nothing more may be announced in it */
    int n_announced;
    bool weighed;              /* its next round in this step has a weight of its own ... */
    struct mail_weight weight; /* ... which is sent when that begins */
    struct mail_finish finish;
};

struct step {
    struct sampler_step current;
    unsigned flags;            /* EDDIS_STEP_... of the current one */
    bool taken;                /* its samples and flags are known, but it has not begun */
    bool stop;                 /* the step before was the last */
    bool enough;               /* it was, by an eddis_finish where no number of epochs is known */
    bool done;                 /* an eddis_finish has found no step left to be done */
    bool over;                 /* eddis_finish has met the others, who train one model */
    struct eddis_request *met; /* the meeting, when it timed out */
    bool waited;               /* all results of this step are there */
    bool unread;               /* an exit ends it: nobody misses them */
    int64_t round;             /* steps begun, whatever their numbers */
    int64_t exchange_ns; /* that its beginning waited for an exchange of models; 0: there was none
                          */
    int64_t begun_ns;    /* the present step */
    bool due;            /* with several models: an exchange comes before the step after this one */
    bool exchanging;     /* a call has begun it, and timed out */
    int64_t exchange_begun_ns; /* by that call ... */
    bool stale;                /* ... when the model had steps that were not exchanged */
    bool written;              /* the step's beginning has written values of parameters */
    struct mail_begin begin;

    pthread_mutex_t announce_lock;
    bool begun; /* between eddis_step_begin and eddis_step_end */
    int n_held;
    bool finished;     /* no more rounds in this step */
    bool weight_fixed; /* set, or a gradient was announced */
    struct mail_weight weight;
    struct step_set *set; /* [n_sets]; NULL before eddis_commit */
    int n_sets;
    int rounds; /* begun in this step, of any set */
};

/* Make the sets of these parameters. */
struct parameters;
int step_make_sets(struct step *s, struct parameters *all, struct eddis_error *err);

#endif
