/* SPDX-License-Identifier: Apache-2.0 */
/* probe_network.h - measures latency and bandwidth between nodes, by messages between one rank on
 * each node
 *
 *     connect    every rank exchanges a few bytes with each partner, all in parallel; if a
 *                partner does not answer by the deadline, this pair is reported as failed
 *     measure    in rounds (network_rounds.h): a few exchanges of small messages; some bursts to
 *                warm the connection up; then timed bursts for at least a third of stream_ns: the
 *                fastest burst counts; then the other direction
 *     allreduce  a number from each rank is added up, and every rank checks the sum
 *     gather     rank 0 receives the measurements of all ranks
 */
#ifndef EDDIS_PROFILER_PROBE_NETWORK_H
#define EDDIS_PROFILER_PROBE_NETWORK_H

#include "lib/comm/transport.h"
#include "lib/model/network.h"

#include <stdint.h>

enum { PROBE_NETWORK_ROOM = 8 << 20 };

/* Time limits of a measurement. deadline_ns is clearly longer than connect_ns, so that a failed
 * connection is reported before ranks that wait for a rank of this connection are.
 */
struct probe_network_options {
    int64_t connect_ns; /* time limit until all partners have answered once */
    /* time limit for each answer in a later step; a late answer is waited for a second time, until
     * four times this limit
     */
    int64_t deadline_ns;
    int64_t stream_ns; /* approximate time of a bandwidth measurement, shared by time slots */
    /* number that is equal for nodes of one machine, and almost certainly different otherwise */
    int64_t machine;
};

extern const struct probe_network_options network_defaults;

/* Measure all pairs. Collective; blocks at most until the deadlines. room [PROBE_NETWORK_ROOM] is
 * memory for messages, borrowed until the transport is closed. *ret is made on every rank, but has
 * links only on rank 0. Return 0; -ETIMEDOUT: a rank did not answer; *ret names the pair, and the
 * transport can only be aborted; or another negative errno.
 */
int probe_network_measure(struct transport *t, const struct probe_network_options *o, void *room,
                          struct network **ret, struct eddis_error *err);

#endif
