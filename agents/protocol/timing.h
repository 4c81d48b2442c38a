/* SPDX-License-Identifier: Apache-2.0 */
/* timing.h - every time limit that depends on the lease, and the relations between these limits
 *
 * The lease (timeouts.lease) is the time for which an agent continues without an answer from the
 * driver. When the lease is over, the node's ranks are dead. So driver and agent must each be able
 * to rely on the time at which a wait of the other is over or has failed:
 *
 *     driver heard     poll answered                       lease over      node lost
 *     |--- poll 1/3 ---|-------------------------------------|--- 1/2 -------|
 *     supervisor and agent check each other every 1/8 -------|
 *
 * An agent sends a report every heartbeat. If it gets no answer it repeats the report over a new
 * connection. So a job survives an interruption of the network for TIMING_OUTAGE_1000 thousandths
 * of the lease, whenever the interruption begins. This is the worst case, for an agent whose driver
 * has several addresses:
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

/* Shortest and longest lease that supervisor and agent accept */
#define TIMING_LEAST_LEASE_NS (100 * CLOCK_MS)
#define TIMING_MOST_LEASE_NS  (86400 * CLOCK_S)

/* Divisors of the lease, unless the comment names another unit. In the comment of a divisor n, "a
 * part" is lease / n.
 */
enum {
    TIMING_POLLS = 3, /* if there is no order, the driver answers a poll after a part */
    /* a request other than a poll, or the answer to a poll, takes at most a part */
    TIMING_ANSWERS = 4,
    TIMING_CONNECTS = 10,     /* a connection is established within a part */
    TIMING_PAUSES_ASKED = 40, /* an unanswered request is repeated after at most a part */
    /* longest network outage that a job survives, in thousandths of the lease */
    TIMING_OUTAGE_1000 = 600,
    /* supervisor and agent send each other a heartbeat once in each part */
    TIMING_TICKS = 8,
    TIMING_TICKS_COUNTED = 2, /* maximum heartbeat intervals of silence that one check counts */
    /* a driver that did not run for a part counts as having been stopped itself */
    TIMING_PAUSES = 3,
    TIMING_FAREWELLS = 2, /* the last message of an agent may take a part */
    /* a silent agent has certainly ended a part after the end of its lease */
    TIMING_MARGINS = 2,
    /* divisor of timing_frozen_ns: one check of a stopped process counts for at most a part */
    TIMING_FROZEN_LOOKS = 4,
    TIMING_TCP_PROBES = 4, /* an idle TCP connection is probed once in each part */
    TIMING_MPI_ALIVE = 2,  /* an idle connection of Open MPI is first probed after a part ... */
    TIMING_MPI_PROBES = 5, /* ... and then this many times within a part */
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

/* Return the silence of an agent after which its ranks are certainly dead, independent of
 * node_lost.
 */
int64_t timing_surely_over_ns(int64_t lease_ns);

/* Return the longest time between two turns of the driver's loop, without its own sleep, that does
 * not count as a pause of the driver (as by SIGSTOP).
 */
int64_t timing_pause_ns(int64_t lease_ns);

/* Return the time after a pause of the driver during which the end of an agent is attributed to the
 * pause.
 */
int64_t timing_pause_blamed_ns(int64_t lease_ns);

/* Return how long agents may take to end by themselves after the driver became silent: their lease,
 * plus more_ns for cleaning up.
 */
int64_t timing_all_over_ns(int64_t lease_ns, int64_t more_ns);

/* Return how long a driver may take to stop: the ranks' grace period, one lease for agents that do
 * not answer, and one lease for cleaning up after these agents.
 */
int64_t timing_stop_ns(int64_t lease_ns, int64_t grace_ns);

/* ---- agent and supervisor ---- */

/* Return how long a report or a registration may take. */
int64_t timing_request_ns(int64_t lease_ns);

/* Return how long a poll may take. */
int64_t timing_poll_request_ns(int64_t lease_ns);

/* Return how long connecting to the driver for a request or a poll may take. */
int64_t timing_connect_ns(int64_t lease_ns);

/* Return the pause before an unanswered request is repeated: between half of the longest pause and
 * the longest pause, by the random number `chance`, so that agents do not all return at the same
 * time.
 */
int64_t timing_retry_ns(int64_t lease_ns, uint64_t chance);

/* Return the interval of the heartbeats, and of the checks, of supervisor and agent. */
int64_t timing_tick_ns(int64_t lease_ns);

/* Return the silence to count for a check that comes since_ns after the previous check: at most
 * TIMING_TICKS_COUNTED intervals of tick_ns, since the checking process may have been stopped
 * itself.
 */
int64_t timing_silence_ns(int64_t since_ns, int64_t tick_ns);

/* Return how long an ending agent waits for the answer to its last message. */
int64_t timing_farewell_ns(int64_t lease_ns);

/* Return how long a process may be stopped (SIGSTOP) before the agent kills it. */
int64_t timing_frozen_ns(int64_t lease_ns);

/* Return the maximum time that one check adds to the time for which a process counts as stopped. */
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

/* Return the seconds between two keepalive probes of a connection of Open MPI. */
int64_t timing_mpi_probe_s(int64_t lease_ns);

#endif
