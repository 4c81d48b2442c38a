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
    const char *what;              /* name of the operation in messages, such as "allreduce" */
    struct eddis_collective call;  /* the program's arguments; 0: not used by its kind */
    size_t buffer_bytes, in_bytes; /* sizes of call.buffer and call.in */
    bool timed_out; /* a blocking call timed out; a call with equal arguments continues it */
};

void collectives_init(struct collectives *c)
{
    pthread_mutex_init(&c->lock, NULL);
}

/* Fill in the request, add it to the list and send it to the communication thread; takes `taken`,
 * the collective to run.
 */
static void request_send(struct collectives *c, enum request_level level, struct collective *taken,
                         struct eddis_request *q)
{
    q->r.level = level;
    q->r.command.kind = MAIL_REQUEST;
    q->r.collective = taken;
    q->r.peer = -1;
    pthread_mutex_lock(&c->lock);
    q->next = c->requests;
    c->requests = q;
    pthread_mutex_unlock(&c->lock);
    comm_thread_send(c->waiter.thread, &q->r.command);
}

/* Return a new empty request, which the caller frees.  NULL without memory: err is set, and
 * `taken`, the collective that the request was for, is freed.
 */
static struct eddis_request *request_new(struct collective *taken, struct eddis_error *err)
{
    struct eddis_request *q = calloc(1, sizeof *q);

    if (!q) {
        collective_free(taken);
        eddis_fail(err, -ENOMEM, "no memory for a request");
    }
    return q;
}

