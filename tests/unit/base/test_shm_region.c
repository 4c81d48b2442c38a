/* SPDX-License-Identifier: Apache-2.0 */
/* test_shm_region.c - a region as its maker and another process see it, and what is none */
#include "lib/base/shm_region.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 16 };

START_TEST(another_process_opens_it)
{
    struct shm_region_mark mark;
    int fd = shm_region_make("test"), status;
    const void *view;
    void *map;
    pid_t pid;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(shm_region_resize(fd, BYTES), 0);
    ck_assert_int_eq(shm_region_reserve(fd, 0, BYTES), 0);
    ck_assert_int_eq(shm_region_describe(fd, &mark), 0);
    ck_assert_int_eq(shm_region_view(fd, BYTES / 2, BYTES / 2, &view), 0);
    pid = fork();
    if (pid == 0) {
        int there = shm_region_open(&mark);

        if (there < 0 || shm_region_bytes(there) != BYTES ||
            shm_region_map(there, 0, BYTES, &map) < 0)
            _exit(1);
        memset((char *)map + BYTES / 2, 'x', BYTES / 2);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(((const char *)view)[BYTES / 2 - 1], 'x');
    shm_region_release(fd, BYTES / 2, BYTES / 2);
    ck_assert_int_eq(((const char *)view)[BYTES / 2 - 1], 0);
    ck_assert_int_eq(shm_region_bytes(fd), BYTES);
    shm_region_unmap(view, BYTES / 2);
    shm_region_unmap(NULL, BYTES);
    close(fd);
}
END_TEST

START_TEST(what_is_none_is_refused)
{
    struct shm_region_mark mark;
    char path[SHM_REGION_PATH];
    int fd = shm_region_make("test"), other = shm_region_make("other");
    void *map;

    ck_assert_int_eq(shm_region_describe(fd, &mark), 0);
    mark.fd = other;
    ck_assert_int_eq(shm_region_open(&mark), -ESTALE);
    mark.fd = 12345;
    ck_assert_int_eq(shm_region_open(&mark), -ENOENT);
    mark.pid = 1;
    shm_region_path(&mark, path);
    ck_assert_str_eq(path, "/proc/1/fd/12345");
    ck_assert_int_eq(shm_region_map(-1, 0, BYTES, &map), -EBADF);
    ck_assert_int_eq(shm_region_reserve(fd, 0, 0), 0);
    close(other);
    close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, another_process_opens_it);
    tcase_add_test(tc, what_is_none_is_refused);
}

SUITE_MAIN("shm_region", add_tests)
