/* SPDX-License-Identifier: Apache-2.0 */
/* driver_impl.h - the driver as its loop sees it: the job and all modules
 *
 *     driver.c        opens and closes everything
 *     driver_loop.c   waits for signals, requests, files and time
 *     dispatch.c      passes events and actions to the modules that handle them
 *
 * A module (`subject` in names) is registration, check, network_choice, planning, launching, logs
 * or reporting; see subject.h.
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

/* All state of one job in the driver process. */
struct driver {
    struct job_run run;
    struct request_queue *request_queue;
    struct listeners listeners;
    int signals; /* signalfd for the signals that the driver handles */
    struct slurm_query slurm;
    bool looking; /* a search for the checkpoint that a user requested is in progress */
    struct registration registration;
    struct network_choice network;
    struct planning planning;
    struct launch_orders launch_orders;
    struct logs logs;
    struct job_report job_report;
    struct pausing pausing;
};

/* driver_loop.c */

/* Run the event loop until the job is over. */
void driver_loop(struct driver *d);

/* Handle all signals that have arrived: signals pause, continue or stop the job. */
void driver_take_signals(struct driver *d);

/* dispatch.c */

/* Return the entry points of a module of the driver; NULL: SUBJECT_NONE. */
const struct subject_ops *dispatch_ops(enum subject s);

/* Handle one HTTP request, and free it now or after it has been answered. */
void dispatch_item(struct driver *d, struct request_item *i);

/* Advance the starting of agents, and handle agents whose start has failed or whose process has
 * ended.
 */
void dispatch_starts(struct driver *d);

/* Handle file operations that are done, and answer the reports that waited for these operations. */
void dispatch_files(struct driver *d);

/* Stop the job orderly because of signal sig, or of a request (sig 0), as state_signal does. */
void dispatch_stop(struct driver *d, int sig, int64_t now_ns);

/* Carry out all actions that the state machine has queued. */
void dispatch_actions(struct driver *d);

/* Call `tick` of every module, then that of the state machine, then update the metrics. */
void dispatch_tick(struct driver *d, int64_t now_ns);

#endif
