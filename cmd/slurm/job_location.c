/* SPDX-License-Identifier: Apache-2.0 */
/* job_location.c - finds where a job runs, from the job's files and from Slurm */
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

/* Check whether this process's environment variable of this name is set to `value` and not empty.
 */
static bool is_own(const char *variable, const char *value)
{
    const char *own = getenv(variable);

    return own && *value && strcmp(own, value) == 0;
}

/* ---- the way there ---- */

/* Set p->where to JOB_FAR, and p->proxy to how srun reaches the driver of Slurm's job j on this
 * node; node "": the first node of the job's script or allocation.
 */
static void set_proxy(struct job_location *p, const struct slurm_job *j, const char *node)
{
    p->where = JOB_FAR;
    p->proxy.group = *j->het ? j->component : -1;
    (void)snprintf(p->proxy.job, sizeof p->proxy.job, "%s", j->id);
    (void)snprintf(p->proxy.name, sizeof p->proxy.name, "%s%s%.20s", *j->array ? j->array : j->id,
                   *j->array ? "_" : "", *j->array ? j->task : "");
    if (*node)
        (void)snprintf(p->proxy.node, sizeof p->proxy.node, "%s", node);
    else
        slurm_lookup_first_node(j, p->proxy.node, sizeof p->proxy.node);
}

/* Set p->far to the argument that names the job on the other node: its id if the folder is below
 * the default root of job folders, else its path with a '/' at its end.
 */
static void set_word(struct job_location *p)
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

void job_location_of(const struct job_folder *f, const char *cluster, int64_t end_ns,
                     struct job_location *ret)
{
    struct job_location p = { .where = JOB_HERE, .has_folder = true, .folder = *f };
    char own[SLURM_LINK_CLUSTER];
    struct slurm_link l;
    struct slurm_job j;
    int rc = job_driver_check(f, NULL);

    *ret = p;
    if (rc != -EREMOTE || slurm_link_read(f, &l) < 0)
        return;
    /* This process runs in that job on that node, even if the host name differs. */
    if (is_own("SLURM_JOB_ID", l.job) && is_own("SLURMD_NODENAME", l.node))
        return;
    if (!cluster && slurm_lookup_cluster(end_ns, own, sizeof own, NULL) < 0)
        return;
    /* Another cluster that shares our home may have a job of the same number: ask Slurm nothing. */
    if (strcmp(cluster ? cluster : own, l.cluster) != 0)
        return;
    rc = slurm_lookup_ask(*l.name ? l.name : l.job, end_ns, &j, NULL);
    if (rc == -ENOENT || (rc == 0 && (slurm_job_is_over(&j) || slurm_job_waits(&j)))) {
        ret->where = JOB_DEAD;
        ret->over = rc == 0 && slurm_job_is_over(&j) && strcmp(j.state, "NODE_FAIL") != 0;
    } else if (rc == 0 && *l.node) {
        set_proxy(ret, &j, l.node);
        set_word(ret);
    }
}

/* ---- a job by its number ---- */

/* Find the folder of Slurm's job j by the link that eddis-run left for its number, and store it in
 * *ret: for a task of an array "array_task", then its own number; else the number of a
 * heterogeneous job, or the number `word` that the user gave. Return false if there is none.
 */
static bool by_link(const char *cluster, const struct slurm_job *j, const char *word,
                    struct job_folder *ret)
{
    char task[128];

    (void)snprintf(task, sizeof task, "%s_%s", j->array, j->task);
    if (j->array[0] && slurm_link_find(cluster, task, ret) == 0)
        return true;
    return slurm_link_find(cluster, j->array[0] ? j->id : *j->het ? j->het : word, ret) == 0;
}

/* Check whether Slurm names another user than ours as the job's owner. */
static bool is_of_another_user(const struct slurm_job *j)
{
    return *j->user && j->uid != getuid();
}

/* Set err because Slurm's job j belongs to another user. Return -EPERM. word: the job's number as
 * the user wrote it.
 */
static int not_ours(const struct slurm_job *j, const char *word, struct eddis_error *err)
{
    return eddis_fail(
        err, -EPERM,
        "Slurm's job %s belongs to user %s, and eddis shows and stops only a user's own jobs%s%s",
        word, j->user, slurm_job_is_over(j) ? "; it is over: " : "",
        slurm_job_is_over(j) ? j->state : "");
}

/* Set err because Slurm's job j is over and this machine has no folder for it. Return -ENOENT.
 * word: the job's number as the user wrote it.
 */
static int not_here(const struct slurm_job *j, const char *word, struct eddis_error *err)
{
    char node[256];

    slurm_lookup_first_node(j, node, sizeof node);
    return eddis_fail(err, -ENOENT,
                      "Slurm's job %s has ended (%s), and no eddis job is known here by this "
                      "number; its folder may be %s%s%sbelow another XDG_STATE_HOME",
                      word, j->state, *node ? "on " : "", node, *node ? ", or " : "");
}

/* Set p->where to JOB_WAITS, and in p also the job's number for scancel, its owner if that is
 * another user, and a sentence why it waits.
 */
