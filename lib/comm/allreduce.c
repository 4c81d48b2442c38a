/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce.c - the kinds of all-reduce and which one is taken */
#include "collective_impl.h"
#include "ring.h"
#include "shm.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { TAIL_ALIGN = 8 };

static const struct allreduce_kind *const kinds[] = { &allreduce_direct,  &allreduce_tree,
                                                      &allreduce_halving, &allreduce_ring,
                                                      &allreduce_shared,  &allreduce_hosts };

/* Measured with 4 and 8 processes on two cores over shared memory: below these sizes one exchange
 * with everybody beats the ring's 2 (n - 1) dependent steps.
 */
static const struct comm_limits one_host = { 64 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES };
/* The same for 4, 8 and 16 hosts with links of 1 Gbit/s and 200 Mbit/s: a link carries n - 1 copies
 * of a direct exchange, and each step of a ring has its delay.
 */
static const struct comm_limits several_hosts = { 8 << 10, 16 << 10, 256 << 10, COMM_PIECE_BYTES };

const struct comm_limits *comm_limits(const struct comm_place *p)
{
    return p->limits ? p->limits : p->hosts ? &several_hosts : &one_host;
}

/* A function of what all ranks know alike, so that all take the same. */
const char *allreduce_choose(const struct comm_place *p, size_t bytes)
{
    const struct comm_limits *l = comm_limits(p);

    if (p->nodes && p->nodes->node)
        return p->nodes->n == 1 ? "shared" : "hosts";
    if (p->n_ranks <= COMM_DIRECT_RANKS && bytes <= l->direct_bytes)
        return "direct";
    return bytes <= l->tree_bytes ? "tree" : bytes <= l->halving_bytes ? "halving" : "ring";
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

int allreduce_new_kind(const char *kind, const struct comm_place *p, const struct allreduce *a,
                       struct collective **ret, struct eddis_error *err)
{
    size_t width = comm_type_bytes(a->type);
    int rc;

    if (!width || !comm_rule_valid(a->rule))
        return eddis_fail(err, -EINVAL, "type %d or operation %d is unknown", (int)a->type,
                          (int)a->rule);
    /* So that no kind's memory for contributions overflows. */
    if (a->n > SIZE_MAX / 4 / (size_t)p->n_ranks / width)
        return eddis_fail(err, -ENOMEM, "no memory to combine %zu elements", a->n);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct collective *c;
        struct reduction *r;

        if (strcmp(kinds[i]->ops->name, kind) != 0)
            continue;
        rc = collective_make(kinds[i]->ops, kinds[i]->instance_bytes(p, a), p, &c, err);
        if (rc < 0)
            return rc;
        r = (struct reduction *)c;
        r->kind = kinds[i];
        r->what = *a;
        r->bytes = a->n * width + a->tail_bytes;
        rc = kinds[i]->prepare ? kinds[i]->prepare(r, err) : 0;
        if (rc < 0) {
            collective_free(c);
            return rc;
        }
        *ret = c;
        return 0;
    }
    return eddis_fail(err, -EINVAL, "no kind of all-reduce is named '%s'", kind);
}

const void *allreduce_result(const struct collective *c)
{
    const struct reduction *r = (const struct reduction *)c;

    return r->kind->result ? r->kind->result(r) : r->what.data;
}

int allreduce_new(const struct comm_place *p, const struct allreduce *a, struct collective **ret,
                  struct eddis_error *err)
{
    size_t bytes = a->n * comm_type_bytes(a->type) + a->tail_bytes;

    return allreduce_new_kind(allreduce_choose(p, bytes), p, a, ret, err);
}
