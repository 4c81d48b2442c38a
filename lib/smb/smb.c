/* SPDX-License-Identifier: Apache-2.0 */
/* smb.c - open a box, drive it, and leave it */
#include "smb_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Check whether this rank is the server of a stripe, which is then its node's. */
static bool smb_serves(const struct smb *b)
{
    return b->own >= 0 && b->server[b->own] == b->place.rank;
}

/* ---- opening ---- */

/* Open this node's memory, which message m of the server describes, and set b->near to whether that
 * succeeded.  Send the server WORK_HELLO with the same information.  The `done` function of m.
 * Return 0 or -ENOMEM.
 */
static int near_open(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err)
{
    struct work_order hello = { .kind = WORK_HELLO, .rank = b->place.rank };
    struct work_result where;

    memcpy(&where, m->data, sizeof where);
    message_free(b, m);
    b->near = memory_open(where.pid, where.fd, &b->memory, NULL) == 0 ? NEAR_MAPPED : NEAR_NONE;
    hello.first = b->near == NEAR_MAPPED;
    return message_send(b, b->server[b->own], SMB_TAG_ORDER, &hello, sizeof hello, out, err);
}

/* Begin to use the box.  On a server, start to receive orders.  On another rank of a server's node,
 * post the receive of the message that describes the node's memory.  Return 0 or -ENOMEM.
 */
static int smb_begin(struct smb *b, struct outbox *out, struct eddis_error *err)
{
    struct message *m;

    b->started = true;
    if (smb_serves(b))
        return smb_server_start(b, out, err);
    if (b->near != NEAR_UNKNOWN)
        return 0;
    m = message_new(b, sizeof(struct work_result));
    if (!m)
        return message_no_memory(err);
    m->done = near_open;
    message_post(b, COMM_RECEIVE, b->server[b->own], SMB_TAG_ANSWER, m, sizeof(struct work_result),
                 out);
    return 0;
}

/* Choose the servers, the first ranks of the first nodes, and set server, n_servers, own and same
 * of b.  Return 0 or -EINVAL: the number of servers is negative or more than the number of nodes.
 */
static int smb_choose_servers(struct smb *b, const struct smb_options *o, struct eddis_error *err)
{
    int n_nodes = 0;

    b->own = -1;
    for (int r = 0; r < b->place.n_ranks; r++) {
        int first = 0;

        while (o->node_of[first] != o->node_of[r])
            first++;
        b->same[r] = o->node_of[r] == o->node_of[b->place.rank];
        if (first < r)
            continue;
        if (!o->n_servers || n_nodes < o->n_servers) {
            b->server[b->n_servers++] = r;
            if (b->same[r])
                b->own = b->n_servers - 1;
        }
        n_nodes++;
    }
    if (o->n_servers < 0 || o->n_servers > n_nodes)
        return eddis_fail(
            err, -EINVAL,
            "%d servers were requested, but there can be only one per node, and there are %d nodes",
            o->n_servers, n_nodes);
    return 0;
}

int smb_open(const struct smb_options *o, struct smb **ret, struct eddis_error *err)
{
    struct smb *b = calloc(1, sizeof *b);
    size_t n = (size_t)o->place.n_ranks;
    int rc;

    if (!b)
        return eddis_fail(err, -ENOMEM, "no memory for the Soft Memory Box");
    b->place = o->place;
    message_init(b);
    b->last = &b->first;
    b->done_last = &b->done;
    b->server = calloc(n, sizeof *b->server);
    b->same = calloc(n, sizeof *b->same);
    b->seq = calloc(n, sizeof *b->seq);
    if (b->server && b->same && b->seq)
        rc = smb_choose_servers(b, o, err);
    else
        rc = eddis_fail(err, -ENOMEM, "no memory for the Soft Memory Box");
    b->near = rc == 0 && b->own >= 0 ? NEAR_UNKNOWN : NEAR_NONE;
    if (rc == 0 && smb_serves(b)) {
        rc = memory_make(b->place.n_ranks, &b->memory, err);
        b->near = NEAR_MAPPED;
    }
    if (rc < 0)
        smb_close(b);
    else
        *ret = b;
    return rc;
}

/* ---- being driven ---- */

/* Return rc, or -ENOMEM if rc is no failure but an operation could not be added to `out`. */
static int smb_result(int rc, const struct outbox *out, struct eddis_error *err)
{
    return rc >= 0 && out->failed ? message_no_memory(err) : rc;
}

int smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
              struct eddis_error *err)
{
    return smb_result(smb_client_start(b, r, now_ns, out, err), out, err);
}

int smb_receive(struct smb *b, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                struct eddis_error *err)
{
    return smb_result(message_done(b, op->owner, out, err), out, err);
}

/* Send WORK_BYE, this rank's last order, to all servers whose memory this rank has not mapped.
 * Return 0 or -ENOMEM.
 */
static int smb_say_goodbye(struct smb *b, struct outbox *out, struct eddis_error *err)
{
    struct work_order bye = { .kind = WORK_BYE, .rank = b->place.rank };
    int rc = 0;

    b->bye = true;
    for (int s = 0; s < b->n_servers && rc == 0; s++)
        if (s != b->own || b->near != NEAR_MAPPED)
            rc = message_send(b, b->server[s], SMB_TAG_ORDER, &bye, sizeof bye, out, err);
    return rc;
}

int smb_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    size_t before = out->n;
    int rc = b->started ? 0 : smb_begin(b, out, err), moved = 0;

    if (rc == 0 && b->memory)
        memory_sweep(b->memory);
    if (rc == 0)
        rc = moved = smb_client_poll(b, now_ns, out, err);
    if (rc >= 0 && b->tasks) {
        rc = smb_server_poll(b, now_ns, out, err);
        moved |= rc;
    }
    if (rc >= 0 && b->leaving && !b->bye && !b->first && b->near != NEAR_UNKNOWN)
        rc = smb_say_goodbye(b, out, err);
    rc = smb_result(rc, out, err);
    return rc < 0 ? rc : moved || out->n > before;
}

bool smb_polls(const struct smb *b)
{
    return !b->started || b->first || b->tasks || (b->leaving && !b->bye);
}

bool smb_awaits_memory(const struct smb *b)
{
    return !b->started || smb_client_awaits_memory(b) || smb_server_awaits_memory(b);
}

struct smb_request *smb_take_done(struct smb *b)
{
    struct smb_request *r = b->done;

    if (!r)
        return NULL;
    b->done = r->next;
    if (!b->done)
        b->done_last = &b->done;
    return r;
}

int smb_waits_for(const struct smb *b, const struct smb_request *r)
{
    int rank = r->done ? -1 : smb_client_waits_for(b, r);

    return rank >= 0 && b->place.peer ? b->place.peer[rank] : rank;
}

void smb_leave(struct smb *b)
{
    b->leaving = true;
}

bool smb_left(const struct smb *b)
{
    return b->bye && b->clients == 0 && !message_any(b);
}

void smb_close(struct smb *b)
{
    if (!b)
        return;
    smb_client_fini(b);
    smb_server_fini(b);
    message_fini(b);
    memory_close(b->memory);
    free(b->server);
    free(b->same);
    free(b->seq);
    free(b);
}