/* Remove the request from the list and free it and its collective. */
static void request_free(struct collectives *c, struct eddis_request *q)
{
    pthread_mutex_lock(&c->lock);
    for (struct eddis_request **at = &c->requests; *at; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    pthread_mutex_unlock(&c->lock);
    collective_free(q->r.collective);
    free(q);
}

void collectives_fini(struct collectives *c)
{
    while (c->requests)
        request_free(c, c->requests);
    pthread_mutex_destroy(&c->lock);
}

int collectives_wait(struct collectives *c, struct eddis_request *q, int64_t timeout_ns,
                     struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    struct comm_wait w = { .kind = WAIT_REQUEST, .request = &q->r };
    int rc = waiter_wait_timed(&c->waiter, &w, deadline, err);

    if (rc == -ETIMEDOUT && w.peer < 0)
        return eddis_fail(err, rc, "%s has not finished", q->what);
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

/* ---- the four kinds, of three scopes ---- */

static const char *const kind_name[] = {
    [EDDIS_ALLREDUCE] = "allreduce",
    [EDDIS_BROADCAST] = "broadcast",
    [EDDIS_ALLGATHER] = "allgather",
    [EDDIS_BARRIER] = "barrier",
};

/* Check whether this kind of collective uses `buffer`. */
static bool has_buffer(const struct eddis_collective *k)
{
    return k->kind != EDDIS_BARRIER;
}

/* Check kind, scope and buffers of a call.  Return 0, or -EINVAL if not valid. */
static int call_check(const struct eddis_collective *k, struct eddis_error *err)
{
    if (k->kind < EDDIS_ALLREDUCE || k->kind > EDDIS_BARRIER)
        return eddis_fail(err, -EINVAL, "%d is not a kind of collective operation", (int)k->kind);
    if (k->scope < EDDIS_ALL || k->scope > EDDIS_NODE)
        return eddis_fail(err, -EINVAL, "%d is not a scope of a collective operation",
                          (int)k->scope);
    if (has_buffer(k) && !k->buffer && k->n)
        return eddis_fail(err, -EINVAL, "the buffer is NULL");
    if (k->kind == EDDIS_ALLGATHER && !k->in && k->n)
        return eddis_fail(err, -EINVAL, "what to gather is NULL");
    return 0;
}

/* Return a copy of the call without the members that its kind does not use. */
static struct eddis_collective call_plain(const struct eddis_collective *k)
{
    struct eddis_collective plain = { .size = sizeof plain, .kind = k->kind, .scope = k->scope };

    if (has_buffer(k)) {
        plain.buffer = k->buffer;
        plain.n = k->n;
    }
    if (k->kind == EDDIS_ALLREDUCE) {
        plain.dtype = k->dtype;
        plain.op = k->op;
    }
    if (k->kind == EDDIS_BROADCAST)
        plain.root = k->root;
    if (k->kind == EDDIS_ALLGATHER)
        plain.in = k->in;
    return plain;
}

/* Return a copy of this rank's place in a scope.  A copy, since places still change: eddis_commit
 * measures, and memory that members of a group share is only for gradients.
 */
static struct comm_place scope_place(const struct collectives *c, enum eddis_scope scope)
{
    struct comm_place p = c->place;

    if (scope == EDDIS_NODE)
        return node_groups_here(c->numbers->groups, COMM_REQUESTS);
    if (scope == EDDIS_GROUP)
        p = *c->group;
    p.nodes = NULL;
    return p;
}

/* Return the request level of a scope. */
static enum request_level scope_level(enum eddis_scope scope)
{
    static const enum request_level level[] = {
        [EDDIS_ALL] = REQUEST_ALL,
        [EDDIS_GROUP] = REQUEST_GROUP,
        [EDDIS_NODE] = REQUEST_HOST,
    };

    return level[scope];
}

/* Create in *ret the collective that a call describes, among the ranks of p.  Fails as the function
 * for its kind, such as allreduce_new.
 */
static int call_make(const struct comm_place *p, const struct eddis_collective *k,
                     struct collective **ret, struct eddis_error *err)
{
    switch (k->kind) {
    case EDDIS_ALLREDUCE:
        return allreduce_new(p,
                             &(struct allreduce){ .data = k->buffer,
                                                  .n = k->n,
                                                  .type = (enum comm_type)k->dtype,
                                                  .rule = (enum comm_rule)k->op },
                             ret, err);
    case EDDIS_BROADCAST:
        return broadcast_new(p, k->buffer, k->n, k->root, ret, err);
    case EDDIS_ALLGATHER:
        return allgather_new(p, k->in, k->buffer, k->n, ret, err);
    default:
        return barrier_new(p, ret, err);
    }
}

/* Return the bytes of the call's `buffer` among the ranks of p. */
static size_t buffer_bytes(const struct comm_place *p, const struct eddis_collective *k)
{
    size_t each = k->kind == EDDIS_ALLREDUCE ? comm_type_bytes((enum comm_type)k->dtype) : 1;

    return k->n * (k->kind == EDDIS_ALLGATHER ? (size_t)p->n_ranks : each);
}

int collectives_start(struct collectives *c, const struct eddis_collective *k,
                      struct eddis_request **ret, struct eddis_error *err)
{
    struct collective *made;
    struct eddis_request *q;
    struct comm_place p;
    int rc = call_check(k, err);

    if (rc < 0)
        return rc;
    p = scope_place(c, k->scope);
    rc = call_make(&p, k, &made, err);
    if (rc < 0)
        return rc;
    q = request_new(made, err);
    if (!q)
        return -ENOMEM;
    q->what = kind_name[k->kind];
    q->call = call_plain(k);
    q->buffer_bytes = buffer_bytes(&p, k);
    q->in_bytes = k->kind == EDDIS_ALLGATHER ? k->n : 0;
    request_send(c, scope_level(k->scope), made, q);
    *ret = q;
    return 0;
}

/* ---- blocking calls of the program, which may time out ---- */

/* Check whether two calls have the same arguments. */
static bool call_same(const struct eddis_collective *a, const struct eddis_collective *b)
{
    return a->kind == b->kind && a->scope == b->scope && a->buffer == b->buffer && a->in == b->in &&
           a->n == b->n && a->dtype == b->dtype && a->op == b->op && a->root == b->root;
}

/* Check whether two memory ranges overlap. */
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return a && b && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Check whether the request writes memory that the call reads or writes, or reads memory that the
 * call writes.
 */
static bool request_clashes(const struct collectives *c, const struct eddis_request *q,
                            const struct eddis_collective *k)
{
    const struct comm_place p = scope_place(c, k->scope);
    size_t bytes = buffer_bytes(&p, k);

    return overlap(q->call.buffer, q->buffer_bytes, k->buffer, bytes) ||
           overlap(q->call.buffer, q->buffer_bytes, k->in, k->n) ||
           overlap(q->call.in, q->in_bytes, k->buffer, bytes);
}

/* Look for this very call among the requests that timed out.  If found, store its request in *ret
 * and clear its mark, so that the caller waits for it; otherwise *ret is NULL.  Return 0, also if
 * not found, or -EBUSY: a different timed-out call still uses the buffer, so both results would be
 * wrong.
 */
static int request_again(struct collectives *c, const struct eddis_collective *k,
                         struct eddis_request **ret, struct eddis_error *err)
{
    const char *other = NULL;
    struct eddis_request *q;

    *ret = NULL;
    pthread_mutex_lock(&c->lock);
    for (q = c->requests; q && !other; q = q->next) {
        if (q->timed_out && call_same(&q->call, k))
            break;
        if (q->timed_out && request_clashes(c, q, k))
            other = q->what;
    }
    if (q && !other)
        q->timed_out = false; /* so that no other thread continues this request meanwhile */
    pthread_mutex_unlock(&c->lock);
    if (other)
        return eddis_fail(err, -EBUSY,
                          "the buffer belongs to another call of eddis_%s, which timed out and is "
                          "still in progress: repeat that call until it succeeds",
                          other);
    *ret = q;
    return 0;
}

/* Wait for a blocking call's request and free it.  Return 0 or its failure.  After -ETIMEDOUT keep
 * it and mark it, so that the same call can continue it.
 */
static int request_finish(struct collectives *c, struct eddis_request *q, int64_t timeout_ns,
                          struct eddis_error *err)
{
    int rc = collectives_wait(c, q, timeout_ns, err);

    if (rc != -ETIMEDOUT)
        return rc;
    pthread_mutex_lock(&c->lock);
    q->timed_out = true;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* ---- the library's own collectives ---- */

/* Wait for a request; after a timeout end all communication.  Otherwise the caller could free the
 * buffer, and other ranks would match this rank's next collective with the one that it gave up.
 * Return 0 or the request's failure, with -ETIMEDOUT.
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

/* Run a collective of all ranks to its end, and return as collectives_request_wait does. */
static int run(struct collectives *c, const struct eddis_collective *k, struct eddis_error *err)
{
    struct eddis_request *q;
    int rc = collectives_start(c, k, &q, err);

    return rc < 0 ? rc : collectives_request_wait(c, q, err);
}

int collectives_allreduce(struct collectives *c, const struct allreduce *a, struct eddis_error *err)
{
    return run(c,
               &(struct eddis_collective){ .kind = EDDIS_ALLREDUCE,
                                           .buffer = a->data,
                                           .n = a->n,
                                           .dtype = (enum eddis_dtype)a->type,
                                           .op = (enum eddis_op)a->rule },
               err);
}

int collectives_least(struct collectives *c, int64_t *x, size_t n, struct eddis_error *err)
{
    return collectives_allreduce(
        c, &(struct allreduce){ .data = x, .n = n, .type = COMM_INT64, .rule = COMM_MIN }, err);
}

int collectives_broadcast(struct collectives *c, void *buffer, size_t bytes, int root,
                          struct eddis_error *err)
{
    return run(c,
               &(struct eddis_collective){
                   .kind = EDDIS_BROADCAST, .buffer = buffer, .n = bytes, .root = root },
               err);
}

int collectives_allgather(struct collectives *c, const void *in, void *out, size_t bytes,
                          struct eddis_error *err)
{
    return run(
        c,
        &(struct eddis_collective){ .kind = EDDIS_ALLGATHER, .buffer = out, .in = in, .n = bytes },
        err);
}

int collectives_barrier(struct collectives *c, struct eddis_error *err)
{
    return run(c, &(struct eddis_collective){ .kind = EDDIS_BARRIER }, err);
}

int collectives_barrier_until(struct collectives *c, struct eddis_request **under_way,
                              int64_t timeout_ns, struct eddis_error *err)
{
    int rc = 0;

    if (!*under_way)
        rc = collectives_start(c, &(struct eddis_collective){ .kind = EDDIS_BARRIER }, under_way,
                               err);
    if (rc == 0)
        rc = collectives_wait(c, *under_way, timeout_ns, err);
    if (rc != -ETIMEDOUT)
        *under_way = NULL;
    return rc;
}

int collectives_run(struct collectives *c, const char *what, enum request_level level,
                    struct collective *taken, struct eddis_error *err)
{
    struct eddis_request *q = request_new(taken, err);

    if (!q)
        return -ENOMEM;
    q->what = what;
    request_send(c, level, taken, q);
    return collectives_request_wait(c, q, err);
}

/* ---- agreement on a failure ---- */

/* The first failure of a collectives_agree, which its rank broadcasts. */
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

/* Copy the program's arguments, of any version of eddis.h, to *ret and check them.  -EINVAL: not
 * valid; -EPERM: as worker_check.
 */
static int call_read(const struct eddis *e, const struct eddis_collective *given,
                     struct eddis_collective *ret, struct eddis_error *err)
{
    struct eddis_collective k;
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = sized_check(given, "collective", err);
    if (rc < 0)
        return rc;
    sized_copy_in(&k, sizeof k, given);
    rc = call_check(&k, err);
    if (rc == 0)
        *ret = call_plain(&k);
    return rc;
}

int eddis_collective_start(struct eddis *e, const struct eddis_collective *c,
                           struct eddis_request **ret, struct eddis_error *err)
{
    struct eddis_collective k;
    int rc = worker_check_ret(e, ret, "request", err);

    if (rc == 0)
        rc = call_read(e, c, &k, err);
    return rc < 0 ? rc : collectives_start(&e->all, &k, ret, err);
}

int eddis_collective(struct eddis *e, const struct eddis_collective *c, int64_t timeout_ns,
                     struct eddis_error *err)
{
    struct eddis_collective k;
    struct eddis_request *q;
    int rc = call_read(e, c, &k, err);

    if (rc == 0)
        rc = request_again(&e->all, &k, &q, err);
    if (rc == 0 && !q)
        rc = collectives_start(&e->all, &k, &q, err);
    return rc < 0 ? rc : request_finish(&e->all, q, timeout_ns, err);
}
