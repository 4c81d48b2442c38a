/* SPDX-License-Identifier: Apache-2.0 */
/* network_rounds.h - schedule of network measurements between nodes
 *
 * In a round each node has at most one partner, so that no two measurements share a cable.  Nodes
 * of one machine also share its cores, which a few parallel streams saturate.  Their pairs are
 * spread over up to NETWORK_TURNS time slots of a round.
 *
 * Up to NETWORK_ALL_PAIRS nodes, all pairs are measured.  With more, only ring neighbours and pairs
 * at distances that are powers of two, as collectives use them; a slow link of a node shows in all
 * its pairs.
 */
#ifndef EDDIS_PROFILER_NETWORK_ROUNDS_H
#define EDDIS_PROFILER_NETWORK_ROUNDS_H

#include "lib/base/error.h"

#include <stdint.h>

enum { NETWORK_ALL_PAIRS = 8, NETWORK_TURNS = 4 };

/* Return the number of rounds for n ranks. */
int network_rounds(int n);

/* Return a rank's partner in a round; -1: none. */
int network_partner(int n, int round, int rank);

/* Time slots of a round */
struct network_turn {
    int own, n; /* this rank's slot, -1: none; number of slots */
};

/* Write the time slots of each round, for this rank, to ret [network_rounds(n)]. machine [n]: equal
 * numbers for nodes of one machine.  -ENOMEM.
 */
int network_turns(const int64_t *machine, int n, int rank, struct network_turn *ret,
                  struct eddis_error *err);

#endif
