/* SPDX-License-Identifier: Apache-2.0 */
/* smb.h - Soft Memory Box: named buffers that many ranks share; one rank's end
 *
 * A buffer is made by one rank, which gets its key, and attached to by others that were told the
 * key.  They read, write, add one buffer to another ("accumulate"), give and wait for notices, and
 * count.  It goes with its last user.  It is striped over the memory of several nodes and addressed
 * as one.
 *
 *     rank of the server's node:   request --> shared memory (memory.h)
 *     rank of another node:        request --> order --> server --> shared memory
 *                                          <-- answer, pieces of data
 *
 * The server of a stripe is the first rank of a node: a few tasks that its communication thread
 * goes on with in turns, a piece of each at a time, so that neither a collective nor another
 * request waits long behind one.  Nothing here blocks.
 *
 * Order: requests of a rank to one buffer are carried out in the order in which they were started;
 * only waits for notices stand aside and let later ones pass.  Accumulates into one buffer, of all
 * ranks, are carried out one after the other, each whole.  A read, or a write, of many elements at
 * the time of another rank's accumulate or write sees, or leaves, some elements as before and some
 * as after it, never half of an element, and never loses an addition.
 *
 * Death: a rank that is killed leaves nothing locked.  What an accumulate had done is finished or
 * not begun, element by element exactly once; a piece of a write may be half there; its attachments
 * stay counted until the box is gone.  All memory of a box goes with its processes.
 *
 * Source: the operations are those of the Soft Memory Box (IEEE Access 6:26493, 2018, and
 * 8:207097, 2020, for stripes); how they are done here is our own.
 */
#ifndef EDDIS_SMB_SMB_H
#define EDDIS_SMB_SMB_H

#include "lib/comm/collective.h"

#include <stdint.h>

struct smb;

struct smb_options {
    struct comm_place place; /* all ranks of the box, on a channel of its own; peer is borrowed */
    const int *node_of;      /* [n_ranks] numbers of the nodes; ranks of one node share memory */
    int n_servers;           /* stripes, at most one a node; 0: one a node */
};

/* What a buffer is known by: a plain number, which may be sent to other ranks; 0: no buffer. */
typedef struct {
    uint64_t id;
} smb_key;

enum smb_kind {
    SMB_CREATE,     /* type, n -> key; this rank is attached; filled with zeros */
    SMB_ATTACH,     /* key -> type, n */
    SMB_READ,       /* key, first, count, data */
    SMB_WRITE,      /* the same; a notice at the end */
    SMB_ACCUMULATE, /* key += source, which has the same type and length; a notice at the end */
    SMB_NOTIFY,     /* key -> version: a notice and nothing else */
    SMB_WAIT,       /* key, version -> version: until more notices than that were given */
    SMB_FETCH_ADD,  /* key of int64, first, add -> value: what the element was */
    SMB_DETACH,     /* key; as often as created and attached */
};

/* The caller's until it is done, but for the fields marked -> above. */
struct smb_request {
    enum smb_kind kind;
    smb_key key;
    smb_key source;
    enum comm_type type; /* COMM_FLOAT32, COMM_FLOAT64 or COMM_INT64 */
    size_t n;
    void *data; /* [count]; when it is done, whatever its rc, nobody looks at it any more */
    size_t first, count; /* elements */
    int64_t add, value;
    uint64_t version;
    int64_t deadline_ns; /* -ETIMEDOUT then; what was asked may still happen */
    int rc;              /* 0, -ENOENT: no such buffer, -EINVAL: bad use, -ENOSPC or -ENOMEM */
    struct eddis_error error;
    bool done;
    void *user;
    struct smb_request *next; /* of those that smb_take_done will return */
};

/* Open this rank's end.  When a server fails here, the others must be told by the caller. */
int smb_open(const struct smb_options *o, struct smb **ret, struct eddis_error *err);

/* Begin a request.  Returns 1 when it is done already, and then smb_take_done does not return it;
 * else 0.  A failure of the request is in r->rc; a failure of this function, and of the next two,
 * is the end of the box.
 */
int smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
              struct eddis_error *err);

/* Tell the box that an operation of it is complete. */
int smb_receive(struct smb *b, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                struct eddis_error *err);

/* Go on with what does not wait for messages: shared memory, deadlines, orders that may now be
 * under way; at first, with opening.
 * Returns 1 when something moved, else 0.
 */
int smb_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Return whether smb_poll has something to look after. */
bool smb_polls(const struct smb *b);

/* Return, right after smb_poll, whether a request or an order waits for this node's memory, or for
 * its next turn, of which no message tells.  If none does, smb_poll is wanted after the next
 * message, and now and then for deadlines.
 */
bool smb_awaits_memory(const struct smb *b);

/* Take the next request that is done; NULL: none is. */
struct smb_request *smb_take_done(struct smb *b);

/* Return the transport's number of the rank whose server a request waits for; -1: it waits for
 * none, or for anybody's notice, or is done.
 */
int smb_waits_for(const struct smb *b, const struct smb_request *r);

/* Say that this rank begins no more requests; return whether no other does that has it as its
 * server, and nothing of the box is under way any more.  Until then the box must be driven.
 */
void smb_leave(struct smb *b);
bool smb_left(const struct smb *b);

/* Close this rank's end.  When it has not left, the memory of its operations under way goes too:
 * the transport must not go on with them.  Accepts NULL.
 */
void smb_close(struct smb *b);

#endif
