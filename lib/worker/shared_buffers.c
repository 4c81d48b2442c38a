/* SPDX-License-Identifier: Apache-2.0 */
/* shared_buffers.c - a worker's part of the Soft Memory Box, for the library and for eddis_smb.h */
#include "shared_buffers.h"

#include "worker.h"

#include "lib/base/clock.h"
#include "lib/eddis_smb.h"

#include <errno.h>
#include <stdlib.h>

/* A request that the program has started and not yet waited for. */
struct eddis_smb_request {
    struct command_queue command;
    struct eddis_smb_request *next;
};

/* ---- for the library ---- */

void shared_buffers_init(struct shared_buffers *b)
{
    pthread_mutex_init(&b->lock, NULL);
}

/* Create b->box and give it to the communication thread.  Return 0 or a negative errno, the same on
 * all ranks.  Collective.
 */
static int shared_buffers_make(struct shared_buffers *b, int n_servers, struct eddis_error *err)
{
    struct smb_options o = { .place = b->all->place,
                             .node_of = b->numbers->of_rank,
                             .n_servers = n_servers };
    struct smb *box = NULL;
    int rc;

    o.place.channel = COMM_BOX;
    rc = collectives_agree(b->all, smb_open(&o, &box, err), err);
    if (rc < 0) {
        smb_close(box);
        return rc;
    }
    b->box = box;
    comm_thread_set_box(b->all->waiter.thread, box);
    return 0;
}

int shared_buffers_open(struct shared_buffers *b, int n_servers, struct eddis_error *err)
{
    return b->box ? 0 : shared_buffers_make(b, n_servers, err);
}

/* Make a request and wait for its result in *r, until r->deadline_ns.  Return 0 or a negative
 * errno, that of the request (see smb_request.rc) or of the communication.
 */
static int shared_buffers_ask(struct shared_buffers *b, struct smb_request *r,
                              struct eddis_error *err)
{
    struct command_queue m = { .command.kind = MAIL_BOX, .r = *r };
    struct comm_wait w = { .kind = WAIT_BOX, .box = &m };
    int rc;

    comm_thread_send(b->all->waiter.thread, &m.command);
    /* The box enforces the deadline; a failure of the communication ends the wait as well. */
    rc = waiter_wait(&b->all->waiter, &w, CLOCK_NEVER, err);
    if (rc < 0)
        return rc;
    *r = m.r;
    return r->rc < 0 ? eddis_fail(err, r->rc, "%s", r->error.text) : 0;
}

int shared_buffers_ask_own(struct shared_buffers *b, struct smb_request *r, struct eddis_error *err)
{
    r->deadline_ns = clock_after_ns(clock_now_ns(), COLLECTIVES_TIMEOUT_NS);
    return shared_buffers_ask(b, r, err);
}

int shared_buffers_leave(struct shared_buffers *b, int64_t deadline_ns, struct eddis_error *err)
{
    struct comm_wait w = { .kind = WAIT_LEFT };
    int rc;

    if (!b->box)
        return 0;
    if (b->leave.kind != MAIL_LEAVE) { /* not yet sent by an earlier call that timed out */
        b->leave.kind = MAIL_LEAVE;
        comm_thread_send(b->all->waiter.thread, &b->leave);
    }
    rc = waiter_wait(&b->all->waiter, &w, deadline_ns, err);
    return rc == -ETIMEDOUT ? eddis_fail(err, rc, "others still use the Soft Memory Box") : rc;
}

/* Remove the request from the list and free it. */
static void request_free(struct shared_buffers *b, struct eddis_smb_request *q)
{
    pthread_mutex_lock(&b->lock);
    for (struct eddis_smb_request **at = &b->requests; *at; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    pthread_mutex_unlock(&b->lock);
    free(q);
}

void shared_buffers_close(struct shared_buffers *b)
{
    smb_close(b->box);
    while (b->requests)
        request_free(b, b->requests);
    pthread_mutex_destroy(&b->lock);
}

/* ---- eddis_smb.h: with waiting ---- */

int eddis_smb_open(struct eddis *e, int servers, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 ? rc : shared_buffers_open(&e->box, servers, err);
}

/* Check that the worker may be used and the box is open.  Return 0; -EINVAL if not; or the failure
 * of worker_check.
 */
static int smb_check(const struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc == 0 && !e->box.box)
        rc = eddis_fail(err, -EINVAL,
                        "the Soft Memory Box is not open; call eddis_smb_open on "
                        "all workers first");
    return rc;
}

