/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - messages of a box on their way: their memory, and whom to tell when they are over
 *
 * A message is the caller's until it is posted, the transport's until message_done, and then of
 * whoever its done is.
 */
#ifndef EDDIS_SMB_MESSAGE_H
#define EDDIS_SMB_MESSAGE_H

#include "lib/base/error.h"
#include "lib/comm/op.h"

#include <stdbool.h>
#include <stddef.h>

struct smb;

struct message {
    _Alignas(16) struct message *next; /* so that what lies behind the struct is aligned too */
    struct message *prev;
    /* Called when it has left, or is here; it has to free it. */
    int (*done)(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err);
    void *who;           /* for done */
    size_t at, n;        /* elements: from the beginning of the order, of this piece */
    size_t bytes;        /* room in data */
    unsigned char *data; /* right behind */
};

/* Begin and end the list of messages under way; memory of those that are still on it is freed. */
void message_init(struct smb *b);
void message_fini(struct smb *b);

/* Returns a message with room for bytes bytes, or NULL without memory. */
struct message *message_new(struct smb *b, size_t bytes);

/* Free a message, or keep it for the next piece. */
void message_free(struct smb *b, struct message *m);

/* Send or receive the first bytes bytes of m->data; rank is a member of the box. */
void message_post(struct smb *b, enum comm_kind kind, int rank, int tag, struct message *m,
                  size_t bytes, struct outbox *out);

/* Send a copy of what.  -ENOMEM. */
int message_send(struct smb *b, int rank, int tag, const void *what, size_t bytes,
                 struct outbox *out, struct eddis_error *err);

/* Tell whose message it is that its operation is complete. */
int message_done(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err);

/* Return whether any message is under way. */
bool message_any(const struct smb *b);

/* Say that there is no memory for a message.  Returns -ENOMEM. */
int message_no_memory(struct eddis_error *err);

#endif
