/* SPDX-License-Identifier: Apache-2.0 */
/* test_folders_killed.c - tests of what remains of folders (agents/node/keep/folders.h) when
 * processes are killed while they make or remove them
 */
#include "agents/node/keep/folders.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "own_tmp.h"
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[FOLDERS_BASE]; /* of `run` */
static struct node_identity id;
static bool private_tmp; /* whatever is in /dev/shm is of this test */

/* ---- the system calls that change a folder ---- */

static int calls_left = -1; /* this process dies before the call after so many; -1: it does not */

/* What another start does with a folder that it takes for a dead one's, between the making of the
 * folder and its lock; UNMARK: while the mark is written, on a machine where the lock does not
 * hold.
 */
static enum { LEAVE, REMOVE, LOCK, UNMARK } meddle;
static int meddled; /* how often */

static bool busy; /* the folder of generation 1 cannot be removed */

static void count_call(void)
{
    if (calls_left == 0)
        (void)kill(getpid(), SIGKILL);
    if (calls_left > 0)
        calls_left--;
}

int mkdir(const char *path, mode_t mode)
{
    int rc;

    count_call();
    rc = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (rc == 0 && meddle == REMOVE && meddled++ < 3)
        ck_assert_int_eq(rmdir(path), 0);
    if (rc == 0 && meddle == LOCK && meddled++ < 3)
        ck_assert_int_eq(flock(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), LOCK_EX), 0);
    return rc;
}

int rmdir(const char *path)
{
    count_call();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

int unlinkat(int fd, const char *path, int flags)
{
    count_call();
    if (busy && strcmp(path, "g1") == 0 && flags == AT_REMOVEDIR) {
        errno = EBUSY;
        return -1;
    }
    return (int)syscall(SYS_unlinkat, fd, path, flags);
}

int flock(int fd, int operation)
{
    count_call();
    return (int)syscall(SYS_flock, fd, operation);
}

/* Remove the folder of a mark that is open and empty, as another machine's sweep does. */
static void unmark(int fd)
{
    char link[32], path[PATH_MAX];
    ssize_t n;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n < 5 || memcmp(path + n - 5, "/mark", 5) != 0 || meddled++ >= 3)
        return;
    path[n] = '\0';
    ck_assert_int_eq(unlink(path), 0);
    path[n - 5] = '\0';
    ck_assert_int_eq(rmdir(path), 0);
}

ssize_t write(int fd, const void *data, size_t n)
{
    count_call();
    if (meddle == UNMARK)
        unmark(fd);
    return (ssize_t)syscall(SYS_write, fd, data, n);
}

/* ---- a machine so busy that each look at the clock comes hours later ---- */

static int64_t busy_ns; /* 0: it is not busy */
static int looks;       /* how often all processes were listed */
static int opened;      /* how many folders in `dir` the sweep tried to open */

int64_t __real_clock_now_ns(void), __wrap_clock_now_ns(void);
int64_t __real_clock_thread_ns(void), __wrap_clock_thread_ns(void);
int __real_proctree_all(struct proctree_process **ret, struct eddis_error *err),
    __wrap_proctree_all(struct proctree_process **ret, struct eddis_error *err);

int64_t __wrap_clock_now_ns(void)
{
    return busy_ns ? busy_ns += 3600 * CLOCK_S : __real_clock_now_ns();
}

int64_t __wrap_clock_thread_ns(void)
{
    return busy_ns ? busy_ns += 3600 * CLOCK_S : __real_clock_thread_ns();
}

int __wrap_proctree_all(struct proctree_process **ret, struct eddis_error *err)
{
    looks++;
    return __real_proctree_all(ret, err);
}

int __real_folder_open(const char *base, const char *name, char ret_path[FOLDERS_PATH]);
int __wrap_folder_open(const char *base, const char *name, char ret_path[FOLDERS_PATH]);

int __wrap_folder_open(const char *base, const char *name, char ret_path[FOLDERS_PATH])
{
    opened += strcmp(base, dir) == 0 && strncmp(name, "eddis-", 6) == 0;
    return __real_folder_open(base, name, ret_path);
}

/* ---- folders ---- */

