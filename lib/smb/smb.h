/* SPDX-License-Identifier: Apache-2.0 */
/* smb.h - Soft Memory Box: named buffers that many ranks share; one rank's part
 *
 * One rank makes a buffer and gets its key; other ranks that receive the key attach to the buffer.
 * They read, write, add one buffer to another ("accumulate"), add and wait for notices, and count.
 * A buffer is freed with its last user.  It is striped over the memory of several nodes and
 * addressed as one.
 *
 *     rank of the server's node:   request --> shared memory (memory.h)
 *     rank of another node:        request --> order --> server --> shared memory
 *                                          <-- answer, chunks of data
 *
 * The server of a stripe is the first rank of a node.  Its communication thread carries out orders
 * as tasks in turns, a part of each at a time, so that neither a collective nor another request
 * waits long.  Nothing here blocks.
 *
 * Order: requests of a rank to one buffer are carried out in the order in which they were started;
 * only a wait for notices lets later requests be carried out before it ends.  Accumulates of all
 * ranks into one buffer are carried out one after the other.  If a read or write of many elements
 * overlaps another rank's accumulate or write, some elements have the value before and some the
 * value after it.  No element is a mixture of both, and no addition is lost.
 *
 * Death: a rank that is killed leaves nothing locked.  Its accumulate is finished or not begun for
 * each element, exactly once; a chunk of its write may be partly written.  Its attachments count
 * until the box is closed.  All memory of a box is freed with its processes.
 *
 * Source: the operations are those of the Soft Memory Box (IEEE Access 6:26493, 2018, and 8:207097,
 * 2020, for stripes); the implementation is our own.
 */
#ifndef EDDIS_SMB_SMB_H
#define EDDIS_SMB_SMB_H

#include "lib/comm/collective.h"

#include <stdint.h>

struct smb;

struct smb_options {
    struct comm_place place; /* all ranks of the box, on its own channel; peer is borrowed */
    const int *node_of;      /* [n_ranks] node numbers; ranks of one node share memory */
    int n_servers;           /* number of stripes, at most one on each node; 0: one on each */
};

/* Key of a buffer: a plain number that may be sent to other ranks; 0: no buffer. */
typedef struct {
    uint64_t id;
} smb_key;

enum smb_kind {
    SMB_CREATE,     /* type, n -> key; this rank is attached; filled with zeros */
    SMB_ATTACH,     /* key -> type, n */
    SMB_READ,       /* key, first, count, data */
    SMB_WRITE,      /* as SMB_READ; the server then adds a notice to the buffer */
    SMB_ACCUMULATE, /* key += source, of the same type and length; then adds a notice to key */
    SMB_NOTIFY,     /* key -> version: only adds a notice */
    SMB_WAIT,       /* key, version -> version: wait for more notices than `version` */
    SMB_FETCH_ADD,  /* key of int64, first, add -> value: the element's value before */
    SMB_DETACH,     /* key; one detach for each create and attach */
};

/* A request.  It belongs to the caller, who may not change it until it is done; the members after
 * -> in enum smb_kind are results.
 */
struct smb_request {
    enum smb_kind kind;
    smb_key key;
    smb_key source;
    enum comm_type type; /* COMM_FLOAT32, COMM_FLOAT64 or COMM_INT64 */
    size_t n;            /* number of elements of the buffer */
    void *data; /* [count]; not accessed any more when the request is done, whatever rc is */
    size_t first, count; /* range of elements: first .. first + count - 1 */
    int64_t add, value;
    uint64_t version;
    int64_t deadline_ns; /* time of -ETIMEDOUT; the request may still be carried out after it */
    int rc;              /* 0, -ENOENT: no such buffer, -EINVAL: bad use, -ENOSPC or -ENOMEM */
    struct eddis_error error;
    bool done;
    void *user;
    struct smb_request *next; /* list of the requests that smb_take_done will return */
};

/* Open this rank's part; smb_close frees *ret.  Return 0 or a negative errno.  If this fails on a
 * server, the caller must notify the other ranks.  -EINVAL: impossible number of servers.
 */
int smb_open(const struct smb_options *o, struct smb **ret, struct eddis_error *err);

/* Start a request.  Return 1 if it is done already (smb_take_done does not return it then), else 0,
 * or a negative errno.  r->rc is the request's result.  A failure of this function, smb_receive or
 * smb_poll is the end of the box.
 */
int smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
              struct eddis_error *err);

/* Handle the completion of an operation of this box.  Return 0 or a negative errno, see smb_start.
 */
int smb_receive(struct smb *b, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                struct eddis_error *err);

/* Continue what does not wait for messages: opening, shared memory, deadlines, and orders that may
 * now be sent.  Return 1 if there was progress, else 0, or a failure, see smb_start.
 */
int smb_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Check whether smb_poll has anything to do. */
bool smb_polls(const struct smb *b);

/* Check, directly after smb_poll, whether a request or an order waits for this node's memory or its
 * next turn, which no message announces.  If not, call smb_poll after the next message, and now and
 * then for deadlines.
 */
bool smb_awaits_memory(const struct smb *b);

/* Return the next request that is done; NULL: none. */
struct smb_request *smb_take_done(struct smb *b);

/* Return the transport's number of the rank whose server the request waits for; -1: none, any
 * rank's notice, or the request is done.
 */
int smb_waits_for(const struct smb *b, const struct smb_request *r);

/* Note that this rank starts no more requests. */
void smb_leave(struct smb *b);

/* Check whether this rank and all that use it as server have left and nothing of the box is under
 * way.  Until then smb_poll and smb_receive must be called for the box.
 */
bool smb_left(const struct smb *b);

/* Close this rank's part; b may be NULL.  If it has not left, the memory of its operations under
 * way is freed too, so the transport must not continue them.
 */
void smb_close(struct smb *b);

#endif
