/* SPDX-License-Identifier: Apache-2.0 */
/* test_storage.c - tests of profiler/storage.h */
#include "profiler/storage.h"

#include "fake_root.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int measure(const char *path, int64_t most_bytes, int64_t most_ns, struct storage_result *r)
{
    struct storage_task t = { .most_bytes = most_bytes, .most_ns = most_ns };

    strcpy(t.path, path);
    return storage_read(&t, r, NULL);
}

START_TEST(reads)
{
    static char megabyte[1 << 20];
    struct storage_result r;
    struct fake_root root;
    char *path, *outside;

    fake_root_init(&root);
    ck_assert_int_eq(measure(root.path, 1 << 30, CLOCK_S, &r), -ENODATA);
    fake_root_add(&root, "empty", "");
    ck_assert_int_eq(measure(root.path, 1 << 30, CLOCK_S, &r), -ENODATA);
    fake_root_add(&root, "a/b/small", "0123456789");
    ck_assert_int_eq(measure(root.path, 1 << 30, 600 * CLOCK_S, &r), 0);
    ck_assert_int_eq(r.bytes, 10);
    ck_assert(r.bytes_per_s > 0);

    path = file_join(root.path, "big");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(file_append(path, megabyte, sizeof megabyte, 0644, NULL), 0);
    ck_assert_int_eq(measure(path, INT64_C(1) << 40, 600 * CLOCK_S, &r), 0);
    ck_assert_int_eq(r.bytes, 4 << 20);
    ck_assert_int_eq(measure(path, 2 << 20, 600 * CLOCK_S, &r), 0);
    ck_assert_int_eq(r.bytes, 2 << 20);
    /* past its time at once: nothing read is no rate */
    ck_assert_int_eq(measure(path, 2 << 20, 0, &r), -ENODATA);

    /* what is no file, and what leads out of the folder, is left alone */
    outside = file_join(root.path, "a/out");
    ck_assert_int_eq(symlink(path, outside), 0);
    free(outside);
    outside = file_join(root.path, "a/fifo");
    ck_assert_int_eq(mkfifo(outside, 0600), 0);
    free(outside);
    outside = file_join(root.path, "a");
    ck_assert_int_eq(measure(outside, INT64_C(1) << 40, 600 * CLOCK_S, &r), 0);
    ck_assert_int_eq(r.bytes, 10);
    free(outside);
    free(path);
    fake_root_fini(&root);
    ck_assert_int_eq(measure("/nonexistent", 1, CLOCK_S, &r), -ENOENT);
}
END_TEST

/* A file system in memory is told from a disk. */
START_TEST(memory)
{
    static const char text[100000];
    char path[] = "/dev/shm/eddis-storage-XXXXXX";
    struct storage_result r;
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, sizeof text), sizeof text);
    close(fd);
    ck_assert_int_eq(measure(path, 1 << 30, 600 * CLOCK_S, &r), 0);
    unlink(path);
    ck_assert_int_eq(r.bytes, sizeof text);
    ck_assert(r.in_memory);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, reads);
    tcase_add_test(tc, memory);
}

SUITE_MAIN("storage", add_tests)
