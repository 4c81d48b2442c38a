/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.c - the names of one start of an agent, and where its folders are */
#include "node_identity.h"

#include "lib/base/file.h"
#include "lib/base/random.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HALF = NODE_IDENTITY_DIGITS / 2 };

static const char prefix[] = "eddis-";

static bool are_digits(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

static bool is_name(const char *name, size_t n)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && are_digits(name + sizeof prefix - 1, n);
}

bool node_identity_is_digits(const char *text)
{
    return are_digits(text, NODE_IDENTITY_DIGITS);
}

bool node_identity_is_folder(const char *name)
{
    return is_name(name, HALF);
}

bool node_identity_is_cgroup(const char *name)
{
    return is_name(name, NODE_IDENTITY_DIGITS);
}

bool node_identity_read(const char *text, struct node_identity *ret)
{
    char *const whole[] = { ret->digits, ret->mark, ret->revive_key, ret->cleanup_key };

    if (!node_identity_is_digits(text))
        return false;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        memcpy(whole[i], text, NODE_IDENTITY_DIGITS + 1);
    /* Each has half of the digits, for both may be in /tmp. */
    snprintf(ret->run_folder, sizeof ret->run_folder, "%s%.*s", prefix, HALF, text);
    snprintf(ret->shm_folder, sizeof ret->shm_folder, "%s%.*s", prefix, HALF, text + HALF);
    snprintf(ret->cgroup, sizeof ret->cgroup, "%s%.*s", prefix, NODE_IDENTITY_DIGITS, text);
    return true;
}

int node_identity_make(struct node_identity *ret, struct eddis_error *err)
{
    char digits[NODE_IDENTITY_DIGITS + 1];
    int rc = random_hex(digits, NODE_IDENTITY_DIGITS, err);

    if (rc == 0)
        (void)node_identity_read(digits, ret);
    return rc;
}

/* Our own folder, or the sticky one that everybody may write to. */
static const char *usable(const char *dir)
{
    struct stat st;

    if (dir && dir[0] == '/' && strlen(dir) < NODE_IDENTITY_RUNTIME_DIR && stat(dir, &st) == 0 &&
        S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
        access(dir, W_OK | X_OK) == 0)
        return dir;
    return "/tmp";
}

void node_identity_places(const struct node_identity *id, const char *runtime_dir, char *ret_run,
                          char *ret_shm)
{
    const char *shm = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";

    snprintf(ret_run, NODE_IDENTITY_PATH, "%s/%.22s", usable(runtime_dir), id->run_folder);
    snprintf(ret_shm, NODE_IDENTITY_PATH, "%s/%.22s", shm, id->shm_folder);
}

int node_identity_remove_folders(const struct node_identity *id, const char *runtime_dir,
                                 struct eddis_error *err)
{
    char run_path[NODE_IDENTITY_PATH], shm_path[NODE_IDENTITY_PATH];
    int run, shm;

    node_identity_places(id, runtime_dir, run_path, shm_path);
    run = file_remove_tree(run_path, err);
    shm = file_remove_tree(shm_path, err);
    return run < 0 ? run : shm;
}
