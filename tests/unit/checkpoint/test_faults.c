/* SPDX-License-Identifier: Apache-2.0 */
/* test_faults.c - checkpoints when any one system call is the last, or fails
 *
 * The linker puts our functions in the place of the system calls that write.  They count, and at
 * the call that a test asks for they kill the process, fail, or do something first.
 */
#include "suite.h"
#include "tests/unit/wrapped.h"

#include "lib/base/file.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/checkpoint/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum what { NOTHING, KILL, FAIL };

static enum what what;
static int calls, at;               /* the call that it happens to, from 1 */
static void (*before_rename)(void); /* once, before a part is renamed to a whole one */
static struct {
    int64_t step, tries;
} * done; /* shared with the child: the last commit */
static char dir[64];
static struct eddis_error err;

/* Whether the present call is to fail; does not return when it is to be the last. */
static bool fault(void)
{
    if (what == NOTHING || ++calls != at)
        return false;
    if (what == KILL)
        raise(SIGKILL);
    errno = EIO;
    return true;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return fault() ? -1 : __real_open64(path, flags, mode);
}

ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    /* The last write is of a half. */
    if (what == KILL && calls + 1 == at && __real_write(fd, data, n / 2) < 0)
        return -1;
    return fault() ? -1 : __real_write(fd, data, n);
}

WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), -1)
WRAP(int, unlink, (const char *path), (path), -1)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), -1)
WRAP(int, rmdir, (const char *path), (path), -1)

static bool no_memory; /* for more files in the list */

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory && n >= 16 * sizeof(struct manifest_file) ? NULL : __real_realloc(p, n);
}

static bool fsync_failed;

/* Without a power cut it makes no difference but the time. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    if (!fault())
        return 0;
    fsync_failed = true;
    return -1;
}

int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    void (*first)(void) = before_rename;

    before_rename = NULL;
    if (first)
        first();
    return fault() ? -1 : __real_renameat2(a, from, b, to, flags);
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
    return fault() ? NULL : __real_opendir(path);
}

/* ---- what is done and what must hold ---- */

static void set_up(void)
{
    what = NOTHING;
    before_rename = NULL;
    strcpy(dir, "/tmp/eddis-faults-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(done, MAP_FAILED);
}

static void tear_down(void)
{
    what = NOTHING;
    munmap(done, sizeof *done);
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
}

static int save(const struct fence *f, int64_t step, int keep)
{
    struct checkpoint_meta meta = { .n_ranks = 2, .generation = f->generation };
    struct checkpoint *zero, *one;
    int64_t value[2] = { step, ++done->tries };
    int rc = checkpoint_begin(dir, step, f, &zero, &err), rc1;
    char *list;

    if (rc < 0)
        return rc;
    rc = checkpoint_put(zero, 0, "value", value, sizeof value, &err);
    rc1 = rc < 0 ? rc : checkpoint_join(dir, step, f->generation, &one, &err);
    if (rc1 < 0) {
        checkpoint_abandon_take(zero);
        return rc1;
    }
    rc = checkpoint_put(one, 1, "value", value, sizeof value, &err);
    list = checkpoint_list(one);
    ck_assert_int_eq(checkpoint_add_list(zero, list, strlen(list), NULL), 0);
    free(list);
    checkpoint_abandon_take(one);
    if (rc < 0) {
        checkpoint_abandon_take(zero);
        return rc;
    }
    rc = checkpoint_commit_take(zero, &meta, keep, &err);
    if (rc == 0)
        done->step = step;
    return rc;
}

/* What is found is whole, and is not older than the last that was completed. */
static void check_newest(int64_t least)
{
    int64_t value[2] = { 0 }, other[2] = { 0 };
    struct checkpoint *c = NULL;

    ck_assert_int_eq(checkpoint_open_newest(dir, &c, NULL, &err), 1);
    ck_assert_int_ge(checkpoint_meta(c)->step, least);
    ck_assert_int_eq(checkpoint_get(c, 0, "value", value, sizeof value, &err), 0);
    ck_assert_int_eq(checkpoint_get(c, 1, "value", other, sizeof other, &err), 0);
    ck_assert_mem_eq(value, other, sizeof value);
    ck_assert_int_eq(value[0], checkpoint_meta(c)->step);
    checkpoint_close(c);
}

/* Nothing but whole checkpoints and the mark. */
static void check_clean(void)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    while ((e = readdir(d)))
        ck_assert_msg(e->d_name[0] != '.'
                          ? !strstr(e->d_name, "part")
                          : strlen(e->d_name) < 3 || strcmp(e->d_name, ".generation") == 0,
                      "'%s' was left", e->d_name);
    closedir(d);
}

