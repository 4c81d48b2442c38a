/* SPDX-License-Identifier: Apache-2.0 */
/* job_location.c - asks the job's files and Slurm where a job is */
#include "job_location.h"

#include "agents/job/slurm_link.h"
#include "lib/base/cleanup.h"
#include "lib/base/proctree.h"
#include "slurm_lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_own(const char *variable, const char *value)
{
    const char *own = getenv(variable);

    return own && *value && strcmp(own, value) == 0;
}

/* ---- the way there ---- */

static void set_door(struct job_place *p, const struct slurm_job *j, const char *node)
{
    p->where = JOB_FAR;
    p->door.group = *j->het ? j->component : -1;
    (void)snprintf(p->door.job, sizeof p->door.job, "%s", j->id);
    (void)snprintf(p->door.name, sizeof p->door.name, "%s%s%.20s", *j->array ? j->array : j->id,
                   *j->array ? "_" : "", *j->array ? j->task : "");
    if (*node)
        (void)snprintf(p->door.node, sizeof p->door.node, "%s", node);
    else
        slurm_task_first_node(j, p->door.node, sizeof p->door.node);
}

/* The id for a folder that is where jobs are, else its path. */
static void set_word(struct job_place *p)
{
    char root[JOB_FOLDER_MAX_PATH] = "";
    size_t n;

    (void)job_folder_root(root, sizeof root, NULL);
    n = strlen(root);
    if (n && strncmp(p->folder.path, root, n) == 0 && p->folder.path[n] == '/')
        (void)snprintf(p->far, sizeof p->far, "%s", p->folder.id);
    else
        (void)snprintf(p->far, sizeof p->far, "%s/", p->folder.path);
}

/* ---- a job whose folder is here ---- */

/* cluster: of this machine; NULL: nobody has asked yet. */
static void place_of(const struct job_folder *f, const char *cluster, int64_t end_ns,
                     struct job_place *ret)
{
    struct job_place p = { .where = JOB_HERE, .has_folder = true, .folder = *f };
    char own[SLURM_LINK_CLUSTER];
    struct slurm_link l;
    struct job_driver d;
    struct slurm_job j;
    int rc = job_driver_read(f, &d, NULL);

    explicit_bzero(&d, sizeof d);
    *ret = p;
    if (rc != -EREMOTE || slurm_link_read(f, &l, NULL) < 0)
        return;
    /* We are there, whatever this machine calls itself. */
    if (is_own("SLURM_JOB_ID", l.job) && is_own("SLURMD_NODENAME", l.node))
        return;
    if (!cluster && slurm_task_cluster(end_ns, own, sizeof own, NULL) < 0)
        return;
    /* A cluster that shares our home has a job of this number, too, and says nothing of this one.
     */
    if (strcmp(cluster ? cluster : own, l.cluster) != 0)
        return;
    rc = slurm_task_ask(*l.name ? l.name : l.job, end_ns, &j, NULL);
    if (rc == -ENOENT || (rc == 0 && (slurm_job_is_over(&j) || slurm_job_waits(&j)))) {
        ret->where = JOB_DEAD;
        ret->over = rc == 0 && slurm_job_is_over(&j) && strcmp(j.state, "NODE_FAIL") != 0;
    } else if (rc == 0 && *l.node) {
        set_door(ret, &j, l.node);
        set_word(ret);
    }
}

void job_place_of(const struct job_folder *f, int64_t end_ns, struct job_place *ret)
{
    place_of(f, NULL, end_ns, ret);
}

/* ---- a job by its number ---- */

static bool by_link(const char *cluster, const struct slurm_job *j, const char *word,
                    struct job_folder *ret)
{
    char task[128];

    (void)snprintf(task, sizeof task, "%s_%s", j->array, j->task);
    if (j->array[0] && slurm_link_find(cluster, task, ret, NULL) == 0)
        return true;
    return slurm_link_find(cluster, j->array[0] ? j->id : *j->het ? j->het : word, ret, NULL) == 0;
}

static bool is_of_another_user(const struct slurm_job *j)
{
    return *j->user && j->uid != getuid();
}

static int not_ours(const struct slurm_job *j, const char *word, struct eddis_error *err)
{
    return eddis_fail(err, -EPERM,
                      "Slurm's job %s is of user %s, and eddis shows and stops a user's own jobs "
                      "only%s%s",
                      word, j->user, slurm_job_is_over(j) ? "; it is over: " : "",
                      slurm_job_is_over(j) ? j->state : "");
}

static int not_here(const struct slurm_job *j, const char *word, struct eddis_error *err)
{
    char node[256];

    slurm_task_first_node(j, node, sizeof node);
    return eddis_fail(err, -ENOENT,
                      "Slurm's job %s is over (%s), and no job of eddis is known here by this "
                      "number; its folder may be %s%s%sin that of another XDG_STATE_HOME",
                      word, j->state, *node ? "on " : "", node, *node ? ", or " : "");
}

