/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_link.c - tests of agents/job/slurm_link.h */
#include "agents/job/slurm_link.h"

#include "suite.h"
#include "tests/unit/scratch.h"

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

static void put_of(const char *cluster, const struct job_folder *f, const char *job,
                   const char *name, const char *node)
{
    struct slurm_link l = { .cluster = "" };

    strcpy(l.cluster, cluster);
    strcpy(l.job, job);
    strcpy(l.name, name);
    strcpy(l.node, node);
    ck_assert_int_eq(slurm_link_write(f, &l, NULL), 0);
}

static void put(const struct job_folder *f, const char *job, const char *name, const char *node)
{
    put_of("east", f, job, name, node);
}

static void expect_of(const char *cluster, const char *number, const struct job_folder *f)
{
    struct job_folder found;

    ck_assert_int_eq(slurm_link_find(cluster, number, &found), f ? 0 : -ENOENT);
    if (f)
        ck_assert_str_eq(found.path, f->path);
}

static void expect(const char *number, const struct job_folder *f)
{
    expect_of("east", number, f);
    expect_of(NULL, number, f);
}

START_TEST(links)
{
    cleanup_free char *elsewhere = file_join(scratch, "elsewhere");
    struct job_folder a, b, c;
    struct slurm_link l;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    expect("12", NULL);
    a = make(NULL);
    ck_assert_int_eq(slurm_link_read(&a, &l), -ENOENT);
    put(&a, "15", "12_3", "node1");
    ck_assert_int_eq(slurm_link_read(&a, &l), 0);
    ck_assert_str_eq(l.job, "15");
    ck_assert_str_eq(l.name, "12_3");
    ck_assert_str_eq(l.node, "node1");
    ck_assert_str_eq(l.cluster, "east");
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

static bool has(const char *name)
{
    cleanup_free char *link = file_join(scratch, "eddis/slurm/east/%s", name);

    return faccessat(AT_FDCWD, link, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Clusters that share a home. */
START_TEST(clusters)
{
    struct job_folder a, b;
    struct slurm_link l;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    a = make(NULL);
    b = make(NULL);
    put_of("east", &a, "12", "", "");
    put_of("west", &b, "12", "", "");
    expect_of("east", "12", &a);
    expect_of("west", "12", &b);
    expect_of("north", "12", NULL);
    expect_of("../slurm/east", "12", NULL);
    expect_of(NULL, "12", &b);
    put_of("", &a, "13", "", ""); /* nobody knows where */
    expect("13", NULL);
    ck_assert_int_eq(slurm_link_read(&a, &l), 0);
    ck_assert_str_eq(l.cluster, "");
}
END_TEST

START_TEST(removed)
{
    cleanup_free char *node_local = file_join(scratch, "my-job");
    struct job_folder a, b, c;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    a = make(NULL);
    b = make(NULL);
    c = make(node_local);
    put(&a, "15", "12_3", "");
    put(&b, "16", "", "");
    put(&c, "17", "", "");
    ck_assert_int_eq(file_remove_tree(c.path, NULL), 0); /* as on a machine that does not see it */
    slurm_link_remove(&a);
    ck_assert(!has("15") && !has("12_3"));
    ck_assert(has("16") && has("17"));
    put(&a, "16", "", ""); /* a later start of the same */
    slurm_link_remove(&b);
    ck_assert(has("16"));
    slurm_link_remove(&c);
    expect("16", &a);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, links);
    tcase_add_test(tc, clusters);
    tcase_add_test(tc, removed);
}

SUITE_MAIN("slurm_link", add_tests)
