/* SPDX-License-Identifier: Apache-2.0 */
/* shm.h - memory that the ranks of one node share
 *
 * One anonymous file, made by the first rank and opened by the others through /proc, so that
 * nothing is left in any folder whoever is killed when:
 *
 *     [lines of every slot][pool][arena of rank 0][arena of rank 1] ... [results]
 *
 * A rank writes its contribution into its own arena and all read the sum at the same place of the
 * results, or both go through the pool when they lie in private memory; allreduce_shared.c says
 * how. Each rank holds a lock on one byte of the file: so the others see that it has gone, however
 * it went.
 *
 * Not for several threads, but ranks may be threads of one process.
 */
#ifndef EDDIS_COMM_SHM_H
#define EDDIS_COMM_SHM_H

#include "collective.h"

struct comm_shm; /* one rank's view */

enum {
    /* A reduction in place between several nodes takes one slot for each so many bytes. */
    COMM_SHM_PIECE_BYTES = 2 << 20,
};

struct comm_shm_size {
    size_t arena_bytes; /* of each rank, and of the results; 0: none */
    int slots;          /* of reductions in place that exist at a time; on one node one each */
    bool pool;          /* for reductions of private memory */
};

/* Share memory among all members of p, which must be on one node.  A collective: what it made is
 * taken with comm_shm_take when it is over.  *size must be the same on all.
 */
int comm_shm_share(const struct comm_place *p, const struct comm_shm_size *size,
                   struct collective **ret, struct eddis_error *err);

/* The caller owns *ret; collective_free is still due.  When any member could not, all get the same
 * failure: -ENOMEM, -ENOSPC, -EACCES, ..., with the sentence of that member.
 */
int comm_shm_take(struct collective *share, struct comm_shm **ret, struct eddis_error *err);

/* Borrows this rank's arena, page-aligned; NULL: there is none. */
void *comm_shm_arena(const struct comm_shm *n);

/* Leave.  The others' reductions that wait for this rank fail.  Accepts NULL. */
void comm_shm_close(struct comm_shm *n);

#endif
