/* SPDX-License-Identifier: Apache-2.0 */
/* smb_impl.h - what the files behind smb.h share
 *
 * Messages, all of one channel:
 *
 *     tag                    from      to
 *     SMB_TAG_ORDER          client    server    struct work_order
 *     SMB_TAG_ANSWER         server    client    struct work_result
 *     smb_tag_data(.., 0)    client    server    a piece of a write (chunk_window.h)
 *     smb_tag_data(.., 1)    server    client    a piece of a read
 *
 * A server waits for an order of each rank that does not use its memory itself.  A rank that shares
 * its node is first told where the memory is (an answer nobody asked for), says hello, and is not
 * heard of any more; should it not get at that memory, it is a client like those of other nodes.
 * The last order of a client is a goodbye.
 */
#ifndef EDDIS_SMB_SMB_IMPL_H
#define EDDIS_SMB_SMB_IMPL_H

#include "chunk_window.h"
#include "message.h"
#include "smb.h"
#include "work.h"

enum {
    SMB_CHUNK = 256 * 1024, /* bytes of a piece on its way */
    SMB_WINDOW = 2,         /* pieces of one order under way: one is sent, one is filled */
    /* Orders of one operation under way at a time, of those that move elements.  Pieces from all
     * servers at once come in faster than this rank's link takes them, and what its switch has no
     * room for is sent again, after a fifth of a second if it was the last of a connection.
     */
    SMB_ORDERS = 4,
    SMB_TURN = 1024 * 1024, /* bytes copied or added in one turn: some 0.2 ms */
    SMB_TAG_ORDER = 0,
    SMB_TAG_ANSWER = 1,
    SMB_TAG_ORDERS = 16000, /* orders of a client to a server at a time */
};

static inline int smb_tag_data(uint32_t seq, int reading)
{
    return 2 + 2 * (int)(seq % SMB_TAG_ORDERS) + reading;
}

enum smb_near {
    NEAR_UNKNOWN, /* not told yet where this node's memory is */
    NEAR_NONE,    /* none here, or it cannot be used: orders only */
    NEAR_MAPPED,
};

struct smb_op;
struct task;

struct smb_user { /* a buffer that this rank is attached to */
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
    int own;     /* this node's stripe, -1: none */
    bool *same;  /* [n_ranks] on this node */
    bool started, leaving, bye;
    struct message under_way; /* head of the list of messages posted */
    struct message *spare;    /* with room for a piece, for use again */
    int n_spare;

    enum smb_near near;
    struct memory *memory; /* NULL unless NEAR_MAPPED or a server */

    /* Client. */
    struct smb_op *first, **last; /* in order of start */
    struct smb_user *users;
    struct smb_request *done, **done_last;
    const struct smb_request *starting;
    uint32_t *seq; /* [n_servers] orders so far */
    uint64_t made; /* keys so far */

    /* Server. */
    struct task *tasks;
    int clients; /* of which an order may come */
};

/* smb_client.c: this rank's requests.  smb_client_poll returns whether something moved. */
int smb_client_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err);
int smb_client_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err);
int smb_client_waits_for(const struct smb *b, const struct smb_request *r);
bool smb_client_awaits_memory(const struct smb *b);
void smb_client_fini(struct smb *b);

/* smb_server.c: the rank that serves a stripe. */
int smb_server_start(struct smb *b, struct outbox *out, struct eddis_error *err);
int smb_server_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err);
bool smb_server_awaits_memory(const struct smb *b);
void smb_server_fini(struct smb *b);

#endif
