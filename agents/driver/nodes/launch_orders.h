/* SPDX-License-Identifier: Apache-2.0 */
/* launch_orders.h - the orders by which a generation is prepared, started and stopped */
#ifndef EDDIS_AGENTS_DRIVER_NODES_LAUNCH_ORDERS_H
#define EDDIS_AGENTS_DRIVER_NODES_LAUNCH_ORDERS_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"

struct launching {
    struct job_run *run; /* all are borrowed */
    const struct run_plans *plans;
    const struct run_network *network;
};

/* Events: mpirun wants a daemon on a node.  Actions: what agents and the generation are ordered. */
extern const struct subject_ops launching_ops;

#endif
