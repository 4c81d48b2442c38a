/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_window.h - send the elements of one order in chunks, a few at a time
 *
 * Client and server cut an order that reads or writes in the same way: into chunks of at most
 * SMB_CHUNK bytes, from its first element on.  At most SMB_WINDOW chunks are under way.  A chunk is
 * in a message from its posting until its elements are in place:
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

/* Precedes the elements of a written chunk.  A write that timed out no longer has its data, but the
 * server still expects the bytes.
 */
struct chunk_head {
    uint64_t abandoned;
};

struct chunk_window {
    int peer;       /* rank at the other end, a member of the box */
    uint32_t seq;   /* number of the order */
    bool reading;   /* true: READ; false: WRITE */
    size_t element; /* bytes of one element */
    size_t count;   /* number of elements of the order; 0: the order moves none */
    size_t posted;  /* number of elements in the chunks posted so far */
    size_t moved;   /* number of elements that are in place */
    int under_way;  /* number of chunks under way */
};

/* Check whether another chunk may be posted now. */
bool chunk_window_has_room(const struct chunk_window *w);

/* Check whether all elements are in place. */
bool chunk_window_over(const struct chunk_window *w);

/* Count the next chunk as posted.  Return its message, with at and n set to its elements and the
 * head zeroed; NULL without memory.
 */
struct message *chunk_window_next(struct smb *b, struct chunk_window *w);

/* Borrow the head of a written chunk. */
struct chunk_head *chunk_window_head(const struct message *m);

/* Borrow the memory for a chunk's elements in its message. */
void *chunk_window_elements(const struct chunk_window *w, const struct message *m);

/* Post the send or receive of a chunk; the message belongs to the transport until the operation is
 * done.
 */
void chunk_window_post(struct smb *b, const struct chunk_window *w, enum comm_kind kind,
                       struct message *m, struct outbox *out);

/* Count the elements of a chunk as in place, and free its message. */
void chunk_window_moved(struct smb *b, struct chunk_window *w, struct message *m);

#endif
