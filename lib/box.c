/* SPDX-License-Identifier: Apache-2.0 */
/* box.c - the handle's Soft Memory Box */
#include "handle.h"

#include "lib/base/clock.h"

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
    rc = handle_agree(e, rc, err);
    if (rc == 0) {
        node_name(&own);
        rc = handle_allgather(e, &own, all, sizeof own, err);
    }
    for (int r = 0; rc == 0 && r < n; r++) {
        node_of[r] = 0;
        while (memcmp(&all[node_of[r]], &all[r], sizeof own) != 0)
            node_of[r]++;
    }
    free(all);
    return rc;
}

int box_nodes(struct eddis *e, int *ret_node_of, struct eddis_error *err)
{
    if (!e->board)
        return nodes_find(e, ret_node_of, err);
    memcpy(ret_node_of, board_setup(e->board)->node_of,
           (size_t)e->place.n_ranks * sizeof *ret_node_of);
    return 0;
}

static int box_make(struct eddis *e, const int *node_of, int n_servers, struct eddis_error *err)
{
    struct smb_options o = { .place = e->place, .node_of = node_of, .n_servers = n_servers };
    struct smb *box = NULL;
    int rc;

    o.place.channel = COMM_BOX;
    rc = handle_agree(e, smb_open(&o, &box, err), err);
    if (rc < 0) {
        smb_close(box);
        return rc;
    }
    e->box = box;
    driver_set_box(e->driver, box);
    return 0;
}

int box_open(struct eddis *e, int n_servers, struct eddis_error *err)
{
    int *node_of, rc = 0;

    if (e->box)
        return 0;
    node_of = calloc((size_t)e->place.n_ranks, sizeof *node_of);
    if (!node_of)
        rc = eddis_fail(err, -ENOMEM, "no memory for the Soft Memory Box");
    rc = handle_agree(e, rc, err);
    if (rc == 0)
        rc = box_nodes(e, node_of, err);
    if (rc == 0)
        rc = box_make(e, node_of, n_servers, err);
    free(node_of);
    return rc;
}

static int wait_box(struct eddis *e, void *what, int64_t deadline_ns, int *ret_peer,
                    struct eddis_error *err)
{
    return driver_wait_box(e->driver, what, deadline_ns, ret_peer, err);
}

int box_ask(struct eddis *e, struct smb_request *r, struct eddis_error *err)
{
    struct mail_box m = { .mail.kind = MAIL_BOX, .r = *r };
    int peer = -1, rc;

    driver_send(e->driver, &m.mail);
    /* The box keeps the deadline; a failure of the communication ends the wait as well. */
    rc = handle_wait(e, wait_box, &m, CLOCK_NEVER, &peer, err);
    if (rc < 0)
        return rc;
    *r = m.r;
    return r->rc < 0 ? eddis_fail(err, r->rc, "%s", r->error.text) : 0;
}

static int wait_left(struct eddis *e, void *what, int64_t deadline_ns, int *ret_peer,
                     struct eddis_error *err)
{
    (void)what;
    return driver_wait_left(e->driver, deadline_ns, ret_peer, err);
}

int box_leave(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    int peer = -1, rc;

    if (!e->box)
        return 0;
    e->leave_box.kind = MAIL_LEAVE;
    driver_send(e->driver, &e->leave_box);
    rc = handle_wait(e, wait_left, NULL, deadline_ns, &peer, err);
    return rc == -ETIMEDOUT ? eddis_fail(err, rc, "others still use the Soft Memory Box") : rc;
}
