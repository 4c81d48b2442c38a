/* SPDX-License-Identifier: Apache-2.0 */
/* folders.c - makes the folders of a start on a node, and finds them by its mark */
#include "folders_impl.h"

#include "lib/base/boot_id.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Digits of a folder's random name, one of 2^64, and how many names are tried before making a
 * folder fails.
 */
enum { NAME_DIGITS = 16, DRAWS = 32 };

static const char prefix[] = "eddis-";

/* ---- locations of folders ---- */

/* Return dir if it is the absolute path, short enough for a socket's path, of a writable folder
 * that this user owns and no other user may write to; otherwise "/tmp", also if dir is NULL.  Never
 * NULL.
 */
static const char *usable(const char *dir)
{
    struct stat st;

    if (dir && dir[0] == '/' && strlen(dir) < FOLDERS_BASE && stat(dir, &st) == 0 &&
        S_ISDIR(st.st_mode) && trust_is_own(&st) && access(dir, W_OK | X_OK) == 0)
        return dir;
    return "/tmp";
}

/* Return the folder for shared memory, a string constant: "/dev/shm", or "/tmp" if that is not
 * writable.
 */
static const char *shm_base(void)
{
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* Add a folder to the list unless the list has it; dir is borrowed. */
static void add_base(struct folder_bases *b, const char *dir)
{
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->dir[i], dir) == 0)
            return;
    b->dir[b->n++] = dir;
}

void folder_bases_list(const char *runtime_dir, struct folder_bases *ret)
{
    ret->n = 0;
    snprintf(ret->user, sizeof ret->user, "/run/user/%u", (unsigned)geteuid());
    add_base(ret, usable(runtime_dir));
    add_base(ret, shm_base());
    add_base(ret, usable(ret->user));
    add_base(ret, "/tmp");
}

bool folder_has_form(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           text_is_hex(name + sizeof prefix - 1, NAME_DIGITS);
}

int folder_open(const char *base, const char *name, char ret_path[FOLDERS_PATH])
{
    struct stat st;
    int fd;

    if (!folder_has_form(name))
        return -1;
    snprintf(ret_path, FOLDERS_PATH, "%.39s/%.22s", base, name);
    fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &st) == 0 && trust_is_self(st.st_uid)))
        return fd;
    (void)close(fd);
    return -1;
}

const char *folders_unsafe(const struct folders *f, int *ret_n)
{
    const char *const path[] = { f->run, f->shm };

    for (int i = 0; i < 2; i++) {
        char base[FOLDERS_PATH];
        struct stat st;

        *ret_n = (int)(strrchr(path[i], '/') - path[i]);
        snprintf(base, sizeof base, "%.*s", *ret_n, path[i]);
        if (stat(base, &st) == 0 && trust_is_open(&st))
            return path[i];
    }
    return NULL;
}

/* ---- marks ---- */

enum { MARK_TEXT = sizeof(struct folder_mark) + 2 };

bool folder_read_mark(int folder, struct folder_mark *ret)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    cleanup_fd int fd = openat(folder, FOLDER_MARK, flags);
    char text[MARK_TEXT] = "";
    const char *machine = text + NODE_IDENTITY_DIGITS;

    if (fd < 0 || read(fd, text, sizeof text - 1) < NODE_IDENTITY_DIGITS)
        return false;
    machine += *machine == '\n';
    (void)snprintf(ret->digits, sizeof ret->digits, "%.*s", NODE_IDENTITY_DIGITS, text);
    (void)snprintf(ret->machine, sizeof ret->machine, "%.*s", (int)strcspn(machine, "\n"), machine);
    return true;
}

/* ---- making ---- */

/* Make a folder with a random name and mode 0700 below base, and write its path to ret.  Return 0
 * or a negative errno.
 */
static int make_new(const char *base, char ret[FOLDERS_PATH], struct eddis_error *err)
{
    for (int i = 0; i < DRAWS; i++) {
        char digits[NAME_DIGITS + 1];
        int rc = random_hex(digits, NAME_DIGITS, err);

        if (rc < 0)
            return rc;
        snprintf(ret, FOLDERS_PATH, "%.39s/%s%s", base, prefix, digits);
        if (mkdir(ret, 0700) == 0)
            return 0;
        if (errno != EEXIST)
            return eddis_fail_errno(err, -errno, "cannot make the folder '%s'", ret);
    }
    return eddis_fail(err, -EEXIST, "cannot make a folder in '%s': %d names were taken", base,
                      DRAWS);
}

/* Open a folder, take a shared lock on it, and store the descriptor in *ret_lock; the caller closes
 * it, unless it is negative.  Return 0 or a negative errno.
 */
static int hold(const char *path, int *ret_lock, struct eddis_error *err)
{
    *ret_lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret_lock < 0 || flock(*ret_lock, LOCK_SH | LOCK_NB) < 0)
        return eddis_fail_errno(err, -errno, "cannot lock the folder '%s'", path);
    return 0;
}

