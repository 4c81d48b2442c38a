/* SPDX-License-Identifier: Apache-2.0 */
/* slurm.c - parse Slurm's lists of nodes, "n[01-04,7],x1", and their task counts, "2(x2),1" */
#include "slurm.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/decimal.h"
#include "lib/hosts/host_name.h"
#include "lib/hosts/host_range.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first step number that is no step of srun.  Larger numbers stand for the shells of batch
 * scripts and of salloc, which have the whole job.
 */
static const int64_t first_special = 0xfffffff0;

enum { MAX_TASKS = 1 << 24, MAX_NODES = 16384 }; /* limits: tasks of a node, nodes */

/* Return -ENOMEM, with a message in err. */
static int no_memory(struct eddis_error *err)
{
    return eddis_fail(err, -ENOMEM, "no memory for the nodes of the allocation");
}

/* Parse s as a whole number of at least 0 and store it in *ret.  Return false if s is NULL or has
 * another form.
 */
static bool whole(const char *s, int64_t *ret)
{
    return s && isdigit((unsigned char)*s) && decimal_whole(s, ret);
}

/* ---- lists of nodes ---- */

/* A list of nodes that is being appended to an allocation. */
struct list {
    struct slurm_allocation *a;
    size_t cap; /* number of nodes for which a->node has room */
    int group;  /* group of the nodes */
};

const struct slurm_node *slurm_allocation_find(const struct slurm_allocation *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->node[i].name, name) == 0)
            return &a->node[i];
    return NULL;
}

/* Append the node `name` to the allocation of the struct list ctx; a host_range_fn.  Return 0,
 * -EINVAL if it is no host name or there are too many nodes, or -ENOMEM.
 */
static int add_node(void *ctx, const char *name, struct eddis_error *err)
{
    struct list *l = ctx;
    struct slurm_allocation *a = l->a;
    int rc = host_name_check(name, err);

    if (rc < 0)
        return rc;
    if (a->n == MAX_NODES)
        return eddis_fail(err, -EINVAL, "more than %d nodes", MAX_NODES);
    if (!array_grow(&a->node, &l->cap, a->n, sizeof *a->node))
        return no_memory(err);
    a->node[a->n] = (struct slurm_node){ .name = strdup(name), .group = l->group };
    return a->node[a->n].name ? (a->n++, 0) : no_memory(err);
}

/* Append the nodes of a comma-separated list with ranges to l's allocation.  Return 0 or a negative
 * errno; nodes before the error are then appended.
 */
static int add_list(struct list *l, const char *text, struct eddis_error *err)
{
    for (const char *s = text;; s++) {
        const char *end = s;
        int depth = 0, rc;

        for (; *end && (depth > 0 || *end != ','); end++)
            depth += (*end == '[') - (*end == ']');
        rc = end == s ? eddis_fail(err, -EINVAL, "a name is missing")
                      : host_range_expand(s, (size_t)(end - s), add_node, l, err);
        if (rc < 0 || !*end)
            return rc;
        s = end;
    }
}

const char *slurm_allocation_job(const struct slurm_allocation *a, int group)
{
    return a->groups ? a->group_job[group] : a->job;
}

/* ---- counts ---- */

/* Set the task counts of the nodes from node `first` on, from a text like "2(x2),1", which is for
 * three nodes.  If the text is NULL, malformed or for another number of nodes, set all these counts
 * to 0 (unknown), since they are not essential.
 */
static void add_counts(struct slurm_allocation *a, size_t first, const char *text)
{
    size_t at = first;

    for (const char *s = text; s; s = *s == ',' ? s + 1 : NULL) {
        char *end;
        long tasks = isdigit((unsigned char)*s) ? strtol(s, &end, 10) : -1, times = 1;

        if (tasks < 1 || tasks > MAX_TASKS)
            break;
        if (strncmp(end, "(x", 2) == 0) {
            times = isdigit((unsigned char)end[2]) ? strtol(end + 2, &end, 10) : 0;
            if (times < 1 || *end++ != ')')
                break;
        }
        if (*end && *end != ',')
            break;
        for (; times > 0 && at < a->n; times--)
            a->node[at++].tasks = tasks;
        if (times)
            break;
        s = end;
        if (!*s && at == a->n)
            return;
    }
    for (size_t i = first; i < a->n; i++)
        a->node[i].tasks = 0;
}

