/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_link.c - writes, follows and removes links from Slurm's job numbers to jobs' folders */
#include "slurm_link.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Return the path of the folder of all clusters' links, beside the folder of all jobs, which the
 * caller frees.  NULL: neither XDG_STATE_HOME nor HOME is set (see err), or no memory.
 */
static char *place(void)
{
    char root[JOB_FOLDER_MAX_PATH];
    char *slash;

    if (job_folder_root(root, sizeof root, NULL) < 0)
        return NULL;
    slash = strrchr(root, '/'); /* ".../eddis/jobs" */
    *slash = '\0';
    return file_join(root, "slurm");
}

/* Return the path of the folder of a cluster's links, which the caller frees.  NULL: the cluster's
 * name is not valid, or place() fails.
 */
static char *place_of(const char *cluster)
{
    cleanup_free char *dir = place();

    return dir && text_is_name(cluster, SLURM_LINK_CLUSTER - 1) ? file_join(dir, "%s", cluster)
                                                                : NULL;
}

/* Make dir/number a symbolic link to the folder `to`.  It atomically replaces a link of the same
 * number, which belongs to an earlier start of the job.  Failures are ignored.
 */
static void point(const char *dir, const char *number, const char *to)
{
    cleanup_free char *path = file_join(dir, "%s", number);
    cleanup_free char *fresh = file_join(dir, ".%s.%d", number, (int)getpid());

    if (path && fresh && symlink(to, fresh) == 0 && rename(fresh, path) < 0)
        (void)unlink(fresh);
}

int slurm_link_write(const struct job_folder *f, const struct slurm_link *l,
                     struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, SLURM_LINK_FILE), *dir = place_of(l->cluster);
    cleanup_json json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:s}", "schema_version", 1, "cluster",
                                       l->cluster, "job", l->job, "name", l->name, "node", l->node);
    int rc = path && o ? json_write_file(path, o, err)
                       : eddis_fail(err, -ENOMEM, "no memory for slurm.json");

    if (rc < 0 || !dir || file_mkdirs(dir, 0700, NULL) < 0)
        return rc;
    point(dir, l->job, f->path);
    if (*l->name)
        point(dir, l->name, f->path);
    return 0;
}

int slurm_link_read(const struct job_folder *f, struct slurm_link *ret)
{
    cleanup_free char *path = file_join(f->path, SLURM_LINK_FILE);
    cleanup_json json_t *o = NULL;
    struct slurm_link l = { .cluster = "" };
    int rc = path ? json_read_file(path, &o, NULL) : -ENOMEM;

    if (rc == 0 && json_has(o, "cluster"))
        rc = json_copy_string(o, "cluster", l.cluster, sizeof l.cluster, NULL);
    if (rc == 0)
        rc = json_copy_string(o, "job", l.job, sizeof l.job, NULL);
    if (rc == 0)
        rc = json_copy_string(o, "name", l.name, sizeof l.name, NULL);
    if (rc == 0)
        rc = json_copy_string(o, "node", l.node, sizeof l.node, NULL);
    if (rc == 0)
        *ret = l;
    return rc;
}

/* A search's result: the folder with the newest link so far. */
struct found {
    struct job_folder folder;
    int64_t made_ns; /* time at which the link was made; -1: none was found */
};

/* Set *found to the folder to which a cluster's link for this number leads, if the link is newer
 * than found->made_ns and slurm.json in the folder confirms it.  Otherwise leave *found as it is.
 */
static void follow(const char *cluster, const char *number, struct found *found)
{
    cleanup_free char *dir = place_of(cluster), *path = dir ? file_join(dir, "%s", number) : NULL;
    char to[JOB_FOLDER_MAX_PATH];
    struct slurm_link l;
    struct job_folder f;
    struct stat st;
    ssize_t n = path && !strchr(number, '/') ? readlink(path, to, sizeof to - 2) : -1;
    int64_t ns;

    if (n <= 0 || lstat(path, &st) < 0)
        return;
    to[n] = '/';
    to[n + 1] = '\0';
    ns = clock_of_timespec(&st.st_mtim);
    if (ns <= found->made_ns || job_folder_find(to, &f, NULL) < 0 || slurm_link_read(&f, &l) < 0 ||
        strcmp(l.cluster, cluster) != 0 ||
        (strcmp(l.job, number) != 0 && strcmp(l.name, number) != 0))
        return;
    found->folder = f;
    found->made_ns = ns;
}

int slurm_link_find(const char *cluster, const char *number, struct job_folder *ret)
{
    cleanup_free char *root = place();
    struct found found = { .made_ns = -1 };
    struct dirent *e;
    cleanup_dir DIR *all = NULL;

    if (cluster)
        follow(cluster, number, &found);
    all = cluster || !root ? NULL : opendir(root);
    while (all && (e = readdir(all)))
        follow(e->d_name, number, &found);
    if (found.made_ns < 0)
        return -ENOENT;
    *ret = found.folder;
    return 0;
}

/* Remove the link dir/number if it leads to the folder f; ignore failures. */
static void remove_one(const char *dir, const char *number, const struct job_folder *f)
{
    cleanup_free char *path = file_join(dir, "%s", number);
    char to[JOB_FOLDER_MAX_PATH];
    ssize_t n = path ? readlink(path, to, sizeof to) : -1;

    if (n > 0 && (size_t)n == strlen(f->path) && memcmp(to, f->path, (size_t)n) == 0)
        (void)unlink(path);
}

void slurm_link_remove(const struct job_folder *f)
{
    cleanup_free char *dir = NULL;
    struct slurm_link l;

    if (slurm_link_read(f, &l) < 0)
        return;
    dir = place_of(l.cluster);
    if (!dir)
        return;
    remove_one(dir, l.job, f);
    if (*l.name)
        remove_one(dir, l.name, f);
}
