/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm.c - tests of lib/model/slurm.h */
#include "lib/slurm/slurm.h"

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/strlist.h"
#include "suite.h"

#include <errno.h>

/* Variables are a NULL-ended list. */
static const char *variable(void *ctx, const char *name)
{
    return strlist_value(ctx, name);
}

/* "name:group*tasks ..." */
static char *words_of(const struct slurm_allocation *a)
{
    struct strbuf b = { 0 };

    for (size_t i = 0; i < a->n; i++)
        strbuf_addf(&b, "%s%s:%d*%lld", i ? " " : "", a->node[i].name, a->node[i].group,
                    (long long)a->node[i].tasks);
    return strbuf_steal(&b);
}

#define JOB    "SLURM_JOB_ID=12"
#define GROUPS "SLURM_JOB_ID_HET_GROUP_0=12", "SLURM_JOB_ID_HET_GROUP_1=13"

static const struct good {
    const char *set[12];
    int groups;
    const char *words;
} good[] = {
    { { JOB, "SLURM_JOB_NODELIST=n[01-03,7],x1", "SLURM_TASKS_PER_NODE=2(x2),1(x3)" },
      0,
      "n01:0*2 n02:0*2 n03:0*1 n7:0*1 x1:0*1" },
    /* a batch script has these without a step */
    { { JOB, "SLURM_JOB_NODELIST=n[0-1]", "SLURM_TASKS_PER_NODE=2(x2)", "SLURM_PROCID=0",
        "SLURM_NODEID=0", "SLURM_LOCALID=0" },
      0,
      "n0:0*2 n1:0*2" },
    { { JOB, "SLURM_JOB_NODELIST=n[0-3]", "SLURM_TASKS_PER_NODE=2(x4)", "SLURM_STEP_ID=3",
        "SLURM_STEP_NODELIST=n[1-2]", "SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_PROCID=0" },
      0,
      "n1:0*1 n2:0*1" },
    /* the shell of salloc on a node is a step of one task */
    { { JOB, "SLURM_JOB_NODELIST=n[0-1]", "SLURM_STEP_ID=4294967290", "SLURM_STEP_NODELIST=n0" },
      0,
      "n0:0*0 n1:0*0" },
    /* counts of other nodes are of no use */
    { { JOB, "SLURM_JOB_NODELIST=n[0-1]", "SLURM_TASKS_PER_NODE=2(x3)" }, 0, "n0:0*0 n1:0*0" },
    { { JOB, "SLURM_JOB_NODELIST=n[0-1]", "SLURM_TASKS_PER_NODE=2(x" }, 0, "n0:0*0 n1:0*0" },
    { { JOB, "SLURM_JOB_NODELIST=a", "SLURM_HET_SIZE=2", GROUPS, "SLURM_JOB_NODELIST_HET_GROUP_0=a",
        "SLURM_JOB_NODELIST_HET_GROUP_1=b[1-2]", "SLURM_TASKS_PER_NODE_HET_GROUP_0=4",
        "SLURM_TASKS_PER_NODE_HET_GROUP_1=1(x2)" },
      2,
      "a:0*4 b1:1*1 b2:1*1" },
    /* as in the shell of salloc */
    { { JOB, "SLURM_HET_SIZE=2", GROUPS, "SLURM_JOB_NODELIST_HET_GROUP_0=a",
        "SLURM_JOB_NODELIST_HET_GROUP_1=a,b" },
      2,
      "a:0*0 b:1*0" },
    { { JOB, "SLURM_JOB_NODELIST=a", "SLURM_HET_SIZE=2", GROUPS, "SLURM_JOB_NODELIST_HET_GROUP_0=a",
        "SLURM_JOB_NODELIST_HET_GROUP_1=b", "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=b" },
      2,
      "b:1*0" },
};

