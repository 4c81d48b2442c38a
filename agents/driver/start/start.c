/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - open a starter for a job's hosts, answer questions about them, and end what is left */
#include "start_impl.h"

#include "localhost.h"
#include "start_step.h"

#include "agents/job/node_list.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- opening ---- */

bool start_is_here(const struct job_host *host)
{
    return !host || (!start_ssh_needed(host) && localhost_is(host->host));
}

/* Return the functions for reaching a host (NULL: this machine): by srun, locally or by ssh. */
static const struct start_ops *way_to(const struct job_host *host, const struct start_options *o)
{
    if (host && o->slurm)
        return &start_slurm;
    return start_is_here(host) ? &start_local : &start_ssh;
}

/* Initialise the record of one host, without a session or step. */
static void init_node(struct start_node *p, const struct start_options *o, int host)
{
    const struct job_host *h = o->host ? &o->host[host] : NULL;

    const struct slurm_node *node = h && o->slurm ? slurm_allocation_find(o->slurm, h->host) : NULL;

    p->at = (struct start_place){ .name = h ? h->host : "this machine",
                                  .host = h,
                                  .ssh = o->ssh,
                                  .slurm = o->slurm,
                                  .group = node ? node->group : 0,
                                  .launch_ns = o->launch_ns };
    p->ops = way_to(h, o);
    p->step = -1;
    session_init(&p->session);
}

int starter_open(const struct start_options *o, struct starter **ret, struct eddis_error *err)
{
    cleanup_free struct proctree_process *before = NULL;
    int n = proctree_list(getpid(), &before, err);
    struct starter *s;

    if (n < 0)
        return n;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot become the reaper of the job's processes");
    s = calloc(1, sizeof *s);
    if (s)
        *s = (struct starter){ .n = o->n, .clean = n == 0, .next_ns = CLOCK_NEVER };
    if (s)
        s->node = calloc((size_t)o->n, sizeof *s->node);
    if (!s || !s->node) {
        free(s);
        return eddis_fail(err, -ENOMEM, "no memory to start agents on %d hosts", o->n);
    }
    for (int i = 0; i < o->n; i++)
        init_node(&s->node[i], o, i);
    s->random = (uint64_t)clock_now_ns() ^ ((uint64_t)getpid() << 32);
    s->events = epoll_create1(EPOLL_CLOEXEC);
    if (s->events < 0) {
        n = eddis_fail_errno(err, -errno, "cannot wait for agents to start");
        starter_close(s);
        return n;
    }
    *ret = s;
    return 0;
}

/* ---- questions about a host ---- */

const char *starter_host(const struct starter *s, int host)
{
    return s->node[host].at.name;
}

bool starter_is_local(const struct starter *s, int host)
{
    return s->node[host].ops == &start_local;
}

int starter_group(const struct starter *s, int host)
{
    return s->node[host].ops->is_shared ? s->node[host].at.group : -1;
}

const char *starter_words(const struct starter *s, int host)
{
    return s->node[host].session.words;
}

/* Return the line of nodes.jsonl for a start.  For this machine its host name is recorded, because
 * the record may be read on another machine.
 */
char *starter_record(const struct starter *s, int host, const char *job_id,
                     const struct node_identity *id)
{
    static const struct job_ssh nothing;
    const struct start_place *at = &s->node[host].at;
    char own[256] = "";
    struct job_host here = { .host = own };
    struct job_ssh ssh;

    if (!starter_is_local(s, host)) {
        ssh = start_ssh_settings(at);
        return node_list_line(job_id, at->host, &ssh, id->mark);
    }
    if (gethostname(own, sizeof own - 1) < 0 || !own[0])
        (void)snprintf(own, sizeof own, "localhost");
    return node_list_line(job_id, &here, &nothing, id->mark);
}

/* ---- the end ---- */

int starter_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                  struct eddis_error *err)
{
    int rc = steps_clean(s, patience_ns, deadline_ns, err), local;
    struct eddis_error of_local = { 0 };

    if (!s->clean)
        return rc;
    for (int i = 0; i < s->n; i++)
        if (s->node[i].ops->logs_in)
            session_kill(&s->node[i].session);
    local = start_local_clean(patience_ns, deadline_ns, &of_local);
    if (local < 0 && (rc == 0 || rc == -EINPROGRESS))
        return eddis_fail(err, local, "%s", of_local.text);
    return rc;
}

void starter_close(struct starter *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n; i++) {
        strlist_fini(&s->node[i].args);
        session_fini(&s->node[i].session);
    }
    steps_free(s);
    if (s->events >= 0)
        (void)close(s->events);
    free(s->node);
    free(s);
}
