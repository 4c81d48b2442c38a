/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h - operations that all ranks take part in, as state machines
 *
 * Made once, started as often as wanted.  A start or the completion of an operation appends to
 * the outbox what is to be sent and received next, and says whether the collective is over on
 * this rank.  Those that wait for memory shared with others rather than for messages are polled.
 * All ranks start the same collectives with the same tags; the order in which messages arrive never
 * changes a bit of the result, and the result is the same bits on every rank.
 */
#ifndef EDDIS_COMM_COLLECTIVE_H
#define EDDIS_COMM_COLLECTIVE_H

#include "combine.h"
#include "op.h"

#include "lib/base/error.h"

struct collective; /* one rank's end */
struct node_groups;

enum {
    COMM_DIRECT_RANKS = 8,          /* with more an exchange with everybody is never taken */
    COMM_PIECE_BYTES = 1 << 20,     /* of a ring's messages, see allreduce_ring.c */
    COMM_LANES = 2,                 /* messages of a collective that may overtake each other */
    COMM_TAGS = 32768 / COMM_LANES, /* to start collectives with; MPI promises as many messages' */
};

/* Up to which size which kind of all-reduce by messages is taken. */
struct comm_limits {
    size_t direct_bytes;  /* up to this size an exchange with everybody ... */
    size_t tree_bytes;    /* ... up to this one a tree ... */
    size_t halving_bytes; /* ... up to this one recursive halving, above a ring ... */
    size_t piece_bytes;   /* ... with messages of about this size at most; 0: whole blocks */
    size_t stage_bytes;   /* between nodes that share memory: of each piece; 0: the usual */
};

/* A group of ranks, and this rank's place in it. */
struct comm_place {
    int rank, n_ranks; /* in the group, from 0 */
    bool hosts;        /* the ranks are on several hosts; the same on all of them */
    enum comm_channel channel;
    const int *peer; /* [n_ranks] the transport's numbers of the members; NULL: the same; borrowed,
                      * longer than any collective of the place */
    /* The members by nodes, where those of a node share memory; alike on all; borrowed; NULL:
     * messages only.
     */
    const struct node_groups *nodes;
    const struct comm_limits *limits; /* the same on all; NULL: as measured elsewhere; borrowed */
};

struct allreduce {
    /* [n], combined in place, borrowed.  In the node's arena, at the same offset on every rank, it
     * stays as it is: the result is where allreduce_result says.
     */
    void *data;
    size_t n;
    enum comm_type type;
    enum comm_rule rule;
    /* A few bytes right behind the elements that have a rule of their own; tail_bytes 0: none.
     * tail_rule must not depend on the order of its arguments, which are aligned as the end of
     * the elements is.
     */
    size_t tail_bytes;
    void (*tail_rule)(void *acc, const void *in);
    /* COMM_FLOAT16 or COMM_BFLOAT16: sums of float32 travel as these between the nodes, or between
     * all ranks where messages go among all, but for the tail.  What a rank sends is rounded; sums
     * are made in float32, and the total is rounded by who tells it to the others.  "direct", where
     * each rank adds up what all have sent, leaves its total as it is.  0: they travel as they are.
     */
    enum comm_type wire;
};

/* Return the limits that hold in this place. */
struct comm_limits comm_limits(const struct comm_place *p);

/* Make an all-reduce of the kind that allreduce_choose names. */
int allreduce_new(const struct comm_place *p, const struct allreduce *a, struct collective **ret,
                  struct eddis_error *err);

/* Combine other memory of the same length from the next start on.  It must be over, and of a kind
 * that takes messages only.
 */
void allreduce_redirect(struct collective *c, void *data);

/* Borrow the result of an all-reduce that is over, and the tail behind it: the data itself, or
 * memory of the node that is to be read only.  It stays until every rank has started the same one
 * again.
 */
const void *allreduce_result(const struct collective *c);

/* Return the bytes of all its messages' data, once: as it travels, with the tail. */
size_t allreduce_message_bytes(const struct allreduce *a);

/* Return the name of the kind that allreduce_new takes for so many bytes of messages: "shared" on
 * one node and "hosts" on several when the members of a node share memory, else "direct", "tree",
 * "halving" or "ring".
 */
const char *allreduce_choose(const struct comm_place *p, size_t bytes);

/* Make an all-reduce of a given kind, for tests and measurements.  -EINVAL: no such kind. */
int allreduce_new_kind(const char *kind, const struct comm_place *p, const struct allreduce *a,
                       struct collective **ret, struct eddis_error *err);

/* Copy bytes from root to all, by a binomial tree. */
int broadcast_new(const struct comm_place *p, void *data, size_t bytes, int root,
                  struct collective **ret, struct eddis_error *err);

/* The same from the first rank, through the results in memory that the ranks of a node share, and
 * in pieces between nodes: nobody may read what was reduced once he has started it.  By
 * broadcast_new where there is no such memory or no room.
 */
int broadcast_shared_new(const struct comm_place *p, void *data, size_t bytes,
                         struct collective **ret, struct eddis_error *err);

/* Copy in [bytes] of each rank to out [n_ranks * bytes] of all, in order of ranks; in must not
 * overlap out.
 */
int allgather_new(const struct comm_place *p, const void *in, void *out, size_t bytes,
                  struct collective **ret, struct eddis_error *err);

/* Make a barrier, which is over when every rank has started it. */
int barrier_new(const struct comm_place *p, struct collective **ret, struct eddis_error *err);

/* Start, or start again.  tag, below COMM_TAGS, must differ from those of all other collectives
 * under way.  Returns 1 when it is over already, else 0.
 */
int collective_start(struct collective *c, int tag, struct outbox *out, struct eddis_error *err);

/* Tell a collective that one of its operations is complete.  Returns as collective_start. */
int collective_done(struct collective *c, const struct comm_op *op, struct outbox *out,
                    struct eddis_error *err);

/* Return whether it waits for something that only collective_poll sees. */
bool collective_polls(const struct collective *c);

/* Look at what the others have done in shared memory.  Returns as collective_start. */
int collective_poll(struct collective *c, struct outbox *out, struct eddis_error *err);

/* Return the transport's number of the rank without which it cannot go on, as far as this rank can
 * tell; -1 when it is over.
 */
int collective_waits_for(const struct collective *c);

/* Keep something of the caller's with it, and return what is kept. */
void collective_set_user(struct collective *c, void *user);
void *collective_user(const struct collective *c);

/* Accepts NULL.  No operation of it may be under way. */
void collective_free(struct collective *c);

#endif
