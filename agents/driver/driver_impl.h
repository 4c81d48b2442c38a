/* SPDX-License-Identifier: Apache-2.0 */
/* driver_impl.h - the driver as its loop sees it: the job and all subjects
 *
 *     driver.c        opening and closing everything
 *     driver_loop.c   waiting: signals, what has come in, time
 *     dispatch.c      what came in and what the state machine wants, to the subjects it is for
 *
 * A subject is registration, check, network_choice, planning, launching, logs or telling; see
 * subject.h.
 */
#ifndef EDDIS_AGENTS_DRIVER_DRIVER_IMPL_H
#define EDDIS_AGENTS_DRIVER_DRIVER_IMPL_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/routes.h"
#include "agents/driver/logs/logs.h"
#include "agents/driver/network/network_choice.h"
#include "agents/driver/nodes/launch_orders.h"
#include "agents/driver/nodes/listeners.h"
#include "agents/driver/nodes/registration.h"
#include "agents/driver/nodes/request_queue.h"
#include "agents/driver/plan/pausing.h"
#include "agents/driver/plan/planning.h"
#include "agents/driver/report/job_report.h"
#include "agents/driver/report/slurm_query.h"

struct driver {
    struct job_run run;
    struct inbox *inbox;
    struct listeners listeners;
    int signals; /* signalfd */
    struct slurm_ask slurm;
    bool looking; /* for the checkpoint that was asked for */
    struct registration registration;
    struct network_choice network;
    struct planning planning;
    struct launching launching;
    struct logs logs;
    struct telling telling;
    struct pausing pausing;
};

/* driver_loop.c */
void driver_loop(struct driver *d); /* until the job is over */
void driver_take_signals(struct driver *d);

/* dispatch.c */
const struct subject_ops *dispatch_ops(enum subject s); /* NULL: SUBJECT_NONE */

void dispatch_item(struct driver *d, struct inbox_item *i); /* frees it */
void dispatch_starts(struct driver *d);
void dispatch_files(struct driver *d);                         /* what files were written or read */
void dispatch_stop(struct driver *d, int sig, int64_t now_ns); /* as state_signal */
void dispatch_actions(struct driver *d);                       /* that the state machine wants */
void dispatch_tick(struct driver *d, int64_t now_ns);

#endif
