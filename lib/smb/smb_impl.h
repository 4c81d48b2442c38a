/* SPDX-License-Identifier: Apache-2.0 */
/* smb_impl.h - state and messages shared by the files behind smb.h
 *
 * Messages, all of one channel:
 *
 *     tag                    from      to
 *     SMB_TAG_ORDER          client    server    struct work_order
 *     SMB_TAG_ANSWER         server    client    struct work_result
 *     smb_tag_data(.., 0)    client    server    a piece of a write (chunk_window.h)
 *     smb_tag_data(.., 1)    server    client    a piece of a read
 *
 * A server waits for an order of each rank that does not use the server's memory itself.  A rank on
 * the server's node first gets the place of the memory (an answer without an order), replies with
 * WORK_HELLO, and sends no more.  If the rank cannot open that memory, it is a client like those of
 * other nodes.  The last order of a client is WORK_BYE.
 */
#ifndef EDDIS_SMB_SMB_IMPL_H
#define EDDIS_SMB_SMB_IMPL_H

#include "chunk_window.h"
#include "message.h"
#include "smb.h"
#include "work.h"

enum {
    SMB_CHUNK = 256 * 1024, /* bytes of a chunk */
    SMB_WINDOW = 2,         /* most chunks of one order under way: one is sent while one is
                             * filled */
    /* Most orders of one operation that move elements and are under way at the same time.  Chunks
     * from all servers at once would arrive faster than this rank's link carries them.  A switch
     * drops what its buffers cannot hold; a packet dropped at the end of a burst is sent again only
     * after a fifth of a second.
     */
    SMB_ORDERS = 4,
    SMB_TURN = 1024 * 1024, /* bytes copied or added in one turn: about 0.2 ms */
    SMB_TAG_ORDER = 0,
    SMB_TAG_ANSWER = 1,
    SMB_TAG_ORDERS = 16000, /* limit of the orders that one client has under way at one server */
};

/* Return the message tag of an order's chunks; reading: 1 for READ, 0 for WRITE. */
static inline int smb_tag_data(uint32_t seq, int reading)
{
    return 2 + 2 * (int)(seq % SMB_TAG_ORDERS) + reading;
}

enum smb_near {
    NEAR_UNKNOWN, /* the place of this node's memory is not known yet */
    NEAR_NONE,    /* this node has no such memory, or it cannot be opened: use orders only */
    NEAR_MAPPED,
};

struct smb_op;
struct task;

struct smb_user { /* a buffer that this rank is attached to, and how often */
    struct smb_user *next;
    uint64_t id;
    enum comm_type type;
    size_t n;
    int count;
};

struct smb {
    struct comm_place place;
    int n_servers;
    int *server; /* [n_servers] the rank that serves the stripe */
    int own;     /* stripe of this node; -1: none */
    bool *same;  /* [n_ranks] whether a rank is on this node */
    bool started, leaving, bye;
    struct message under_way; /* head of the list of messages posted */
    struct message *spare;    /* chunk messages for reuse */
    int n_spare;

    enum smb_near near;
    struct memory *memory; /* NULL unless NEAR_MAPPED or a server */

    /* Client. */
    struct smb_op *first, **last; /* in order of start */
    struct smb_user *users;
    struct smb_request *done, **done_last;
    const struct smb_request *starting;
    uint32_t *seq; /* [n_servers] number of orders sent to each server so far */
    uint64_t made; /* number of keys made so far */

    /* Server. */
    struct task *tasks;
    int clients; /* number of ranks from which an order may come */
};

/* Start a request of this rank.  Return 1 if it is done already, else 0.  (smb_client.c) */
int smb_client_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err);

/* Continue all requests of this rank.  Return 1 if there was progress, else 0, or a failure of the
 * box.
 */
int smb_client_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Return the rank of the server that a request waits for; -1: none, or it waits for notices. */
int smb_client_waits_for(const struct smb *b, const struct smb_request *r);

/* Check whether an order of this rank waits for this node's memory. */
bool smb_client_awaits_memory(const struct smb *b);

/* Free all operations and attachments.  Requests belong to their callers: they are neither freed
 * nor completed.
 */
void smb_client_fini(struct smb *b);

/* Start the server of a stripe: listen for orders and send the ranks of this node the place of its
 * memory.  Return 0 or -ENOMEM.  (smb_server.c)
 */
int smb_server_start(struct smb *b, struct outbox *out, struct eddis_error *err);

/* Continue all tasks.  Return 1 if there was progress, else 0, or a failure of the box. */
int smb_server_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Check whether a task waits for this node's memory or its next turn. */
bool smb_server_awaits_memory(const struct smb *b);

/* Free all tasks. */
void smb_server_fini(struct smb *b);

#endif
