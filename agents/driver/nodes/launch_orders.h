/* SPDX-License-Identifier: Apache-2.0 */
/* launch_orders.h - order agents to prepare, start and stop a generation */
#ifndef EDDIS_AGENTS_DRIVER_NODES_LAUNCH_ORDERS_H
#define EDDIS_AGENTS_DRIVER_NODES_LAUNCH_ORDERS_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"

/* The data from which orders are made; all borrowed */
struct launch_orders {
    struct job_run *run; /* the job */
    const struct run_plans *plans;
    const struct run_network *network;
};

/* Entry points for events (mpirun wants a daemon on a node, ORDER_SETTLE failed on a node) and
 * actions (profile, prepare, check, start, signal, inspect, stop)
 */
extern const struct subject_ops launch_orders_ops;

#endif
