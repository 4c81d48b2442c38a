/* SPDX-License-Identifier: Apache-2.0 */
/* folders.c - makes the folders of a start on a node, finds them by its mark, removes old ones */
#include "folders.h"

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

/* Age up to which a folder without a mark is kept: it may be about to be locked and marked. */
enum { SWEEP_AGE_S = 60 };

/* Limits for removing folders of dead starts: processor time, which a busy machine gives slowly,
 * and time.
 */
#define SWEEP_NS         (CLOCK_S / 2)
#define SWEEP_AT_MOST_NS (5 * CLOCK_S)

/* Digits of a folder's random name, one of 2^64, and how many names are tried before making a
 * folder fails.
 */
enum { NAME_DIGITS = 16, DRAWS = 32 };

static const char prefix[] = "eddis-", mark_file[] = "mark";

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

/* List of the folders in which folders of this user's starts may be. */
struct bases {
    const char *dir[4]; /* [n], all different; borrowed */
    int n;
    char user[FOLDERS_BASE]; /* memory for one of the paths */
};

/* Add a folder to the list unless the list has it; dir is borrowed. */
static void add_base(struct bases *b, const char *dir)
{
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->dir[i], dir) == 0)
            return;
    b->dir[b->n++] = dir;
}

/* Fill *ret with the folders in which folders of this user's starts may be. runtime_dir, borrowed,
 * may differ from that of the supervisor that made them, or be NULL.
 */
static void list_bases(const char *runtime_dir, struct bases *ret)
{
    ret->n = 0;
    snprintf(ret->user, sizeof ret->user, "/run/user/%u", (unsigned)geteuid());
    add_base(ret, usable(runtime_dir));
    add_base(ret, shm_base());
    add_base(ret, usable(ret->user));
    add_base(ret, "/tmp");
}

/* Open the folder base/name if its name has the form of eddis's folders, it belongs to this user
 * and is no link; write its path to ret_path.  Return the descriptor, which the caller closes;
 * negative: it is no such folder.
 */
static int open_ours(const char *base, const char *name, char ret_path[FOLDERS_PATH])
{
    struct stat st;
    int fd;

    if (strncmp(name, prefix, sizeof prefix - 1) != 0 ||
        !text_is_hex(name + sizeof prefix - 1, NAME_DIGITS))
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

/* ---- folders of dead agents ---- */

/* The content of a mark file: in its first line the mark, in its second the boot id of the machine;
 * machine "": unknown.
 */
struct mark {
    char digits[NODE_IDENTITY_DIGITS + 1], machine[BOOT_ID_CHARS];
};

enum { MARK_TEXT = sizeof(struct mark) + 2 };

/* Read the mark file of a folder, given by its descriptor, into *ret and return true; return false
 * if the folder has none.
 */
static bool read_mark(int folder, struct mark *ret)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    cleanup_fd int fd = openat(folder, mark_file, flags);
    char text[MARK_TEXT] = "";
    const char *machine = text + NODE_IDENTITY_DIGITS;

    if (fd < 0 || read(fd, text, sizeof text - 1) < NODE_IDENTITY_DIGITS)
        return false;
    machine += *machine == '\n';
    (void)snprintf(ret->digits, sizeof ret->digits, "%.*s", NODE_IDENTITY_DIGITS, text);
    (void)snprintf(ret->machine, sizeof ret->machine, "%.*s", (int)strcspn(machine, "\n"), machine);
    return true;
}

/* Check whether a mark was written on another machine.  Then its folder is on a shared file system,
 * where a lock may hold on one machine only.
 */
static bool is_of_another_machine(const struct mark *m)
{
    char own[BOOT_ID_CHARS];

    boot_id_read(own);
    return m->machine[0] && strcmp(m->machine, own) != 0;
}

/* Check whether a process has exactly this mark in its environment. */
static bool carries(pid_t pid, const char *mark)
{
    static const char prefix_of[] = NODE_IDENTITY_VARIABLE "=";
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "environ", &n);

    for (const char *at = text; at && at < text + n; at += strlen(at) + 1)
        if (strncmp(at, prefix_of, sizeof prefix_of - 1) == 0 &&
            strcmp(at + sizeof prefix_of - 1, mark) == 0)
            return true;
    return false;
}

/* Check whether any live process of this user has this mark in its environment, and so may use the
 * start's folders; true if processes cannot be listed.
 */
static bool is_used(const char *mark)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_all(&all, NULL);
    bool used = n < 0;

    for (int i = 0; i < n && !used; i++)
        used = !all[i].ending && proctree_user(all[i].pid) == getuid() && carries(all[i].pid, mark);
    return used;
}

/* Check whether a folder, given by its descriptor, was left by a dead start; if so, it is locked
 * until the descriptor is closed.  A start locks its folder before it marks it: a marked folder
 * without a lock belongs to a dead supervisor and agent.  Without a mark only age shows it.
 */
static bool is_left(int folder)
{
    struct mark mark;
    bool marked = read_mark(folder, &mark);
    struct stat st;

    if (marked && is_of_another_machine(&mark))
        return false;
    if (!marked && (fstat(folder, &st) < 0 || time(NULL) - st.st_ctime <= SWEEP_AGE_S))
        return false;
    return flock(folder, LOCK_EX | LOCK_NB) == 0 && !(marked && is_used(mark.digits));
}

