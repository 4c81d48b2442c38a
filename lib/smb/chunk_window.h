/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_window.h - the elements of one order on their way in pieces, a few of them at a time
 *
 * Client and server cut an order that reads or writes alike: into pieces of at most SMB_CHUNK
 * bytes, from its first element on, of which at most SMB_WINDOW are under way.  A piece lies in a
 * message, from its posting until its elements are where they belong:
 *
 *     READ     server: elements                         -> client
 *     WRITE    client: struct chunk_head, elements      -> server
 *
 *     while (chunk_window_has_room(&w)) {
 *         m = chunk_window_next(b, &w);
 *         fill chunk_window_elements(&w, m), if it is sent;
 *         chunk_window_post(b, &w, kind, m, out);
 *     }
 *     in m->done or later: chunk_window_moved(b, &w, m);
 */
#ifndef EDDIS_SMB_CHUNK_WINDOW_H
#define EDDIS_SMB_CHUNK_WINDOW_H

#include "message.h"

#include <stdint.h>

/* Before the elements of a written piece.  A write that timed out no longer has its data, but the
 * server expects its bytes.
 */
struct chunk_head {
    uint64_t abandoned;
};

struct chunk_window {
    int peer;       /* rank at the other end, a member of the box */
    uint32_t seq;   /* number of the order */
    bool reading;   /* READ, or else WRITE */
    size_t element; /* bytes of one */
    size_t count;   /* elements of the order; 0: it moves none */
    size_t posted;  /* elements of the pieces posted so far */
    size_t moved;   /* elements that are where they belong */
    int under_way;  /* pieces */
};

/* Return whether a piece may be posted now. */
bool chunk_window_has_room(const struct chunk_window *w);

/* Return whether all elements are where they belong. */
bool chunk_window_over(const struct chunk_window *w);

/* Count the next piece as posted.  Returns its message, whose at and n say which elements it has,
 * with its head at zero; NULL without memory.
 */
struct message *chunk_window_next(struct smb *b, struct chunk_window *w);

/* Borrow the head of a piece, of a write, and the elements of any. */
struct chunk_head *chunk_window_head(const struct message *m);
void *chunk_window_elements(const struct chunk_window *w, const struct message *m);

/* Send or receive a piece. */
void chunk_window_post(struct smb *b, const struct chunk_window *w, enum comm_kind kind,
                       struct message *m, struct outbox *out);

/* Count the elements of a piece as moved, and free it. */
void chunk_window_moved(struct smb *b, struct chunk_window *w, struct message *m);

#endif
