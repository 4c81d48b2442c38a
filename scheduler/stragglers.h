/* SPDX-License-Identifier: Apache-2.0 */
/* stragglers.h - finds workers that have become slower than they were, and the cause
 *
 * Each worker is compared with its own past, and with what earlier jobs have learnt of it: slow
 * hardware is no straggler. The measurements (step_window.h) are of its own time, compute and
 * input, so evaluation, checkpoints and waiting for others are not counted.
 *
 *     times = own time for its work / own time for the same work before, from window to window
 *
 * Under one plan the ratio of two windows is exact. Between two plans with different batches only a
 * change counts that no time model explains: time grows with work, at most in proportion. If most
 * of several workers become slower together, the machines are the cause, and no worker is named.
 *
 * A worker whose data path is slow from its first step on has no faster past. It is compared with
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

/* Slowdown from which a worker is reported (NVRx: below 0.7 of its speed), and below which it is no
 * longer slow.
 */
#define STRAGGLER_TIMES (1 / 0.7)
#define STRAGGLER_OVER  1.2

enum straggler_cause {
    STRAGGLER_COMPUTE,   /* its device computes slower */
    STRAGGLER_PROCESSOR, /* its main thread waits for a processor, or its cores lose time */
    STRAGGLER_INPUT,     /* it waits for its data */
    STRAGGLER_NETWORK,   /* its link is slow, not the worker itself; see slow_links.h */
    STRAGGLER_CAUSES,
};

/* A slow worker; seconds are for a step with its present work. */
struct straggler {
    int rank;      /* -1: most workers are, at once */
    bool over;     /* it is no longer slow */
    bool learnt;   /* "before" means in earlier jobs */
    bool bound;    /* "before" means with its data at hand: its data path was always slow */
    int64_t since; /* number of the first slow step; over: of the first one that is not slow */
    double times;  /* duration relative to before */
    enum straggler_cause cause;
    double confidence;     /* 0 to 1: fraction of the extra time that the cause explains */
    double own_s, usual_s; /* own time now, and before */
    int64_t usual_count;   /* samples of a step before it was slow; 0: unknown */
    double input_s;        /* wait for input, part of own_s */
    double queued_part;    /* fraction of own_s in the run queue; NAN: unknown */
    double data_per_s;     /* least samples per second of its data path; 0: unknown */
    double waited_s; /* seconds of a step that most others wait for it; 0: unknown or little */
    struct slow_link link; /* set only if the cause is the network */
    struct core_loss lost; /* what its cores, or those of most, lose now and did not before; 0: too
                            * little to explain anything, or it waits for its data */
};

struct stragglers;

/* Return a watch on n workers in *ret; learnt [n], copied: times that earlier jobs have learnt, in
 * seconds, sample_s 0: unknown. Free it with stragglers_free. -EINVAL, -ENOMEM.
 */
int stragglers_new(const struct time_model *learnt, int n, struct stragglers **ret,
                   struct eddis_error *err);
void stragglers_free(struct stragglers *s); /* accepts NULL */

/* Add a report of a worker's steps. queued_s: seconds of a step in the run queue, NAN: unknown.
 * model: the learnt model, of which only the shape is used.
 */
void stragglers_take(struct stragglers *s, int rank, const struct step_metrics *f, double queued_s,
                     const struct time_model *model);

/* Add a reading of what a worker's cores lose. It explains why a worker is slow, but is no reason
 * to report one. Ignored for a worker on a GPU.
 */
void stragglers_take_loss(struct stragglers *s, int rank, enum device_kind on,
                          const struct core_loss *l);

/* Means over recent steps, and the load of the worker's busiest connection. */
struct straggler_step {
    int64_t number;         /* of the last step */
    double step_s, waits_s; /* whole step; the part beyond its own time */
    struct link_load link;
    int peer; /* node at the other end of the connection; -1: none of the job's */
};

/* Watch the links of the workers as well; node [n]: the node of each, below n_nodes. -EINVAL,
 * -ENOMEM.
 */
int stragglers_watch_links(struct stragglers *s, const int *node, int n_nodes,
                           struct eddis_error *err);

/* Add a reading of a worker's steps and connection. */
void stragglers_take_step(struct stragglers *s, int rank, const struct straggler_step *step);

/* Return whether there is news, and fill *ret: a worker has been slow for long enough, with
 * readings of its machine, or a reported one is no longer slow. Call it until it returns false.
 */
bool stragglers_next(struct stragglers *s, double now_s, struct straggler *ret);

#endif
