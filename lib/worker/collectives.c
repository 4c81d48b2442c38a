/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c - collectives of any buffer: requests that are started, waited for and freed */
#include "collectives.h"

#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct eddis_request {
    struct request r;
    struct eddis_request *next;
    const char *what; /* "allreduce" */
    const void *buffer;
    size_t size;
    bool timed_out; /* a blocking call gave up; the same call goes on with it */
};

static int request_start(struct collectives *c, const struct eddis_request *like,
                         struct collective *taken, struct eddis_request **ret,
                         struct eddis_error *err)
{
    struct eddis_request *q = calloc(1, sizeof *q);

    if (!q) {
        collective_free(taken);
        return eddis_fail(err, -ENOMEM, "no memory for a request");
    }
    *q = *like;
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
        return eddis_fail(err, rc, "%s still waits for rank %d", q->what, w.peer);
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

int collectives_start_allreduce(struct collectives *c, const struct allreduce *a,
                                struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *made;
    int rc = !a->data && a->n ? eddis_fail(err, -EINVAL, "the buffer is NULL")
                              : allreduce_new(&c->place, a, &made, err);

    if (rc < 0)
        return rc;
    return request_start(
        c, &(struct eddis_request){ .what = "allreduce", .buffer = a->data, .size = a->n }, made,
        ret, err);
}

int collectives_start_broadcast(struct collectives *c, void *buffer, size_t bytes, int root,
                                struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *made;
    int rc = !buffer && bytes ? eddis_fail(err, -EINVAL, "the buffer is NULL")
                              : broadcast_new(&c->place, buffer, bytes, root, &made, err);

    if (rc < 0)
        return rc;
    return request_start(
        c, &(struct eddis_request){ .what = "broadcast", .buffer = buffer, .size = bytes }, made,
        ret, err);
}

int collectives_start_allgather(struct collectives *c, const void *in, void *out, size_t bytes,
                                struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *made;
    int rc = (!in || !out) && bytes ? eddis_fail(err, -EINVAL, "a buffer is NULL")
                                    : allgather_new(&c->place, in, out, bytes, &made, err);

    if (rc < 0)
        return rc;
    return request_start(
        c, &(struct eddis_request){ .what = "allgather", .buffer = out, .size = bytes }, made, ret,
        err);
}

int collectives_start_barrier(struct collectives *c, struct eddis_request **ret,
                              struct eddis_error *err)
{
    struct collective *made;
    int rc = barrier_new(&c->place, &made, err);

    if (rc < 0)
        return rc;
    return request_start(c, &(struct eddis_request){ .what = "barrier" }, made, ret, err);
}

/* ---- blocking forms that may time out ---- */

/* The request of an earlier call with these arguments that timed out, or NULL. */
static struct eddis_request *request_again(const struct collectives *c, const char *what,
                                           const void *buffer, size_t size)
{
    struct eddis_request *q = c->requests;

    while (q &&
           !(q->timed_out && strcmp(q->what, what) == 0 && q->buffer == buffer && q->size == size))
        q = q->next;
    return q;
}

static int request_finish(struct collectives *c, struct eddis_request *q, int64_t timeout_ns,
                          struct eddis_error *err)
{
    int rc = collectives_wait(c, q, timeout_ns, err);

    if (rc == -ETIMEDOUT)
        q->timed_out = true;
    return rc;
}

int collectives_barrier_until(struct collectives *c, int64_t timeout_ns, struct eddis_error *err)
{
    struct eddis_request *q = request_again(c, "barrier", NULL, 0);
    int rc = q ? 0 : collectives_start_barrier(c, &q, err);

    return rc < 0 ? rc : request_finish(c, q, timeout_ns, err);
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

int collectives_run(struct collectives *c, const char *what, struct collective *taken,
                    struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = request_start(c, &(struct eddis_request){ .what = what, .r.level = REQUEST_GROUP },
                           taken, &q, err);

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
    int rc = worker_check(e, err);

    return rc < 0 ? rc : collectives_start_allreduce(&e->all, &a, ret, err);
}

int eddis_broadcast_start(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_request **ret, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 ? rc : collectives_start_broadcast(&e->all, buffer, bytes, root, ret, err);
}

int eddis_allgather_start(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_request **ret, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 ? rc : collectives_start_allgather(&e->all, in, out, bytes, ret, err);
}

int eddis_barrier_start(struct eddis *e, struct eddis_request **ret, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 ? rc : collectives_start_barrier(&e->all, ret, err);
}

int eddis_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                    enum eddis_op op, int64_t timeout_ns, struct eddis_error *err)
{
    struct eddis_request *q = NULL;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    q = request_again(&e->all, "allreduce", buffer, n);
    rc = q ? 0 : eddis_allreduce_start(e, buffer, n, dtype, op, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}

int eddis_broadcast(struct eddis *e, void *buffer, size_t bytes, int root, int64_t timeout_ns,
                    struct eddis_error *err)
{
    struct eddis_request *q = NULL;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    q = request_again(&e->all, "broadcast", buffer, bytes);
    rc = q ? 0 : eddis_broadcast_start(e, buffer, bytes, root, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}

int eddis_allgather(struct eddis *e, const void *in, void *out, size_t bytes, int64_t timeout_ns,
                    struct eddis_error *err)
{
    struct eddis_request *q = NULL;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    q = request_again(&e->all, "allgather", out, bytes);
    rc = q ? 0 : eddis_allgather_start(e, in, out, bytes, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}

int eddis_barrier(struct eddis *e, int64_t timeout_ns, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 ? rc : collectives_barrier_until(&e->all, timeout_ns, err);
}
