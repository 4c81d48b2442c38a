/* SPDX-License-Identifier: Apache-2.0 */
/* log_place.c - uses the driver's log folder if it is visible here, or makes a local one */
#include "log_place.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Make dir, if it is missing, and set p to it if it is writable.  Return 0, or a negative errno
 * with the made folders removed and p->dir "".
 */
static int make(const char *dir, struct log_place *p, struct eddis_error *err)
{
    int rc;

    if (strlen(dir) >= sizeof p->dir - 64)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%.100s...' is too long", dir);
    p->kept = file_there(dir);
    (void)snprintf(p->dir, sizeof p->dir, "%s", dir);
    rc = file_mkdirs(dir, 0700, err);
    if (rc == 0 && access(dir, W_OK | X_OK) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot write in '%s'", dir);
    if (rc < 0) {
        log_place_close(p);
        p->dir[0] = '\0';
    }
    return rc;
}

/* Return the path of the job's log folder among this user's files on this node, which the caller
 * frees.  NULL: no absolute home is set, or no memory.
 */
static char *own_dir(const struct agent_config *b, const char *state_home, const char *home)
{
    if (state_home && state_home[0] == '/')
        return file_join(state_home, "eddis/jobs/%s/logs", b->job_id);
    return home && home[0] == '/' ? file_join(home, ".local/state/eddis/jobs/%s/logs", b->job_id)
                                  : NULL;
}

int log_place_open(const struct agent_config *b, const char *state_home, const char *home,
                   struct log_place *ret, struct eddis_error *err)
{
    cleanup_free char *marker = file_join(b->log_dir, ".%s", b->log_marker);
    cleanup_free char *own = own_dir(b, state_home, home);
    struct eddis_error first = { 0 };
    int rc;

    *ret = (struct log_place){ .shared = false };
    if (!marker)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    ret->shared = !b->log_marker[0] || access(marker, F_OK) == 0;
    rc = make(b->log_dir, ret, &first);
    if (rc < 0 && own && !ret->shared && strcmp(own, b->log_dir) != 0)
        rc = make(own, ret, NULL);
    return rc < 0 ? eddis_fail(err, rc, "%s", first.text) : 0;
}

char *log_place_generation(const struct log_place *p, int64_t generation)
{
    return p->shared ? strdup(p->dir) : file_join(p->dir, "g%lld", (long long)generation);
}

void log_place_close(const struct log_place *p)
{
    file_rmdirs(p->dir, p->kept);
}
