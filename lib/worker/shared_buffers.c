/* SPDX-License-Identifier: Apache-2.0 */
/* shared_buffers.c - the worker's Soft Memory Box: opened when first used, and its calls for
 * programs
 */
#include "worker.h"

#include "lib/base/clock.h"
#include "lib/eddis_smb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ranks that can share memory have the same: host, boot and process numbers. */
struct node_name {
    char host[256];
    char boot[40];
    uint64_t pid_space;
};

static void node_name(struct node_name *ret)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    struct stat st;

    memset(ret, 0, sizeof *ret);
    gethostname(ret->host, sizeof ret->host - 1);
    if (f) {
        if (!fgets(ret->boot, sizeof ret->boot, f))
            ret->boot[0] = '\0';
        fclose(f);
    }
    if (stat("/proc/self/ns/pid", &st) == 0)
        ret->pid_space = (uint64_t)st.st_ino;
}

/* Number the nodes of a job that no agent has numbered.  Collective. */
static int nodes_find(struct eddis *e, int *node_of, struct eddis_error *err)
{
    int n = e->place.n_ranks, rc;
    struct node_name own, *all = calloc((size_t)n, sizeof *all);

    rc = all ? 0 : eddis_fail(err, -ENOMEM, "no memory for the names of %d nodes", n);
    rc = collectives_agree(e, rc, err);
    if (rc == 0) {
        node_name(&own);
        rc = collectives_allgather(e, &own, all, sizeof own, err);
    }
    for (int r = 0; rc == 0 && r < n; r++) {
        node_of[r] = 0;
        while (memcmp(&all[node_of[r]], &all[r], sizeof own) != 0)
            node_of[r]++;
    }
    free(all);
    return rc;
}

int shared_buffers_nodes(struct eddis *e, int *ret_node_of, struct eddis_error *err)
{
    if (!e->board)
        return nodes_find(e, ret_node_of, err);
    memcpy(ret_node_of, board_setup(e->board)->node_of,
           (size_t)e->place.n_ranks * sizeof *ret_node_of);
    return 0;
}

static int shared_buffers_make(struct eddis *e, const int *node_of, int n_servers,
                               struct eddis_error *err)
{
    struct smb_options o = { .place = e->place, .node_of = node_of, .n_servers = n_servers };
    struct smb *box = NULL;
    int rc;

    o.place.channel = COMM_BOX;
    rc = collectives_agree(e, smb_open(&o, &box, err), err);
    if (rc < 0) {
        smb_close(box);
        return rc;
    }
    e->box = box;
    comm_thread_set_box(e->comm_thread, box);
    return 0;
}

int shared_buffers_open(struct eddis *e, int n_servers, struct eddis_error *err)
{
    int *node_of, rc = 0;

    if (e->box)
        return 0;
    node_of = calloc((size_t)e->place.n_ranks, sizeof *node_of);
    if (!node_of)
        rc = eddis_fail(err, -ENOMEM, "no memory for the Soft Memory Box");
    rc = collectives_agree(e, rc, err);
    if (rc == 0)
        rc = shared_buffers_nodes(e, node_of, err);
    if (rc == 0)
        rc = shared_buffers_make(e, node_of, n_servers, err);
    free(node_of);
    return rc;
}

int shared_buffers_ask(struct eddis *e, struct smb_request *r, struct eddis_error *err)
{
    struct mail_box m = { .mail.kind = MAIL_BOX, .r = *r };
    struct comm_wait w = { .kind = WAIT_BOX, .box = &m };
    int rc;

    comm_thread_send(e->comm_thread, &m.mail);
    /* The box keeps the deadline; a failure of the communication ends the wait as well. */
    rc = worker_wait(e, &w, CLOCK_NEVER, err);
    if (rc < 0)
        return rc;
    *r = m.r;
    return r->rc < 0 ? eddis_fail(err, r->rc, "%s", r->error.text) : 0;
}

int shared_buffers_leave(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    struct comm_wait w = { .kind = WAIT_LEFT };
    int rc;

    if (!e->box)
        return 0;
    e->leave_box.kind = MAIL_LEAVE;
    comm_thread_send(e->comm_thread, &e->leave_box);
    rc = worker_wait(e, &w, deadline_ns, err);
    return rc == -ETIMEDOUT ? eddis_fail(err, rc, "others still use the Soft Memory Box") : rc;
}

/* One that was started. */
struct eddis_smb_request {
    struct mail_box mail;
    struct eddis_smb_request *next;
};

int eddis_smb_open(struct eddis *e, int servers, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 ? rc : shared_buffers_open(e, servers, err);
}

static int smb_check(const struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

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
    return shared_buffers_ask(e, r, err);
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
    comm_thread_send(e->comm_thread, &q->mail.mail);
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
    key = q->mail.r.key.id;
    w.box = &q->mail;
    rc = worker_wait(e, &w, deadline, err);
    if (rc == -ETIMEDOUT && w.peer >= 0)
        return eddis_fail(err, rc, "the request to buffer %llx still waits for rank %d", key,
                          w.peer);
    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc, "the request to buffer %llx is still under way", key);
    if (rc == 0 && q->mail.r.rc < 0)
        rc = eddis_fail(err, q->mail.r.rc, "%s", q->mail.r.error.text);
    smb_request_free(e, q);
    return rc;
}

void shared_buffers_close(struct eddis *e)
{
    smb_close(e->box);
    while (e->boxed)
        smb_request_free(e, e->boxed);
}
