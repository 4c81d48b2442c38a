/* SPDX-License-Identifier: Apache-2.0 */
/* comm_limits.c - up to which size which kind of all-reduce is taken, unless a place says otherwise
 */
#include "collective.h"

/* Measured with 4 and 8 processes on two cores over shared memory: below these sizes one exchange
 * with everybody beats the ring's 2 (n - 1) dependent steps.
 */
static const struct comm_limits one_host = { 64 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES };
/* The same for 4, 8 and 16 hosts with links of 1 Gbit/s and 200 Mbit/s: a link carries n - 1 copies
 * of a direct exchange, and each step of a ring has its delay.
 */
static const struct comm_limits several_hosts = { 8 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES };

const struct comm_limits *comm_limits(const struct comm_place *p)
{
    return p->limits ? p->limits : p->hosts ? &several_hosts : &one_host;
}
