/* SPDX-License-Identifier: Apache-2.0 */
/* probe_network.h - latency and bandwidth between nodes, by messages between one rank on each
 *
 *   connect    every rank and its partners exchange a few bytes, all at once: who does not answer
 *              by the deadline is the pair that fails
 *   measure    in rounds (network_rounds.h): a few exchanges of a few bytes; then some messages
 *              that warm the connection up, and behind them bursts of a third of the time or
 *              more are timed, of which the best counts; the same the other way
 *   allreduce  a number from each is added up, and all must find the sum right
 *   gather     rank 0 gets what the others have measured
 */
#ifndef EDDIS_PROFILER_PROBE_NETWORK_H
#define EDDIS_PROFILER_PROBE_NETWORK_H

#include "lib/comm/transport.h"
#include "lib/model/network.h"

#include <stdint.h>

enum { PROBE_NETWORK_ROOM = 8 << 20 };

struct probe_network_options {
    int64_t connect_ns;  /* until when all partners have answered once */
    int64_t deadline_ns; /* of each later step, for one answer: longer by more than a moment, or who
                          * waits for one that could not connect would be told of first */
    int64_t stream_ns;   /* of one measurement of bandwidth, about; those of a round that take turns
                          * share it */
    int64_t machine;     /* a number that nodes of one machine have alike, others hardly */
};

extern const struct probe_network_options network_defaults;

/* Measure all pairs.  Collective; blocks, within the deadlines.  room [PROBE_NETWORK_ROOM],
 * borrowed until the transport is closed, is where messages lie.  *ret is made on every rank, the
 * links are all there on rank 0 only.  -ETIMEDOUT: somebody did not answer, *ret is made as well
 * and names the pair, and the transport can only be closed without order.
 */
int probe_network_measure(struct transport *t, const struct probe_network_options *o, void *room,
                          struct network **ret, struct eddis_error *err);

#endif
