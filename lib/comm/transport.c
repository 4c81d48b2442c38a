/* SPDX-License-Identifier: Apache-2.0 */
#include "transport.h"

#include <errno.h>
#include <stdint.h>

int transport_post(struct transport *t, struct outbox *out, struct eddis_error *err)
{
    for (size_t i = 0; i < out->n; i++) {
        int rc = t->ops->post(t, &out->op[i], err);

        if (rc < 0)
            return rc;
        t->under_way++;
        if (out->op[i].kind == COMM_SEND)
            t->sent_bytes += (int64_t)out->op[i].bytes;
    }
    outbox_clear(out);
    return 0;
}

int transport_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err)
{
    int n = t->ops->poll(t, ret, max, err);

    if (n > 0)
        t->under_way -= n;
    return n;
}

int transport_fail_length(const struct comm_op *op, size_t got, struct eddis_error *err)
{
    static const char advice[] = "all workers must make the same calls in the same order, with the "
                                 "same sizes";

    if (got == SIZE_MAX)
        return eddis_fail(err, -EMSGSIZE, "rank %d has sent more than the expected %zu bytes; %s",
                          op->peer, op->bytes, advice);
    return eddis_fail(err, -EMSGSIZE, "rank %d has sent %zu bytes instead of %zu; %s", op->peer,
                      got, op->bytes, advice);
}

bool transport_wait(struct transport *t, int64_t ns)
{
    return t->ops->wait(t, ns);
}

void transport_missed(struct transport *t)
{
    t->wakes = t->ops->missed(t);
}

void transport_wake(struct transport *t)
{
    t->ops->wake(t);
}

void transport_abort(struct transport *t, int code)
{
    t->ops->abort(t, code);
}

int transport_close(struct transport *t, bool orderly, struct eddis_error *err)
{
    return t ? t->ops->close(t, orderly, err) : 0;
}
