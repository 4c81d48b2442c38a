/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpoint.h"

#include "checkpoint_impl.h"
#include "manifest.h"

#include "lib/base/cleanup.h"
#include "lib/base/crc32.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void checkpoint_name_text(const struct checkpoint_name *n, char *ret)
{
    snprintf(ret, 40, "step-%08" PRId64 "%s", n->step, n->part ? ".part" : "");
}

bool checkpoint_name_parse(const char *text, struct checkpoint_name *ret)
{
    struct checkpoint_name n = { 0, false };
    char again[40];
    char *end;

    if (strncmp(text, "step-", 5) != 0)
        return false;
    errno = 0;
    n.step = strtoll(text + 5, &end, 10);
    n.part = strcmp(end, ".part") == 0;
    if (errno || n.step < 0)
        return false;
    /* There is one way to write it. */
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

static int newest_first(const void *a, const void *b)
{
    const struct checkpoint_name *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? 1 : -1;
    return x->part - y->part;
}

int checkpoint_names(const char *dir, struct checkpoint_name **ret, struct eddis_error *err)
{
    struct checkpoint_name *names = NULL;
    size_t n = 0, room = 0;
    DIR *d = opendir(dir);
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
        if (n == room) {
            struct checkpoint_name *grown = realloc(names, (room += 32) * sizeof *names);

            if (!grown) {
                (void)closedir(d);
                free(names);
                return eddis_fail(err, -ENOMEM, "no memory to list checkpoints");
            }
            names = grown;
        }
        names[n++] = one;
    }
    (void)closedir(d);
    if (n)
        qsort(names, n, sizeof *names, newest_first);
    *ret = names;
    return (int)n;
}

int checkpoint_sum(const char *folder, const char *name, bool sync, struct manifest_file *ret,
                   struct eddis_error *err)
{
    cleanup_free char *path = file_join(folder, "%s", name);
    struct manifest_file f = { 0 };
    cleanup_fd int fd = -1;
    char part[65536];
    struct stat st;
    ssize_t n = 0;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    /* O_NONBLOCK: a FIFO among the files must not hold the program for ever. */
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    if (!S_ISREG(st.st_mode))
        return eddis_fail(err, -EINVAL, "'%s' is not a file; a checkpoint holds files only", path);
    snprintf(f.name, sizeof f.name, "%s", name);
    while ((n = read(fd, part, sizeof part)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return eddis_fail_errno(err, -errno, "cannot read '%s'", path);
        f.crc = crc32_update(f.crc, part, (size_t)n);
        f.bytes += n;
    }
    if (sync && fsync(fd) < 0)
        return eddis_fail_errno(err, -errno, "cannot sync '%s'", path);
    *ret = f;
    return 0;
}

/* The folder's name, if it is one that tells a step, must tell the manifest's. */
static int check_name(const char *folder, const struct manifest *m, struct eddis_error *err)
{
    struct checkpoint_name name;
    char text[MANIFEST_MAX_FILE + 1];
    size_t n = strlen(folder);
    const char *base;

    while (n > 1 && folder[n - 1] == '/')
        n--;
    base = memrchr(folder, '/', n);
    base = base ? base + 1 : folder;
    n -= (size_t)(base - folder);
    if (n > MANIFEST_MAX_FILE)
        return eddis_fail(err, -ENAMETOOLONG, "'%s' is no path", folder);
    memcpy(text, base, n);
    text[n] = '\0';
    if (n >= 5 && strcmp(text + n - 5, ".part") == 0)
        return eddis_fail(err, -EBADMSG, "checkpoint '%s' was never completed", folder);
    if (checkpoint_name_parse(text, &name) && name.step != m->meta.step)
        return eddis_fail(err, -EBADMSG, "checkpoint '%s' is the one of step %" PRId64, folder,
                          m->meta.step);
    return 0;
}

static int check_file(const char *folder, const struct manifest_file *want, bool sums,
                      struct eddis_error *err)
{
    struct manifest_file got = *want;
    int rc = 0;

    if (sums) {
        rc = checkpoint_sum(folder, want->name, false, &got, err);
    } else {
        cleanup_free char *path = file_join(folder, "%s", want->name);
        struct stat st;

        if (!path || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
            rc = eddis_fail(err, -ENOENT, "no file '%s'", want->name);
        else
            got.bytes = st.st_size;
    }
    if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
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
    rc = file_read(path, CHECKPOINT_MAX_MANIFEST, &text, &n, err);
    if (rc == -ENOENT || rc == -ENOTDIR || rc == -EFBIG || rc == -EISDIR || rc == -EINVAL)
        return eddis_fail(err, -EBADMSG, "'%s' is not a whole checkpoint: it has no manifest",
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
    if (rc < 0) {
        manifest_fini(&m);
        return rc;
    }
    *ret = m;
    return 0;
}

int checkpoint_find(const char *dir, char *ret, size_t size, struct eddis_error *err)
{
    cleanup_free struct checkpoint_name *names = NULL;
    int n = checkpoint_names(dir, &names, err);

    for (int i = 0; i < n; i++) {
        struct manifest m = { 0 };
        char name[40];
        cleanup_free char *path = NULL;
        int rc;

        if (names[i].part)
            continue;
        checkpoint_name_text(&names[i], name);
        path = file_join(dir, "%s", name);
        rc = path ? checkpoint_check(path, true, &m, err)
                  : eddis_fail(err, -ENOMEM, "no memory to look for checkpoints");
        manifest_fini(&m);
        /* Not a fault of the checkpoint: an older one would be the wrong answer. */
        if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
            return rc;
        if (rc < 0)
            continue;
        if (snprintf(ret, size, "%s", path) >= (int)size)
            return eddis_fail(err, -ENAMETOOLONG, "path '%s' is too long", path);
        return 1;
    }
    return n < 0 ? n : 0;
}

int checkpoint_open(const char *path, struct checkpoint **ret, struct eddis_error *err)
{
    struct checkpoint *c = calloc(1, sizeof *c);
    int rc;

    if (!c || !(c->folder = strdup(path))) {
        checkpoint_close(c);
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    }
    rc = checkpoint_check(path, true, &c->m, err);
    if (rc < 0) {
        checkpoint_close(c);
        return rc;
    }
    c->step = c->m.meta.step;
    *ret = c;
    return 0;
}

const struct checkpoint_meta *checkpoint_meta(const struct checkpoint *c)
{
    return &c->m.meta;
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
                          "'%s' in checkpoint '%s' has %" PRId64 " bytes, %zu are wanted; it is of "
                          "another model",
                          name, c->folder, f->bytes, n);
    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
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
