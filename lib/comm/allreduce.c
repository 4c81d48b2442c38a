/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce.c - the kinds of all-reduce, and the choice between them */
#include "node_groups.h"
#include "reduction.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* All kinds of all-reduce. */
static const struct allreduce_kind *const kinds[] = { &allreduce_direct,  &allreduce_tree,
                                                      &allreduce_halving, &allreduce_ring,
                                                      &allreduce_shared,  &allreduce_hosts };

/* Return the name, a constant, of the kind of all-reduce for this many bytes, chosen by values that
 * all ranks know, so that all choose the same kind.
 */
const char *allreduce_choose(const struct comm_place *p, size_t bytes)
{
    const struct comm_limits l = comm_limits(p);

    if (p->nodes && p->nodes->shm)
        return p->nodes->n == 1 ? "shared" : "hosts";
    if (p->n_ranks <= COMM_DIRECT_RANKS && bytes <= l.direct_bytes)
        return "direct";
    return bytes <= l.tree_bytes ? "tree" : bytes <= l.halving_bytes ? "halving" : "ring";
}

int allreduce_new_kind(const char *kind, const struct comm_place *p, const struct allreduce *a,
                       struct collective **ret, struct eddis_error *err)
{
    size_t width = comm_type_bytes(a->type);
    int rc;

    if (!width || !comm_rule_valid(a->rule))
        return eddis_fail(err, -EINVAL, "type %d or operation %d is unknown", (int)a->type,
                          (int)a->rule);
    if (a->wire && (!comm_type_half(a->wire) || a->type != COMM_FLOAT32 || a->rule != COMM_SUM))
        return eddis_fail(err, -EINVAL, "only sums of float32 travel as 16-bit numbers");
    /* So that the size of no kind's scratch memory overflows. */
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

int allreduce_new(const struct comm_place *p, const struct allreduce *a, struct collective **ret,
                  struct eddis_error *err)
{
    return allreduce_new_kind(allreduce_choose(p, allreduce_message_bytes(a)), p, a, ret, err);
}
