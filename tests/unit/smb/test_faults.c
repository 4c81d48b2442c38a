/* SPDX-License-Identifier: Apache-2.0 */
/* test_faults.c - a Soft Memory Box when any one allocation or system call of it fails
 *
 * The linker puts our functions in the place of those calls.  They count what the box calls, and
 * let the one that a test asks for fail.
 */
#include "suite.h"
#include "tests/unit/wrapped.h"

#include "bench/loop.h"
#include "lib/base/clock.h"
#include "lib/smb/smb_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static bool inside;   /* the box is at work */
static int calls, at; /* the call that fails, from 1 */

static bool fault(void)
{
    if (!inside || ++calls != at)
        return false;
    errno = ENOMEM;
    return true;
}

WRAP(void *, malloc, (size_t n), (n), NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAP(void *, realloc, (void *p, size_t n), (p, n), NULL)
WRAP(void *, mmap64, (void *p, size_t n, int prot, int flags, int fd, off_t offset),
     (p, n, prot, flags, fd, offset), MAP_FAILED)
WRAP(int, fallocate64, (int fd, int mode, off_t offset, off_t n), (fd, mode, offset, n), -1)
WRAP(int, ftruncate64, (int fd, off_t n), (fd, n), -1)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    return fault() ? -1 : __real_open64(path, flags);
}

/* ---- two nodes with two ranks each ---- */

enum { RANKS = 4, N = 3000, LONG_NS = 600 };

static const int node_of[RANKS] = { 0, 0, 1, 1 };

struct job {
    struct loop *loop;
    struct transport *end[RANKS];
    struct smb *box[RANKS];
    int64_t idle_ns;
    struct eddis_error err; /* code 0: the box is whole */
};

static int64_t now_ns(const struct job *j)
{
    return loop_now_ns(j->loop) + j->idle_ns;
}

/* What the box has done; a failure of it is its end. */
static void job_after(struct job *j, int rank, int rc, struct outbox *out)
{
    inside = false;
    if (rc < 0) {
        ck_assert_msg(j->err.text[0] && rc == -ENOMEM, "%d %s", rc, j->err.text);
        j->err.code = rc;
    } else {
        if (transport_post(j->end[rank], out, NULL) < 0)
            ck_abort_msg("the loop fails");
    }
    outbox_fini(out);
}

static bool job_turn(struct job *j, int rank)
{
    struct outbox out = { 0 };
    struct comm_op op;
    int n = transport_poll(j->end[rank], &op, 1, NULL), rc;

    if (n < 0)
        ck_abort_msg("the loop fails");
    if (!n && !smb_polls(j->box[rank]))
        return false;
    inside = true;
    rc = n ? smb_receive(j->box[rank], &op, now_ns(j), &out, &j->err)
           : smb_poll(j->box[rank], now_ns(j), &out, &j->err);
    job_after(j, rank, rc, &out);
    return n || rc > 0;
}

static void job_step(struct job *j)
{
    bool moved = false;

    for (int i = 0; i < RANKS && !j->err.code; i++)
        moved |= job_turn(j, i);
    if (!moved && !loop_advance(j->loop))
        j->idle_ns += CLOCK_MS;
}

/* Begin a request without waiting. */
static void job_start(struct job *j, int rank, struct smb_request *r)
{
    struct outbox out = { 0 };
    int rc;

    if (j->err.code)
        return;
    r->deadline_ns = now_ns(j) + LONG_NS * CLOCK_S;
    inside = true;
    rc = smb_start(j->box[rank], r, now_ns(j), &out, &j->err);
    job_after(j, rank, rc, &out);
}

/* Until it is done.  Returns whether it came out well. */
static bool job_finish(struct job *j, int rank, struct smb_request *r)
{
    while (!r->done && !j->err.code)
        job_step(j);
    while (smb_take_done(j->box[rank]))
        ;
    if (j->err.code)
        return false;
    ck_assert_msg(r->rc == 0 || (r->rc == -ENOMEM && r->error.text[0]), "%d %s", r->rc,
                  r->error.text);
    return r->rc == 0;
}

/* Both. */
static bool job_do(struct job *j, int rank, struct smb_request *r)
{
    job_start(j, rank, r);
    return job_finish(j, rank, r);
}

/* Read the buffer and check that all its elements have this value. */
static bool job_read(struct job *j, int rank, smb_key key, float value)
{
    static float x[N];
    struct smb_request r = { .kind = SMB_READ, .key = key, .data = x, .count = N };

    if (!job_do(j, rank, &r))
        return false;
    for (int k = 0; k < N; k++)
        if (x[k] != value) /* an assertion is a system call */
            ck_abort_msg("element %d is %g", k, (double)x[k]);
    return true;
}

/* Each worker adds ones of its own, and reads what has come of it when all went well.  The last
 * rank creates the buffer: the server of its node maps its stripe only for the first order.
 */
