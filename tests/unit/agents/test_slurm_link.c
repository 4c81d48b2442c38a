/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_link.c - tests of agents/job/slurm_link.h */
#include "agents/job/slurm_link.h"

#include "tests/unit/scratch.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct job_folder make(const char *dir)
{
    struct job_folder f;

    ck_assert_int_eq(job_folder_make("x", dir, &f, NULL), 0);
    return f;
}

static void put(const struct job_folder *f, const char *job, const char *name, const char *node)
{
    struct slurm_link l = { "", "", "" };

    strcpy(l.job, job);
    strcpy(l.name, name);
    strcpy(l.node, node);
    ck_assert_int_eq(slurm_link_write(f, &l, NULL), 0);
}

static void expect(const char *number, const struct job_folder *f)
{
    struct job_folder found;

    ck_assert_int_eq(slurm_link_find(number, &found, NULL), f ? 0 : -ENOENT);
    if (f)
        ck_assert_str_eq(found.path, f->path);
}

START_TEST(links)
{
    cleanup_free char *elsewhere = file_join(scratch, "elsewhere");
    struct job_folder a, b, c;
    struct slurm_link l;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    expect("12", NULL);
    a = make(NULL);
    ck_assert_int_eq(slurm_link_read(&a, &l, NULL), -ENOENT);
    put(&a, "15", "12_3", "node1");
    ck_assert_int_eq(slurm_link_read(&a, &l, NULL), 0);
    ck_assert_str_eq(l.job, "15");
    ck_assert_str_eq(l.name, "12_3");
    ck_assert_str_eq(l.node, "node1");
    expect("15", &a);
    expect("12_3", &a);
    expect("12", NULL);
    expect("../slurm/15", NULL);
    b = make(NULL);
    put(&b, "15", "12_3", "node2"); /* it was put back */
    expect("15", &b);
    c = make(elsewhere);
    put(&c, "16", "", "");
    expect("16", &c);
    put(&c, "17", "", ""); /* what another has taken over */
    expect("17", &c);
    expect("16", NULL);
}
END_TEST

START_TEST(prune)
{
    cleanup_free char *link = file_join(scratch, "eddis/slurm/15"), *other = NULL;
    struct job_folder a, b;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    slurm_link_prune();
    a = make(NULL);
    b = make(NULL);
    put(&a, "15", "", "");
    put(&b, "16", "", "");
    ck_assert_int_eq(file_remove_tree(a.path, NULL), 0);
    expect("15", NULL);
    other = file_join(scratch, "eddis/slurm/16");
    slurm_link_prune();
    ck_assert_int_ne(faccessat(AT_FDCWD, link, F_OK, AT_SYMLINK_NOFOLLOW), 0);
    ck_assert_int_eq(faccessat(AT_FDCWD, other, F_OK, AT_SYMLINK_NOFOLLOW), 0);
    expect("16", &b);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, links);
    tcase_add_test(tc, prune);
}

SUITE_MAIN("slurm_link", add_tests)
