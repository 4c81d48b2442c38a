/* SPDX-License-Identifier: Apache-2.0 */
/* comm_limits.c - default size limits between the kinds of all-reduce
 */
#include "collective.h"

#include "shm.h"

enum {
    MEASURED_HOSTS = 16, /* with more hosts a ring has more and shorter steps: use many_hosts */
    MESSAGE_BYTES = 64 << 10, /* a ring with messages of this size or more is faster than halving */
    GUEST_BYTES = 16 << 10,   /* the same if halving has extra ranks, whose data it sends twice */
};

/* Limits on one host.  Measured with 4 and 8 processes on two cores over shared memory: below these
 * sizes one exchange with all ranks is faster than the ring's 2 (n - 1) dependent steps.
 */
static const struct comm_limits one_host = { 64 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES,
                                             COMM_SHM_PIECE_BYTES };
/* Limits on several hosts.  Measured with 4, 8 and 16 hosts and links of 1 Gbit/s and 200 Mbit/s: a
 * link carries n - 1 copies in a direct exchange, and each step of a ring has its delay.
 */
static const struct comm_limits several_hosts = { 8 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES,
                                                  COMM_SHM_PIECE_BYTES };

/* Return the limits for n hosts, more than MEASURED_HOSTS: halving up to a larger size. */
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
