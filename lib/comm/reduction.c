/* SPDX-License-Identifier: Apache-2.0 */
/* reduction.c - the data of an all-reduce: ranges of it, their messages, and adding contributions
 */
#include "reduction.h"

#include "ring.h"

#include <assert.h>
#include <string.h>

enum { TAIL_ALIGN = 8 };

void allreduce_redirect(struct collective *c, void *data)
{
    struct reduction *r = (struct reduction *)c;

    assert(c->over && !r->kind->prepare);
    r->what.data = data;
}

const void *allreduce_result(const struct collective *c)
{
    const struct reduction *r = (const struct reduction *)c;

    return r->kind->result ? r->kind->result(r) : r->what.data;
}

/* Return the range of n elements from `first` on, with the trailer if `tail`. */
static struct comm_part reduction_cut(const struct reduction *r, size_t first, size_t n, bool tail)
{
    const struct allreduce *a = &r->what;
    size_t width = comm_type_bytes(a->type);

    return (struct comm_part){ .data = (char *)a->data + first * width,
                               .n = n,
                               .bytes = n * width + (tail ? a->tail_bytes : 0) };
}

/* Return a segment of block b.  With fewer elements than blocks several segments end at n; only the
 * last one has the trailer.
 */
struct comm_part reduction_segment(const struct reduction *r, int blocks, int b, int segments,
                                   int segment)
{
    size_t n = r->what.n, first = ring_block(n, blocks, b);
    size_t length = ring_block(n, blocks, b + 1) - first;
    size_t begin = ring_block(length, segments, segment);

    return reduction_cut(r, first + begin, ring_block(length, segments, segment + 1) - begin,
                         b == blocks - 1 && segment == segments - 1);
}

struct comm_part reduction_blocks(const struct reduction *r, int blocks, int first, int end)
{
    size_t n = r->what.n, begin = ring_block(n, blocks, first);

    return reduction_cut(r, begin, ring_block(n, blocks, end) - begin, end == blocks);
}

struct comm_part reduction_whole(const struct reduction *r)
{
    return reduction_cut(r, 0, r->what.n, true);
}

/* ---- messages ---- */

/* Return the bytes of an element in a message. */
static size_t message_width(const struct allreduce *a)
{
    return comm_type_bytes(a->wire ? a->wire : a->type);
}

/* Return the bytes of p's trailer; 0: it has none. */
static size_t part_trailer(const struct reduction *r, const struct comm_part *p)
{
    return p->bytes - p->n * comm_type_bytes(r->what.type);
}

/* Borrow p's trailer in the data. */
static char *memory_tail(const struct reduction *r, const struct comm_part *p)
{
    return p->data + p->n * comm_type_bytes(r->what.type);
}

size_t allreduce_message_bytes(const struct allreduce *a)
{
    return a->n * message_width(a) + a->tail_bytes;
}

bool reduction_uses_half(const struct reduction *r)
{
    return r->what.wire != 0;
}

size_t reduction_room(const struct allreduce *a, size_t n)
{
    return (n * message_width(a) + TAIL_ALIGN + a->tail_bytes + 63) / 64 * 64;
}

size_t reduction_pad(const struct reduction *r, const struct comm_part *p)
{
    return (TAIL_ALIGN - p->n * message_width(&r->what) % TAIL_ALIGN) % TAIL_ALIGN;
}

size_t reduction_message(const struct reduction *r, const struct comm_part *p)
{
    return p->n * message_width(&r->what) + part_trailer(r, p);
}

void reduction_write(const struct reduction *r, const struct comm_part *p, void *room)
{
    size_t bytes = p->n * message_width(&r->what);

    if (!reduction_uses_half(r)) {
        memcpy(room, p->data, p->bytes);
        return;
    }
    comm_to_half(r->what.wire, room, (const float *)p->data, p->n);
    memcpy((char *)room + bytes, memory_tail(r, p), part_trailer(r, p));
}

void *reduction_send(const struct reduction *r, const struct comm_part *p, void *room)
{
    if (!reduction_uses_half(r))
        return p->data;
    reduction_write(r, p, room);
    return room;
}

void *reduction_receive(const struct reduction *r, const struct comm_part *p, void *room)
{
    return reduction_uses_half(r) ? room : p->data;
}

void reduction_add(const struct reduction *r, const struct comm_part *p, const void *in)
{
    const struct allreduce *a = &r->what;

    if (reduction_uses_half(r))
        combine_widened(a->wire, (float *)p->data, in, p->n);
    else
        combine(a->type, a->rule, p->data, in, p->n);
    if (part_trailer(r, p))
        a->trailer_rule(memory_tail(r, p), (const char *)in + p->n * message_width(a));
}

void reduction_take(const struct reduction *r, const struct comm_part *p, const void *in)
{
    if (!reduction_uses_half(r)) {
        if (in != p->data)
            memcpy(p->data, in, p->bytes);
        return;
    }
    comm_from_half(r->what.wire, (float *)p->data, in, p->n);
    memcpy(memory_tail(r, p), (const char *)in + p->n * message_width(&r->what),
           part_trailer(r, p));
}

void reduction_round(const struct reduction *r, const struct comm_part *p, void *room)
{
    if (!reduction_uses_half(r))
        return;
    reduction_write(r, p, room);
    reduction_take(r, p, room);
}
