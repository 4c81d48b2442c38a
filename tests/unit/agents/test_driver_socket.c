/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_socket.c - tests of agents/job/driver_socket.h: where a driver's socket may be */
#include "agents/job/driver_socket.h"

#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char path[JOB_DOOR_PATH], want[JOB_FOLDER_MAX_PATH + 64], runtime[80];

static struct job_folder folder(const char *name, mode_t mode)
{
    struct job_folder f = { .id = "digits-1" };

    (void)snprintf(f.path, sizeof f.path, "%s/%s", scratch, name);
    ck_assert_int_eq(mkdir(f.path, 0700), 0);
    ck_assert_int_eq(chmod(f.path, mode), 0);
    return f;
}

static void set_up(void)
{
    (void)snprintf(runtime, sizeof runtime, "%s/run", scratch);
    ck_assert_int_eq(mkdir(runtime, 0700), 0);
}

START_TEST(in_the_folder)
{
    struct job_folder f = folder("job", 0700);

    ck_assert(driver_socket_choose(&f, runtime, path));
    (void)snprintf(want, sizeof want, "%s/driver.sock", f.path);
    ck_assert_str_eq(path, want);
    ck_assert(driver_socket_choose(&f, NULL, path));
}
END_TEST

/* Open to others, too long, or taken: the other place. */
START_TEST(in_the_runtime_folder)
{
    char name[101] = "";
    struct job_folder f;

    f = folder("open", 0750);
    ck_assert(driver_socket_choose(&f, runtime, path));
    (void)snprintf(want, sizeof want, "%s/eddis-digits-1.sock", runtime);
    ck_assert_str_eq(path, want);
    memset(name, 'x', sizeof name - 1);
    f = folder(name, 0700);
    ck_assert(driver_socket_choose(&f, runtime, path));
    ck_assert_str_eq(path, want);
    f = folder("taken", 0700);
    (void)snprintf(want, sizeof want, "%s/driver.sock", f.path);
    ck_assert_int_eq(file_write_atomic(want, "", 0, 0600, NULL), 0);
    ck_assert(driver_socket_choose(&f, runtime, path));
    ck_assert_ptr_nonnull(strstr(path, "/run/"));
}
END_TEST

START_TEST(nowhere)
{
    struct job_folder f = folder("open", 0755);

    ck_assert(!driver_socket_choose(&f, NULL, path));
    ck_assert_str_eq(path, "");
    ck_assert(!driver_socket_choose(&f, "relative", path));
    ck_assert_int_eq(chmod(runtime, 0755), 0);
    ck_assert(!driver_socket_choose(&f, runtime, path));
    ck_assert(!driver_socket_choose(&f, "/proc/self", path));
}
END_TEST

/* Bind a socket at the path, as a driver does; let it be so old. */
static int bind_at(const char *at, int age_s)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = time(NULL) - age_s } };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof a.sun_path, "%.107s", at);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, at, times, 0), 0);
    return fd;
}

static const char *replaced; /* path at which a driver binds a new socket after the next connect */

int connect(int fd, const struct sockaddr *address, socklen_t n)
{
    char other[JOB_DOOR_PATH];
    long rc = syscall(SYS_connect, fd, address, n);
    int why = errno;

    if (replaced) {
        (void)snprintf(other, sizeof other, "%.105s.n", replaced);
        (void)close(bind_at(other, 3600));
        ck_assert_int_eq(rename(other, replaced), 0);
        replaced = NULL;
    }
    errno = why;
    return (int)rc;
}

/* A driver binds its socket between a sweep's attempt to connect to the old one and its removal:
 * the new one stays, and goes with a later sweep if it is dead, too.
 */
START_TEST(bound_anew)
{
    struct job_folder f = folder("job", 0700);

    (void)snprintf(path, sizeof path, "%.95s/driver.sock", f.path);
    (void)close(bind_at(path, 3600));
    replaced = path;
    driver_socket_sweep(&f, runtime);
    ck_assert_ptr_null(replaced);
    ck_assert_int_eq(access(path, F_OK), 0);
    driver_socket_sweep(&f, runtime);
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* A killed driver's socket goes, wherever it is, although no driver.json names it; that of a living
 * one stays, and one on which a driver may be about to listen.
 */
START_TEST(left)
{
    struct job_folder f = folder("job", 0700);
    char at[5][JOB_DOOR_PATH];
    bool stays[5] = { false, false, true, true, true };
    int fd;

    (void)snprintf(at[0], sizeof at[0], "%.95s/driver.sock", f.path);
    (void)snprintf(at[1], sizeof at[1], "%s/eddis-a-1.sock", runtime);
    (void)snprintf(at[2], sizeof at[2], "%s/eddis-b-2.sock", runtime);
    (void)snprintf(at[3], sizeof at[3], "%s/eddis-c-3.sock", runtime);
    (void)snprintf(at[4], sizeof at[4], "%s/others.sock", runtime);
    for (int i = 0; i < 5; i++) {
        fd = bind_at(at[i], i == 3 ? 0 : 3600);
        if (i == 2)
            ck_assert_int_eq(listen(fd, 1), 0);
        else
            (void)close(fd);
    }
    driver_socket_sweep(&f, runtime);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(access(at[i], F_OK) == 0, stays[i]);
    driver_socket_sweep(NULL, NULL);
    driver_socket_sweep(NULL, "/nowhere");
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, in_the_folder);
    tcase_add_test(tc, in_the_runtime_folder);
    tcase_add_test(tc, nowhere);
    tcase_add_test(tc, left);
    tcase_add_test(tc, bound_anew);
}

SUITE_MAIN("job_door", add_tests)
