/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_read.c - find the newest whole checkpoint and read it, on any number of ranks */
#include "checkpoint.h"

#include "checkpoint_impl.h"
#include "manifest.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/crc32.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void checkpoint_name_text(const struct checkpoint_name *n, char *ret)
{
    if (n->generation)
        snprintf(ret, 48, "step-%08" PRId64 ".g%d.part", n->step, n->generation);
    else
        snprintf(ret, 48, "step-%08" PRId64, n->step);
}

bool checkpoint_name_parse(const char *text, struct checkpoint_name *ret)
{
    struct checkpoint_name n = { 0, 0 };
    char again[48];
    char *end;

    if (strncmp(text, "step-", 5) != 0)
        return false;
    errno = 0;
    n.step = strtoll(text + 5, &end, 10);
    if (errno || n.step < 0)
        return false;
    if (strncmp(end, ".g", 2) == 0) {
        long generation = strtol(end + 2, NULL, 10);

        if (errno || generation < 1 || generation > INT_MAX)
            return false;
        n.generation = (int)generation;
    }
    /* Only the exact spelling counts. */
    checkpoint_name_text(&n, again);
    if (strcmp(again, text) != 0)
        return false;
    *ret = n;
    return true;
}

bool checkpoint_file_name(int rank, const char *name, char *ret)
{
    if (rank < 0 || !text_is_name(name, CHECKPOINT_MAX_NAME))
        return false;
    snprintf(ret, MANIFEST_MAX_FILE + 1, "rank-%04d.%s", rank, name);
    return true;
}

/* Compare two folder names, for qsort: higher steps first, then whole ones, then lower generations.
 */
static int newest_first(const void *a, const void *b)
{
    const struct checkpoint_name *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? 1 : -1;
    return (x->generation > y->generation) - (x->generation < y->generation);
}

int checkpoint_names(const char *dir, struct checkpoint_name **ret, struct eddis_error *err)
{
    cleanup_free struct checkpoint_name *names = NULL;
    size_t n = 0, room = 0;
    cleanup_dir DIR *d = opendir(dir);
    struct dirent *e;

    *ret = NULL;
    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return eddis_fail_errno(err, -errno, "cannot read folder '%s'", dir);
    while ((e = readdir(d))) {
        struct checkpoint_name one;

        if (!checkpoint_name_parse(e->d_name, &one))
            continue;
        if (!array_grow(&names, &room, n, sizeof *names))
            return eddis_fail(err, -ENOMEM, "no memory to list checkpoints");
        names[n++] = one;
    }
    if (n)
        qsort(names, n, sizeof *names, newest_first);
    *ret = cleanup_keep(names);
    return (int)n;
}

/* Write the last component of a path, without trailing slashes, to ret [MANIFEST_MAX_FILE + 1];
 * return false if it is too long.
 */
static bool last_name(const char *path, char *ret)
{
    size_t n = strlen(path);
    const char *base;

    while (n > 1 && path[n - 1] == '/')
        n--;
    base = memrchr(path, '/', n);
    base = base ? base + 1 : path;
    n -= (size_t)(base - path);
    if (n > MANIFEST_MAX_FILE)
        return false;
    memcpy(ret, base, n);
    ret[n] = '\0';
    return true;
}

/* Check that the folder is not a part, and that the step in its name, if there is one, is the
 * manifest's.  Return 0; -EBADMSG if not; -ENAMETOOLONG: the path has no name, or one that is too
 * long.
 */
static int check_name(const char *folder, const struct manifest *m, struct eddis_error *err)
{
    struct checkpoint_name name;
    char text[MANIFEST_MAX_FILE + 1];
    size_t n;

    if (!last_name(folder, text))
        return eddis_fail(err, -ENAMETOOLONG, "'%s' is not a valid path", folder);
    n = strlen(text);
    if (n >= 5 && strcmp(text + n - 5, ".part") == 0)
        return eddis_fail(err, -EBADMSG, "checkpoint '%s' was never completed", folder);
    if (checkpoint_name_parse(text, &name) && name.step != m->meta.step)
        return eddis_fail(err, -EBADMSG, "checkpoint '%s' is the one of step %" PRId64, folder,
                          m->meta.step);
    return 0;
}

