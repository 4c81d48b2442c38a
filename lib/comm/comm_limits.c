/* SPDX-License-Identifier: Apache-2.0 */
/* comm_limits.c - up to which size which kind of all-reduce is taken, unless a place says otherwise
 */
#include "collective.h"

#include "shm.h"

enum {
    MEASURED_HOSTS = 16,      /* with more each of a ring's steps is shorter, and there are more */
    MESSAGE_BYTES = 64 << 10, /* of a ring's messages: what is worth the delay of one ... */
    GUEST_BYTES = 16 << 10,   /* ... where halving sends guests' data twice */
};

/* Measured with 4 and 8 processes on two cores over shared memory: below these sizes one exchange
 * with everybody beats the ring's 2 (n - 1) dependent steps.
 */
static const struct comm_limits one_host = { 64 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES,
                                             COMM_SHM_PIECE_BYTES };
/* The same for 4, 8 and 16 hosts with links of 1 Gbit/s and 200 Mbit/s: a link carries n - 1 copies
 * of a direct exchange, and each step of a ring has its delay.
 */
static const struct comm_limits several_hosts = { 8 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES,
                                                  COMM_SHM_PIECE_BYTES };

static struct comm_limits many_hosts(int n)
{
    struct comm_limits l = several_hosts;
    bool guests = n & (n - 1);

    l.halving_bytes = (size_t)n * (guests ? GUEST_BYTES : MESSAGE_BYTES);
    return l;
}

struct comm_limits comm_limits(const struct comm_place *p)
{
    struct comm_limits l = p->limits                     ? *p->limits
                           : !p->hosts                   ? one_host
                           : p->n_ranks > MEASURED_HOSTS ? many_hosts(p->n_ranks)
                                                         : several_hosts;

    if (!l.stage_bytes)
        l.stage_bytes = COMM_SHM_PIECE_BYTES;
    return l;
}
