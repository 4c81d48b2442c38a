/* SPDX-License-Identifier: Apache-2.0 */
/* network_rounds.h - which nodes measure the network between them, and when
 *
 * In a round every node has at most one partner, so that no two measurements share a cable.  Nodes
 * of one machine share its cores as well, which a few streams at once keep busy: their pairs take
 * turns, NETWORK_TURNS in a round.
 *
 * Up to NETWORK_ALL_PAIRS nodes every pair meets; with more of them the neighbours in the ring and
 * those at distances that are powers of two, which is what collectives use: a slow link of a node
 * shows in all its pairs.
 */
#ifndef EDDIS_PROFILER_NETWORK_ROUNDS_H
#define EDDIS_PROFILER_NETWORK_ROUNDS_H

#include "lib/base/error.h"

#include <stdint.h>

enum { NETWORK_ALL_PAIRS = 8, NETWORK_TURNS = 4 };

/* Return the number of rounds among n ranks; and a rank's partner in a round, -1: it has none. */
int network_rounds(int n);
int network_partner(int n, int round, int rank);

struct network_turn {
    int own, n; /* a rank's own turn of the n of a round */
};

/* Write the turns of each round and a rank's own among them to ret [network_rounds(n)].  machine
 * [n]: numbers that are alike for nodes of one machine.  -ENOMEM.
 */
int network_turns(const int64_t *machine, int n, int rank, struct network_turn *ret,
                  struct eddis_error *err);

#endif
