/* SPDX-License-Identifier: Apache-2.0 */
/* job_lease.h - the two limits of a job file that follow its lease
 *
 * All other limits that follow it are in agents/protocol/timing.h, which holds these against them.
 */
#ifndef EDDIS_MODEL_JOB_LEASE_H
#define EDDIS_MODEL_JOB_LEASE_H

#include "lib/base/clock.h"

#include <stdint.h>

enum {
    JOB_LEASE_HEARTBEATS = 8,       /* in a lease, when nobody says otherwise ... */
    JOB_LEASE_LEAST_HEARTBEATS = 8, /* ... and when somebody does */
    JOB_LEASE_LOST_PART = 2,        /* node_lost is the lease and this part of it ... */
    JOB_LEASE_LEAST_LOST_PART = 4,  /* ... and this one at least */
};

/* Default of timeouts.heartbeat, in ns. */
static inline int64_t job_lease_heartbeat_ns(int64_t lease_ns)
{
    int64_t ns = lease_ns / JOB_LEASE_HEARTBEATS;

    return ns < CLOCK_S ? ns : CLOCK_S;
}

/* Default of timeouts.node_lost, in ns. */
static inline int64_t job_lease_node_lost_ns(int64_t lease_ns)
{
    return lease_ns + lease_ns / JOB_LEASE_LOST_PART;
}

/* Least timeouts.node_lost, in ns.  An agent's ranks have ended a lease after it heard the driver
 * last; the driver, who heard it last a little earlier or later, must not take them for dead
 * before.
 */
static inline int64_t job_lease_least_node_lost_ns(int64_t lease_ns)
{
    int64_t more_ns = lease_ns / JOB_LEASE_LEAST_LOST_PART;

    return lease_ns + (more_ns > CLOCK_S / 2 ? more_ns : CLOCK_S / 2);
}

#endif
