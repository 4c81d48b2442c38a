/* SPDX-License-Identifier: Apache-2.0 */
/* test_folders.c - tests of agents/node/keep/folders.h */
#include "agents/node/keep/folders.h"

#include "lib/base/file.h"
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[NODE_IDENTITY_RUNTIME_DIR];
static struct node_identity id;

static void make_dir(void)
{
    strcpy(dir, "/tmp/eddis-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(node_identity_make(&id, NULL), 0);
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

static void leave(const struct tick_page *p, const struct folders *f)
{
    ck_assert_int_eq(tick_remove_folders(p, NULL), 0);
    ck_assert_int_eq(access(f->run, F_OK), -1);
    ck_assert_int_eq(access(f->shm, F_OK), -1);
    (void)close(f->lock[0]);
    (void)close(f->lock[1]);
}

START_TEST(made_and_removed)
{
    struct tick_page *p = page();
    struct folders f;
    struct stat st;
    char g[NODE_IDENTITY_PATH + 8];

    ck_assert_int_eq(folders_make(p, &id, dir, &f, NULL), 0);
    ck_assert_int_eq(strncmp(f.run, dir, strlen(dir)), 0);
    ck_assert_int_eq(stat(f.run, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(folders_begin(&f, 1, NULL), 0);
    ck_assert_int_eq(folders_begin(&f, 1, NULL), -EEXIST);
    snprintf(g, sizeof g, "%s/g1", f.shm);
    ck_assert_int_eq(access(g, F_OK), 0);
    ck_assert_int_eq(folders_end(&f, 1, NULL), 0);
    ck_assert_int_eq(folders_end(&f, 1, NULL), 0);
    ck_assert_int_eq(access(g, F_OK), -1);
    leave(p, &f);
}
END_TEST

/* Keeper and agent are dead; somebody else knows the digits. */
START_TEST(removed_by_name)
{
    struct tick_page *p = page();
    struct folders f;

    ck_assert_int_eq(node_identity_remove_folders(&id, dir, NULL), 0);
    ck_assert_int_eq(folders_make(p, &id, dir, &f, NULL), 0);
    ck_assert_int_eq(folders_begin(&f, 3, NULL), 0);
    ck_assert_int_eq(node_identity_remove_folders(&id, dir, NULL), 0);
    leave(p, &f);
}
END_TEST

static const struct {
    const char *dir;
    mode_t mode;
} unusable_rows[] = {
    { NULL, 0700 },
    { "relative", 0700 },
    { "/no/such/folder", 0700 },
    { "/tmp/a/path/that/is/much/too/long/for/a/socket", 0700 },
    { dir, 0777 }, /* others may write to it */
};

START_TEST(unusable_runtime_dir)
{
    struct tick_page *p = page();
    struct folders f;

    ck_assert_int_eq(chmod(dir, unusable_rows[_i].mode), 0);
    ck_assert_int_eq(folders_make(p, &id, unusable_rows[_i].dir, &f, NULL), 0);
    ck_assert_int_eq(strncmp(f.run, "/tmp/eddis-", 11), 0);
    ck_assert_int_eq(strlen(f.run), 27);
    leave(p, &f);
}
END_TEST

/* What is young, in use or not of our making stays. */
START_TEST(young_and_foreign_stay)
{
    static const char *const names[] = { "eddis-0123456789abcdef", "eddis-0123", "other",
                                         "eddis-0123456789ABCDEF" };
    struct tick_page *p = page();
    struct folders f;
    char path[4][80];

    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", dir, names[i]);
        ck_assert_int_eq(mkdir(path[i], 0700), 0);
    }
    ck_assert_int_eq(folders_make(p, &id, dir, &f, NULL), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(access(path[i], F_OK), 0);
    leave(p, &f);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, make_dir, remove_dir);
    tcase_add_test(tc, made_and_removed);
    tcase_add_test(tc, removed_by_name);
    tcase_add_loop_test(tc, unusable_runtime_dir, 0, sizeof unusable_rows / sizeof *unusable_rows);
    tcase_add_test(tc, young_and_foreign_stay);
}

SUITE_MAIN("folders", add_tests)
