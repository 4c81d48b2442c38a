/* SPDX-License-Identifier: Apache-2.0 */
/* smb.c - the Soft Memory Box for programs */
#include "eddis_smb.h"
#include "handle.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>

/* One that was started. */
struct eddis_smb_request {
    struct mail_box mail;
    struct eddis_smb_request *next;
};

int eddis_smb_open(struct eddis *e, int servers, struct eddis_error *err)
{
    int rc = handle_check(e, err);

    return rc < 0 ? rc : box_open(e, servers, err);
}

static int smb_check(const struct eddis *e, struct eddis_error *err)
{
    int rc = handle_check(e, err);

    if (rc == 0 && !e->box)
        rc = eddis_fail(err, -EINVAL,
                        "the Soft Memory Box is not open; call eddis_smb_open on "
                        "all workers first");
    return rc;
}

static int smb_ask(struct eddis *e, struct smb_request *r, int64_t timeout_ns,
                   struct eddis_error *err)
{
    int rc = smb_check(e, err);

    if (rc < 0)
        return rc;
    r->deadline_ns = clock_after_ns(clock_now_ns(), timeout_ns);
    return box_ask(e, r, err);
}

int eddis_smb_create(struct eddis *e, enum eddis_dtype dtype, size_t n, uint64_t *ret_key,
                     int64_t timeout_ns, struct eddis_error *err)
{
    struct smb_request r = { .kind = SMB_CREATE, .type = (enum comm_type)dtype, .n = n };
    int rc = smb_ask(e, &r, timeout_ns, err);

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
    int rc;

    if (!count)
        return eddis_fail(err, -EINVAL, "the number of notices is NULL");
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
    int rc = smb_ask(e, &r, timeout_ns, err);

    if (rc == 0)
        *ret_before = r.value;
    return rc;
}

static struct smb_request smb_move(enum smb_kind kind, uint64_t key, size_t first, size_t count,
                                   const void *data)
{
    return (struct smb_request){
        .kind = kind, .key.id = key, .first = first, .count = count, .data = (void *)(uintptr_t)data
    };
}

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

/* ---- without waiting ---- */

static int smb_begin(struct eddis *e, const struct smb_request *r, struct eddis_smb_request **ret,
                     struct eddis_error *err)
{
    struct eddis_smb_request *q;
    int rc = smb_check(e, err);

    if (rc < 0)
        return rc;
    q = calloc(1, sizeof *q);
    if (!q)
        return eddis_fail(err, -ENOMEM, "no memory for a request");
    q->mail.mail.kind = MAIL_BOX;
    q->mail.r = *r;
    q->mail.r.deadline_ns = CLOCK_NEVER;
    q->next = e->boxed;
    e->boxed = q;
    driver_send(e->driver, &q->mail.mail);
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

static void smb_request_free(struct eddis *e, struct eddis_smb_request *q)
{
    for (struct eddis_smb_request **at = &e->boxed; *at; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    free(q);
}

static int wait_started(struct eddis *e, void *what, int64_t deadline_ns, int *ret_peer,
                        struct eddis_error *err)
{
    return driver_wait_box(e->driver, what, deadline_ns, ret_peer, err);
}

int eddis_smb_request_wait(struct eddis *e, struct eddis_smb_request *q, int64_t timeout_ns,
                           struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    unsigned long long key;
    int peer = -1, rc = smb_check(e, err);

    if (rc < 0)
        return rc;
    if (!q)
        return eddis_fail(err, -EINVAL, "the request is NULL");
    key = q->mail.r.key.id;
    rc = handle_wait(e, wait_started, &q->mail, deadline, &peer, err);
    if (rc == -ETIMEDOUT && peer >= 0)
        return eddis_fail(err, rc, "the request to buffer %llx still waits for rank %d", key, peer);
    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc, "the request to buffer %llx is still under way", key);
    if (rc == 0 && q->mail.r.rc < 0)
        rc = eddis_fail(err, q->mail.r.rc, "%s", q->mail.r.error.text);
    smb_request_free(e, q);
    return rc;
}

void box_close(struct eddis *e)
{
    smb_close(e->box);
    while (e->boxed)
        smb_request_free(e, e->boxed);
}