/* Check whether failure rc does not show a damaged checkpoint: this process lacks memory or
 * descriptors, or other users could have written the checkpoint (-EPERM).  Then opening an older
 * one instead would be wrong.
 */
static bool is_own_fault(int rc)
{
    return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -EPERM;
}

/* Check that the subfolders in a file's path are folders that others cannot write to.  Return 0 or
 * a negative errno; -EPERM: they can.
 */
static int check_subfolders(const char *folder, const char *name, struct eddis_error *err)
{
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        cleanup_free char *path = file_join(folder, "%.*s", (int)(slash - name), name);
        struct stat st;

        if (!path)
            return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
        if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            return eddis_fail(err, -ENOENT, "no folder '%s'", path);
        if (trust_stat(&st, path, NULL, err) < 0)
            return -EPERM;
    }
    return 0;
}

/* Check that a file of the manifest exists with its size, and with `sums` its checksum if it has
 * one.  -EBADMSG if not; a failure as in is_own_fault is returned as it is.
 */
static int check_file(const char *folder, const struct manifest_file *want, bool sums,
                      struct eddis_error *err)
{
    struct manifest_file got = *want;
    int rc = check_subfolders(folder, want->name, err);

    if (rc < 0) {
        ;
    } else if (sums && !manifest_is_sized(want->name)) {
        rc = checkpoint_sum(folder, want->name, false, &got, err);
    } else {
        cleanup_free char *path = file_join(folder, "%s", want->name);
        struct stat st;

        if (!path || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
            rc = eddis_fail(err, -ENOENT, "no file '%s'", want->name);
        else if (trust_stat(&st, path, NULL, err) < 0)
            rc = -EPERM;
        else
            got.bytes = st.st_size;
    }
    if (is_own_fault(rc))
        return rc;
    if (rc < 0)
        return eddis_fail(err, -EBADMSG, "checkpoint '%s' lacks its file '%s'", folder, want->name);
    if (got.bytes != want->bytes || got.crc != want->crc)
        return eddis_fail(err, -EBADMSG, "checkpoint '%s' is damaged: file '%s' has changed",
                          folder, want->name);
    return 0;
}

int checkpoint_check(const char *folder, bool sums, struct manifest *ret, struct eddis_error *err)
{
    cleanup_free char *path = file_join(folder, "%s", MANIFEST_NAME);
    cleanup_free char *text = NULL;
    struct manifest m = { 0 };
    struct stat st;
    size_t n = 0;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    if (stat(folder, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot open checkpoint '%s'", folder);
    if (trust_path(folder, NULL, err) < 0)
        return -EPERM;
    rc = file_read_trusted(path, CHECKPOINT_MAX_MANIFEST, NULL, &text, &n, err);
    if (rc == -ENOENT || rc == -ENOTDIR || rc == -EFBIG || rc == -EISDIR || rc == -EINVAL)
        return eddis_fail(err, -EBADMSG, "'%s' is not a complete checkpoint: it has no manifest",
                          folder);
    if (rc == 0) {
        rc = manifest_parse(text, n, &m, err);
        if (rc < 0)
            eddis_fail_prefix(err, rc, "checkpoint '%s'", folder);
    }
    if (rc == 0)
        rc = check_name(folder, &m, err);
    for (size_t i = 0; i < m.n && rc == 0; i++)
        rc = check_file(folder, &m.file[i], sums, err);
    if (rc < 0)
        manifest_fini(&m);
    else
        *ret = m;
    return rc;
}

bool checkpoint_is_foreign(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && !trust_is_user(st.st_uid);
}

int checkpoint_open_newest(const char *dir, struct checkpoint **ret, struct eddis_error *passed,
                           struct eddis_error *err)
{
    cleanup_free struct checkpoint_name *names = NULL;
    int n = checkpoint_names(dir, &names, err), n_passed = 0;

    if (passed)
        *passed = (struct eddis_error){ 0 };
    for (int i = 0; i < n; i++) {
        struct eddis_error why;
        char name[48];
        cleanup_free char *path = NULL;
        int rc;

        if (names[i].generation)
            continue;
        checkpoint_name_text(&names[i], name);
        path = file_join(dir, "%s", name);
        rc = path ? checkpoint_open(path, true, ret, &why)
                  : eddis_fail(&why, -ENOMEM, "no memory to look for checkpoints");
        if (rc == 0)
            return 1;
        if (is_own_fault(rc) && !(rc == -EPERM && checkpoint_is_foreign(path)))
            return eddis_fail(err, rc, "%s", why.text);
        if (passed && n_passed++ == 0)
            *passed = why;
    }
    return n < 0 ? n : 0;
}

int checkpoint_open(const char *path, bool sums, struct checkpoint **ret, struct eddis_error *err)
{
    struct checkpoint *c = calloc(1, sizeof *c);
    int rc;

    if (!c || !(c->folder = strdup(path))) {
        checkpoint_close(c);
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    }
    rc = checkpoint_check(path, sums, &c->m, err);
    if (rc < 0) {
        checkpoint_close(c);
        return rc;
    }
    c->step = c->m.meta.step;
    *ret = c;
    return 0;
}

bool checkpoint_is_collection(const char *path)
{
    cleanup_free char *manifest = file_join(path, "%s", MANIFEST_NAME);
    char base[MANIFEST_MAX_FILE + 1];
    struct checkpoint_name name;
    struct stat st;

    return manifest && last_name(path, base) && !checkpoint_name_parse(base, &name) &&
           stat(path, &st) == 0 && S_ISDIR(st.st_mode) && lstat(manifest, &st) < 0;
}

const struct checkpoint_meta *checkpoint_meta(const struct checkpoint *c)
{
    return &c->m.meta;
}

int64_t checkpoint_bytes(const struct checkpoint *c)
{
    int64_t n = 0;

    for (size_t i = 0; i < c->m.n; i++)
        n += c->m.file[i].bytes;
    return n;
}

int64_t checkpoint_size(const struct checkpoint *c, int rank, const char *name)
{
    char file[MANIFEST_MAX_FILE + 1];
    const struct manifest_file *f =
        checkpoint_file_name(rank, name, file) ? manifest_find(&c->m, file) : NULL;

    return f ? f->bytes : -ENOENT;
}

int checkpoint_get(const struct checkpoint *c, int rank, const char *name, void *data, size_t n,
                   struct eddis_error *err)
{
    char file[MANIFEST_MAX_FILE + 1];
    const struct manifest_file *f =
        checkpoint_file_name(rank, name, file) ? manifest_find(&c->m, file) : NULL;
    cleanup_free char *path = file_join(c->folder, "%s", f ? f->name : "");
    cleanup_fd int fd = -1;
    size_t done = 0;

    if (!f)
        return eddis_fail(err, -ENOENT, "checkpoint '%s' has no '%s' of rank %d", c->folder, name,
                          rank);
    if ((uint64_t)f->bytes != n)
        return eddis_fail(err, -EMSGSIZE,
                          "'%s' in checkpoint '%s' has %" PRId64
                          " bytes, but %zu are expected; it belongs to another model",
                          name, c->folder, f->bytes, n);
    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    if (trust_fd(fd, path, NULL, err) < 0)
        return -EPERM;
    while (done < n) {
        ssize_t got = read(fd, (char *)data + done, n - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return eddis_fail_errno(err, -errno, "cannot read '%s'", path);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    if (done < n || crc32_update(0, data, n) != f->crc)
        return eddis_fail(err, -EBADMSG, "'%s' has changed since it was opened", path);
    return 0;
}
