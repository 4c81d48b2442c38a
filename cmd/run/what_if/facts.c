/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - what a plan is made from, and how the changes of --what-if change it */
#include "facts.h"

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/job/host_program.h"
#include "scheduler/bundles.h"
#include "scheduler/drop.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 8 }; /* most nodes that an error names */

/* ---- nodes ---- */

/* Copy a profile without its unused devices, so that copies of many nodes take little time. `to` is
 * zeroed, or was copied to before.
 */
static void copy_node(struct node_profile *to, const struct node_profile *from)
{
    size_t tail = offsetof(struct node_profile, n_devices);

    memcpy(to, from, offsetof(struct node_profile, device));
    memcpy(to->device, from->device, (size_t)from->n_devices * sizeof *to->device);
    memcpy((char *)to + tail, (const char *)from + tail, sizeof *to - tail);
}

/* Return the index of the node of this name; -1: there is none. */
static int find(const struct facts *f, const char *host)
{
    for (int i = 0; i < f->n_nodes; i++)
        if (strcmp(f->node[i].host, host) == 0)
            return i;
    return -1;
}

/* Return the index of the node of this name. -EINVAL: there is none; err names those that are. */
static int want(const struct facts *f, const char *host, struct eddis_error *err)
{
    cleanup_strbuf struct strbuf names = { 0 };
    int i = find(f, host);

    if (i >= 0)
        return i;
    if (f->n_nodes == 0)
        return eddis_fail(err, -EINVAL, "there is no node '%.100s': no node is left", host);
    for (int k = 0; k < f->n_nodes && k < NAMED; k++)
        strbuf_addf(&names, "%s%.60s", k ? ", " : "", f->node[k].host);
    if (f->n_nodes > NAMED)
        strbuf_addf(&names, " and %d more", f->n_nodes - NAMED);
    return eddis_fail(err, -EINVAL, "there is no node '%.100s'; the job's nodes are %s", host,
                      strbuf_text(&names));
}

/* Enter what the job sets for its i-th host into a profile of an earlier job, as the driver does
 * (agents/driver/plan/planning.c). joined: number of GPUs that each of its GPUs stands for. Return
 * 0, or -EINVAL: the node cannot be as the job asks.
 */
static int prepare(const struct job *job, int i, int64_t joined, struct node_profile *node,
                   struct eddis_error *err)
{
    int rc = 0;

    node->cpus_only = job_runs_trainer(job);
    if (job->n_hosts) {
        node->software = host_program_mark(&job->host[i]);
        rc = planner_host(&job->host[i], node, err);
    }
    if (rc < 0)
        return rc;
    if (joined <= 1)
        return bundles_make(node, job->gpus_per_worker, err);
    if (joined != job->gpus_per_worker)
        return eddis_fail(err, -EINVAL,
                          "gpus_per_worker is %lld, but the earlier job measured groups of %lld "
                          "GPUs; leave it unchanged",
                          (long long)job->gpus_per_worker, (long long)joined);
    node->bundle = (int)joined;
    return 0;
}

/* ---- learnt figures of a node's workers ---- */

/* Borrow what follows the host's name in the key of a worker (planner_key); NULL: the worker is not
 * on this host.
 */
static const char *behind_host(const char *key, const char *host)
{
    size_t n = strlen(host);

    return strncmp(key, host, n) == 0 && key[n] == '|' ? key + n : NULL;
}

/* Append to the array rows [*n] of `size` bytes each, which begin with a key of PLANNER_KEY bytes,
 * a copy of each row of `host`, for the host `copy`. Return 0 or -ENOMEM.
 */
static int copy_rows(void **rows, int *n, size_t size, const char *host, const char *copy)
{
    int own = 0, all = *n;
    char *more;

    for (int i = 0; i < all; i++)
        own += behind_host((char *)*rows + (size_t)i * size, host) != NULL;
    if (own == 0)
        return 0;
    more = realloc(*rows, (size_t)(all + own) * size);
    if (!more)
        return -ENOMEM;
    *rows = more;
    for (int i = 0; i < all; i++) {
        const char *from = more + (size_t)i * size, *rest = behind_host(from, host);
        char *to = more + (size_t)*n * size;

        if (!rest)
            continue;
        memcpy(to, from, size);
        (void)snprintf(to, PLANNER_KEY, "%s%s", copy, rest);
        (*n)++;
    }
    return 0;
}

/* Copy the learnt figures of the workers of `host` for a node of another name. Return 0 or -ENOMEM.
 */
static int copy_learnt(struct facts *f, const char *host, const char *copy)
{
    void *time = f->time, *bound = f->bound;
    int rc = copy_rows(&time, &f->n_times, sizeof *f->time, host, copy);

    f->time = time;
    if (rc == 0)
        rc = copy_rows(&bound, &f->n_bounds, sizeof *f->bound, host, copy);
    f->bound = bound;
    return rc;
}