/* Make a request of the program's and wait for its result in *r, at most timeout_ns.  Return 0 or a
 * negative errno, see eddis_smb.h.
 */
static int smb_ask(struct eddis *e, struct smb_request *r, int64_t timeout_ns,
                   struct eddis_error *err)
{
    int rc = smb_check(e, err);

    if (rc < 0)
        return rc;
    r->deadline_ns = clock_after_ns(clock_now_ns(), timeout_ns);
    return shared_buffers_ask(&e->box, r, err);
}

int eddis_smb_create(struct eddis *e, enum eddis_dtype dtype, size_t n, uint64_t *ret_key,
                     int64_t timeout_ns, struct eddis_error *err)
{
    struct smb_request r = { .kind = SMB_CREATE, .type = (enum comm_type)dtype, .n = n };
    int rc = worker_check_ret(e, ret_key, "key", err);

    if (rc == 0)
        rc = smb_ask(e, &r, timeout_ns, err);
    if (rc == 0)
        *ret_key = r.key.id;
    return rc;
}

int eddis_smb_attach(struct eddis *e, uint64_t key, enum eddis_dtype *ret_dtype, size_t *ret_n,
                     int64_t timeout_ns, struct eddis_error *err)
{
    struct smb_request r = { .kind = SMB_ATTACH, .key.id = key };
    int rc = smb_ask(e, &r, timeout_ns, err);

    if (rc == 0 && ret_dtype)
        *ret_dtype = (enum eddis_dtype)r.type;
    if (rc == 0 && ret_n)
        *ret_n = r.n;
    return rc;
}

int eddis_smb_detach(struct eddis *e, uint64_t key, int64_t timeout_ns, struct eddis_error *err)
{
    return smb_ask(e, &(struct smb_request){ .kind = SMB_DETACH, .key.id = key }, timeout_ns, err);
}

int eddis_smb_notify(struct eddis *e, uint64_t key, int64_t timeout_ns, struct eddis_error *err)
{
    return smb_ask(e, &(struct smb_request){ .kind = SMB_NOTIFY, .key.id = key }, timeout_ns, err);
}

int eddis_smb_wait(struct eddis *e, uint64_t key, uint64_t *count, int64_t timeout_ns,
                   struct eddis_error *err)
{
    struct smb_request r = { .kind = SMB_WAIT, .key.id = key };
    int rc = worker_check_ret(e, count, "number of notices", err);

    if (rc < 0)
        return rc;
    r.version = *count;
    rc = smb_ask(e, &r, timeout_ns, err);
    if (rc == 0)
        *count = r.version;
    return rc;
}

int eddis_smb_fetch_add(struct eddis *e, uint64_t key, size_t element, int64_t add,
                        int64_t *ret_before, int64_t timeout_ns, struct eddis_error *err)
{
    struct smb_request r = { .kind = SMB_FETCH_ADD, .key.id = key, .first = element, .add = add };
    int rc = worker_check_ret(e, ret_before, "value before", err);

    if (rc == 0)
        rc = smb_ask(e, &r, timeout_ns, err);
    if (rc == 0)
        *ret_before = r.value;
    return rc;
}

/* Return a request of kind SMB_READ or SMB_WRITE: copy `count` elements of buffer `key`, from
 * element `first` on, to or from data.
 */
static struct smb_request smb_move(enum smb_kind kind, uint64_t key, size_t first, size_t count,
                                   const void *data)
{
    return (struct smb_request){
        .kind = kind, .key.id = key, .first = first, .count = count, .data = (void *)(uintptr_t)data
    };
}

