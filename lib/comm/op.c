/* SPDX-License-Identifier: Apache-2.0 */
/* op.c - the send queue: a growing list of operations */
#include "op.h"

#include "lib/base/array.h"

#include <stdlib.h>

void outbox_add(struct outbox *out, const struct comm_op *op)
{
    if (array_grow(&out->op, &out->cap, out->n, sizeof *out->op))
        out->op[out->n++] = *op;
    else
        out->failed = true;
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