/* ---- the changes ---- */

/* Remove the node of this name. Return 0 or -EINVAL. */
static int leave(struct facts *f, const char *host, struct eddis_error *err)
{
    int i = want(f, host, err);

    if (i < 0)
        return i;
    for (f->n_nodes--; i < f->n_nodes; i++) {
        copy_node(&f->node[i], &f->node[i + 1]);
        f->measured[i] = f->measured[i + 1];
    }
    return 0;
}

/* Return the greatest number N of a node "HOST+N"; 0: the node has no copies. */
static long last_copy(const struct facts *f, const char *host)
{
    size_t n = strlen(host);
    long last = 0;

    for (int i = 0; i < f->n_nodes; i++) {
        const char *name = f->node[i].host;
        long k = strncmp(name, host, n) == 0 && name[n] == '+' ? strtol(name + n + 1, NULL, 10) : 0;

        last = k > last ? k : last;
    }
    return last;
}

/* Append copies of the node of this name; the array has room. Return 0, -EINVAL or -ENOMEM. */
static int add(struct facts *f, const char *host, int copies, struct eddis_error *err)
{
    int from = want(f, host, err);
    long last = from < 0 ? 0 : last_copy(f, host);

    if (from < 0)
        return from;
    for (int i = 1; i <= copies; i++) {
        struct node_profile *to = &f->node[f->n_nodes];

        copy_node(to, &f->node[from]);
        f->measured[f->n_nodes] = f->measured[from];
        if (snprintf(to->host, sizeof to->host, "%s+%ld", host, last + i) >= (int)sizeof to->host)
            return eddis_fail(err, -EINVAL, "the name of node '%.80s' is too long for a copy",
                              host);
        f->n_nodes++;
        if (copy_learnt(f, host, to->host) < 0)
            return eddis_fail(err, -ENOMEM, "no memory for copies of node '%.80s'", host);
    }
    return 0;
}

/* Make all devices of the node of this name `rate` times as fast. Return 0 or -EINVAL. */
static int scale(struct facts *f, const char *host, double rate, struct eddis_error *err)
{
    int at = want(f, host, err);

    if (at < 0)
        return at;
    for (int i = 0; i < f->node[at].n_devices; i++) {
        struct device *d = &f->node[at].device[i];

        d->fp32_flops *= rate;
        d->tf32_flops *= rate;
        d->bf16_flops *= rate;
        d->fp16_flops *= rate;
        d->memory_bytes_per_s *= rate;
        d->rate *= rate;
        d->fixed_s /= rate;
    }
    for (int i = 0; i < f->n_times; i++)
        if (behind_host(f->time[i].key, host)) {
            f->time[i].fixed_s /= rate;
            f->time[i].sample_s /= rate;
        }
    return 0;
}

/* Check whether this node of the job, or a copy of it, is still there. */
static bool is_there(const struct facts *f, const char *host)
{
    for (int i = 0; i < f->n_nodes; i++)
        if (strcmp(f->measured[i], host) == 0)
            return true;
    return false;
}

/* Set latency and bandwidth to those of the links between the nodes that stay. If no link is left,
 * or the network does not name its nodes, they remain. Return 0 or -ENOMEM.
 */
static int narrow_network(struct facts *f)
{
    const struct network *all = f->network;
    cleanup_free struct network_link *link = NULL;
    cleanup_free bool *there = NULL;
    int n = 0;

    if (!all || !all->host)
        return 0;
    link = calloc((size_t)all->n_links + 1, sizeof *link);
    there = calloc((size_t)all->n_nodes + 1, sizeof *there);
    if (!link || !there)
        return -ENOMEM;
    for (int i = 0; i < all->n_nodes; i++)
        there[i] = is_there(f, all->host[i]);
    for (int i = 0; i < all->n_links; i++)
        if (there[all->link[i].from] && there[all->link[i].to])
            link[n++] = all->link[i];
    if (n == 0 || n == all->n_links)
        return 0;
    f->rest = *all;
    f->rest.link = link;
    f->rest.n_links = n;
    link = NULL;
    return network_wire(&f->rest, &f->latency_s, &f->bytes_per_s);
}

