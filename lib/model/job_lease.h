/* SPDX-License-Identifier: Apache-2.0 */
/* job_lease.h - defaults and limits of timeouts.heartbeat and timeouts.node_lost, by timeouts.lease
 *
 * All other limits that depend on the lease are in agents/protocol/timing.h, which checks the
 * limits here against them.
 */
#ifndef EDDIS_MODEL_JOB_LEASE_H
#define EDDIS_MODEL_JOB_LEASE_H

#include "lib/base/clock.h"

#include <stdint.h>

enum {
    JOB_LEASE_HEARTBEATS = 8,       /* default number of heartbeats in a lease */
    JOB_LEASE_LEAST_HEARTBEATS = 8, /* least number of heartbeats in a lease */
    JOB_LEASE_LOST_PART = 2,        /* timeouts.node_lost exceeds the lease by 1/2 of the lease by
                                     * default */
    JOB_LEASE_LEAST_LOST_PART = 4,  /* timeouts.node_lost exceeds the lease by 1/4 of the lease at
                                     * least */
};

/* Return the default of timeouts.heartbeat in ns. */
static inline int64_t job_lease_heartbeat_ns(int64_t lease_ns)
{
    int64_t ns = lease_ns / JOB_LEASE_HEARTBEATS;

    return ns < CLOCK_S ? ns : CLOCK_S;
}

/* Return the default of timeouts.node_lost in ns. */
static inline int64_t job_lease_node_lost_ns(int64_t lease_ns)
{
    return lease_ns + lease_ns / JOB_LEASE_LOST_PART;
}

/* Return the minimum of timeouts.node_lost in ns.  An agent's ranks end one lease after its last
 * message from the driver.  The driver's last message from the agent may be somewhat older, and the
 * driver must not consider the ranks dead before they are.
 */
static inline int64_t job_lease_least_node_lost_ns(int64_t lease_ns)
{
    int64_t more_ns = lease_ns / JOB_LEASE_LEAST_LOST_PART;

    return lease_ns + (more_ns > CLOCK_S / 2 ? more_ns : CLOCK_S / 2);
}

#endif
