/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - computes which block each rank sends in a ring all-reduce
 *
 * Pure arithmetic on (rank, size, step), without messages or memory, so the test proves the
 * arithmetic by running every size up to 64.  A vector of n elements is cut into `size` blocks
 * whose lengths differ by at most one.  Steps 0 .. size-2 add, steps size-1 .. 2*size-3 copy.
 *
 * Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
 * J.  Parallel Distrib.  Comput.  69(2), 2009.
 */
#ifndef EDDIS_COMM_RING_H
#define EDDIS_COMM_RING_H

#include <stddef.h>

/* Return the first element of block b, 0 <= b <= size.  Block b ends where b + 1 starts. */
size_t ring_block(size_t n, int size, int b);

/* Return the block that rank sends to rank + 1 in this step.  In the same step rank receives the
 * block before it.
 */
int ring_send(int rank, int size, int step);

/* Return the number of steps of the whole all-reduce. */
int ring_steps(int size);

#endif