static void make_dir(void)
{
    private_tmp = own_tmp();
    strcpy(dir, "/tmp/eddis-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(node_identity_make(&id, NULL), 0);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
}

static void remove_dir(void)
{
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
}

static struct tick_page *page(void)
{
    struct tick_page *p;
    int fd;

    ck_assert_int_eq(tick_create(&p, &fd, NULL), 0);
    (void)close(fd);
    return p;
}

static void make(struct tick_page *p, struct folders *ret)
{
    struct eddis_error err = { 0 };

    ck_assert_msg(folders_make(p, &id, dir, ret, &err) == 0, "%s", err.text);
}

static void let_go(struct folders *f)
{
    for (int i = 0; i < 2; i++)
        (void)close(f->lock[i]);
}

/* How many entries a folder has. */
static int count(const char *path)
{
    cleanup_dir DIR *d = opendir(path);
    int n = -2; /* without "." and ".." */

    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    return n;
}

/* Let a start live, from its making to its end, and be killed before one of its calls.  Return
 * whether it came to its end before.
 */
static bool live_until(int call)
{
    int status;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct tick_page *p = page();
        struct folders f;

        calls_left = call;
        make(p, &f);
        (void)folders_begin(&f, 1, NULL);
        (void)folders_remove(p, NULL);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
    return WIFEXITED(status);
}

/* At no moment of its life does its death leave anything that the next start does not remove at
 * once, nor anything that a clean-up does not find.
 */
START_TEST(killed_at_any_moment)
{
    bool over = false;

    if (!private_tmp) {
        printf("SKIP killed_at_any_moment: no /dev/shm of its own\n");
        return;
    }
    for (int call = 0; !over; call++) {
        struct tick_page *p = page();
        struct folders f;
        char(*path)[FOLDERS_PATH] = NULL;
        bool late;
        int n;

        over = live_until(call);
        if (_i == 0) {
            make(p, &f);
            ck_assert_int_eq(folders_remove(p, NULL), 0);
            let_go(&f);
        } else {
            n = folders_find(&id, 1, CLOCK_NEVER, &path, &late, NULL);
            for (int i = 0; i < n; i++)
                ck_assert_int_eq(folders_remove_one(path[i], NULL), 0);
            free(path);
        }
        ck_assert_msg(count(dir) == 0 && count("/dev/shm") == 0, "a folder is left by call %d",
                      call);
    }
}
END_TEST

/* Who takes a folder that is being made for a dead one's does not spoil the start. */
START_TEST(removed_while_made)
{
    struct tick_page *p = page();
    struct folders f;

    meddle = REMOVE + _i;
    meddled = 0;
    make(p, &f);
    ck_assert_int_eq(meddled, 5); /* three in vain */
    ck_assert_str_eq(tick_folder(p, 0), f.run);
    ck_assert_str_eq(tick_folder(p, 1), f.shm);
    ck_assert_int_eq(access(f.run, F_OK), 0);
    ck_assert_int_eq(access(f.shm, F_OK), 0);

    ck_assert_int_eq(file_remove_tree(f.run, NULL), 0);
    meddled = 0;
    ck_assert_int_eq(folders_renew(p, id.mark, dir, &f, NULL), 1);
    ck_assert_int_eq(meddled, 4);
    ck_assert_str_eq(tick_folder(p, 0), f.run);
    ck_assert_int_eq(access(f.run, F_OK), 0);
    meddle = LEAVE;
    ck_assert_int_eq(folders_remove(p, NULL), 0);
    let_go(&f);
}
END_TEST

/* While anything remains in a folder, its mark does, and the next start finds it. */
START_TEST(not_removed_at_once)
{
    struct tick_page *p[2] = { page(), page() };
    char mark[FOLDERS_PATH + 8];
    struct folders f[2];

    make(p[0], &f[0]);
    ck_assert_int_eq(folders_begin(&f[0], 1, NULL), 0);
    busy = true;
    ck_assert_int_eq(folders_remove(p[0], NULL), -EBUSY);
    busy = false;
    snprintf(mark, sizeof mark, "%s/mark", f[0].shm);
    ck_assert_int_eq(access(mark, F_OK), 0);
    let_go(&f[0]);
    make(p[1], &f[1]);
    ck_assert_int_eq(access(f[0].run, F_OK), -1);
    ck_assert_int_eq(access(f[0].shm, F_OK), -1);
    ck_assert_int_eq(folders_remove(p[1], NULL), 0);
    let_go(&f[1]);
}
END_TEST

enum { DEAD = 20 };

/* However little time the machine gives, and however many folders there are.  To see whether they
 * are in use takes a look at all processes, so one look is for many folders.
 */
START_TEST(on_a_busy_machine)
{
    struct tick_page *p[DEAD + 1];
    struct folders f[DEAD + 1];

    for (int i = 0; i < DEAD; i++)
        make(p[i] = page(), &f[i]);
    for (int i = 0; i < DEAD; i++)
        let_go(&f[i]);
    p[DEAD] = page();
    looks = 0;
    busy_ns = 1;
    make(p[DEAD], &f[DEAD]);
    busy_ns = 0;
    for (int i = 0; i < DEAD; i++) {
        ck_assert_int_eq(access(f[i].run, F_OK), -1);
        ck_assert_int_eq(access(f[i].shm, F_OK), -1);
    }
    ck_assert_int_le(looks, DEAD / 2);
    ck_assert_int_eq(folders_remove(p[DEAD], NULL), 0);
    let_go(&f[DEAD]);
}
END_TEST

/* Names of eddis's form that are no folders of this user end the sweep as folders do: after so many
 * of them, and, if each takes long, after the time is over.
 */
START_TEST(of_others)
{
    static const struct {
        int names, most;
        bool slow;
    } row[] = { { 20100, 20000, false }, { 500, 400, true }, { 200, 200, true } };
    struct tick_page *p = page();
    struct folders f;

    for (int i = 0; i < row[_i].names; i++) {
        char path[FOLDERS_PATH];

        snprintf(path, sizeof path, "%s/eddis-%016x", dir, (unsigned)i);
        ck_assert_int_eq(symlink("nowhere", path), 0);
    }
    opened = 0;
    busy_ns = row[_i].slow;
    make(p, &f);
    busy_ns = 0;
    ck_assert_int_le(opened, row[_i].most);
    ck_assert_int_ge(opened, 200);
    ck_assert_int_eq(folders_remove(p, NULL), 0);
    let_go(&f);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, make_dir, remove_dir);
    tcase_add_loop_test(tc, killed_at_any_moment, 0, 2);
    tcase_add_loop_test(tc, removed_while_made, 0, 3);
    tcase_add_test(tc, not_removed_at_once);
    tcase_add_test(tc, on_a_busy_machine);
    tcase_add_loop_test(tc, of_others, 0, 3);
}

SUITE_MAIN("folders-killed", add_tests)
