/* SPDX-License-Identifier: Apache-2.0 */
/* job_driver.c - writes and reads driver.json: how to reach a job's driver, and if it still runs */
#include "job_folder.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/proctree.h"
#include "lib/base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 4096 };

/* Return the start time of a process in clock ticks since boot; -1: there is no such process, or it
 * is dead and not yet reaped.
 */
static int64_t start_of(pid_t pid)
{
    char state = proctree_state(pid);

    return state == 'Z' || state == 'X' ? -1 : proctree_start(pid);
}

/* Write this machine's host name to ret [size]; "" if it is unknown. */
static void this_host(char *ret, size_t size)
{
    if (gethostname(ret, size) < 0)
        *ret = '\0';
    ret[size - 1] = '\0';
}

/* Overwrite the tokens in the memory of driver.json's object o, which may be NULL. */
static void wipe_tokens(const json_t *o)
{
    json_wipe(o, "token");
    json_wipe(o, "owner");
}

int job_driver_write(const struct job_folder *f, const struct job_driver *d,
                     struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, JOB_DRIVER_FILE);
    cleanup_json json_t *o = NULL;
    char host[sizeof d->host];
    int rc;

    this_host(host, sizeof host);
    o = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:I}", "schema_version", 1, "url", d->url,
                  "socket", d->socket, "token", d->token, "owner", d->owner, "host", host, "pid",
                  (int)getpid(), "pid_start", (json_int_t)start_of(getpid()));
    rc = path && o ? json_write_file(path, o, err) /* mode 0600 */
                   : eddis_fail(err, -ENOMEM, "no memory for driver.json");
    wipe_tokens(o);
    return rc;
}

/* Copy driver.json's object o to *d.  A missing "socket" becomes "", a missing "host" this machine.
 * Return 0 or a negative errno; the caller wipes *d also after a failure.
 */
static int take(const json_t *o, struct job_driver *d, struct eddis_error *err)
{
    int64_t pid = 0;
    int rc = json_copy_string(o, "url", d->url, sizeof d->url, err);

    if (rc == 0)
        rc = json_copy_string(o, "token", d->token, sizeof d->token, err);
    if (rc == 0)
        rc = json_copy_string(o, "owner", d->owner, sizeof d->owner, err);
    d->socket[0] = '\0';
    if (rc == 0 && json_has(o, "socket"))
        rc = json_copy_string(o, "socket", d->socket, sizeof d->socket, err);
    this_host(d->host, sizeof d->host);
    if (rc == 0 && json_has(o, "host"))
        rc = json_copy_string(o, "host", d->host, sizeof d->host, err);
    if (rc == 0)
        rc = json_want_int(o, "pid", 1, INT32_MAX, &pid, err);
    if (rc == 0)
        rc = json_want_int(o, "pid_start", 0, INT64_MAX, &d->pid_start, err);
    if (rc == 0)
        d->pid = (pid_t)pid;
    return rc;
}

/* Parse driver.json, n bytes of text, into *ret.  path names the file in errors.  Return 0 or a
 * negative errno.
 */
static int parse(const char *text, size_t n, const char *path, struct job_driver *ret,
                 struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct job_driver d = { 0 };
    int rc = json_parse(text, n, path, &o, err);

    if (rc < 0)
        return rc;
    rc = take(o, &d, err);
    if (rc == 0)
        *ret = d;
    explicit_bzero(&d, sizeof d);
    wipe_tokens(o);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s", path) : 0;
}

int job_driver_read(const struct job_folder *f, struct job_driver *ret, struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, JOB_DRIVER_FILE);
    cleanup_free char *text = NULL;
    cleanup_fd int fd = -1;
    char host[sizeof ret->host];
    size_t n;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for driver.json");
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    /* The token will be sent to the URL in this file: reject a file of another user. */
    rc = trust_private(fd, path, err);
    if (rc == 0)
        rc = file_read_fd(fd, path, MAX_BYTES, &text, &n, err);
    if (rc == 0)
        rc = parse(text, n, path, ret, err);
    if (text)
        explicit_bzero(text, strlen(text)); /* it contains tokens */
    if (rc < 0)
        return rc;
    this_host(host, sizeof host);
    if (strcmp(host, ret->host) != 0)
        return eddis_fail(
            err, -EREMOTE,
            "the driver of job %s runs on '%s', but this machine is '%s'; run the command there",
            f->id, ret->host, host);
    return start_of(ret->pid) == ret->pid_start ? 1 : 0;
}

int job_driver_check(const struct job_folder *f, struct eddis_error *err)
{
    struct job_driver d;
    int rc = job_driver_read(f, &d, err);

    explicit_bzero(&d, sizeof d);
    return rc;
}
