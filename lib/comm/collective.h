/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h - operations in which all ranks take part, as state machines
 *
 * A collective is made once and started any number of times.  A start, or the completion of an
 * operation, appends the next messages to the send queue and returns whether the collective is over
 * on this rank.  Collectives that wait for shared memory instead of messages are polled.  All ranks
 * start the same collectives with the same tags.  The order in which messages arrive never changes
 * a bit of the result, and the result has the same bits on every rank.
 */
#ifndef EDDIS_COMM_COLLECTIVE_H
#define EDDIS_COMM_COLLECTIVE_H

#include "combine.h"
#include "op.h"

#include "lib/base/error.h"

struct collective; /* one rank's part */
struct node_groups;

enum {
    COMM_DIRECT_RANKS = 8,      /* with more ranks a direct exchange with all is never chosen */
    COMM_PIECE_BYTES = 1 << 20, /* default size of a ring's messages, see allreduce_ring.c */
    COMM_LANES = 2, /* streams of a collective's messages that may overtake each other */
    COMM_TAGS = 32768 / COMM_LANES, /* tags of collectives; MPI guarantees 32768 tags of messages */
};

/* The size limits between the kinds of all-reduce by messages. */
struct comm_limits {
    size_t direct_bytes;  /* largest size for a direct exchange of each rank with all */
    size_t tree_bytes;    /* largest size above direct_bytes for a tree */
    size_t halving_bytes; /* largest size above tree_bytes for recursive halving; for more a ring */
    size_t piece_bytes;   /* approximate limit of a ring's messages; 0: whole blocks */
    size_t stage_bytes;   /* size of each piece between nodes that share memory; 0: the default */
};

/* A group of ranks, and this rank's position in it. */
struct comm_place {
    int rank, n_ranks; /* rank in the group, from 0 */
    bool hosts;        /* the ranks are on several hosts; the same value on all ranks */
    enum comm_channel channel;
    /* [n_ranks] the members' ranks in the transport, borrowed for longer than any collective of the
     * place; NULL: the same numbers
     */
    const int *peer;
    /* The members grouped by nodes that share memory; the same on all ranks; borrowed; NULL:
     * messages only.
     */
    const struct node_groups *nodes;
    const struct comm_limits *limits; /* the same on all ranks; borrowed; NULL: defaults */
};

/* The parameters of an all-reduce. */
struct allreduce {
    /* [n] elements, combined in place; borrowed.  Data in the node's arena, at the same offset on
     * every rank, stays unchanged or becomes the result: read that by allreduce_result.
     */
    void *data;
    size_t n;
    enum comm_type type;
    enum comm_rule rule;
    /* A trailer: a few bytes directly after the elements, with their own rule; tail_bytes 0: none.
     * trailer_rule must not depend on the order of its arguments, which are aligned like the end of
     * the elements.
     */
    size_t tail_bytes;
    void (*trailer_rule)(void *acc, const void *in);
    /* The type of float32 sums in messages, COMM_FLOAT16 or COMM_BFLOAT16; 0: float32.  It is used
     * between nodes if the ranks of a node share memory, otherwise between all ranks, and never for
     * the trailer.  A rank sends rounded values; sums are computed in float32, and the sender of a
     * total rounds it.  "direct", in which each rank adds up all contributions, does not round its
     * total.
     */
    enum comm_type wire;
};

/* Return the size limits that hold in this place. */
struct comm_limits comm_limits(const struct comm_place *p);

/* Make in *ret an all-reduce of the kind that allreduce_choose names; the caller frees it by
 * collective_free.  Return 0 or a negative errno; -EINVAL: unknown type or rule, or a->wire does
 * not suit them.
 */
int allreduce_new(const struct comm_place *p, const struct allreduce *a, struct collective **ret,
                  struct eddis_error *err);

/* Use other data of the same length from the next start on.  The all-reduce must be over, and of a
 * kind that uses messages only.
 */
void allreduce_redirect(struct collective *c, void *data);

/* Borrow the result of an all-reduce that is over, with its trailer: the data itself, or read-only
 * memory of the node.  Valid until every rank has started the same all-reduce again.
 */
const void *allreduce_result(const struct collective *c);

/* Return the size of the data with its trailer, in bytes, in the type in which it travels. */
size_t allreduce_message_bytes(const struct allreduce *a);

/* Borrow the constant name of the kind of all-reduce that allreduce_new uses for this many bytes of
 * messages.  "shared" on one node, "hosts" on several, if the members of a node share memory; else
 * "direct", "tree", "halving" or "ring".
 */
const char *allreduce_choose(const struct comm_place *p, size_t bytes);

/* Make in *ret an all-reduce of a given kind, for tests and measurements; the caller frees it by
 * collective_free.  Return 0 or a negative errno; -EINVAL: no such kind, or as allreduce_new.
 */
int allreduce_new_kind(const char *kind, const struct comm_place *p, const struct allreduce *a,
                       struct collective **ret, struct eddis_error *err);

/* Make in *ret a broadcast of `bytes` bytes of data from member `root` to all, by a binomial tree;
 * the caller frees *ret by collective_free.  Return 0, -ENOMEM, or -EINVAL: root is no member.
 */
int broadcast_new(const struct comm_place *p, void *data, size_t bytes, int root,
                  struct collective **ret, struct eddis_error *err);

/* Make in *ret a broadcast of data [bytes] from the first rank, through the results of the node's
 * shared memory, and in pieces between nodes.  Once the broadcast is started, earlier results must
 * not be read.  Use broadcast_new instead if there is no such memory, or no room in it.  Return 0
 * or -ENOMEM.  The caller frees *ret by collective_free.
 */
int broadcast_shared_new(const struct comm_place *p, void *data, size_t bytes,
                         struct collective **ret, struct eddis_error *err);

/* Make in *ret a collective that copies `in` [bytes] of each rank to `out` [n_ranks * bytes] of
 * all, in order of ranks.  in must not overlap out.  Return 0 or -ENOMEM.  The caller frees *ret by
 * collective_free.
 */
int allgather_new(const struct comm_place *p, const void *in, void *out, size_t bytes,
                  struct collective **ret, struct eddis_error *err);

/* Make in *ret a barrier, which is over once every rank has started it.  Return 0 or -ENOMEM.  The
 * caller frees *ret by collective_free.
 */
int barrier_new(const struct comm_place *p, struct collective **ret, struct eddis_error *err);

/* Start the collective, for the first time or after it was over.  tag, below COMM_TAGS, must differ
 * from those of all other collectives under way.  Return 1 if c is over already, else 0.
 */
int collective_start(struct collective *c, int tag, struct outbox *out, struct eddis_error *err);

/* Continue a collective after its completed operation op.  Return like collective_start. */
int collective_done(struct collective *c, const struct comm_op *op, struct outbox *out,
                    struct eddis_error *err);

/* Check whether c waits for shared memory, which only collective_poll inspects. */
bool collective_polls(const struct collective *c);

/* Inspect shared memory for the progress of other ranks.  Return like collective_start. */
int collective_poll(struct collective *c, struct outbox *out, struct eddis_error *err);

/* Return the transport's rank that the collective waits for, as far as this rank knows; -1: the
 * collective is over.
 */
int collective_waits_for(const struct collective *c);

/* Store a pointer for the caller. */
void collective_set_user(struct collective *c, void *user);

/* Return the pointer stored by collective_set_user.  It stays the user's; NULL if none was stored.
 */
void *collective_user(const struct collective *c);

/* Free c, which must have no operation under way.  Accept NULL. */
void collective_free(struct collective *c);

#endif
