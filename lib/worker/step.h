/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - the state of the present step: announcements and waits
 *
 * A set's round begins with its first announcement or with the wait for it.  It ends when that wait
 * has succeeded.
 *
 * announce_lock guards the second block of members and the marks of parameters, which any
 * announcing thread uses.  It is held while messages are sent to the communication thread, so that
 * their order is the order of calls.  It is the first in the order of locks.  The first block of
 * members belongs to the thread that makes steps.
 */
#ifndef EDDIS_WORKER_STEP_H
#define EDDIS_WORKER_STEP_H

#include "lib/data/sampler.h"
#include "lib/sync/comm_thread.h"

#include <pthread.h>

/* The rounds of one set; created by eddis_commit. */
struct step_set {
    int n;          /* number of the set's parameters with a gradient */
    int64_t rounds; /* number of rounds begun so far, in all steps */
    int number;     /* number of the newest round within its step, from 0 */
    bool met;       /* this step has or had a round of the set */
    bool open;      /* a round is open */
    bool finished;  /* a thread waits for the open round, in which nothing more may be announced */
    int n_announced;
    double own_weight;            /* weight of this worker's gradients in the open round */
    bool weighed;                 /* the next round in this step has its own `weight` */
    struct command_weight weight; /* weight of the next round, sent when the round begins */
    struct command_finish finish;
};

struct step {
    struct sampler_step current;
    unsigned flags;            /* EDDIS_STEP_... of the current step */
    bool taken;                /* samples and flags of the next step are known, but it has not
                                * begun */
    bool extra;                /* the present step is only for a checkpoint, and takes no samples */
    bool stop;                 /* a stop was agreed on, and the last step has been done */
    bool enough;               /* an eddis_finish has ended the steps before all were done */
    bool done;                 /* an eddis_finish has found that no step is left */
    bool over;                 /* eddis_finish has met the other workers (one model) */
    struct eddis_request *met; /* barrier of the meeting of eddis_finish that timed out; NULL:
                                * none */
    bool waited;               /* all results of this step have arrived */
    bool unread;               /* an exit ends the step: results need no place */
    int64_t round;             /* number of steps begun */
    int64_t exchange_ns;       /* time that the exchange at the step's beginning took, with the read
                                * that steps before it have hidden; 0: none */
    int64_t round_ns;          /* duration of a round's end whose result is not applied yet */
    int64_t begun_ns;          /* time when the present step began */
    bool due;                  /* several models: an exchange is due before the next step */
    bool exchanging;           /* a call has begun the exchange and timed out */
    int64_t exchange_begun_ns; /* time when the call that began the present exchange began */
    bool combines;             /* the program combines the models of a round that has ended */
    bool stale;                /* the model had steps not yet exchanged when that call began */
    bool written;              /* the step's beginning has written parameter values */
    struct command_begin begin;

    pthread_mutex_t announce_lock;
    bool begun;        /* the program is between eddis_step_begin and eddis_step_end */
    int n_held;        /* number of parameters that are `held` */
    bool finished;     /* no more rounds may begin in this step */
    bool weight_fixed; /* the weight was set, or a gradient was announced */
    struct command_weight weight;
    double own_weight;    /* weight of this worker's gradients in the step */
    struct step_set *set; /* [n_sets]; NULL before eddis_commit */
    int n_sets;
    int rounds; /* rounds begun in this step, of all sets */
};

struct parameters;

/* Create the state of the sets of these parameters, and let each parameter point to the state of
 * its set.  Return 0 or a negative errno, and then nothing has changed.
 */
int step_make_sets(struct step *s, struct parameters *all, struct eddis_error *err);

#endif
