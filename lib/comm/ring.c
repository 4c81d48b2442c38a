/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - the arithmetic of ring.h */
#include "ring.h"

/* Return the first element of block b.  The first n % size blocks are one element longer; the form
 * avoids the overflow of n * b.
 */
size_t ring_block(size_t n, int size, int b)
{
    size_t length = n / (size_t)size, longer = n % (size_t)size;

    return (size_t)b * length + ((size_t)b < longer ? (size_t)b : longer);
}

/* Return the block that rank sends in this step.  After size-1 additions rank r holds the complete
 * sum of block r+1, so copying starts there.  r+1 is congruent to r-(size-1), so one formula serves
 * both phases.
 */
int ring_send(int rank, int size, int step)
{
    return (rank - step % size + size) % size;
}

int ring_steps(int size)
{
    return 2 * (size - 1);
}