/* Write the mark file of a folder, which must not have one.  Return 0 or a negative errno. */
static int write_mark(int folder, const char *mark, struct eddis_error *err)
{
    cleanup_fd int fd =
        openat(folder, FOLDER_MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    char machine[BOOT_ID_CHARS], text[MARK_TEXT];

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot mark the folder of the job");
    boot_id_read(machine);
    (void)snprintf(text, sizeof text, "%s\n%s\n", mark, machine);
    return file_write_all(fd, text, strlen(text), err);
}

/* Check whether the code of settle or make_new says that another start has taken the new folder for
 * one that was left, and has removed it or is about to; -ESTALE: on another machine.
 */
static bool is_swept(int rc)
{
    return rc == -ENOENT || rc == -EWOULDBLOCK || rc == -ESTALE;
}

/* Check whether the folder that is open and locked as `lock` still exists at its path.  The lock
 * keeps its inode from being used again.
 */
static bool is_there(const char *path, int lock)
{
    struct stat there, held;

    return lstat(path, &there) == 0 && fstat(lock, &held) == 0 && there.st_dev == held.st_dev &&
           there.st_ino == held.st_ino;
}

/* Check that a new folder, locked and marked, is still there with its mark.  A start on another
 * machine that shares the file system but not the lock may have found it before the mark was
 * complete.  Return 0 or -ENOENT.
 */
static int check_settled(const char *path, int lock, struct eddis_error *err)
{
    struct folder_mark mark;

    if (!folder_read_mark(lock, &mark) || !is_there(path, lock))
        return eddis_fail(err, -ENOENT, "another start removed the new folder '%s'", path);
    return 0;
}

/* Lock and mark a new folder, and store the lock's descriptor in *ret_lock.  Return 0, or a
 * negative errno with the folder removed.
 */
static int settle(const char *path, const char *mark, int *ret_lock, struct eddis_error *err)
{
    int lock = -1, rc = hold(path, &lock, err);

    if (rc == 0)
        rc = write_mark(lock, mark, err);
    if (rc == 0)
        rc = check_settled(path, lock, err);
    if (rc == 0) {
        *ret_lock = lock;
        return 0;
    }
    (void)file_remove_tree(path, NULL);
    if (lock >= 0)
        (void)close(lock);
    return rc;
}

/* Make a folder with a random name below base, lock it and mark it.  Store its path in ret and the
 * lock's descriptor in *ret_lock.  Return 0, or a negative errno with nothing made.
 */
static int make_settled(const char *base, const char *mark, char ret[FOLDERS_PATH], int *ret_lock,
                        struct eddis_error *err)
{
    int rc = -ENOENT;

    for (int i = 0; i < DRAWS && is_swept(rc); i++) {
        rc = make_new(base, ret, err);
        if (rc == 0)
            rc = settle(ret, mark, ret_lock, err);
    }
    return rc;
}

/* Make one folder below base as make_settled does, and enter its path in the page.  Return 0 or a
 * negative errno.
 */
static int make_one(struct tick_page *page, const struct node_identity *id, const char *base,
                    char ret[FOLDERS_PATH], int *ret_lock, struct eddis_error *err)
{
    int rc = make_settled(base, id->mark, ret, ret_lock, err);

    return rc < 0 ? rc : tick_add_folder(page, ret, err);
}

int folders_make(struct tick_page *page, const struct node_identity *id, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err)
{
    const char *run = usable(runtime_dir), *shm = shm_base();
    int rc;

    folders_sweep(runtime_dir);
    rc = make_one(page, id, run, ret->run, &ret->lock[0], err);
    return rc < 0 ? rc : make_one(page, id, shm, ret->shm, &ret->lock[1], err);
}

int folders_take(const struct tick_page *page, struct folders *ret, struct eddis_error *err)
{
    char *const path[] = { ret->run, ret->shm };
    int rc = 0;

    for (int i = 0; rc == 0 && i < 2; i++) {
        const char *entered = tick_folder(page, i);

        if (!entered || strlen(entered) >= FOLDERS_PATH)
            return eddis_fail(err, -EPROTO, "the supervisor has made no folders");
        strcpy(path[i], entered);
        rc = hold(path[i], &ret->lock[i], err);
    }
    return rc;
}

/* ---- making again ---- */

/* Make folder i again at its old path, locked and marked.  If that path is taken, make it below
 * base with a new name, and change the path and its entry in the page.  Store the lock's descriptor
 * in *ret_lock.  Return 0 or a negative errno.
 */
static int make_again(struct tick_page *page, int i, const char *mark, const char *base,
                      char path[FOLDERS_PATH], int *ret_lock, struct eddis_error *err)
{
    int rc = mkdir(path, 0700) < 0 ? -ENOENT : settle(path, mark, ret_lock, err);
    char elsewhere[FOLDERS_PATH];

    if (!is_swept(rc))
        return rc;
    rc = make_settled(base, mark, elsewhere, ret_lock, err);
    if (rc == 0)
        rc = tick_move_folder(page, i, elsewhere, err);
    if (rc == 0)
        strcpy(path, elsewhere);
    return rc;
}

/* Make folder i again if it is missing, with a new lock; also write its mark again if only that is
 * missing.  Return 1 if the folder was made again, 0 if it existed, or a negative errno.
 */
static int renew_one(struct tick_page *page, int i, const char *mark, const char *base,
                     char path[FOLDERS_PATH], int *lock, struct eddis_error *err)
{
    struct folder_mark old;
    bool there = is_there(path, *lock);
    int rc, fd;

    if (there && folder_read_mark(*lock, &old))
        return 0;
    if (there) {
        (void)unlinkat(*lock, FOLDER_MARK, 0);
        return write_mark(*lock, mark, err);
    }
    rc = make_again(page, i, mark, base, path, &fd, err);
    if (rc < 0)
        return rc;
    (void)close(*lock);
    *lock = fd;
    return 1;
}

int folders_renew(struct tick_page *page, const char *mark, const char *runtime_dir,
                  struct folders *f, struct eddis_error *err)
{
    const char *run = usable(runtime_dir), *shm = shm_base();
    int rc = renew_one(page, 0, mark, run, f->run, &f->lock[0], err);
    int also = rc < 0 ? rc : renew_one(page, 1, mark, shm, f->shm, &f->lock[1], err);

    return also < 0 ? also : rc + also;
}

/* ---- finding ---- */

/* A search for the folders of starts, and its result. */
struct found {
    const struct node_identity *start; /* [n_starts] whose folders are searched */
    int n_starts;
    int64_t deadline_ns;
    bool late;                  /* the deadline came before all folders were checked */
    char (*path)[FOLDERS_PATH]; /* [n] paths of folders; owned */
    int n;
};

/* Append a copy of a path to f->path.  Return 0 or -ENOMEM. */
static int keep(struct found *f, const char *path, struct eddis_error *err)
{
    char(*more)[FOLDERS_PATH] = realloc(f->path, ((size_t)f->n + 1) * sizeof *more);

    if (!more)
        return eddis_fail(err, -ENOMEM, "no memory for the folders that are left");
    f->path = more;
    strcpy(more[f->n++], path);
    return 0;
}

/* Append to f the paths of the folders below base whose mark file names one of f->start, and remove
 * those that were left before they were marked.  An unreadable base counts as empty.  Return 0 or
 * -ENOMEM; f->late is set if the deadline comes first.
 */
static int search(const char *base, struct found *f, struct eddis_error *err)
{
    cleanup_dir DIR *dir = opendir(base);
    struct dirent *e;
    int rc = 0;

    while (dir && rc == 0 && (e = readdir(dir)) && !f->late) {
        char path[FOLDERS_PATH];
        cleanup_fd int fd = folder_open(base, e->d_name, path);
        struct folder_mark mark;

        f->late = clock_now_ns() >= f->deadline_ns;
        if (fd >= 0 && !folder_read_mark(fd, &mark))
            (void)folder_remove_unmarked(fd, path);
        else if (fd >= 0 && node_identity_covers(f->start, f->n_starts, mark.digits))
            rc = keep(f, path, err);
    }
    return rc;
}

int folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                 char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err)
{
    struct folder_bases b;
    struct found f = { .start = start, .n_starts = n, .deadline_ns = deadline_ns };
    int rc = 0;

    folder_bases_list(getenv("XDG_RUNTIME_DIR"), &b);
    for (int i = 0; rc == 0 && i < b.n; i++)
        rc = search(b.dir[i], &f, err);
    if (rc < 0) {
        free(f.path);
        return rc;
    }
    *ret = f.path;
    *ret_late = f.late;
    return f.n;
}

/* ---- generations ---- */

int folders_begin(const struct folders *f, int64_t generation, struct eddis_error *err)
{
    const char *base[2] = { f->run, f->shm };

    for (int i = 0; i < 2; i++) {
        cleanup_free char *path = file_join(base[i], "g%lld", (long long)generation);

        if (!path)
            return eddis_fail(err, -ENOMEM, "no memory for a path");
        if (mkdir(path, 0700) < 0)
            return eddis_fail_errno(err, -errno, "cannot make the folder '%s'", path);
    }
    return 0;
}

void folders_end(const struct folders *f, int64_t generation)
{
    const char *base[2] = { f->run, f->shm };

    for (int i = 0; i < 2; i++) {
        cleanup_free char *path = file_join(base[i], "g%lld", (long long)generation);

        if (path)
            (void)file_remove_tree(path, NULL);
    }
}
