/* SPDX-License-Identifier: Apache-2.0 */
/* network.h - latency and bandwidth between nodes, by messages between one rank on each
 *
 *   connect    every rank and its partners exchange a few bytes, all at once: who does not answer
 *              by the deadline is the pair that fails
 *   measure    in rounds; in each, every rank has at most one partner, so that no two measurements
 *              share a cable: a few exchanges of a few bytes, then some megabytes either way
 *   allreduce  a number from each is added up, which all must find to be right
 *   gather     rank 0 gets what the others have measured
 *
 * Up to NETWORK_ALL_PAIRS nodes every pair is measured; with more of them the neighbours in the
 * ring and those at distances that are powers of two, which is what collectives use: a slow link
 * of a node shows in all its pairs.
 */
#ifndef EDDIS_PROFILER_NETWORK_H
#define EDDIS_PROFILER_NETWORK_H

#include "lib/comm/transport.h"
#include "lib/model/network.h"

#include <stdint.h>

enum { NETWORK_ALL_PAIRS = 8, NETWORK_ROOM = 8 << 20 };

/* Number of rounds among n ranks, and a rank's partner in a round; -1: it has none. */
int network_rounds(int n);
int network_partner(int n, int round, int rank);

struct network_options {
    int64_t connect_ns;  /* until when all partners have answered once */
    int64_t deadline_ns; /* of each later step, for one answer: longer by more than a moment, or who
                          * waits for one that could not connect would be told of first */
    int64_t stream_ns;   /* of one measurement of bandwidth, about */
};

extern const struct network_options network_defaults;

/* Measure.  Collective; blocks, within the deadlines.  room [NETWORK_ROOM], borrowed until the
 * transport is closed, is where messages lie.  *ret is made on every rank, the links are all there
 * on rank 0 only.  -ETIMEDOUT: somebody did not answer, *ret is made as well and names the pair,
 * and the transport can only be closed without order.
 */
int network_measure(struct transport *t, const struct network_options *o, void *room,
                    struct network **ret, struct eddis_error *err);

#endif
