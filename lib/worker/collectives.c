/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c - collectives of any buffer */
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

static int request_start(struct eddis *e, const struct eddis_request *like, struct collective *c,
                         struct eddis_request **ret, struct eddis_error *err)
{
    struct eddis_request *q = calloc(1, sizeof *q);

    if (!q) {
        collective_free(c);
        return eddis_fail(err, -ENOMEM, "no memory for a request");
    }
    *q = *like;
    q->r.mail.kind = MAIL_REQUEST;
    q->r.collective = c;
    q->r.peer = -1;
    q->next = e->requests;
    e->requests = q;
    comm_thread_send(e->comm_thread, &q->r.mail);
    *ret = q;
    return 0;
}

static void request_free(struct eddis *e, struct eddis_request *q)
{
    for (struct eddis_request **at = &e->requests; *at; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    collective_free(q->r.collective);
    free(q);
}

void collectives_free_all(struct eddis *e)
{
    while (e->requests)
        request_free(e, e->requests);
}

int eddis_request_wait(struct eddis *e, struct eddis_request *q, int64_t timeout_ns,
                       struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    struct comm_wait w = { .kind = WAIT_REQUEST };
    int rc = worker_check(e, err);
    bool in_step;

    if (rc < 0)
        return rc;
    if (!q)
        return eddis_fail(err, -EINVAL, "the request is NULL");
    w.request = &q->r;
    /* Only training is split into computing and waiting. */
    in_step = e->clock.phase == EDDIS_PHASE_COMPUTE || e->clock.phase == EDDIS_PHASE_INPUT;
    if (in_step) {
        enum eddis_phase before = worker_wait_enter(e);

        rc = worker_wait(e, &w, deadline, err);
        worker_wait_leave(e, before, rc);
    } else {
        rc = worker_wait(e, &w, deadline, err);
    }
    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc, "%s still waits for rank %d", q->what, w.peer);
    request_free(e, q);
    return rc;
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
    rc = comm_thread_wait(e->comm_thread, &w, 0, err);
    if (rc == -ETIMEDOUT)
        return 0;
    request_free(e, q);
    return rc < 0 ? rc : 1;
}

/* ---- the four kinds ---- */

int eddis_allreduce_start(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *c;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!buffer && n)
        return eddis_fail(err, -EINVAL, "the buffer is NULL");
    rc = allreduce_new(
        &e->place,
        &(struct allreduce){
            .data = buffer, .n = n, .type = (enum comm_type)dtype, .rule = (enum comm_rule)op },
        &c, err);
    if (rc < 0)
        return rc;
    return request_start(
        e, &(struct eddis_request){ .what = "allreduce", .buffer = buffer, .size = n }, c, ret,
        err);
}

int eddis_broadcast_start(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *c;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!buffer && bytes)
        return eddis_fail(err, -EINVAL, "the buffer is NULL");
    rc = broadcast_new(&e->place, buffer, bytes, root, &c, err);
    if (rc < 0)
        return rc;
    return request_start(
        e, &(struct eddis_request){ .what = "broadcast", .buffer = buffer, .size = bytes }, c, ret,
        err);
}

int eddis_allgather_start(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *c;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if ((!in || !out) && bytes)
        return eddis_fail(err, -EINVAL, "a buffer is NULL");
    rc = allgather_new(&e->place, in, out, bytes, &c, err);
    if (rc < 0)
        return rc;
    return request_start(
        e, &(struct eddis_request){ .what = "allgather", .buffer = out, .size = bytes }, c, ret,
        err);
}

int eddis_barrier_start(struct eddis *e, struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *c;
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = barrier_new(&e->place, &c, err);
    if (rc < 0)
        return rc;
    return request_start(e, &(struct eddis_request){ .what = "barrier" }, c, ret, err);
}

/* ---- blocking forms ---- */

/* The request of an earlier call with these arguments that timed out, or NULL. */
static struct eddis_request *request_again(struct eddis *e, const char *what, const void *buffer,
                                           size_t size)
{
    struct eddis_request *q = worker_check(e, NULL) < 0 ? NULL : e->requests;

    while (q &&
           !(q->timed_out && strcmp(q->what, what) == 0 && q->buffer == buffer && q->size == size))
        q = q->next;
    return q;
}

static int request_finish(struct eddis *e, struct eddis_request *q, int64_t timeout_ns,
                          struct eddis_error *err)
{
    int rc = eddis_request_wait(e, q, timeout_ns, err);