/* When to stop removing folders */
struct sweep_end {
    int64_t processor_ns; /* of this thread's processor time */
    int64_t now_ns;       /* by clock_now_ns */
};

/* Remove the folders below base that killed agents left, until the end. */
static void sweep(const char *base, const struct sweep_end *end)
{
    cleanup_dir DIR *dir = opendir(base);
    struct dirent *e;

    while (dir && (e = readdir(dir)) && clock_thread_ns() < end->processor_ns &&
           clock_now_ns() < end->now_ns) {
        char path[FOLDERS_PATH];
        cleanup_fd int fd = open_ours(base, e->d_name, path);

        if (fd >= 0 && is_left(fd))
            (void)file_remove_tree(path, NULL);
    }
}

/* Remove the folders that killed agents left in any of the base folders (runtime_dir and those of
 * list_bases).  Stop at a limit: another user may have made any number of folders with such names.
 */
static void sweep_all(const char *runtime_dir)
{
    const struct sweep_end end = { clock_thread_ns() + SWEEP_NS,
                                   clock_after_ns(clock_now_ns(), SWEEP_AT_MOST_NS) };
    struct bases b;

    list_bases(runtime_dir, &b);
    for (int i = 0; i < b.n; i++)
        sweep(b.dir[i], &end);
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
        openat(folder, mark_file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    char machine[BOOT_ID_CHARS], text[MARK_TEXT];

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot mark the folder of the job");
    boot_id_read(machine);
    (void)snprintf(text, sizeof text, "%s\n%s\n", mark, machine);
    return file_write_all(fd, text, strlen(text), err);
}

/* Make one folder below base, enter it in the page, lock it and mark it.  Store its path in ret and
 * the lock's descriptor in *ret_lock.  Return 0 or a negative errno.
 */
static int make_one(struct tick_page *page, const struct node_identity *id, const char *base,
                    char ret[FOLDERS_PATH], int *ret_lock, struct eddis_error *err)
{
    int rc = make_new(base, ret, err);

    if (rc == 0)
        rc = tick_add_folder(page, ret, err);
    if (rc == 0)
        rc = hold(ret, ret_lock, err);
    return rc < 0 ? rc : write_mark(*ret_lock, id->mark, err);
}

int folders_make(struct tick_page *page, const struct node_identity *id, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err)
{
    const char *run = usable(runtime_dir), *shm = shm_base();
    int rc;

    sweep_all(runtime_dir);
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

/* Check whether the folder that is open and locked as `lock` still exists at its path.  The lock
 * keeps its inode from being used again.
 */
static bool is_there(const char *path, int lock)
{
    struct stat there, held;

    return lstat(path, &there) == 0 && fstat(lock, &held) == 0 && there.st_dev == held.st_dev &&
           there.st_ino == held.st_ino;
}

/* Make folder i again at its old path.  If that path is taken, make it below base with a new name,
 * and change the path and its entry in the page.  Return 0 or a negative errno.
 */
static int make_place(struct tick_page *page, int i, const char *base, char path[FOLDERS_PATH],
                      struct eddis_error *err)
{
    char elsewhere[FOLDERS_PATH];
    int rc;

    if (mkdir(path, 0700) == 0)
        return 0;
    rc = make_new(base, elsewhere, err);
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
    struct mark old;
    bool there = is_there(path, *lock);
    int rc, fd;

    if (there && read_mark(*lock, &old))
        return 0;
    if (there) {
        (void)unlinkat(*lock, mark_file, 0);
        return write_mark(*lock, mark, err);
    }
    if ((rc = make_place(page, i, base, path, err)) < 0 || (rc = hold(path, &fd, err)) < 0)
        return rc;
    (void)close(*lock);
    *lock = fd;
    rc = write_mark(fd, mark, err);
    return rc < 0 ? rc : 1;
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

/* Check whether the mark file of a folder names one of n agents (start [n]), or an earlier agent of
 * the same job and node.
 */
static bool bears_mark(int folder, const struct node_identity *start, int n)
{
    struct mark mark;

    return read_mark(folder, &mark) && node_identity_covers(start, n, mark.digits);
}

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

/* Append to f the paths of the folders below base whose mark file names one of f->start.  An
 * unreadable base counts as empty.  Return 0 or -ENOMEM; f->late is set if the deadline comes
 * first.
 */
static int search(const char *base, struct found *f, struct eddis_error *err)
{
    cleanup_dir DIR *dir = opendir(base);
    struct dirent *e;
    int rc = 0;

    while (dir && rc == 0 && (e = readdir(dir)) && !f->late) {
        char path[FOLDERS_PATH];
        cleanup_fd int fd = open_ours(base, e->d_name, path);

        f->late = clock_now_ns() >= f->deadline_ns;
        if (fd >= 0 && bears_mark(fd, f->start, f->n_starts))
            rc = keep(f, path, err);
    }
    return rc;
}

int folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                 char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err)
{
    struct bases b;
    struct found f = { .start = start, .n_starts = n, .deadline_ns = deadline_ns };
    int rc = 0;

    list_bases(getenv("XDG_RUNTIME_DIR"), &b);
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
