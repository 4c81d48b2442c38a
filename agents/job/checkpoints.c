/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.c - finds complete checkpoints in a folder, and removes incomplete ones */
#include "checkpoints.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_NAME "MANIFEST" /* as in lib/checkpoint */

/* Return the step in a name such as "step-00000500"; -1 if the name has another form. */
static int64_t step_of(const char *name)
{
    const char *digits = name + 5;

    if (strncmp(name, "step-", 5) != 0 || !*digits || strlen(digits) > 18 ||
        digits[strspn(digits, "0123456789")])
        return -1;
    return strtoll(digits, NULL, 10);
}

/* Check whether the entry `name` of a folder has a manifest, which each complete checkpoint has. */
static bool has_manifest(int dir, const char *name)
{
    char path[NAME_MAX + sizeof "/" MANIFEST_NAME];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", name, MANIFEST_NAME);
    return fstatat(dir, path, &st, 0) == 0 && S_ISREG(st.st_mode);
}

int64_t checkpoints_newest_below(const char *dir, int64_t below, char *ret, size_t size)
{
    cleanup_dir DIR *d = opendir(dir);
    struct dirent *e;
    int64_t newest = -1;

    while (d && (e = readdir(d))) {
        int64_t step = step_of(e->d_name);

        if (step <= newest || step >= below || !has_manifest(dirfd(d), e->d_name))
            continue;
        newest = step;
        if (ret)
            (void)snprintf(ret, size, "%s/%s", dir, e->d_name);
    }
    return newest;
}

int64_t checkpoints_newest(const char *dir, char *ret, size_t size)
{
    return checkpoints_newest_below(dir, INT64_MAX, ret, size);
}

int64_t checkpoints_resumed(const char *path, char *ret, size_t size)
{
    cleanup_free char *manifest = file_join(path, "%s", MANIFEST_NAME);
    const char *slash = strrchr(path, '/');
    int64_t step = checkpoints_newest(path, ret, size);

    if (step >= 0 || !manifest || access(manifest, F_OK) < 0)
        return step;
    step = step_of(slash ? slash + 1 : path);
    if (step >= 0 && ret)
        (void)snprintf(ret, size, "%s", path);
    return step;
}

/* Check whether a name is that of an incomplete checkpoint of a generation up to `last`, or of one
 * whose removal was interrupted (".dead-part-<name>", of any generation).
 */
static bool is_part(const char *name, int64_t last)
{
    static const char dead[] = ".dead-part-", part[] = ".part";
    size_t n = strlen(name);
    const char *generation = strstr(name, ".g");

    if (strncmp(name, dead, sizeof dead - 1) == 0)
        return true;
    if (generation && strtoll(generation + 2, NULL, 10) > last)
        return false;
    return strncmp(name, "step-", 5) == 0 && n > sizeof part - 1 &&
           strcmp(name + n - (sizeof part - 1), part) == 0;
}

/* Remove the incomplete checkpoint dir/name.  It is renamed before, so that no process can complete
 * it during the removal, however long that takes.  Return 0 or a negative errno.
 */
static int drop(const char *dir, const char *name, struct eddis_error *err)
{
    cleanup_free char *path = file_join(dir, "%s", name);
    cleanup_free char *dead = file_join(dir, ".dead-part-%s", name);

    if (!path || !dead)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (name[0] == '.')
        return file_remove_tree(path, err);
    (void)file_remove_tree(dead, NULL); /* left by an interrupted removal */
    if (rename(path, dead) < 0 && errno != ENOENT)
        return eddis_fail_errno(err, -errno, "cannot remove '%s'", path);
    return file_remove_tree(dead, err);
}

int checkpoints_drop_parts(const char *dir, int64_t last, struct eddis_error *err)
{
    cleanup_dir DIR *d = opendir(dir);
    struct dirent *e;
    int rc = 0;

    if (!d)
        return errno == ENOENT ? 0 : eddis_fail_errno(err, -errno, "cannot read folder '%s'", dir);
    while ((e = readdir(d)))
        if (is_part(e->d_name, last)) {
            int one = drop(dir, e->d_name, err);

            rc = one < 0 ? one : rc;
        }
    return rc;
}
