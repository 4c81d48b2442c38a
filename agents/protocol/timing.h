/* SPDX-License-Identifier: Apache-2.0 */
/* timing.h - every time limit that depends on the lease, and the relations between these limits
 *
 * The lease (timeouts.lease) is the time for which an agent runs on without an answer from the
 * driver.  When it is over the node's ranks are dead.  So every wait at one end must be over, or
 * known to have failed, at a moment on which the other end can rely:
 *
 *     driver heard     poll answered                       lease over      node lost
 *     |--- poll 1/3 ---|-------------------------------------|--- 1/2 -------|
 *     supervisor and agent check each other every 1/8 -------|
 *
 * An agent sends a report every heartbeat.  If it gets no answer it repeats the report over a new
 * connection.  So a job survives an interruption of the network for TIMING_OUTAGE_1000 thousandths
 * of the lease, wherever it begins.  The line shows the worst case for an agent whose driver has
 * several addresses:
 *
 *     heard  network lost                        network back              heard again   over
 *     |-1/8--|-------------- 6/10 ---------------|-1/10-|-1/10-|-1/40-|-------|------------|
 *      heartbeat, its answer lost                 a connection begun just before, one to
 *                                                 another address, the pause, the next
 *
 * Users can set only heartbeat and node_lost; their defaults are in lib/model/job_lease.h.
 * All times are in ns unless a name says otherwise.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_TIMING_H
#define EDDIS_AGENTS_PROTOCOL_TIMING_H

#include "lib/base/clock.h"
#include "lib/model/job_lease.h"

#include <stdint.h>

#define TIMING_LEAST_LEASE_NS (100 * CLOCK_MS) /* limits that supervisor and agent accept */
#define TIMING_MOST_LEASE_NS  (86400 * CLOCK_S)

/* Divisors of the lease, unless the comment names another unit.  For a divisor n, "a part" below
 * is lease / n.
 */
enum {
    TIMING_POLLS = 3,         /* the driver answers a poll without an order after a part */
    TIMING_ANSWERS = 4,       /* any other request, or the answer to a poll, takes at most a part */
    TIMING_CONNECTS = 10,     /* a connection is established within a part */
    TIMING_PAUSES_ASKED = 40, /* an unanswered request is repeated after at most a part */
    TIMING_OUTAGE_1000 = 600, /* longest network outage a job survives, thousandths of the lease */
    TIMING_TICKS = 8,         /* supervisor and agent send a heartbeat to each other in each part */
    TIMING_TICKS_COUNTED = 2, /* most heartbeat intervals of silence counted by one check */
    TIMING_PAUSES = 3,        /* a driver that did not run for a part was itself stopped */
    TIMING_FAREWELLS = 2,     /* the last message of an agent may take a part */
    TIMING_MARGINS = 2,       /* a silent agent has surely ended a part after its lease */
    TIMING_FROZEN_LOOKS = 4,  /* one check of a stopped process counts for at most such a part of
                               * timing_frozen_ns */
    TIMING_TCP_PROBES = 4,    /* an idle TCP connection is probed once in each part */
    TIMING_MPI_ALIVE = 2,     /* an idle connection of Open MPI is first probed after a part ... */
    TIMING_MPI_PROBES = 5,    /* ... and then this often within a part */
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

/* Return the smaller of two times. */
int64_t timing_least_ns(int64_t x, int64_t y);

/* ---- driver ---- */

/* Return how long the driver holds a poll for which there is no order. */
int64_t timing_poll_ns(int64_t lease_ns);

/* Return the silence of an agent after which its ranks are surely dead, whatever node_lost is set
 * to.
 */
int64_t timing_surely_over_ns(int64_t lease_ns);

/* Return the longest gap between two rounds of the driver's loop, beyond its own sleep, that does
 * not count as a pause of the driver (such as SIGSTOP).
 */
int64_t timing_pause_ns(int64_t lease_ns);

/* Return how long after a pause of the driver the end of an agent is attributed to that pause. */
int64_t timing_pause_blamed_ns(int64_t lease_ns);

/* Return how long agents may take to end by themselves once the driver is silent: their lease, and
 * more_ns for cleaning up.
 */
int64_t timing_all_over_ns(int64_t lease_ns, int64_t more_ns);

/* Return how long a driver may take to stop: the ranks' grace period, one lease for agents that do
 * not answer, and one for cleaning up after these.
 */
int64_t timing_stop_ns(int64_t lease_ns, int64_t grace_ns);

/* ---- agent and supervisor ---- */

/* Return how long a report or a registration may take. */
int64_t timing_request_ns(int64_t lease_ns);

/* Return how long a poll may take. */
int64_t timing_poll_request_ns(int64_t lease_ns);

/* Return how long connecting for any of these requests may take. */
int64_t timing_connect_ns(int64_t lease_ns);

/* Return the pause before an unanswered request is repeated.  It is drawn by the random number
 * `chance` between half of the longest pause and all of it, so that agents do not return all at
 * once.
 */
int64_t timing_retry_ns(int64_t lease_ns, uint64_t chance);

/* Return the time between two heartbeats, and two checks, of supervisor and agent. */
int64_t timing_tick_ns(int64_t lease_ns);

/* Return the silence to count for a check that comes since_ns after the previous one: at most
 * TIMING_TICKS_COUNTED intervals of tick_ns, since a watcher may have been stopped itself.
 */
int64_t timing_silence_ns(int64_t since_ns, int64_t tick_ns);

/* Return how long an agent that leaves waits for the answer to its last message. */
int64_t timing_farewell_ns(int64_t lease_ns);

/* Return how long a process may be stopped (SIGSTOP) before the agent kills it. */
int64_t timing_frozen_ns(int64_t lease_ns);

/* Return the most that one check adds to the time for which a process counts as stopped. */
int64_t timing_frozen_look_ns(int64_t frozen_ns);

/* ---- connections ---- */

/* Return the silence of a TCP peer, in ms, after which its connection is closed. */
int64_t timing_tcp_silence_ms(int64_t lease_ns);

/* Return the seconds before the first keepalive probe of an idle TCP connection, and between
 * probes.
 */
int timing_tcp_probe_s(int64_t lease_ns);

/* Return the seconds before the first keepalive probe of an idle connection of Open MPI. */
int64_t timing_mpi_alive_s(int64_t lease_ns);

/* Return the seconds between two such probes. */
int64_t timing_mpi_probe_s(int64_t lease_ns);

#endif
