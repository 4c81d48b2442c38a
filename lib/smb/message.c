/* SPDX-License-Identifier: Apache-2.0 */
/* message.c - allocate and post messages, keep spare ones, and list those under way */
#include "smb_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* limit of the chunk messages kept for reuse, because new memory would cost page faults */
enum { MESSAGE_SPARE = 16 };

_Static_assert(sizeof(struct work_result) <= sizeof(struct work_order),
               "a small message has room for either");

void message_init(struct smb *b)
{
    b->under_way.next = b->under_way.prev = &b->under_way;
}

int message_no_memory(struct eddis_error *err)
{
    return eddis_fail(err, -ENOMEM, "no memory for a message of the Soft Memory Box");
}

struct message *message_new(struct smb *b, size_t bytes)
{
    const size_t piece = sizeof(struct chunk_head) + SMB_CHUNK;
    struct message *m = b->spare;
    size_t room = bytes > sizeof(struct work_order) ? piece : sizeof(struct work_order);

    if (room == piece && m) {
        b->spare = m->next;
        b->n_spare--;
        return m;
    }
    m = malloc(sizeof *m + room);
    if (m) {
        m->bytes = room;
        m->data = (unsigned char *)(m + 1);
    }
    return m;
}

void message_free(struct smb *b, struct message *m)
{
    if (m->bytes > sizeof(struct work_order) && b->n_spare < MESSAGE_SPARE) {
        m->next = b->spare;
        b->spare = m;
        b->n_spare++;
    } else {
        free(m);
    }
}

void message_post(struct smb *b, enum comm_kind kind, int rank, int tag, struct message *m,
                  size_t bytes, struct outbox *out)
{
    m->next = b->under_way.next;
    m->prev = &b->under_way;
    m->next->prev = m;
    b->under_way.next = m;
    outbox_add(out, &(struct comm_op){ .kind = kind,
                                       .channel = b->place.channel,
                                       .peer = b->place.peer ? b->place.peer[rank] : rank,
                                       .tag = tag,
                                       .data = m->data,
                                       .bytes = bytes,
                                       .owner = m,
                                       .member = rank });
}

/* Free a message that was sent and return 0; the `done` function of messages of message_send. */
static int message_sent(struct smb *b, struct message *m, struct outbox *out,
                        struct eddis_error *err)
{
    message_free(b, m);
    return 0;
}

int message_send(struct smb *b, int rank, int tag, const void *what, size_t bytes,
                 struct outbox *out, struct eddis_error *err)
{
    struct message *m = message_new(b, bytes);

    if (!m)
        return message_no_memory(err);
    memcpy(m->data, what, bytes);
    m->done = message_sent;
    message_post(b, COMM_SEND, rank, tag, m, bytes, out);
    return 0;
}

int message_done(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err)
{
    m->prev->next = m->next;
    m->next->prev = m->prev;
    return m->done(b, m, out, err);
}

bool message_any(const struct smb *b)
{
    return b->under_way.next != &b->under_way;
}

void message_fini(struct smb *b)
{
    for (struct message *m = b->under_way.next, *next; m && m != &b->under_way; m = next) {
        next = m->next;
        free(m);
    }
    while (b->spare) {
        struct message *m = b->spare;

        b->spare = m->next;
        free(m);
    }
}
