/* SPDX-License-Identifier: Apache-2.0 */
/* reduction.c - the instance of an all-reduce: its data and its result, adding a contribution,
 * whole or in parts, and where the parts lie
 */
#include "reduction.h"

#include "ring.h"

#include <assert.h>

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

void reduction_add(const struct reduction *r, void *acc, const void *in)
{
    const struct allreduce *a = &r->what;
    size_t bytes = a->n * comm_type_bytes(a->type);

    combine(a->type, a->rule, acc, in, a->n);
    if (a->tail_bytes)
        a->tail_rule((char *)acc + bytes, (const char *)in + bytes);
}

/* n elements from `first` on. */
static struct comm_part reduction_cut(const struct reduction *r, size_t first, size_t n, bool tail)
{
    const struct allreduce *a = &r->what;
    size_t width = comm_type_bytes(a->type);

    return (struct comm_part){ .data = (char *)a->data + first * width,
                               .n = n,
                               .bytes = n * width + (tail ? a->tail_bytes : 0) };
}

/* With fewer elements than blocks several end at n: the tail goes with the last only. */
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

size_t reduction_room(const struct allreduce *a, size_t n)
{
    return (n * comm_type_bytes(a->type) + TAIL_ALIGN + a->tail_bytes + 63) / 64 * 64;
}

size_t reduction_pad(const struct reduction *r, const struct comm_part *p)
{
    return (TAIL_ALIGN - p->n * comm_type_bytes(r->what.type) % TAIL_ALIGN) % TAIL_ALIGN;
}

void reduction_add_part(const struct reduction *r, const struct comm_part *p, const void *in)
{
    const struct allreduce *a = &r->what;
    size_t bytes = p->n * comm_type_bytes(a->type);

    combine(a->type, a->rule, p->data, in, p->n);
    if (p->bytes > bytes)
        a->tail_rule(p->data + bytes, (const char *)in + bytes);
}
