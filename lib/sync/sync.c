/* SPDX-License-Identifier: Apache-2.0 */
/* sync.c - the table of algorithms, and defaults for operations that an algorithm leaves out */
#include "sync_impl.h"

#include <errno.h>
#include <string.h>

static const struct sync_ops *const all_ops[] = { &sync_allreduce, &sync_easgd,  &sync_hsgd,
                                                  &sync_local,     &sync_diloco, &sync_external };

enum { N_ALGORITHMS = sizeof all_ops / sizeof *all_ops };

int sync_open(const char *name, const struct sync_setup *setup, struct sync **ret,
              struct eddis_error *err)
{
    for (int i = 0; i < N_ALGORITHMS; i++)
        if (strcmp(all_ops[i]->name, name) == 0)
            return all_ops[i]->open(setup, ret, err);
    return eddis_fail(err, -ENOTSUP, "this libeddis has no algorithm named '%s'", name);
}

bool sync_can_lay_out(const struct sync *s)
{
    return s->ops->lay_out;
}

int sync_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                 struct eddis_error *err)
{
    return s->ops->lay_out(s, buffer, n_buffers, err);
}

void sync_step(struct sync *s)
{
    s->since++;
}

int sync_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
               struct eddis_error *err)
{
    return s->ops->begin(s, buffer, tag, now_ns, out, err);
}

int sync_receive(struct sync *s, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err)
{
    return s->ops->receive(s, op, now_ns, out, err);
}

bool sync_polls(const struct sync *s)
{
    return s->ops->polls && s->ops->polls(s);
}

int sync_poll(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    return s->ops->poll ? s->ops->poll(s, now_ns, out, err) : 0;
}

const void *sync_result(const struct sync *s, int buffer)
{
    return s->ops->result ? s->ops->result(s, buffer) : NULL;
}

int sync_waits_for(const struct sync *s, int buffer)
{
    return s->ops->waits_for(s, buffer);
}

/* ---- exchanges ---- */

void sync_exchange_over(struct sync *s)
{
    s->exchanging = false;
}

int sync_exchange(struct sync *s, const struct sync_turn *t, int64_t now_ns, struct outbox *out,
                  struct eddis_error *err)
{
    int rc = s->ops->exchange ? s->ops->exchange(s, t, now_ns, out, err) : 1;

    s->exchanging = rc == 0;
    return rc;
}

bool sync_exchanging(const struct sync *s)
{
    return s->exchanging;
}

bool sync_owns(const struct sync *s, const struct smb_request *r)
{
    return r->user == s;
}

int sync_box(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
             struct eddis_error *err)
{
    int rc = s->ops->box(s, r, now_ns, out, err);

    if (rc == 1)
        sync_exchange_over(s);
    return rc < 0 ? rc : 0;
}

int sync_exchange_waits_for(const struct sync *s)
{
    return s->exchanging ? s->ops->exchange_waits_for(s) : -1;
}

const struct sync_trailer *sync_agreed(const struct sync *s)
{
    return s->ops->agreed(s);
}

int64_t sync_staleness(const struct sync *s)
{
    return s->ops->exchange ? s->since : 0;
}

void sync_close(struct sync *s)
{
    if (s)
        s->ops->close(s);
}

const char *sync_name(int i)
{
    return i >= 0 && i < N_ALGORITHMS ? all_ops[i]->name : NULL;
}
