/* SPDX-License-Identifier: Apache-2.0 */
/* shm.h - memory shared by the ranks of one node
 *
 * The memory is one anonymous file, made by the first rank and opened by the other ranks through
 * /proc.  So no file is left in any folder, whichever process is killed.
 *
 *     [lines of every slot][members][pool][arena of rank 0][arena of rank 1] ... [results]
 *
 * A rank writes its contribution into its own arena, and all read the sum at the same offset of the
 * results, or with few ranks of their own arenas: see comm_shm_replaces.  Private memory goes
 * through the pool instead; see node_stage.h.  Each rank's process holds a lock on one byte of the
 * file.  So the other ranks notice the end of the process, however it ended, even if children that
 * it forked still run.
 *
 * Each struct comm_shm is for one thread, but ranks may be threads of one process.
 */
#ifndef EDDIS_COMM_SHM_H
#define EDDIS_COMM_SHM_H

#include "collective.h"

struct comm_shm; /* one rank's view of the memory */

enum {
    /* Least size of the pieces of a reduction in place between several nodes, which takes one slot
     * for each piece
     */
    COMM_SHM_PIECE_BYTES = 2 << 20,
    COMM_SHM_FEW = 3, /* most ranks of a node whose sums replace the contributions */
};

/* The size of the shared memory, the same on all ranks. */
struct comm_shm_size {
    size_t arena_bytes; /* size of each rank's arena, and of the results; 0: no arenas */
    /* number of slots, for all reductions in place and broadcasts that exist at the same time; on
     * one node each of these takes one slot
     */
    int slots;
    bool pool; /* there is a pool, so private memory can be reduced */
};

/* Make a collective that creates memory shared by all members of p, which must be on one node.
 * When the collective is over, take the memory by comm_shm_take.  The caller frees *ret by
 * collective_free.  Return 0 or -ENOMEM.
 */
int comm_shm_share(const struct comm_place *p, const struct comm_shm_size *size,
                   struct collective **ret, struct eddis_error *err);

/* Take ownership of the memory made by comm_shm_share; comm_shm_close frees *ret.  Return 0; the
 * caller still frees the collective.  If any member has failed, fail on all members with that
 * failure, -ENOMEM, -ENOSPC, -EACCES, ..., and its text.
 */
int comm_shm_take(struct collective *share, struct comm_shm **ret, struct eddis_error *err);

/* Borrow this rank's arena, page-aligned; NULL: there are no arenas. */
void *comm_shm_arena(const struct comm_shm *m);

/* Borrow the results, of the size of an arena, page-aligned; NULL: there are no arenas.  The memory
 * is writable, as a device's driver wants it, but a program must not write to it.
 */
void *comm_shm_results(const struct comm_shm *m);

/* Check whether sums replace the contributions in the arenas, so that each rank reads them in its
 * own, and nobody reads the results.  n_nodes: number of nodes whose ranks are summed.  So it is
 * with up to COMM_SHM_FEW ranks, all on one node, or with one rank on this one.  A store into each
 * arena costs about as much then as one into the results, and a device locks less of the host's
 * memory.
 */
bool comm_shm_replaces(const struct comm_shm *m, int n_nodes);

/* Leave and free m; other ranks' reductions that wait for this rank then fail.  Accept NULL. */
void comm_shm_close(struct comm_shm *m);

#endif
