/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c - collectives of any buffer: requests that are started, waited for and freed */
#include "collectives.h"

#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All that a call says of itself. */
struct call {
    const char *what; /* "allreduce" */
    void *buffer;     /* [bytes] the library writes to it; NULL: none */
    const void *in;   /* [in_bytes] the library reads it; NULL: none */
    size_t bytes, in_bytes;
    enum comm_type type;
    enum comm_rule rule;
    int root;
};

struct eddis_request {
    struct request r;
    struct eddis_request *next;
    struct call call;
    bool timed_out; /* a blocking call gave up; the same call goes on with it */
};

static int request_start(struct collectives *c, enum request_level level, const struct call *call,
                         struct collective *taken, struct eddis_request **ret,
                         struct eddis_error *err)
{
    struct eddis_request *q = calloc(1, sizeof *q);

    if (!q) {
        collective_free(taken);
        return eddis_fail(err, -ENOMEM, "no memory for a request");
    }
    q->call = *call;
    q->r.level = level;
    q->r.mail.kind = MAIL_REQUEST;
    q->r.collective = taken;
    q->r.peer = -1;
    q->next = c->requests;
    c->requests = q;
    comm_thread_send(c->waiter.thread, &q->r.mail);
    *ret = q;
    return 0;
}

static void request_free(struct collectives *c, struct eddis_request *q)
{
    for (struct eddis_request **at = &c->requests; *at; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    collective_free(q->r.collective);
    free(q);
}

void collectives_free_all(struct collectives *c)
{
    while (c->requests)
        request_free(c, c->requests);
}

int collectives_wait(struct collectives *c, struct eddis_request *q, int64_t timeout_ns,
                     struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    struct comm_wait w = { .kind = WAIT_REQUEST, .request = &q->r };
    int rc = waiter_wait_timed(&c->waiter, &w, deadline, err);

    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc, "%s still waits for rank %d", q->call.what, w.peer);
    request_free(c, q);
    return rc;
}

int collectives_wait_all(struct collectives *c, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    while (rc == 0 && c->requests)
        rc = collectives_wait(c, c->requests, deadline_ns - clock_now_ns(), err);
    return rc;
}

/* ---- the four kinds ---- */

static struct call call_allreduce(const struct allreduce *a)
{
    return (struct call){ .what = "allreduce",
                          .buffer = a->data,
                          .bytes = a->n * comm_type_bytes(a->type),
                          .type = a->type,
                          .rule = a->rule };
}

static struct call call_broadcast(void *buffer, size_t bytes, int root)
{
    return (struct call){ .what = "broadcast", .buffer = buffer, .bytes = bytes, .root = root };
}

static struct call call_allgather(const struct collectives *c, const void *in, void *out,
                                  size_t bytes)
{
    return (struct call){ .what = "allgather",
                          .buffer = out,
                          .in = in,
                          .bytes = (size_t)c->place.n_ranks * bytes,
                          .in_bytes = bytes };
}

static struct call call_barrier(void)
{
    return (struct call){ .what = "barrier" };
}

int collectives_start_allreduce(struct collectives *c, const struct allreduce *a,
                                struct eddis_request **ret, struct eddis_error *err)
{
    const struct call call = call_allreduce(a);
    struct collective *made;
    int rc = !a->data && a->n ? eddis_fail(err, -EINVAL, "the buffer is NULL")
                              : allreduce_new(&c->place, a, &made, err);

    return rc < 0 ? rc : request_start(c, REQUEST_ALL, &call, made, ret, err);
}

int collectives_start_broadcast(struct collectives *c, void *buffer, size_t bytes, int root,
                                struct eddis_request **ret, struct eddis_error *err)
{
    const struct call call = call_broadcast(buffer, bytes, root);
    struct collective *made;
    int rc = !buffer && bytes ? eddis_fail(err, -EINVAL, "the buffer is NULL")
                              : broadcast_new(&c->place, buffer, bytes, root, &made, err);

    return rc < 0 ? rc : request_start(c, REQUEST_ALL, &call, made, ret, err);
}

int collectives_start_allgather(struct collectives *c, const void *in, void *out, size_t bytes,
                                struct eddis_request **ret, struct eddis_error *err)
{
    const struct call call = call_allgather(c, in, out, bytes);
    struct collective *made;
    int rc = (!in || !out) && bytes ? eddis_fail(err, -EINVAL, "a buffer is NULL")
                                    : allgather_new(&c->place, in, out, bytes, &made, err);

    return rc < 0 ? rc : request_start(c, REQUEST_ALL, &call, made, ret, err);
}

