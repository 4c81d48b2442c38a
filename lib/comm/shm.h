/* SPDX-License-Identifier: Apache-2.0 */
/* shm.h - memory that the ranks of one node share
 *
 * One anonymous file, made by the first rank and opened by the others through /proc, so that
 * nothing is left in any folder whoever is killed when:
 *
 *     [lines of every slot][members][pool][arena of rank 0][arena of rank 1] ... [results]
 *
 * A rank writes its contribution into its own arena and all read the sum at the same place of the
 * results, or both go through the pool when they lie in private memory; node_stage.h says how.
 * Each rank's process holds a lock on one byte of the file: so the others see that it has gone,
 * however it went, and whatever children that it forked live on.
 *
 * Not for several threads, but ranks may be threads of one process.
 */
#ifndef EDDIS_COMM_SHM_H
#define EDDIS_COMM_SHM_H

#include "collective.h"

struct comm_shm; /* one rank's view */

enum {
    /* A reduction in place between several nodes takes a slot for each of its pieces, which are of
     * this size at least.
     */
    COMM_SHM_PIECE_BYTES = 2 << 20,
};

/* How much memory is shared, the same on all ranks. */
struct comm_shm_size {
    size_t arena_bytes; /* of each rank, and of the results; 0: no arenas */
    int slots;          /* of all reductions in place and broadcasts that exist at a time; on one
                         * node one each */
    bool pool;          /* whether private memory can be reduced */
};

/* Make a collective that shares memory among all members of p, which must be on one node.  When it
 * is over the memory is taken with comm_shm_take.
 */
int comm_shm_share(const struct comm_place *p, const struct comm_shm_size *size,
                   struct collective **ret, struct eddis_error *err);

/* Take what comm_shm_share has made, of which the caller becomes the owner; collective_free is
 * still due.  When one member has failed all get its failure, -ENOMEM, -ENOSPC, -EACCES, ..., and
 * its sentence.
 */
int comm_shm_take(struct collective *share, struct comm_shm **ret, struct eddis_error *err);

/* Borrow this rank's arena, page-aligned; NULL: there are no arenas. */
void *comm_shm_arena(const struct comm_shm *m);

/* Leave: reductions of others that wait for this rank fail.  Accepts NULL. */
void comm_shm_close(struct comm_shm *m);

#endif