/* ---- repeated nodes ---- */

/* Compare two pointers to nodes by name, without regard to case, then by address, for qsort. */
static int by_name(const void *x, const void *y)
{
    const struct slurm_node *const *a = x, *const *b = y;
    int order = strcasecmp((*a)->name, (*b)->name);

    return order ? order : (*a > *b) - (*a < *b);
}

/* Remove all but the first node of each name from the allocation: a node that several groups of a
 * heterogeneous job share stays in the first group.  Return 0 or -ENOMEM.
 */
static int keep_once(struct slurm_allocation *a, struct eddis_error *err)
{
    cleanup_free struct slurm_node **p = calloc(a->n + 1, sizeof *p);
    size_t kept = 0;

    if (!p)
        return no_memory(err);
    for (size_t i = 0; i < a->n; i++)
        p[i] = &a->node[i];
    qsort(p, a->n, sizeof *p, by_name);
    for (size_t i = 1, first = 0; i < a->n; i++) {
        if (strcasecmp(p[i]->name, p[first]->name) != 0) {
            first = i;
            continue;
        }
        free(p[i]->name);
        p[i]->name = NULL;
    }
    for (size_t i = 0; i < a->n; i++)
        if (a->node[i].name)
            a->node[kept++] = a->node[i];
    a->n = kept;
    return 0;
}

/* ---- variables ---- */

/* The callback that returns environment variables, and its argument. */
struct variables {
    slurm_variable_fn *get;
    void *ctx;
};

/* Borrow the value of a variable; NULL: unset or empty. */
static const char *get(const struct variables *v, const char *name)
{
    const char *text = v->get(v->ctx, name);

    return text && *text ? text : NULL;
}

/* Append the nodes that the variable named by `nodes` followed by `end` lists, with task counts
 * from the variable named by `counts` followed by `end`.  Return 0 or a negative errno, and then
 * some nodes may have been appended; -EINVAL: the first variable is not set or malformed.
 */
static int read_nodes(const struct variables *v, struct list *l, const char *nodes,
                      const char *counts, const char *end, struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    char name[64];
    size_t first = l->a->n;
    const char *text;
    int rc;

    (void)snprintf(name, sizeof name, "%s%s", nodes, end);
    text = get(v, name);
    if (!text)
        return eddis_fail(err, -EINVAL, "%s is not set in the allocation %s", name, l->a->job);
    rc = add_list(l, text, &why);
    if (rc < 0)
        return eddis_fail(err, rc, "%s='%.60s': %s", name, text, why.text);
    (void)snprintf(name, sizeof name, "%s%s", counts, end);
    add_counts(l->a, first, get(v, name));
    return 0;
}

/* Copy the job number in the variable `name` to ret.  Return 0 or -EINVAL: it is not set or not a
 * number.
 */
static int read_number(const struct variables *v, const char *name, char ret[SLURM_ID],
                       struct eddis_error *err)
{
    const char *text = get(v, name);
    int64_t number;

    if (!text)
        return eddis_fail(err, -EINVAL, "%s is not set in the allocation", name);
    if (!whole(text, &number) || strlen(text) >= SLURM_ID)
        return eddis_fail(err, -EINVAL, "%s='%.60s' is not a job number", name, text);
    (void)snprintf(ret, SLURM_ID, "%s", text);
    return 0;
}

/* Read the job number and the nodes of group l->group of a heterogeneous job.  Return 0 or a
 * negative errno.
 */
static int read_group(const struct variables *v, struct list *l, struct eddis_error *err)
{
    char end[32], name[64];
    int rc;

    (void)snprintf(end, sizeof end, "_HET_GROUP_%d", l->group);
    (void)snprintf(name, sizeof name, "SLURM_JOB_ID%s", end);
    rc = read_number(v, name, l->a->group_job[l->group], err);
    return rc < 0 ? rc : read_nodes(v, l, "SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", end, err);
}

/* Read the job's nodes into a; for a heterogeneous job those of all groups, with the groups' job
 * numbers.  Return 0 or a negative errno.
 */