int collectives_start_barrier(struct collectives *c, struct eddis_request **ret,
                              struct eddis_error *err)
{
    const struct call call = call_barrier();
    struct collective *made;
    int rc = barrier_new(&c->place, &made, err);

    return rc < 0 ? rc : request_start(c, REQUEST_ALL, &call, made, ret, err);
}

/* ---- blocking calls of the program, which may time out ---- */

static bool call_same(const struct call *a, const struct call *b)
{
    return strcmp(a->what, b->what) == 0 && a->buffer == b->buffer && a->in == b->in &&
           a->bytes == b->bytes && a->in_bytes == b->in_bytes && a->type == b->type &&
           a->rule == b->rule && a->root == b->root;
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return a && b && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Whether one of the two calls writes what the other reads or writes. */
static bool call_clashes(const struct call *a, const struct call *b)
{
    return overlap(a->buffer, a->bytes, b->buffer, b->bytes) ||
           overlap(a->buffer, a->bytes, b->in, b->in_bytes) ||
           overlap(a->in, a->in_bytes, b->buffer, b->bytes);
}

/* Find the request of this very call, made before, that timed out; NULL: none.  -EBUSY: that of
 * another one still has the buffer, and both results would be wrong.
 */
static int request_again(const struct collectives *c, const struct call *call,
                         struct eddis_request **ret, struct eddis_error *err)
{
    for (*ret = c->requests; *ret; *ret = (*ret)->next) {
        const struct eddis_request *q = *ret;

        if (q->timed_out && call_same(&q->call, call))
            return 0;
        if (q->timed_out && call_clashes(&q->call, call))
            return eddis_fail(err, -EBUSY,
                              "the buffer belongs to another call of eddis_%s, which timed out and "
                              "is still under way: make that call again until it has succeeded",
                              q->call.what);
    }
    return 0;
}

static int request_finish(struct collectives *c, struct eddis_request *q, int64_t timeout_ns,
                          struct eddis_error *err)
{
    int rc = collectives_wait(c, q, timeout_ns, err);

    if (rc == -ETIMEDOUT)
        q->timed_out = true;
    return rc;
}

/* ---- the library's own ---- */

/* After a time-out the buffer may go with the caller, and the others would take what this rank does
 * next for its part in what they are at.
 */
int collectives_request_wait(struct collectives *c, struct eddis_request *q,
                             struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    int rc = collectives_wait(c, q, c->timeout_ns, &why);

    if (rc == -ETIMEDOUT)
        comm_thread_give_up(c->waiter.thread, why.text);
    return rc < 0 ? eddis_fail(err, rc, "%s", why.text) : rc;
}

int collectives_allreduce(struct collectives *c, const struct allreduce *a, struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = collectives_start_allreduce(c, a, &q, err);

    return rc < 0 ? rc : collectives_request_wait(c, q, err);
}

int collectives_least(struct collectives *c, int64_t *x, size_t n, struct eddis_error *err)
{
    return collectives_allreduce(
        c, &(struct allreduce){ .data = x, .n = n, .type = COMM_INT64, .rule = COMM_MIN }, err);
}

int collectives_broadcast(struct collectives *c, void *buffer, size_t bytes, int root,
                          struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = collectives_start_broadcast(c, buffer, bytes, root, &q, err);

    return rc < 0 ? rc : collectives_request_wait(c, q, err);
}

int collectives_allgather(struct collectives *c, const void *in, void *out, size_t bytes,
                          struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = collectives_start_allgather(c, in, out, bytes, &q, err);

    return rc < 0 ? rc : collectives_request_wait(c, q, err);
}

int collectives_barrier(struct collectives *c, struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = collectives_start_barrier(c, &q, err);

    return rc < 0 ? rc : collectives_request_wait(c, q, err);
}

int collectives_barrier_until(struct collectives *c, struct eddis_request **under_way,
                              int64_t timeout_ns, struct eddis_error *err)
{
    int rc = *under_way ? 0 : collectives_start_barrier(c, under_way, err);

    if (rc == 0)
        rc = collectives_wait(c, *under_way, timeout_ns, err);
    if (rc != -ETIMEDOUT)
        *under_way = NULL;
    return rc;
}

int collectives_run(struct collectives *c, const char *what, enum request_level level,
                    struct collective *taken, struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = request_start(c, level, &(struct call){ .what = what }, taken, &q, err);

    return rc < 0 ? rc : collectives_request_wait(c, q, err);
}

/* ---- agreement on a failure ---- */

struct verdict {
    int rc;
    char text[sizeof((struct eddis_error *)0)->text];
};

int collectives_agree(struct collectives *c, int rc, struct eddis_error *err)
{
    int64_t first = rc < 0 ? c->place.rank : c->place.n_ranks;
    struct verdict v = { .rc = rc };
    int rc2;

    if (c->place.n_ranks == 1)
        return rc;
    rc2 = collectives_least(c, &first, 1, rc < 0 ? NULL : err);
    if (rc2 < 0)
        return rc < 0 ? rc : rc2;
    if (first == c->place.n_ranks)
        return 0;
    if (rc < 0 && err)
        memcpy(v.text, err->text, sizeof v.text);
    rc2 = collectives_broadcast(c, &v, sizeof v, (int)first, NULL);
    if (rc2 < 0)
        return rc < 0 ? rc : eddis_fail(err, rc2, "rank %d failed", (int)first);
    if (first != c->place.rank)
        eddis_fail(err, v.rc, "rank %d: %s", (int)first, v.text);
    return v.rc;
}

/* ---- eddis.h ---- */

int eddis_request_wait(struct eddis *e, struct eddis_request *q, int64_t timeout_ns,
                       struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!q)
        return eddis_fail(err, -EINVAL, "the request is NULL");
    return collectives_wait(&e->all, q, timeout_ns, err);
}

