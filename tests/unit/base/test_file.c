/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - tests of lib/base/file.h */
#include "lib/base/file.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/eddis-test-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    struct stat st;

    ck_assert_int_eq(file_remove_tree(folder, NULL), 0);
    ck_assert_int_eq(stat(folder, &st), -1);
    ck_assert_int_eq(file_remove_tree(folder, NULL), 0); /* a second time is fine */
}

START_TEST(write_and_read)
{
    cleanup_free char *path = file_join(folder, "a%d", 1);
    cleanup_free char *text = NULL;
    size_t n;
    struct stat st;

    ck_assert_int_eq(file_read(path, 10, &text, NULL, NULL), -ENOENT);
    ck_assert_int_eq(file_write_atomic(path, "12345", 5, 0600, NULL), 0);
    ck_assert_int_eq(file_write_atomic(path, "123", 3, 0600, NULL), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(file_append(path, "456", 3, 0600, NULL), 0);
    ck_assert_int_eq(file_read(path, 5, &text, &n, NULL), -EFBIG);
    ck_assert_int_eq(file_read(path, 6, &text, &n, NULL), 0);
    ck_assert_uint_eq(n, 6);
    ck_assert_str_eq(text, "123456");
}
END_TEST

START_TEST(try_to_write)
{
    cleanup_free char *path = file_join(folder, "a");
    struct eddis_error err = { 0 };
    struct stat st;

    ck_assert_int_eq(file_try(path, NULL), 0);
    ck_assert_int_eq(stat(path, &st), -1);
    ck_assert_int_eq(file_append(path, "x", 1, 0600, NULL), 0);
    ck_assert_int_eq(file_try(path, NULL), 0);
    ck_assert_int_eq(file_try(folder, NULL), -EINVAL);
    ck_assert_int_eq(file_try("/dev/null", NULL), -EINVAL);
    ck_assert_int_eq(file_try("/nowhere/x", &err), -ENOENT);
    ck_assert_str_eq(err.text, "cannot write '/nowhere/x': No such file or directory");
}
END_TEST

START_TEST(not_regular)
{
    cleanup_free char *fifo = file_join(folder, "fifo");
    char *text = NULL;

    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    ck_assert_int_eq(file_read(fifo, 10, &text, NULL, NULL), -EINVAL);
    ck_assert_int_eq(file_read(folder, 10, &text, NULL, NULL), -EISDIR);
    ck_assert_int_eq(file_read("/dev/zero", 10, &text, NULL, NULL), -EINVAL);
}
END_TEST

/* Appending never waits for a reader, nor writes to one, to a device or to a terminal. */
START_TEST(append_not_regular)
{
    cleanup_free char *fifo = file_join(folder, "pipe");
    struct eddis_error err = { 0 };
    cleanup_fd int reader = -1;

    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    ck_assert_int_eq(file_append(fifo, "x", 1, 0600, NULL), -ENXIO);
    reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_ge(reader, 0);
    ck_assert_int_eq(file_append(fifo, "x", 1, 0600, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "/pipe' is not a regular file"));
    ck_assert_int_eq(file_open_append(fifo, 0600, NULL), -EINVAL);
    ck_assert_int_eq(file_mark_end(fifo, "x", NULL), -EINVAL);
    ck_assert_int_eq(file_append("/dev/null", "x", 1, 0600, NULL), -EINVAL);
}
END_TEST

START_TEST(full_disk)
{
    struct eddis_error err = { 0 };
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(file_write_all(fd, "x", 1, &err), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(err.text, "No space left"));
    close(fd);
    ck_assert_int_eq(file_write_atomic("/nowhere/x", "x", 1, 0600, NULL), -ENOENT);
}
END_TEST

/* A tree with a link out of it: the link goes, what it points to stays. */
START_TEST(remove_tree)
{
    cleanup_free char *deep = file_join(folder, "t/u/v");
    cleanup_free char *kept = file_join(folder, "kept");
    cleanup_free char *link = file_join(folder, "t/u/link");
    cleanup_free char *tree = file_join(folder, "t");
    struct stat st;

    ck_assert_int_eq(file_mkdirs(deep, 0700, NULL), 0);
    ck_assert_int_eq(file_mkdirs(deep, 0700, NULL), 0);
    ck_assert_int_eq(file_mkdirs(kept, 0700, NULL), 0);
    ck_assert_int_eq(symlink(kept, link), 0);
    ck_assert_int_eq(file_remove_tree(tree, NULL), 0);
    ck_assert_int_eq(stat(tree, &st), -1);
    ck_assert_int_eq(stat(kept, &st), 0);
}
END_TEST

/* A worker may have closed its folders to itself; root, whom no mode stops, tries as nobody. */
START_TEST(remove_closed_tree)
{
    enum { NOBODY = 65534 };
    cleanup_free char *tree = file_join(folder, "t");
    cleanup_free char *shut = file_join(folder, "t/shut");
    cleanup_free char *file = file_join(folder, "t/shut/file");
    bool root = geteuid() == 0;
    struct stat st;

    if (root) {
        ck_assert_int_eq(chown(folder, NOBODY, (gid_t)-1), 0);
        ck_assert_int_eq(seteuid(NOBODY), 0);
    }
    for (mode_t mode = 0; mode <= 0700; mode += 0100) {
        ck_assert_int_eq(file_mkdirs(shut, 0700, NULL), 0);
        ck_assert_int_eq(file_append(file, "x", 1, 0600, NULL), 0);
        ck_assert_int_eq(chmod(shut, mode), 0);
        ck_assert_int_eq(chmod(tree, mode), 0);
        ck_assert_int_eq(file_remove_tree(tree, NULL), 0);
        ck_assert_int_eq(stat(tree, &st), -1);
    }
    if (root)
        ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(mkdirs_over_file)
{
    cleanup_free char *path = file_join(folder, "plain");

    ck_assert_int_eq(file_append(path, "x", 1, 0600, NULL), 0);
    ck_assert_int_eq(file_mkdirs(path, 0700, NULL), -ENOTDIR);
    ck_assert_int_eq(file_mkdirs("", 0700, NULL), -EINVAL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_test(tc, write_and_read);
    tcase_add_test(tc, try_to_write);
    tcase_add_test(tc, not_regular);
    tcase_add_test(tc, append_not_regular);
    tcase_add_test(tc, full_disk);
    tcase_add_test(tc, remove_tree);
    tcase_add_test(tc, remove_closed_tree);
    tcase_add_test(tc, mkdirs_over_file);
}

SUITE_MAIN("file", add_tests)