static void set_waits(struct job_place *p, const struct slurm_job *j, const char *word)
{
    char why[400];

    p->where = JOB_WAITS;
    /* Slurm cancels no component by its own number. */
    (void)snprintf(p->number, sizeof p->number, "%.60s", *j->het ? j->het : word);
    if (is_of_another_user(j))
        (void)snprintf(p->owner, sizeof p->owner, "%s", j->user);
    (void)snprintf(p->text, sizeof p->text, "Slurm's job %.60s%s%.60s waits: %s", word,
                   *p->owner ? " of user " : "", p->owner,
                   strcmp(j->reason, "None") == 0 ? "Slurm has not looked at it yet"
                                                  : slurm_job_why(j, why, sizeof why));
}

static int by_number(const char *word, int64_t end_ns, struct job_place *ret,
                     struct eddis_error *err)
{
    struct job_place p = { .where = JOB_HERE };
    char cluster[SLURM_LINK_CLUSTER];
    struct slurm_job j;
    int rc = slurm_task_ask(word, end_ns, &j, err), known = rc;

    if (rc == 0 || rc == -ENOENT)
        known = slurm_task_cluster(end_ns, cluster, sizeof cluster, err);
    if (known < 0 && known != -ENOTSUP)
        return known;
    if (rc < 0) {
        if (slurm_link_find(known < 0 ? NULL : cluster, word, &p.folder, NULL) < 0)
            return eddis_fail_prefix(err, -ENOENT, "no job of eddis begins with '%s'", word);
        place_of(&p.folder, known < 0 ? NULL : cluster, end_ns, ret);
        return 0;
    }
    p.has_folder = by_link(cluster, &j, word, &p.folder);
    if (slurm_job_waits(&j)) {
        set_waits(&p, &j, word);
    } else if (p.has_folder) {
        place_of(&p.folder, cluster, end_ns, &p);
    } else if (is_of_another_user(&j)) {
        return not_ours(&j, word, err);
    } else if (slurm_job_is_over(&j)) {
        return not_here(&j, word, err);
    } else {
        set_door(&p, &j, "");
        (void)snprintf(p.far, sizeof p.far, "%s", j.id);
    }
    *ret = p;
    return 0;
}

/* Returns the value of a variable in n bytes of an environment, NULL: it is not set. */
static const char *value_in(const char *text, size_t n, const char *name)
{
    size_t k = strlen(name);

    for (const char *at = text; at < text + n; at += strlen(at) + 1)
        if (strncmp(at, name, k) == 0 && at[k] == '=')
            return at + k + 1;
    return NULL;
}

static void set_variable(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* Take the place of jobs' folders from a process, if it runs in this job of Slurm's. */
static bool take_place(pid_t pid, const char *job)
{
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "environ", &n);
    const char *own = text ? value_in(text, n, "SLURM_JOB_ID") : NULL;

    if (!own || strcmp(own, job) != 0)
        return false;
    set_variable("XDG_STATE_HOME", value_in(text, n, "XDG_STATE_HOME"));
    set_variable("HOME", value_in(text, n, "HOME"));
    return true;
}

/* Find the folder where the job's own processes on this node have it: srun brings the caller's
 * XDG_STATE_HOME here, and the job may have another one.  Keeps that as this process's on success.
 */
static int find_by_processes(const char *cluster, const char *job, struct job_folder *ret)
{
    const char *was_state = getenv("XDG_STATE_HOME"), *was_home = getenv("HOME");
    cleanup_free char *state = was_state ? strdup(was_state) : NULL;
    cleanup_free char *home = was_home ? strdup(was_home) : NULL;
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_all(&all, NULL);

    for (int i = 0; i < n; i++)
        if (!all[i].ending && all[i].pid != getpid() && proctree_user(all[i].pid) == getuid() &&
            take_place(all[i].pid, job) && slurm_link_find(cluster, job, ret, NULL) == 0)
            return 0;
    set_variable("XDG_STATE_HOME", state);
    set_variable("HOME", home);
    return -ENOENT;
}

/* At the other end of the door, or in the job's own script. */
static int from_inside(const char *word, int64_t end_ns, struct job_place *ret,
                       struct eddis_error *err)
{
    const char *node = getenv("SLURMD_NODENAME"), *cluster = getenv("SLURM_CLUSTER_NAME");
    struct job_folder f;

    if (slurm_link_find(cluster, word, &f, NULL) < 0 && find_by_processes(cluster, word, &f) < 0)
        return eddis_fail(err, -ENOENT,
                          "Slurm's job %s runs, but no eddis-run has begun a job in it on %s", word,
                          node ? node : "this machine");
    job_place_of(&f, end_ns, ret);
    return 0;
}

int job_place_find(const char *word, job_place_find_fn *find, int64_t end_ns, struct job_place *ret,
                   struct eddis_error *err)
{
    struct job_folder f;
    bool number = slurm_task_is_number(word);
    int rc;

    if (number && is_own("SLURM_JOB_ID", word))
        return from_inside(word, end_ns, ret, err);
    rc = find(word, &f, err);
    if (rc == -ENOENT && number)
        return by_number(word, end_ns, ret, err);
    if (rc == 0)
        job_place_of(&f, end_ns, ret);
    return rc;
}
