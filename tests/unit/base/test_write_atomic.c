/* SPDX-License-Identifier: Apache-2.0 */
/* test_write_atomic.c - file_write_atomic and file_try: what a kill before each call leaves */
#include "lib/base/file.h"
#include "lib/base/left.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int calls_left;  /* number of the call before which this process kills itself; 0: none */
static bool only_named; /* the file system has no files without names */
static bool no_proc;    /* nothing names an open file */

static void count_call(void)
{
    if (calls_left && --calls_left == 0)
        (void)raise(SIGKILL);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
    va_end(ap);
    if (only_named && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    count_call();
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t n)
{
    count_call();
    return syscall(SYS_write, fd, data, n);
}

int fsync(int fd)
{
    count_call();
    return (int)syscall(SYS_fsync, fd);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    count_call();
    if (no_proc) {
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

int rename(const char *old, const char *new)
{
    count_call();
    return (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
}

int unlink(const char *path)
{
    count_call();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* The number of files in the folder beside "file"; make each so old. */
static int others(int age_s)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = time(NULL) - age_s } };
    cleanup_dir DIR *d = opendir(scratch);
    struct dirent *e;
    int n = 0;

    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, "file") != 0) {
            ck_assert_int_eq(utimensat(dirfd(d), e->d_name, times, 0), 0);
            n++;
        }
    return n;
}

/* In a child that is killed before this call, write `text`, or try to; whether it was killed. */
static bool killed_at(int call, const char *path, const char *text)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        calls_left = call;
        _exit((text ? file_write_atomic(path, text, strlen(text), 0600, NULL)
                    : file_try(path, NULL)) < 0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        return true;
    ck_assert_int_eq(status, 0);
    return false;
}

/* Kill a writer before each of its calls; return the most files that a kill has left.  The file has
 * the old or the new text, and the next writer removes what was left once it is old.
 */
static int most_left(const char *path, const char *before)
{
    int most = 0, call = 1;

    for (bool killed = true; killed; call++) {
        cleanup_free char *text = NULL;
        int n;

        (void)unlink(path);
        if (before)
            scratch_write("file", before, 0600);
        killed = killed_at(call, path, "new");
        text = scratch_content("file");
        ck_assert(text ? strcmp(text, "new") == 0 || (before && strcmp(text, before) == 0)
                       : !before && killed);
        n = others(10);
        most = n > most ? n : most;
        ck_assert(killed || n == 0);
        scratch_write("file", "next", 0600);
        ck_assert_int_eq(others(LEFT_S + 60), n); /* its writer may be alive */
        scratch_write("file", "next", 0600);
        ck_assert_int_eq(others(0), 0);
    }
    ck_assert_int_gt(call, 4);
    return most;
}

static bool has_unnamed(void)
{
    int fd = file_open_unnamed(scratch, 0600);

    if (fd >= 0)
        (void)close(fd);
    else
        printf("SKIP unnamed: the file system of /tmp has no files without names\n");
    return fd >= 0;
}

/* A new file is never there in part, and nothing else is; one that is replaced, for a moment. */
START_TEST(unnamed)
{
    cleanup_free char *path = file_join(scratch, "file");

    if (!has_unnamed())
        return;
    ck_assert_int_eq(most_left(path, NULL), 0);
    ck_assert_int_eq(most_left(path, "old"), 1);
}
END_TEST

START_TEST(named)
{
    cleanup_free char *path = file_join(scratch, "file");

    only_named = true;
    ck_assert_int_eq(most_left(path, NULL), 1);
    ck_assert_int_eq(most_left(path, "old"), 1);
    only_named = false;
    no_proc = true;
    ck_assert_int_eq(most_left(path, "old"), 1);
}
END_TEST

/* Files that are no parts of this file stay, however old; so do links and folders. */
START_TEST(of_others)
{
    static const char *const stays[] = { "file.part",    "file.1.parts",  "file.x.part",
                                         "file2.1.part", "file.1.2.part", "file.-1.part",
                                         ".file.1.part" };
    cleanup_free char *folder = file_join(scratch, "file.2.part");
    int n = (int)(sizeof stays / sizeof *stays);

    for (int i = 0; i < n; i++)
        scratch_write(stays[i], "x", 0600);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_int_eq(others(86400), n + 1);
    scratch_write("file", "x", 0600);
    ck_assert_int_eq(others(0), n + 1);
    /* A folder has the place of the file, or of its part. */
    ck_assert_int_eq(file_write_atomic(folder, "x", 1, 0600, NULL), -EISDIR);
    ck_assert_int_eq(others(0), n + 1);
    ck_assert_int_eq(file_write_atomic("/nowhere/x", "x", 1, 0600, NULL), -ENOENT);
    file_remove_parts(scratch); /* of file2, file.1 and .file */
    ck_assert_int_eq(others(0), n + 1 - 3);
}
END_TEST

/* Paths without a folder, and in the root folder. */
START_TEST(short_paths)
{
    struct eddis_error err = { 0 };

    ck_assert_int_eq(chdir(scratch), 0);
    ck_assert_int_eq(file_write_atomic("file", "x", 1, 0640, NULL), 0);
    ck_assert_int_eq(file_try("file", NULL), 0);
    ck_assert_int_eq(file_try("other", NULL), 0);
    ck_assert_int_eq(others(0), 0);
    (void)file_try("/eddis-test", &err);
    ck_assert_int_eq(access("/eddis-test", F_OK), -1);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* A trial that is killed leaves nothing, or what the next one removes. */
START_TEST(tried)
{
    cleanup_free char *path = file_join(scratch, "file");

    for (int call = 1; has_unnamed() && killed_at(call, path, NULL); call++)
        ck_assert_int_eq(others(0), 0);
    only_named = true;
    for (int call = 1; killed_at(call, path, NULL); call++) {
        int n = others(10);

        ck_assert_int_eq(file_try(path, NULL), 0);
        ck_assert_int_eq(others(LEFT_S + 60), n);
        ck_assert_int_eq(file_try_folder(scratch, NULL), 0);
        ck_assert_int_eq(others(0), 0);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, unnamed);
    tcase_add_test(tc, named);
    tcase_add_test(tc, of_others);
    tcase_add_test(tc, short_paths);
    tcase_add_test(tc, tried);
}

SUITE_MAIN("write_atomic", add_tests)
