/* SPDX-License-Identifier: Apache-2.0 */
/* op.c - the send queue: a growing list of operations */
#include "op.h"

#include <stdlib.h>

void outbox_add(struct outbox *out, const struct comm_op *op)
{
    if (out->n == out->cap) {
        size_t cap = out->cap ? 2 * out->cap : 16;
        struct comm_op *bigger = realloc(out->op, cap * sizeof *bigger);

        if (!bigger) {
            out->failed = true;
            return;
        }
        out->op = bigger;
        out->cap = cap;
    }
    out->op[out->n++] = *op;
}

void outbox_clear(struct outbox *out)
{
    out->n = 0;
    out->failed = false;
}

void outbox_fini(struct outbox *out)
{
    free(out->op);
    *out = (struct outbox){ 0 };
}