int eddis_request_test(struct eddis *e, struct eddis_request *q, struct eddis_error *err)
{
    struct comm_wait w = { .kind = WAIT_REQUEST };
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!q)
        return eddis_fail(err, -EINVAL, "the request is NULL");
    w.request = &q->r;
    rc = comm_thread_wait(e->all.waiter.thread, &w, 0, err);
    if (rc == -ETIMEDOUT)
        return 0;
    request_free(&e->all, q);
    return rc < 0 ? rc : 1;
}

int eddis_allreduce_start(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_request **ret, struct eddis_error *err)
{
    const struct allreduce a = {
        .data = buffer, .n = n, .type = (enum comm_type)dtype, .rule = (enum comm_rule)op
    };
    int rc = worker_check_ret(e, ret, "request", err);

    return rc < 0 ? rc : collectives_start_allreduce(&e->all, &a, ret, err);
}

int eddis_broadcast_start(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_request **ret, struct eddis_error *err)
{
    int rc = worker_check_ret(e, ret, "request", err);

    return rc < 0 ? rc : collectives_start_broadcast(&e->all, buffer, bytes, root, ret, err);
}

int eddis_allgather_start(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_request **ret, struct eddis_error *err)
{
    int rc = worker_check_ret(e, ret, "request", err);

    return rc < 0 ? rc : collectives_start_allgather(&e->all, in, out, bytes, ret, err);
}

int eddis_barrier_start(struct eddis *e, struct eddis_request **ret, struct eddis_error *err)
{
    int rc = worker_check_ret(e, ret, "request", err);

    return rc < 0 ? rc : collectives_start_barrier(&e->all, ret, err);
}

int eddis_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                    enum eddis_op op, int64_t timeout_ns, struct eddis_error *err)
{
    const struct allreduce a = {
        .data = buffer, .n = n, .type = (enum comm_type)dtype, .rule = (enum comm_rule)op
    };
    struct eddis_request *q;
    struct call call;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    call = call_allreduce(&a);
    rc = request_again(&e->all, &call, &q, err);
    if (rc == 0 && !q)
        rc = collectives_start_allreduce(&e->all, &a, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}

int eddis_broadcast(struct eddis *e, void *buffer, size_t bytes, int root, int64_t timeout_ns,
                    struct eddis_error *err)
{
    const struct call call = call_broadcast(buffer, bytes, root);
    struct eddis_request *q;
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = request_again(&e->all, &call, &q, err);
    if (rc == 0 && !q)
        rc = collectives_start_broadcast(&e->all, buffer, bytes, root, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}

int eddis_allgather(struct eddis *e, const void *in, void *out, size_t bytes, int64_t timeout_ns,
                    struct eddis_error *err)
{
    struct eddis_request *q;
    struct call call;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    call = call_allgather(&e->all, in, out, bytes);
    rc = request_again(&e->all, &call, &q, err);
    if (rc == 0 && !q)
        rc = collectives_start_allgather(&e->all, in, out, bytes, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}

int eddis_barrier(struct eddis *e, int64_t timeout_ns, struct eddis_error *err)
{
    const struct call call = call_barrier();
    struct eddis_request *q;
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = request_again(&e->all, &call, &q, err);
    if (rc == 0 && !q)
        rc = collectives_start_barrier(&e->all, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}
