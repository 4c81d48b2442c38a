/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_window.c - cut an order's elements into chunks and count them */
#include "chunk_window.h"

#include "smb_impl.h"

bool chunk_window_has_room(const struct chunk_window *w)
{
    return w->posted < w->count && w->under_way < SMB_WINDOW;
}

bool chunk_window_over(const struct chunk_window *w)
{
    return w->moved == w->count;
}

struct message *chunk_window_next(struct smb *b, struct chunk_window *w)
{
    size_t n = SMB_CHUNK / w->element, left = w->count - w->posted;
    struct message *m = message_new(b, sizeof(struct chunk_head) + SMB_CHUNK);

    if (!m)
        return NULL;
    m->at = w->posted;
    m->n = n < left ? n : left;
    *chunk_window_head(m) = (struct chunk_head){ 0 };
    w->posted += m->n;
    w->under_way++;
    return m;
}

struct chunk_head *chunk_window_head(const struct message *m)
{
    return (struct chunk_head *)m->data;
}

void *chunk_window_elements(const struct chunk_window *w, const struct message *m)
{
    return m->data + (w->reading ? 0 : sizeof(struct chunk_head));
}

void chunk_window_post(struct smb *b, const struct chunk_window *w, enum comm_kind kind,
                       struct message *m, struct outbox *out)
{
    size_t head = w->reading ? 0 : sizeof(struct chunk_head);

    message_post(b, kind, w->peer, smb_tag_data(w->seq, w->reading), m, head + m->n * w->element,
                 out);
}

void chunk_window_moved(struct smb *b, struct chunk_window *w, struct message *m)
{
    w->moved += m->n;
    w->under_way--;
    message_free(b, m);
}
