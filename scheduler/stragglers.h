/* SPDX-License-Identifier: Apache-2.0 */
/* stragglers.h - finds workers that have become slower than before, and the cause
 *
 * Each worker is compared with its own past, and with its time as learnt in earlier jobs: slow
 * hardware is no straggler. What is compared is the worker's own time (compute and input;
 * step_window.h), so evaluation, checkpoints and waiting for other workers are not counted.
 *
 *     times = own time for its work / own time for the same work before, from window to window
 *
 * Under one plan the ratio of two windows is exact. Between two plans with different batches, a
 * change counts only if no time model explains it: time grows with work, at most in proportion. If
 * most workers (of several) become slower at the same time, the machines are the cause, and no
 * worker is reported.
 *
 * A worker whose data path is slow from its first step on has no faster past. Such a worker is
 * compared with the time that it would take without waiting for data.
 *
 * Pure: time comes with each call, in seconds since any moment.
 */
#ifndef EDDIS_SCHEDULER_STRAGGLERS_H
#define EDDIS_SCHEDULER_STRAGGLERS_H

#include "slow_links.h"
#include "time_model.h"

#include "lib/base/error.h"
#include "lib/model/core_loss.h"
#include "lib/model/gpu_state.h"
#include "lib/model/profile.h"
#include "lib/model/step_window.h"

#include <stdbool.h>
#include <stdint.h>

/* Slowdown from which a worker is reported as slow (NVRx: below 0.7 of its speed), and slowdown
 * below which it is no longer slow
 */
#define STRAGGLER_TIMES (1 / 0.7)
#define STRAGGLER_OVER  1.2

enum straggler_cause {
    STRAGGLER_COMPUTE, /* the worker's device computes slower */
    /* the worker's main thread waits for a processor, or its cores lose time */
    STRAGGLER_PROCESSOR,
    STRAGGLER_INPUT,   /* the worker waits for its data */
    STRAGGLER_NETWORK, /* the worker's link is slow, not the worker itself; see slow_links.h */
    STRAGGLER_CAUSES,
};

/* A slow worker; seconds are for a step with the worker's present work */
struct straggler {
    int rank;  /* rank of the slow worker; -1: most workers are slow at the same time */
    bool over; /* the worker is no longer slow */
    /* the worker is slower than in earlier jobs; in the members below "before" means in earlier
     * jobs
     */
    bool learnt;
    /* the worker's data path was always slow; in the members below "before" means without waiting
     * for data
     */
    bool bound;
    int64_t since; /* number of the first slow step; over: of the first step that is not slow */
    double times;  /* own time, relative to before */
    enum straggler_cause cause;
    double confidence;     /* 0 to 1: fraction of the additional time that the cause explains */
    double own_s, usual_s; /* own time now, and before */
    int64_t usual_count;   /* samples of a step before the worker was slow; 0: unknown */
    double input_s;        /* wait for input, part of own_s */
    double queued_part;    /* fraction of own_s in the run queue; NAN: unknown */
    /* lower bound of the samples per second that the worker's data path delivers; 0: unknown */
    double data_per_s;
    /* seconds of each step that most other workers wait for this worker; 0: unknown or little */
    double waited_s;
    struct slow_link link; /* set only if the cause is the network */
    /* time that the worker's cores (rank -1: those of most workers) lose now and did not lose
     * before; 0: too little to explain the slowdown, or the cause is waiting for data
     */
    struct core_loss lost;
    /* a worker on a GPU whose clock is lower than before: its state, if it says why; otherwise
     * `reading` is 0
     */
    struct gpu_state gpu;
};

struct stragglers;

/* Create a watch on n workers in *ret. learnt [n], copied: time models from earlier jobs, in
 * seconds; sample_s 0: unknown. The caller frees the watch with stragglers_free. Return 0, -EINVAL
 * or -ENOMEM.
 */
int stragglers_new(const struct time_model *learnt, int n, struct stragglers **ret,
                   struct eddis_error *err);
void stragglers_free(struct stragglers *s); /* accepts NULL */

/* Add a report of a worker's steps. queued_s: seconds of a step in the run queue, NAN: unknown.
 * model: the worker's learnt time model; only its shape is used.
 */
void stragglers_take(struct stragglers *s, int rank, const struct step_metrics *f, double queued_s,
                     const struct time_model *model);

/* Add a reading of the time that a worker's cores lose. The reading can explain why a worker is
 * slow, but does not make a worker count as slow. Readings of a worker on a GPU are ignored.
 */
void stragglers_take_loss(struct stragglers *s, int rank, enum device_kind on,
                          const struct core_loss *l);

/* Add a reading of a worker's GPU; `reading` 0: there is none. As stragglers_take_loss, it
 * explains, and does not make a worker count as slow.
 */
void stragglers_take_gpu(struct stragglers *s, int rank, const struct gpu_state *g);

/* Means over recent steps, and the load of the worker's busiest connection. */
struct straggler_step {
    int64_t number;         /* number of the last step */
    double step_s, waits_s; /* duration of a step; the part of it beyond own time */
    struct link_load link;
    int peer; /* node at the other end of the connection; -1: no node of the job */
};

/* Watch the links of the workers as well, anew at each call; node [n], copied: the node of each
 * worker, below n_nodes. Return 0, -EINVAL if n_nodes < 1, or -ENOMEM; after a failure no link is
 * watched.
 */
int stragglers_watch_links(struct stragglers *s, const int *node, int n_nodes,
                           struct eddis_error *err);

/* Add a reading of a worker's steps and connection. */
void stragglers_take_step(struct stragglers *s, int rank, const struct straggler_step *step);

/* Return whether there is a change to report, and fill *ret: a worker or link has been slow for
 * long enough, or a reported one is no longer slow. Call it until it returns false.
 */
bool stragglers_next(struct stragglers *s, double now_s, struct straggler *ret);

#endif