static int read_job(const struct variables *v, struct slurm_allocation *a, struct eddis_error *err)
{
    struct list l = { .a = a };
    int rc = 0;

    if (!a->groups)
        return read_nodes(v, &l, "SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "", err);
    a->group_job = calloc((size_t)a->groups, sizeof *a->group_job);
    if (!a->group_job)
        return no_memory(err);
    for (; rc == 0 && l.group < a->groups; l.group++)
        rc = read_group(v, &l, err);
    return rc;
}

/* Replace the job's nodes by those of the step of srun to which this process belongs.  Return 0;
 * -EINVAL if a node of the step is not in the job; -ENOMEM.  After a failure the job is unchanged.
 */
static int read_step(const struct variables *v, struct slurm_allocation *job,
                     struct eddis_error *err)
{
    struct slurm_allocation *step = calloc(1, sizeof *step);
    struct list l = { .a = step };
    int rc = step ? 0 : no_memory(err);

    if (rc == 0) {
        memcpy(step->job, job->job, sizeof step->job);
        rc = read_nodes(v, &l, "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "", err);
    }
    if (rc == 0)
        rc = keep_once(step, err);
    for (size_t i = 0; rc == 0 && i < step->n; i++) {
        const struct slurm_node *known = slurm_allocation_find(job, step->node[i].name);

        if (known)
            step->node[i].group = known->group;
        else
            rc = eddis_fail(err, -EINVAL,
                            "SLURM_STEP_NODELIST names '%s', which is not in the allocation %s",
                            step->node[i].name, job->job);
    }
    if (rc == 0) {
        struct slurm_node *nodes = job->node;
        size_t n = job->n;

        job->node = step->node;
        job->n = step->n;
        step->node = nodes;
        step->n = n;
    }
    slurm_allocation_free(step);
    return rc;
}

/* Return 1 if this process belongs to a step of srun with a list of nodes, else 0.  -EINVAL: it is
 * a task of the step other than task 0, which must not start workers.
 */
static int is_step(const struct variables *v, struct eddis_error *err)
{
    int64_t step, task;

    if (!whole(get(v, "SLURM_STEP_ID"), &step) || step >= first_special)
        return 0;
    if (whole(get(v, "SLURM_PROCID"), &task) && task > 0)
        return eddis_fail(err, -EINVAL,
                          "this is task %lld of a step, and its task 0 starts the workers of all "
                          "nodes; start eddis-run itself, without srun",
                          (long long)task);
    return get(v, "SLURM_STEP_NODELIST") != NULL;
}

/* Read the job's numbers and nodes into a; if this process belongs to a step of srun, only the
 * nodes of the step.  Return 0 or a negative errno.
 */
static int read_all(const struct variables *v, struct slurm_allocation *a, struct eddis_error *err)
{
    const char *size = get(v, "SLURM_HET_SIZE");
    int64_t groups = 0;
    int rc, step = is_step(v, err);

    if (step < 0)
        return step;
    rc = read_number(v, "SLURM_JOB_ID", a->job, err);
    if (rc < 0)
        return rc;
    if (size && (!whole(size, &groups) || groups < 1 || groups > SLURM_GROUPS))
        return eddis_fail(err, -EINVAL, "SLURM_HET_SIZE='%.60s' is not a number of groups", size);
    a->groups = (int)groups;
    rc = read_job(v, a, err);
    if (rc == 0)
        rc = keep_once(a, err);
    return rc == 0 && step ? read_step(v, a, err) : rc;
}

const char *slurm_variable_own(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

int slurm_allocation_read(slurm_variable_fn *variable, void *ctx, struct slurm_allocation **ret,
                          struct eddis_error *err)
{
    const struct variables v = { variable, ctx };
    struct slurm_allocation *a;
    int rc;

    /* For a heterogeneous job, the shell of salloc has no list of all nodes. */
    if (!get(&v, "SLURM_JOB_ID") || (!get(&v, "SLURM_JOB_NODELIST") && !get(&v, "SLURM_HET_SIZE")))
        return 0;
    a = calloc(1, sizeof *a);
    rc = a ? read_all(&v, a, err) : no_memory(err);
    if (rc < 0) {
        slurm_allocation_free(a);
        return rc;
    }
    *ret = a;
    return 1;
}

void slurm_allocation_free(struct slurm_allocation *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->n; i++)
        free(a->node[i].name);
    free(a->node);
    free(a->group_job);
    free(a);
}