static bool job_work(struct job *j)
{
    struct smb_request r = { .kind = SMB_CREATE, .type = COMM_FLOAT32, .n = N };
    static float x[N];
    smb_key key, own;

    if (!job_do(j, RANKS - 1, &r))
        return false;
    key = r.key;
    for (int k = 0; k < N; k++)
        x[k] = 1;
    for (int i = 0; i < RANKS; i++) {
        r = (struct smb_request){ .kind = SMB_ATTACH, .key = key };
        if (!job_do(j, i, &r) || !job_read(j, i, key, (float)i))
            return false;
        r = (struct smb_request){ .kind = SMB_CREATE, .type = COMM_FLOAT32, .n = N };
        if (!job_do(j, i, &r))
            return false;
        own = r.key;
        r = (struct smb_request){ .kind = SMB_WRITE, .key = own, .data = x, .count = N };
        if (!job_do(j, i, &r))
            return false;
        r = (struct smb_request){ .kind = SMB_ACCUMULATE, .key = key, .source = own };
        if (!job_do(j, i, &r))
            return false;
        if (!job_read(j, i, key, (float)(i + 1)))
            return false;
        r = (struct smb_request){ .kind = SMB_DETACH, .key = own };
        if (!job_do(j, i, &r))
            return false;
    }
    return true;
}

static bool job_open(struct job *j)
{
    *j = (struct job){ 0 };
    ck_assert_int_eq(loop_new(RANKS, 3, &j->loop, NULL), 0);
    for (int i = 0; i < RANKS; i++) {
        struct smb_options o = { .place = { .rank = i, .n_ranks = RANKS, .channel = COMM_BOX },
                                 .node_of = node_of };
        int rc;

        ck_assert_int_eq(loop_open(j->loop, i, &j->end[i], NULL), 0);
        inside = true;
        rc = smb_open(&o, &j->box[i], &j->err);
        inside = false;
        if (rc < 0) {
            ck_assert_msg(j->err.text[0] && rc == -ENOMEM, "%d %s", rc, j->err.text);
            j->err.code = rc;
            return false;
        }
    }
    return true;
}

static bool job_left(const struct job *j)
{
    for (int i = 0; i < RANKS; i++)
        if (!smb_left(j->box[i]))
            return false;
    return true;
}

/* When the box is whole all leave it in good order, failed requests or not. */
static void job_close(struct job *j)
{
    int64_t deadline = now_ns(j) + LONG_NS * CLOCK_S;

    for (int i = 0; i < RANKS && !j->err.code; i++)
        smb_leave(j->box[i]);
    while (!j->err.code && !job_left(j)) {
        if (now_ns(j) >= deadline)
            ck_abort_msg("leaving hangs");
        job_step(j);
    }
    for (int i = 0; i < RANKS; i++)
        if (j->end[i])
            transport_close(j->end[i], !j->err.code, NULL);
    for (int i = 0; i < RANKS; i++)
        smb_close(j->box[i]);
    loop_free(j->loop);
}

START_TEST(any_call_fails)
{
    int ends = 0, requests = 0, unharmed = 0;

    for (at = 1;; at++) {
        struct job j;
        bool opened, well;

        calls = 0;
        opened = job_open(&j);
        well = opened && job_work(&j);
        ends += j.err.code != 0;
        requests += !j.err.code && !well;
        unharmed += well && calls >= at;
        job_close(&j);
        if (calls < at)
            break;
    }
    /* Of each kind there are some: or the test has lost hold of what it wraps. */
    ck_assert_int_gt(ends, 10);
    ck_assert_int_gt(requests, 3);
    ck_assert_int_ge(unharmed, 1);
}
END_TEST

/* Whether a node still has a stripe of the buffer. */
static bool job_holds(const struct job *j, smb_key key)
{
    int rc;

    for (int i = 0; i < RANKS; i++) {
        struct memory *m = j->box[i]->memory;

        if (!m)
            continue;
        memory_sweep(m);
        if (memory_find(m, key.id, &rc))
            return true;
    }
    return false;
}

/* The only user detaches this many steps after a rank of the other node began to attach, and this
 * call of the two fails.  Returns whether the one that attached had no memory for it; then nothing
 * may be left of the buffer.
 */
static bool attach_fails(struct job *j, int steps, int call)
{
    struct smb_request first = { .kind = SMB_CREATE, .type = COMM_FLOAT32, .n = N }, attach, detach;
    bool left;

    if (!job_do(j, 0, &first))
        ck_abort_msg("%s", first.error.text);
    at = calls + call;
    attach = (struct smb_request){ .kind = SMB_ATTACH, .key = first.key };
    detach = (struct smb_request){ .kind = SMB_DETACH, .key = first.key };
    job_start(j, 2, &attach);
    for (int i = 0; i < steps && !j->err.code; i++)
        job_step(j);
    job_start(j, 0, &detach);
    left = job_finish(j, 0, &detach);
    while (!attach.done && !j->err.code) /* it may also have come too late */
        job_step(j);
    (void)smb_take_done(j->box[2]);
    at = 0;
    if (j->err.code || !left || attach.rc != -ENOMEM)
        return false;
    ck_assert_msg(strstr(attach.error.text, "attach") != NULL, "%s", attach.error.text);
    ck_assert(!job_holds(j, first.key));
    return true;
}

/* A rank that cannot note that it is attached detaches again, as the last one perhaps. */
START_TEST(attach_without_memory)
{
    enum { STEPS = 16, CALLS = 30 }; /* the attachment is made in about the 11th step */
    int failed = 0;

    at = 0;
    for (int steps = 10; steps < STEPS; steps++)
        for (int call = 1; call <= CALLS; call++) {
            struct job j;

            if (!job_open(&j))
                ck_abort_msg("%s", j.err.text);
            failed += attach_fails(&j, steps, call);
            job_close(&j);
        }
    ck_assert_int_gt(failed, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, any_call_fails);
    tcase_add_test(tc, attach_without_memory);
}

SUITE_MAIN("smb faults", add_tests)