/* Generation 1 leaves a checkpoint and a part. */
static void begin_world(void)
{
    struct checkpoint *part;
    struct fence f;

    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
    memset(done, 0, sizeof *done);
    ck_assert_int_eq(fence_open(dir, "job", 1, &f, &err), 0);
    ck_assert_int_eq(save(&f, 100, 3), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 150, &f, &part, &err), 0);
    ck_assert_int_eq(checkpoint_put(part, 0, "half", "x", 1, &err), 0);
    checkpoint_close(part);
}

/* Generation 2: new steps, the same step again, older ones pruned.  Returns the first failure. */
static int second_generation(void)
{
    struct fence f;
    int rc = fence_open(dir, "job", 2, &f, &err);

    if (rc == 0)
        rc = save(&f, 200, 3);
    if (rc == 0)
        rc = save(&f, 200, 3);
    return rc < 0 ? rc : save(&f, 300, 1);
}

/* Whoever comes next is not disturbed by what is left. */
static void third_generation(void)
{
    struct fence f;

    ck_assert_msg(fence_open(dir, "job", 3, &f, &err) == 0, "%s", err.text);
    check_newest(done->step);
    ck_assert_msg(save(&f, 400, 3) == 0, "%s", err.text);
    check_newest(400);
    check_clean();
}

START_TEST(killed_at_every_call)
{
    int status = 1;

    for (at = 1; status != 0; at++) {
        pid_t child;

        begin_world();
        child = fork();
        if (child == 0) {
            what = KILL;
            calls = 0;
            _exit(second_generation() == 0 ? 0 : 1);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        check_newest(done->step);
        third_generation();
    }
    ck_assert_int_gt(at, 50);
}
END_TEST

START_TEST(failing_at_every_call)
{
    bool reached = true;

    for (at = 1; reached; at++) {
        int rc;

        begin_world();
        what = FAIL;
        calls = 0;
        err.text[0] = '\0';
        fsync_failed = false;
        rc = second_generation();
        reached = calls >= at;
        what = NOTHING;
        ck_assert((rc == 0 && !fsync_failed) || (rc == -EIO && err.text[0]));
        check_newest(done->step);
        /* The same generation tries again. */
        ck_assert_msg(second_generation() == 0, "%s", err.text);
        check_newest(300);
        third_generation();
    }
    ck_assert_int_gt(at, 50);
}
END_TEST

static void take_over(void)
{
    struct fence f;

    ck_assert_int_eq(fence_open(dir, "job", 2, &f, &err), 0);
}

/* Generation 1 is frozen between its last look and the rename; the next one begins meanwhile. */
START_TEST(frozen_before_the_rename)
{
    struct checkpoint *c;
    struct fence f;

    ck_assert_int_eq(fence_open(dir, "job", 1, &f, &err), 0);
    for (int whole = 0; whole < 2; whole++) {
        if (whole)
            ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
        if (whole) {
            ck_assert_int_eq(fence_open(dir, "job", 1, &f, &err), 0);
            ck_assert_int_eq(save(&f, 100, 3), 0); /* so that it would be an exchange */
        }
        before_rename = take_over;
        ck_assert_int_eq(save(&f, 100, 3), -ESTALE);
        ck_assert_ptr_nonnull(strstr(err.text, "start 2 of the job has taken over"));
        ck_assert_int_eq(checkpoint_open_newest(dir, &c, NULL, &err), whole);
        if (whole)
            checkpoint_close(c);
        check_clean();
    }
}
END_TEST

/* What cannot be listed is not written: it would be taken for the program's own file. */
START_TEST(no_room_in_the_list)
{
    struct checkpoint *c;
    struct fence f;
    char file[128];

    ck_assert_int_eq(fence_open(dir, "job", 1, &f, &err), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 100, &f, &c, &err), 0);
    snprintf(file, sizeof file, "%s/rank-0000.value", checkpoint_folder(c));
    no_memory = true;
    ck_assert_int_eq(checkpoint_put(c, 0, "value", "x", 1, &err), -ENOMEM);
    no_memory = false;
    ck_assert_int_eq(access(file, F_OK), -1);
    ck_assert_msg(checkpoint_put(c, 0, "value", "x", 1, &err) == 0, "%s", err.text);
    ck_assert_int_eq(checkpoint_put(c, 0, "value", "y", 1, &err), -EEXIST);
    ck_assert_msg(checkpoint_commit_take(c, &(struct checkpoint_meta){ .n_ranks = 1 }, 3, &err) ==
                      0,
                  "%s", err.text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, killed_at_every_call);
    tcase_add_test(tc, failing_at_every_call);
    tcase_add_test(tc, frozen_before_the_rename);
    tcase_add_test(tc, no_room_in_the_list);
}

SUITE_MAIN("faults", add_tests)