START_TEST(nodes)
{
    const struct good *g = &good[_i];
    struct slurm_allocation *a = NULL;
    struct eddis_error err = { 0 };
    cleanup_free char *words = NULL;

    ck_assert_msg(slurm_allocation_read(variable, (void *)(uintptr_t)g->set, &a, &err) == 1, "%s",
                  err.text);
    words = words_of(a);
    ck_assert_str_eq(words, g->words);
    ck_assert_int_eq(a->groups, g->groups);
    ck_assert_str_eq(slurm_allocation_job(a, 0), "12");
    if (a->groups)
        ck_assert_str_eq(slurm_allocation_job(a, 1), "13");
    ck_assert_str_eq(a->job, "12");
    slurm_allocation_free(a);
}
END_TEST

static const struct bad {
    const char *set[8];
    const char *sentence;
} bad[] = {
    { { JOB, "SLURM_JOB_NODELIST=n[0-" },
      "SLURM_JOB_NODELIST='n[0-': a \"[\" without \"]\"; write a range like v100-[1-4,7]" },
    { { JOB, "SLURM_JOB_NODELIST=a,,b" }, "SLURM_JOB_NODELIST='a,,b': a name is missing" },
    { { "SLURM_JOB_ID=1;x", "SLURM_JOB_NODELIST=a" }, "SLURM_JOB_ID='1;x' is not a job number" },
    { { JOB, "SLURM_JOB_NODELIST=a", "SLURM_HET_SIZE=2", GROUPS,
        "SLURM_JOB_NODELIST_HET_GROUP_0=a" },
      "SLURM_JOB_NODELIST_HET_GROUP_1 is not set in the allocation 12" },
    { { JOB, "SLURM_HET_SIZE=1", "SLURM_JOB_NODELIST_HET_GROUP_0=a" },
      "SLURM_JOB_ID_HET_GROUP_0 is not set in the allocation" },
    { { JOB, "SLURM_JOB_NODELIST=a", "SLURM_HET_SIZE=999999" },
      "SLURM_HET_SIZE='999999' is not a number of groups" },
    { { JOB, "SLURM_JOB_NODELIST=a,b", "SLURM_STEP_ID=0", "SLURM_PROCID=1" },
      "this is task 1 of a step, and its task 0 starts the workers of all nodes; start eddis-run "
      "itself, without srun" },
    { { JOB, "SLURM_JOB_NODELIST=a", "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=b" },
      "SLURM_STEP_NODELIST names 'b', which is not in the allocation 12" },
};

START_TEST(refused)
{
    const struct bad *b = &bad[_i];
    struct slurm_allocation *a = NULL;
    struct eddis_error err = { 0 };

    ck_assert_int_eq(slurm_allocation_read(variable, (void *)(uintptr_t)b->set, &a, &err), -EINVAL);
    ck_assert_str_eq(err.text, b->sentence);
    ck_assert_ptr_null(a);
}
END_TEST

START_TEST(none)
{
    static const char *const sets[][3] = {
        { "PATH=/bin" },
        { "SLURM_JOB_ID=12" }, /* of a variable that somebody has set */
        { "SLURM_JOB_NODELIST=a" },
        { "SLURM_JOB_ID=", "SLURM_JOB_NODELIST=" },
    };
    struct slurm_allocation *a = NULL;

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        ck_assert_int_eq(slurm_allocation_read(variable, (void *)(uintptr_t)sets[i], &a, NULL), 0);
    ck_assert_ptr_null(a);
}
END_TEST

START_TEST(found_by_name)
{
    const char *const set[] = { JOB, "SLURM_JOB_NODELIST=n[0-1],X7", NULL };
    struct slurm_allocation *a = NULL;

    ck_assert_int_eq(slurm_allocation_read(variable, (void *)(uintptr_t)set, &a, NULL), 1);
    ck_assert_ptr_eq(slurm_allocation_find(a, "n1"), &a->node[1]);
    ck_assert_ptr_eq(slurm_allocation_find(a, "X7"), &a->node[2]);
    ck_assert_ptr_null(slurm_allocation_find(a, "x7"));
    ck_assert_ptr_null(slurm_allocation_find(a, "n"));
    slurm_allocation_free(a);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, nodes, 0, (int)(sizeof good / sizeof *good));
    tcase_add_loop_test(tc, refused, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tc, none);
    tcase_add_test(tc, found_by_name);
}

SUITE_MAIN("slurm", add_tests)
