/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - messages of a box: their memory, and the call when they are done
 *
 * A message belongs to the caller until it is posted, to the transport until message_done, and then
 * to its `done` function.
 */
#ifndef EDDIS_SMB_MESSAGE_H
#define EDDIS_SMB_MESSAGE_H

#include "lib/base/error.h"
#include "lib/comm/op.h"

#include <stdbool.h>
#include <stddef.h>

struct smb;

struct message {
    _Alignas(16) struct message *next; /* so that the data after the struct is aligned too */
    struct message *prev;
    /* Called when the message is sent or received; must free it. */
    int (*done)(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err);
    void *who;           /* argument for done */
    size_t at, n;        /* first element of the chunk within the order, and number of its
                          * elements */
    size_t bytes;        /* capacity of data */
    unsigned char *data; /* directly after this struct */
};

/* Initialize the list of messages under way. */
void message_init(struct smb *b);

/* Free the messages under way and the spare ones. */
void message_fini(struct smb *b);

/* Return a message with a capacity of at least `bytes`; NULL without memory. */
struct message *message_new(struct smb *b, size_t bytes);

/* Free a message, or keep it for reuse. */
void message_free(struct smb *b, struct message *m);

/* Send or receive the first `bytes` bytes of m->data; rank: the other end, a member of the box. */
void message_post(struct smb *b, enum comm_kind kind, int rank, int tag, struct message *m,
                  size_t bytes, struct outbox *out);

/* Begin to send a copy of `what`.  Return 0 or -ENOMEM. */
int message_send(struct smb *b, int rank, int tag, const void *what, size_t bytes,
                 struct outbox *out, struct eddis_error *err);

/* Take the message off the list and call its `done`, when its operation is complete.  Return the
 * result of `done`.
 */
int message_done(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err);

/* Check whether any message is under way. */
bool message_any(const struct smb *b);

/* Set the error "no memory for a message".  Return -ENOMEM. */
int message_no_memory(struct eddis_error *err);

#endif