/* Return a request that adds buffer `source` to buffer `key`. */
static struct smb_request smb_sum(uint64_t key, uint64_t source)
{
    return (struct smb_request){ .kind = SMB_ACCUMULATE, .key.id = key, .source.id = source };
}

int eddis_smb_read(struct eddis *e, uint64_t key, size_t first, size_t count, void *data,
                   int64_t timeout_ns, struct eddis_error *err)
{
    struct smb_request r = smb_move(SMB_READ, key, first, count, data);

    return smb_ask(e, &r, timeout_ns, err);
}

int eddis_smb_write(struct eddis *e, uint64_t key, size_t first, size_t count, const void *data,
                    int64_t timeout_ns, struct eddis_error *err)
{
    struct smb_request r = smb_move(SMB_WRITE, key, first, count, data);

    return smb_ask(e, &r, timeout_ns, err);
}

int eddis_smb_accumulate(struct eddis *e, uint64_t key, uint64_t source, int64_t timeout_ns,
                         struct eddis_error *err)
{
    struct smb_request r = smb_sum(key, source);

    return smb_ask(e, &r, timeout_ns, err);
}

/* ---- eddis_smb.h: without waiting ---- */

/* Send a copy of the request, without a deadline, and store it in *ret; eddis_smb_request_wait
 * frees it.  Return 0 or a negative errno, and then nothing was sent.
 */
static int smb_begin(struct eddis *e, const struct smb_request *r, struct eddis_smb_request **ret,
                     struct eddis_error *err)
{
    struct eddis_smb_request *q;
    int rc = worker_check_ret(e, ret, "request", err);

    if (rc == 0)
        rc = smb_check(e, err);
    if (rc < 0)
        return rc;
    q = calloc(1, sizeof *q);
    if (!q)
        return eddis_fail(err, -ENOMEM, "no memory for a request");
    q->command.command.kind = MAIL_BOX;
    q->command.r = *r;
    q->command.r.deadline_ns = CLOCK_NEVER;
    pthread_mutex_lock(&e->box.lock);
    q->next = e->box.requests;
    e->box.requests = q;
    pthread_mutex_unlock(&e->box.lock);
    comm_thread_send(e->comm_thread, &q->command.command);
    *ret = q;
    return 0;
}

int eddis_smb_read_start(struct eddis *e, uint64_t key, size_t first, size_t count, void *data,
                         struct eddis_smb_request **ret, struct eddis_error *err)
{
    struct smb_request r = smb_move(SMB_READ, key, first, count, data);

    return smb_begin(e, &r, ret, err);
}

int eddis_smb_write_start(struct eddis *e, uint64_t key, size_t first, size_t count,
                          const void *data, struct eddis_smb_request **ret, struct eddis_error *err)
{
    struct smb_request r = smb_move(SMB_WRITE, key, first, count, data);

    return smb_begin(e, &r, ret, err);
}

int eddis_smb_accumulate_start(struct eddis *e, uint64_t key, uint64_t source,
                               struct eddis_smb_request **ret, struct eddis_error *err)
{
    struct smb_request r = smb_sum(key, source);

    return smb_begin(e, &r, ret, err);
}

int eddis_smb_request_wait(struct eddis *e, struct eddis_smb_request *q, int64_t timeout_ns,
                           struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    struct comm_wait w = { .kind = WAIT_BOX };
    unsigned long long key;
    int rc = smb_check(e, err);

    if (rc < 0)
        return rc;
    if (!q)
        return eddis_fail(err, -EINVAL, "the request is NULL");
    key = q->command.r.key.id;
    w.box = &q->command;
    rc = waiter_wait(&e->all.waiter, &w, deadline, err);
    if (rc == -ETIMEDOUT && w.peer >= 0)
        return eddis_fail(err, rc, "the request to buffer %llx still waits for rank %d", key,
                          w.peer);
    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc, "the request to buffer %llx is still under way", key);
    if (rc == 0 && q->command.r.rc < 0)
        rc = eddis_fail(err, q->command.r.rc, "%s", q->command.r.error.text);
    request_free(&e->box, q);
    return rc;
}