/* Apply the changes of nodes and network. Return 0 or a negative error. */
static int change_all(struct facts *f, const struct what_if_changes *c, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; i < c->n_nodes && rc == 0; i++) {
        const struct what_if_node *n = &c->node[i];

        rc = n->kind == WHAT_IF_LEAVE ? leave(f, n->host, err)
             : n->kind == WHAT_IF_ADD ? add(f, n->host, n->copies, err)
                                      : scale(f, n->host, n->rate, err);
    }
    if (rc < 0)
        return rc;
    if (f->n_nodes == 0)
        return eddis_fail(err, -EINVAL, "no node is left");
    if (narrow_network(f) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for the network");
    f->network_changed = c->bytes_per_s > 0;
    f->bytes_per_s = c->bytes_per_s > 0 ? c->bytes_per_s : f->bytes_per_s;
    f->latency_s = c->latency_s > 0 ? c->latency_s : f->latency_s;
    return 0;
}

/* Return a copy of n rows of `size` bytes, never NULL except without memory. */
static void *copy_of(const void *rows, int n, size_t size)
{
    void *ret = malloc((size_t)n * size + 1);

    if (ret && n > 0)
        memcpy(ret, rows, (size_t)n * size);
    return ret;
}

int facts_change(const struct facts *base, const struct job *job, const struct what_if_changes *c,
                 struct facts *ret, struct eddis_error *err)
{
    size_t most = (size_t)base->n_nodes + (size_t)c->copies + 1;
    struct facts f = *base;
    int rc = 0;

    if (job->n_hosts && job->n_hosts != (size_t)base->n_nodes)
        return eddis_fail(err, -EINVAL,
                          "the job has %lld nodes, but the earlier job measured %d; write -NODE to "
                          "leave a node out, +NODE to add one like it",
                          (long long)job->n_hosts, base->n_nodes);
    f.rest = (struct network){ 0 };
    f.node = calloc(most, sizeof *f.node);
    f.measured = calloc(most, sizeof *f.measured);
    f.time = copy_of(base->time, base->n_times, sizeof *f.time);
    f.bound = copy_of(base->bound, base->n_bounds, sizeof *f.bound);
    if (!f.node || !f.measured || !f.time || !f.bound)
        rc = eddis_fail(err, -ENOMEM, "no memory for the nodes");
    for (int i = 0; i < f.n_nodes && rc == 0; i++) {
        copy_node(&f.node[i], &base->node[i]);
        f.measured[i] = base->node[i].host;
        rc = prepare(job, i, base->gpus_per_worker, &f.node[i], err);
    }
    if (rc == 0)
        rc = change_all(&f, c, err);
    if (rc < 0)
        facts_fini(&f);
    else
        *ret = f;
    return rc;
}

/* Return what a plan is made from beside the nodes; it borrows from f. */
static struct planner_history history_of(const struct facts *f)
{
    struct planner_history history = f->program;

    history.time = f->time;
    history.n_times = f->n_times;
    history.bound = f->bound;
    history.n_bounds = f->n_bounds;
    history.latency_s = f->latency_s;
    history.bytes_per_s = f->bytes_per_s;
    return history;
}

int facts_plan(struct facts *f, const struct job *job, struct plan **ret, struct eddis_error *err)
{
    struct planner_history history = history_of(f);
    const struct drop_input in = { .job = job,
                                   .n_nodes = f->n_nodes,
                                   .history = &history,
                                   .network = f->network_changed ? NULL
                                              : f->rest.link     ? &f->rest
                                                                 : f->network,
                                   .host = f->measured };
    struct drop_result drop;
    struct plan *p = NULL;
    int rc = drop_decide(&in, f->node, &drop, err);

    if (rc < 0)
        return rc;
    f->kept = (struct facts_kept){ drop.latency_s, drop.bytes_per_s, drop.lacks };
    history.latency_s = f->kept.latency_s;
    history.bytes_per_s = f->kept.bytes_per_s;
    rc = planner_plan(job, f->node, f->n_nodes, &history, &p, err);
    if (rc < 0)
        return rc;
    memcpy(p->left, drop.left, sizeof p->left);
    p->n_left = drop.n_left;
    if (planner_is_open(job, p))
        planner_leave_open(job, p);
    *ret = p;
    return 0;
}

int facts_simulate(const struct facts *f, const struct job *job, const struct plan *p,
                   double seconds, uint64_t seed, struct sim_reached *ret, struct eddis_error *err)
{
    struct planner_history history = history_of(f);
    const struct sim_plan s = { .job = job,
                                .plan = p,
                                .history = &history,
                                .disturbance = sim_disturbance_usual(),
                                .seconds = seconds,
                                .seed = seed };

    history.latency_s = f->kept.latency_s;
    history.bytes_per_s = f->kept.bytes_per_s;
    return sim_plan(&s, ret, err);
}

void facts_fini(struct facts *f)
{
    free(f->node);
    free(f->measured);
    free(f->rest.link);
    free(f->time);
    free(f->bound);
    *f = (struct facts){ 0 };
}