static void set_waits(struct job_location *p, const struct slurm_job *j, const char *word)
{
    char why[400];

    p->where = JOB_WAITS;
    /* Slurm cannot cancel a component by its own number. */
    (void)snprintf(p->number, sizeof p->number, "%.60s", *j->het ? j->het : word);
    if (is_of_another_user(j))
        (void)snprintf(p->owner, sizeof p->owner, "%s", j->user);
    (void)snprintf(p->text, sizeof p->text, "Slurm's job %.60s%s%.60s waits: %s", word,
                   *p->owner ? " of user " : "", p->owner,
                   strcmp(j->reason, "None") == 0 ? "Slurm has not considered it yet"
                                                  : slurm_job_why(j, why, sizeof why));
}

/* Find a job by its Slurm number: ask Slurm for its state, then look for its folder on this
 * machine, and write to *ret where it runs. If Slurm does not know the job, a folder that an
 * earlier start left is enough. Return 0; -ENOENT: there is no such job; -EPERM: it is another
 * user's; or an error of slurm_lookup_ask. Block until end_ns at most.
 */
static int by_number(const char *word, int64_t end_ns, struct job_location *ret,
                     struct eddis_error *err)
{
    struct job_location p = { .where = JOB_HERE };
    char cluster[SLURM_LINK_CLUSTER];
    struct slurm_job j;
    int rc = slurm_lookup_ask(word, end_ns, &j, err), known = rc;

    if (rc == 0 || rc == -ENOENT)
        known = slurm_lookup_cluster(end_ns, cluster, sizeof cluster, err);
    if (known < 0 && known != -ENOTSUP)
        return known;
    if (rc < 0) {
        if (slurm_link_find(known < 0 ? NULL : cluster, word, &p.folder) < 0)
            return eddis_fail_prefix(err, -ENOENT, "no id of an eddis job begins with '%s'", word);
        job_location_of(&p.folder, known < 0 ? NULL : cluster, end_ns, ret);
        return 0;
    }
    p.has_folder = by_link(cluster, &j, word, &p.folder);
    if (slurm_job_waits(&j)) {
        set_waits(&p, &j, word);
    } else if (p.has_folder) {
        job_location_of(&p.folder, cluster, end_ns, &p);
    } else if (is_of_another_user(&j)) {
        return not_ours(&j, word, err);
    } else if (slurm_job_is_over(&j)) {
        return not_here(&j, word, err);
    } else {
        set_proxy(&p, &j, "");
        (void)snprintf(p.far, sizeof p.far, "%s", j.id);
    }
    *ret = p;
    return 0;
}

/* Set an environment variable of this process; value NULL: unset it. */
static void set_variable(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* Set HOME and XDG_STATE_HOME of this process to those of process pid, if that belongs to Slurm's
 * job `job`. Return false and change nothing if it does not, or cannot be read.
 */
static bool take_place(pid_t pid, const char *job)
{
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "environ", &n);
    const char *own = text ? proctree_value(text, n, "SLURM_JOB_ID") : NULL;

    if (!own || strcmp(own, job) != 0)
        return false;
    set_variable("XDG_STATE_HOME", proctree_value(text, n, "XDG_STATE_HOME"));
    set_variable("HOME", proctree_value(text, n, "HOME"));
    return true;
}

/* Find the folder of Slurm's job through the environment of the job's processes on this node: srun
 * passes on the caller's XDG_STATE_HOME, and the job may use another one. Return 0 with the folder
 * in *ret; this process then has the job's HOME and XDG_STATE_HOME. Otherwise restore both and
 * return -ENOENT.
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
            take_place(all[i].pid, job) && slurm_link_find(cluster, job, ret) == 0)
            return 0;
    set_variable("XDG_STATE_HOME", state);
    set_variable("HOME", home);
    return -ENOENT;
}

/* Find the job that runs in the Slurm job `word`, to which this process belongs itself: as the
 * program that an srun proxy started, or in the job's own script. Write to *ret where it runs.
 * Return 0 or -ENOENT.
 */
static int from_inside(const char *word, int64_t end_ns, struct job_location *ret,
                       struct eddis_error *err)
{
    const char *node = getenv("SLURMD_NODENAME"), *cluster = getenv("SLURM_CLUSTER_NAME");
    struct job_folder f;

    if (slurm_link_find(cluster, word, &f) < 0 && find_by_processes(cluster, word, &f) < 0)
        return eddis_fail(err, -ENOENT,
                          "Slurm's job %s runs, but no eddis-run has started a job in it on %s",
                          word, node ? node : "this machine");
    job_location_of(&f, NULL, end_ns, ret);
    return 0;
}

int job_location_find(const char *word, job_location_find_fn *find, int64_t end_ns,
                      struct job_location *ret, struct eddis_error *err)
{
    struct job_folder f;
    bool number = slurm_lookup_is_number(word);
    int rc;

    if (number && is_own("SLURM_JOB_ID", word))
        return from_inside(word, end_ns, ret, err);
    rc = find(word, &f, err);
    if (rc == -ENOENT && number)
        return by_number(word, end_ns, ret, err);
    if (rc == 0)
        job_location_of(&f, NULL, end_ns, ret);
    return rc;
}
