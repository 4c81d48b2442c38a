/* SPDX-License-Identifier: Apache-2.0 */
/* timing.h - every time limit that follows the lease, and what must hold between them
 *
 * The lease (timeouts.lease) is how long an agent goes on without a word from the driver.  Behind
 * it the node's ranks are dead, so all that one end waits for must be over, or known to have
 * failed, at a moment that the other end can count on:
 *
 *     driver heard     poll answered                       lease over      node lost
 *     |--- poll 1/3 ---|-------------------------------------|--- 1/2 -------|
 *     keeper and agent look at each other every 1/8 ---------|
 *
 * An agent says something every heartbeat, and again, over a new connection, when it is not
 * answered.  So an interruption of the network, of TIMING_OUTAGE_1000 parts of 1000 of the lease,
 * is survived wherever it begins; the line is what an agent with a driver of several addresses does
 * at worst:
 *
 *     heard  network lost                        network back              heard again   over
 *     |-1/8--|-------------- 6/10 ---------------|-1/10-|-1/10-|-1/40-|-------|------------|
 *      heartbeat, its answer lost                 a connection begun just before, one to
 *                                                 another address, the pause, the next
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

/* Into how many parts the lease is divided, of which the limit is one; or what is counted. */
enum {
    TIMING_POLLS = 3,         /* a poll without news is held for a part */
    TIMING_ANSWERS = 4,       /* any other request, or the answer to a poll, takes a part at most */
    TIMING_CONNECTS = 10,     /* a connection is there within a part */
    TIMING_PAUSES_ASKED = 40, /* what was not answered is said again behind a part, at most */
    TIMING_OUTAGE_1000 = 600, /* thousandths of a lease without a network that are survived */
    TIMING_TICKS = 8,         /* keeper and agent show in every part that they live */
    TIMING_TICKS_COUNTED = 2, /* ticks of silence that one look adds at most */
    TIMING_PAUSES = 3,        /* a driver that sleeps through a part was stopped itself */
    TIMING_FAREWELLS = 2,     /* an agent's last words may take a part */
    TIMING_MARGINS = 2,       /* a part behind the lease a silent agent is surely over */
    TIMING_FROZEN_LOOKS = 4,  /* one look at a stopped process counts for a part at most */
    TIMING_TCP_PROBES = 4,    /* an idle TCP connection is probed in every part */
    TIMING_MPI_ALIVE = 2,     /* an idle connection of Open MPI's is probed after a part, ... */
    TIMING_MPI_PROBES = 5,    /* ... and that often in the part behind it */
};

_Static_assert(TIMING_POLLS >= 3, "two thirds of a lease are left to hear of a poll's answer");
_Static_assert(1000 / JOB_LEASE_LEAST_HEARTBEATS + TIMING_OUTAGE_1000 + 2 * 1000 / TIMING_CONNECTS +
                       1000 / TIMING_PAUSES_ASKED <
                   1000,
               "the network may be away for a part of the lease");
_Static_assert(2 * 1000 / TIMING_CONNECTS + 2 * 1000 / TIMING_ANSWERS < 1000,
               "two requests over new connections fit into a lease");
_Static_assert(1000 / TIMING_ANSWERS < TIMING_OUTAGE_1000,
               "what an interruption has swallowed is given up before it is over");
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

/* Return the lesser of two times. */
int64_t timing_least_ns(int64_t x, int64_t y);

/* ---- driver ---- */

/* Return how long the driver holds a poll without news. */
int64_t timing_poll_ns(int64_t lease_ns);

/* Return the silence after which an agent's ranks are surely dead, whatever node_lost says. */
int64_t timing_surely_over_ns(int64_t lease_ns);

/* Return the gap between two looks of the driver, beyond what it sleeps itself, that is no pause
 * yet. */
int64_t timing_pause_ns(int64_t lease_ns);

/* Return how long after such a pause the end of an agent is put down to it. */
int64_t timing_pause_blamed_ns(int64_t lease_ns);

/* Return how long agents may take to end by themselves when nothing is said to them any more: their
 * leases, and more_ns for cleaning up.
 */
int64_t timing_all_over_ns(int64_t lease_ns, int64_t more_ns);

/* Return how long a driver that was told to stop may take: the ranks' grace, a lease for agents
 * that do not answer it and one for what these leave.
 */
int64_t timing_stop_ns(int64_t lease_ns, int64_t grace_ns);

/* ---- agent and keeper ---- */

/* Return how long a report, or registering, may take; how long a poll; and how long a connection
 * for any of them.
 */
int64_t timing_request_ns(int64_t lease_ns);
int64_t timing_poll_request_ns(int64_t lease_ns);
int64_t timing_connect_ns(int64_t lease_ns);

/* Return the pause before what was not answered is said again: half of the longest one or more, as
 * `chance` says, so that not all agents come back at one moment.
 */
int64_t timing_retry_ns(int64_t lease_ns, uint64_t chance);

/* Return the time between two beats, and looks, of keeper and agent. */
int64_t timing_tick_ns(int64_t lease_ns);

/* Return the silence that a look adds which comes since_ns after the one before. */
int64_t timing_silence_ns(int64_t since_ns, int64_t tick_ns);

/* Return how long a leaving agent waits for its last words to be heard. */
int64_t timing_farewell_ns(int64_t lease_ns);

/* Return how long a process may be stopped (SIGSTOP) before it is killed; and how much of that one
 * look adds at most.
 */
int64_t timing_frozen_ns(int64_t lease_ns);
int64_t timing_frozen_look_ns(int64_t frozen_ns);

/* ---- connections ---- */

/* Return the silence of a TCP peer, in ms, after which a connection is given up. */
int64_t timing_tcp_silence_ms(int64_t lease_ns);

/* Return the seconds before the first TCP probe of an idle connection, and between probes. */
int timing_tcp_probe_s(int64_t lease_ns);

/* Return the same for Open MPI's connections between nodes: seconds to the first probe, and
 * between. */
int64_t timing_mpi_alive_s(int64_t lease_ns);
int64_t timing_mpi_probe_s(int64_t lease_ns);

#endif
