/* SPDX-License-Identifier: Apache-2.0 */
/* network_rounds.h - schedule of network measurements between nodes
 *
 * In a round each node has at most one partner, so that no two measurements share a cable. Nodes of
 * one machine also share its cores, which a few parallel streams saturate, so the pairs of such
 * nodes are spread over up to NETWORK_TURNS time slots of a round.
 *
 * Up to NETWORK_ALL_PAIRS nodes, all pairs are measured. With more nodes, only ring neighbours and
 * pairs at distances that are powers of two are measured, as collectives use them; a slow link of a
 * node shows in all its pairs.
 */
#ifndef EDDIS_PROFILER_NETWORK_ROUNDS_H
#define EDDIS_PROFILER_NETWORK_ROUNDS_H

#include "lib/base/error.h"

#include <stdint.h>

enum { NETWORK_ALL_PAIRS = 8, NETWORK_TURNS = 4 };

/* Return the number of rounds of measurements between n ranks. */
int network_rounds(int n);

/* Return the rank that is the partner of `rank` in a round; -1: no partner. */
int network_partner(int n, int round, int rank);

/* Time slots of a round */
struct network_turn {
    int own, n; /* time slot of this rank, -1: none; number of time slots */
};

/* Write the time slots of this rank in each round to ret [network_rounds(n)]. machine [n]: numbers
 * that are equal for nodes of one machine. Return 0 or -ENOMEM.
 */
int network_turns(const int64_t *machine, int n, int rank, struct network_turn *ret,
                  struct eddis_error *err);

#endif
