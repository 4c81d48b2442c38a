/* SPDX-License-Identifier: Apache-2.0 */
/* stragglers.h - which workers have become slower than they were, and what takes them so long
 *
 * Each worker is set against its own past, and where earlier jobs have learnt its time against
 * that: slow hardware is no straggler.  Its figures (step_window.h) are of its own time, compute
 * and input, so that evaluation, checkpoints and waiting for others are nobody's fault.
 *
 *     times = its own time for its work by what that took before, followed from window to window
 *
 * Under one plan the ratio of two windows is exact.  Between two plans with unlike batches only a
 * change counts that no time model explains: time grows with work, and less than in proportion.
 * When most of several workers become slower together it is the machines' doing, and nobody is
 * named.
 *
 * A worker whose data path is slow from its first step on has no faster past: it is set against
 * what it would take with its data at hand.
 *
 * Pure: time comes with each call, in seconds since any moment.
 */
#ifndef EDDIS_SCHEDULER_STRAGGLERS_H
#define EDDIS_SCHEDULER_STRAGGLERS_H

#include "slow_links.h"
#include "time_model.h"

#include "lib/base/error.h"
#include "lib/model/core_loss.h"
#include "lib/model/profile.h"
#include "lib/model/step_window.h"

#include <stdbool.h>
#include <stdint.h>

/* One is named that takes as many times as long (NVRx: below 0.7 of its speed), and is forgotten
 * below the other.
 */
#define STRAGGLER_TIMES (1 / 0.7)
#define STRAGGLER_OVER  1.2

enum straggler_cause {
    STRAGGLER_COMPUTE,   /* its device computes slower */
    STRAGGLER_PROCESSOR, /* its main thread waits for a processor, or its cores lose much */
    STRAGGLER_INPUT,     /* it waits for its data */
    STRAGGLER_NETWORK,   /* not its own time, but its link; see slow_links.h */
    STRAGGLER_CAUSES,
};

/* A worker that is slow: seconds of a step's work as it is now. */
struct straggler {
    int rank;    /* -1: most workers are, at once */
    bool over;   /* it was, and is no more */
    bool learnt; /* before: in earlier jobs */
    bool bound;  /* before: with its data at hand, for its data path was slow from the beginning */
    int64_t since; /* number of the first slow step; over: of the first one that is not */
    double times;  /* as long as before */
    enum straggler_cause cause;
    double confidence; /* 0 to 1: part of what it takes longer that the cause explains */
    double own_s, usual_s;
    int64_t usual_count;   /* samples of a step before it was slow; 0: unknown */
    double input_s;        /* of own_s */
    double queued_part;    /* of own_s in the run queue; NAN: unknown */
    double data_per_s;     /* samples that its data path gives, at least; 0: unknown */
    double waited_s;       /* of a step, that most others wait for it; 0: unknown or next to none */
    struct slow_link link; /* of cause network, for which all else but times is 0 */
    struct core_loss lost; /* what its cores lose and did not lose before, or those of most; 0: too
                            * little to explain anything, and when it waits for its data */
};

struct stragglers;

/* learnt [n]: seconds by what earlier jobs have learnt, sample_s 0: unknown; copied.  -EINVAL,
 * -ENOMEM.
 */
int stragglers_new(const struct time_model *learnt, int n, struct stragglers **ret,
                   struct eddis_error *err);
void stragglers_free(struct stragglers *s); /* accepts NULL */

/* A report of a worker's steps.  queued_s: of a step, in the run queue; NAN unknown.  model: what
 * is learnt of it, of which only the shape counts.
 */
void stragglers_take(struct stragglers *s, int rank, const struct step_figures *f, double queued_s,
                     const struct time_model *model);

/* What the machine says of a worker's cores.  It explains why one is slow that computes on them or
 * waits for a processor, and names nobody.  On a GPU only the wait counts.
 */
void stragglers_take_loss(struct stragglers *s, int rank, enum device_kind on,
                          const struct core_loss *l);

/* What steps of late were, means: with all and without its own time; and what is known of its way
 * to the others, of which peer is the node at the other end, -1: none of the job's.
 */
struct straggler_step {
    int64_t number; /* of the last one */
    double step_s, waits_s;
    struct link_load link;
    int peer;
};

/* Watch the links of workers on so many nodes, too; node [n]: of each.  -EINVAL, -ENOMEM. */
int stragglers_watch_links(struct stragglers *s, const int *node, int n_nodes,
                           struct eddis_error *err);

void stragglers_take_step(struct stragglers *s, int rank, const struct straggler_step *step);

/* Returns whether there is one that has been slow for long enough to be named, and what the machine
 * says of it was read since, or that was and is over, and fills *ret; to be asked until there is
 * none.
 */
bool stragglers_next(struct stragglers *s, double now_s, struct straggler *ret);

#endif
