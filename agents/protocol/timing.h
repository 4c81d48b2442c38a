/* SPDX-License-Identifier: Apache-2.0 */
/* timing.h - every time limit that follows the lease, and what must hold between them
 *
 * The lease (timeouts.lease) is how long an agent goes on without a word from the driver.  Behind
 * it the node's ranks are dead, so all that one end waits for must be over, or known to have
 * failed, at a moment that the other end can count on:
 *
 *     driver heard     poll answered                       lease over      node lost
 *     |--- poll 1/3 ---|-------------------------------------|--- 1/2 -------|
 *     agent's request, TCP: given up at the lease -----------|
 *     keeper and agent look at each other every 1/8 ---------|
 *
 * Only heartbeat and node_lost may be set by users; their defaults are in lib/model/job_lease.h.
 * All times are in ns unless a name says otherwise.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_TIMING_H
#define EDDIS_AGENTS_PROTOCOL_TIMING_H

#include "lib/base/clock.h"
#include "lib/model/job_lease.h"

#include <stdint.h>

#define TIMING_LEAST_LEASE_NS (100 * CLOCK_MS) /* that keeper and agent accept */
#define TIMING_MOST_LEASE_NS  (86400 * CLOCK_S)

/* A limit is one part of so many that make a lease. */
enum {
    TIMING_POLLS = 3,         /* a poll without news is answered after one */
    TIMING_TICKS = 8,         /* keeper and agent show that they live after one */
    TIMING_TICKS_COUNTED = 2, /* of silence at one look, however long ago the last was */
    TIMING_PAUSES = 3,        /* a driver that slept for one tells its agents' ends from failures */
    TIMING_FAREWELLS = 2,     /* an agent's last words are given one */
    TIMING_MARGINS = 2,       /* a lease and one: then an agent that was silent is surely over */
    TIMING_FROZEN_LOOKS = 4,  /* a process is stopped for good when it was at that many at least */
    TIMING_TCP_PROBES = 4,    /* unanswered ones end an idle connection */
    TIMING_MPI_PROBES = 5,    /* the same of Open MPI's own, ... */
    TIMING_MPI_ALIVE = 2, /* ... of which the first goes out after one of these parts, and all */
};                        /* the others together take another */

_Static_assert(TIMING_POLLS >= 3, "two thirds of a lease are left to hear of a poll's answer");
_Static_assert(TIMING_MARGINS <= TIMING_POLLS,
               "the last answer may have been sent a poll after the agent was heard");
_Static_assert((int)JOB_LEASE_LOST_PART <= (int)TIMING_MARGINS,
               "a node is lost when its agent surely is");
_Static_assert(JOB_LEASE_HEARTBEATS >= JOB_LEASE_LEAST_HEARTBEATS,
               "the default heartbeat is allowed");
_Static_assert(JOB_LEASE_LEAST_LOST_PART >= JOB_LEASE_LOST_PART,
               "the default node_lost is allowed");
_Static_assert(2 * TIMING_TICKS_COUNTED <= TIMING_TICKS,
               "a watcher that was stopped itself accuses nobody at its first look");
_Static_assert(TIMING_FROZEN_LOOKS > 1, "no process is killed for what one look has seen");
_Static_assert(TIMING_PAUSES >= 2, "a driver's pause is noticed before its agents have ended");
_Static_assert(TIMING_FAREWELLS >= 2, "an agent has left well before its lease is over");
_Static_assert(TIMING_TCP_PROBES >= 2 && TIMING_MPI_PROBES >= 2, "one lost packet ends nothing");
_Static_assert(TIMING_MPI_ALIVE >= 2, "Open MPI's probes fit into a lease");
_Static_assert(TIMING_LEAST_LEASE_NS / TIMING_TICKS >= CLOCK_MS, "the shortest lease has ticks");

static inline int64_t timing_least_ns(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* ---- driver ---- */

/* How long the driver holds a poll without news. */
static inline int64_t timing_poll_ns(int64_t lease_ns)
{
    return lease_ns / TIMING_POLLS;
}

/* Silence after which an agent's ranks are surely dead, whatever node_lost says. */
static inline int64_t timing_surely_over_ns(int64_t lease_ns)
{
    return clock_after_ns(lease_ns, lease_ns / TIMING_MARGINS);
}

/* A longer gap between two looks of the driver, beyond what it sleeps itself, is a pause. */
static inline int64_t timing_pause_ns(int64_t lease_ns)
{
    return lease_ns / TIMING_PAUSES;
}

/* How long agents may take to end by themselves when nothing is said to them any more: their
 * leases, and more_ns for cleaning up.
 */
static inline int64_t timing_all_over_ns(int64_t lease_ns, int64_t more_ns)
{
    return clock_after_ns(lease_ns, more_ns);
}

/* How long a driver that was told to stop may take: the ranks' grace, a lease for agents that do
 * not answer it and one for what these leave.
 */
static inline int64_t timing_stop_ns(int64_t lease_ns, int64_t grace_ns)
{
    return clock_after_ns(grace_ns, 2 * lease_ns);
}

/* ---- agent and keeper ---- */

/* How long a request may take, registering and polling included. */
static inline int64_t timing_request_ns(int64_t lease_ns)
{
    return lease_ns;
}

/* How often keeper and agent beat and look. */
static inline int64_t timing_tick_ns(int64_t lease_ns)
{
    return timing_least_ns(lease_ns / TIMING_TICKS, CLOCK_S / 4);
}

/* Silence that a look adds, which comes since_ns after the one before. */
static inline int64_t timing_silence_ns(int64_t since_ns, int64_t tick_ns)
{
    return timing_least_ns(since_ns, TIMING_TICKS_COUNTED * tick_ns);
}

/* How long a leaving agent waits for its last words to be heard. */
static inline int64_t timing_farewell_ns(int64_t lease_ns)
{
    return timing_least_ns(lease_ns / TIMING_FAREWELLS, 2 * CLOCK_S);
}

/* How long a process may be stopped (SIGSTOP) before it is killed, and how much of that one look
 * adds at most.
 */
static inline int64_t timing_frozen_ns(int64_t lease_ns)
{
    return lease_ns;
}

static inline int64_t timing_frozen_look_ns(int64_t frozen_ns)
{
    return frozen_ns / TIMING_FROZEN_LOOKS;
}

/* ---- connections ---- */

/* Silence of a TCP peer, in ms, after which a connection is given up. */
static inline int64_t timing_tcp_silence_ms(int64_t lease_ns)
{
    int64_t ms = lease_ns / CLOCK_MS;

    return ms < 1000 ? 1000 : ms;
}

/* Seconds before the first TCP probe of an idle connection, and between probes. */
static inline int timing_tcp_probe_s(int64_t lease_ns)
{
    int64_t s = lease_ns / CLOCK_S / TIMING_TCP_PROBES;

    return s < 1 ? 1 : s > 3600 ? 3600 : (int)s;
}

/* The same of Open MPI's connections between nodes: seconds to the first probe, and between. */
static inline int64_t timing_mpi_alive_s(int64_t lease_ns)
{
    int64_t s = lease_ns / CLOCK_S / TIMING_MPI_ALIVE;

    return s < 2 ? 2 : s;
}

static inline int64_t timing_mpi_probe_s(int64_t lease_ns)
{
    int64_t s = lease_ns / CLOCK_S / (TIMING_MPI_ALIVE * TIMING_MPI_PROBES);

    return s < 2 ? 2 : s;
}

#endif
