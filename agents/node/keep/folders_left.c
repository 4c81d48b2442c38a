/* SPDX-License-Identifier: Apache-2.0 */
/* folders_left.c - removes the folders of a start, and those that killed starts have left
 *
 * A start makes a folder, locks it, and marks it; to remove it, it removes the mark last. So a
 * killed start leaves either a marked folder without a lock, which no process uses, or a folder
 * that is empty but for a part of a mark. Both are removed at once. A start that finds that its new
 * folder was removed before it could be locked and marked makes another one. Another machine that
 * shares /tmp may remove it although it is locked, for a lock may hold on one machine only.
 */
#include "folders_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Age up to which a folder without a mark is kept if there is anything in it: somebody may have
 * removed the mark of a living start.
 */
enum { SWEEP_AGE_S = 60 };

/* Most folders that are looked up in one list of all processes, to see whether they are used. */
enum { BATCH = 16 };

/* How many names a sweep reads at most; one of the form of eddis's folders counts as OPENED names,
 * as it has to be opened, also if it is another user's.  On a local file system to read and open
 * all takes about half a second of processor time.
 */
enum { SWEEP_NAMES = 1000000, OPENED = 50 };

/* How long a sweep goes on to further names: a file system may be slow, processes many, or folders
 * large.  The first SWEEP_LEAST names are read however long it lasts: a busy machine may give this
 * process hardly any time.
 */
#define SWEEP_NS (15 * CLOCK_S)
enum { SWEEP_LEAST = 256 * OPENED };

/* ---- removing ---- */

int folders_remove_one(const char *path, struct eddis_error *err)
{
    return file_remove_tree_last(path, FOLDER_MARK, err);
}

int folders_remove(const struct tick_page *page, struct eddis_error *err)
{
    const char *path;
    int rc = 0;

    for (int i = 0; (path = tick_folder(page, i)); i++) {
        int one = folders_remove_one(path, err);

        if (one < 0)
            rc = one;
    }
    return rc;
}

/* Remove the mark file of a locked folder if only a part of it was written. */
static void remove_part_of_mark(int folder)
{
    struct stat st;

    if (fstatat(folder, FOLDER_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        st.st_size < NODE_IDENTITY_DIGITS)
        (void)unlinkat(folder, FOLDER_MARK, 0);
}

bool folder_remove_unmarked(int folder, const char *path)
{
    struct folder_mark mark;
    struct stat st;
    bool old;

    if (flock(folder, LOCK_EX | LOCK_NB) < 0)
        return false;
    if (folder_read_mark(folder, &mark))
        return true;
    old = fstat(folder, &st) == 0 && time(NULL) - st.st_ctime > SWEEP_AGE_S;
    remove_part_of_mark(folder);
    if (rmdir(path) < 0 && old)
        (void)folders_remove_one(path, NULL);
    return false;
}

/* ---- folders of dead starts ---- */

/* A marked folder that no living start has locked. */
struct left_folder {
    char path[FOLDERS_PATH], mark[NODE_IDENTITY_DIGITS + 1];
    int fd; /* its descriptor, with the lock */
    bool used;
};

/* A search for folders of dead starts. */
struct folder_sweep {
    int names; /* how many more may be read */
    int64_t deadline_ns;
    struct left_folder left[BATCH];
    int n;
};

/* Check whether a mark was written on another machine.  Then its folder is on a shared file system,
 * where a lock may hold on one machine only.
 */
static bool is_of_another_machine(const struct folder_mark *m)
{
    char own[BOOT_ID_CHARS];

    boot_id_read(own);
    return m->machine[0] && strcmp(m->machine, own) != 0;
}

/* Note that a process uses the folders of its start, by the mark in its environment.  If this
 * process lacks what is needed to read that, all folders count as used.
 */
static void note_use(struct folder_sweep *s, pid_t pid)
{
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "environ", &n);
    const char *mark = text ? proctree_value(text, n, NODE_IDENTITY_VARIABLE) : NULL;
    bool unread = !text && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);

    for (int i = 0; i < s->n; i++)
        s->left[i].used |= unread || (mark && strcmp(mark, s->left[i].mark) == 0);
}

/* Note of all folders found whether any live process of this user uses them: a rank, whose
 * supervisor and agent are dead.  If processes cannot be listed, all count as used.
 */
static void note_users(struct folder_sweep *s)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_all(&all, NULL);

    for (int i = 0; n < 0 && i < s->n; i++)
        s->left[i].used = true;
    for (int i = 0; i < n; i++)
        if (!all[i].ending && proctree_user(all[i].pid) == getuid())
            note_use(s, all[i].pid);
}

/* Remove the folders found that no process uses, and forget all. */
static void remove_found(struct folder_sweep *s)
{
    if (s->n)
        note_users(s);
    for (int i = 0; i < s->n; i++) {
        if (!s->left[i].used)
            (void)folders_remove_one(s->left[i].path, NULL);
        (void)close(s->left[i].fd);
    }
    s->n = 0;
}

/* Check whether the sweep may read another name. */
static bool may_go_on(const struct folder_sweep *s)
{
    bool sure = s->names > SWEEP_NAMES - SWEEP_LEAST;

    return sure || (s->names > 0 && clock_now_ns() < s->deadline_ns);
}

/* Add the folder base/name, whose name has the form of eddis's folders, to those found if it was
 * left by a dead start; remove it at once if it has no mark.
 */
static void examine(struct folder_sweep *s, const char *base, const char *name)
{
    struct left_folder *l = &s->left[s->n];
    cleanup_fd int fd = folder_open(base, name, l->path);
    struct folder_mark mark;

    if (fd < 0 || !folder_remove_unmarked(fd, l->path) || !folder_read_mark(fd, &mark) ||
        is_of_another_machine(&mark))
        return;
    strcpy(l->mark, mark.digits);
    l->used = false;
    l->fd = cleanup_keep_fd(fd);
    if (++s->n == BATCH)
        remove_found(s);
}

void folders_sweep(const char *runtime_dir)
{
    struct folder_sweep s = { .names = SWEEP_NAMES, .deadline_ns = clock_now_ns() + SWEEP_NS };
    struct folder_bases b;

    folder_bases_list(runtime_dir, &b);
    for (int i = 0; i < b.n; i++) {
        cleanup_dir DIR *dir = opendir(b.dir[i]);
        struct dirent *e;

        while (dir && may_go_on(&s) && (e = readdir(dir))) {
            bool form = folder_has_form(e->d_name);

            s.names -= form ? OPENED : 1;
            if (form)
                examine(&s, b.dir[i], e->d_name);
        }
    }
    remove_found(&s);
}