    if (rc == -ETIMEDOUT)
        q->timed_out = true;
    return rc;
}

int eddis_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                    enum eddis_op op, int64_t timeout_ns, struct eddis_error *err)
{
    struct eddis_request *q = request_again(e, "allreduce", buffer, n);
    int rc = q ? 0 : eddis_allreduce_start(e, buffer, n, dtype, op, &q, err);

    return rc < 0 ? rc : request_finish(e, q, timeout_ns, err);
}

int eddis_broadcast(struct eddis *e, void *buffer, size_t bytes, int root, int64_t timeout_ns,
                    struct eddis_error *err)
{
    struct eddis_request *q = request_again(e, "broadcast", buffer, bytes);
    int rc = q ? 0 : eddis_broadcast_start(e, buffer, bytes, root, &q, err);

    return rc < 0 ? rc : request_finish(e, q, timeout_ns, err);
}

int eddis_allgather(struct eddis *e, const void *in, void *out, size_t bytes, int64_t timeout_ns,
                    struct eddis_error *err)
{
    struct eddis_request *q = request_again(e, "allgather", out, bytes);
    int rc = q ? 0 : eddis_allgather_start(e, in, out, bytes, &q, err);

    return rc < 0 ? rc : request_finish(e, q, timeout_ns, err);
}

int eddis_barrier(struct eddis *e, int64_t timeout_ns, struct eddis_error *err)
{
    struct eddis_request *q = request_again(e, "barrier", NULL, 0);
    int rc = q ? 0 : eddis_barrier_start(e, &q, err);

    return rc < 0 ? rc : request_finish(e, q, timeout_ns, err);
}

/* ---- the library's own ---- */

/* After a time-out the buffer may go with the caller, and the others would take what this rank does
 * next for its part in what they are at.
 */
int collectives_request_wait(struct eddis *e, struct eddis_request *q, struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    int rc = eddis_request_wait(e, q, e->timeout_ns, &why);

    if (rc == -ETIMEDOUT)
        comm_thread_give_up(e->comm_thread, why.text);
    return rc < 0 ? eddis_fail(err, rc, "%s", why.text) : rc;
}

int collectives_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = eddis_allreduce_start(e, buffer, n, dtype, op, &q, err);

    return rc < 0 ? rc : collectives_request_wait(e, q, err);
}

int collectives_broadcast(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = eddis_broadcast_start(e, buffer, bytes, root, &q, err);

    return rc < 0 ? rc : collectives_request_wait(e, q, err);
}

int collectives_allgather(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = eddis_allgather_start(e, in, out, bytes, &q, err);

    return rc < 0 ? rc : collectives_request_wait(e, q, err);
}

int collectives_barrier(struct eddis *e, struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = eddis_barrier_start(e, &q, err);

    return rc < 0 ? rc : collectives_request_wait(e, q, err);
}

int collectives_run(struct eddis *e, const char *what, struct collective *c,
                    struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = request_start(e, &(struct eddis_request){ .what = what, .r.level = REQUEST_GROUP }, c,
                           &q, err);

    return rc < 0 ? rc : collectives_request_wait(e, q, err);
}

/* ---- agreement on a failure ---- */

struct verdict {
    int rc;
    char text[sizeof((struct eddis_error *)0)->text];
};

int collectives_agree(struct eddis *e, int rc, struct eddis_error *err)
{
    int64_t first = rc < 0 ? e->place.rank : e->place.n_ranks;
    struct verdict v = { .rc = rc };
    int rc2;

    if (e->place.n_ranks == 1)
        return rc;
    rc2 = collectives_allreduce(e, &first, 1, EDDIS_INT64, EDDIS_MIN, rc < 0 ? NULL : err);
    if (rc2 < 0)
        return rc < 0 ? rc : rc2;
    if (first == e->place.n_ranks)
        return 0;
    if (rc < 0 && err)
        memcpy(v.text, err->text, sizeof v.text);
    rc2 = collectives_broadcast(e, &v, sizeof v, (int)first, NULL);
    if (rc2 < 0)
        return rc < 0 ? rc : eddis_fail(err, rc2, "rank %d failed", (int)first);
    if (first != e->place.rank)
        eddis_fail(err, v.rc, "rank %d: %s", (int)first, v.text);
    return v.rc;
}
