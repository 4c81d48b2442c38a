/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_batch.c - tests of lib/model/slurm_batch.h */
#include "lib/slurm/slurm_batch.h"

#include "lib/base/strlist.h"
#include "suite.h"

#include <errno.h>

/* Variables are a NULL-ended list. */
static const char *variable(void *ctx, const char *name)
{
    return strlist_value(ctx, name);
}

#define BATCH   "ENVIRONMENT=BATCH", "SLURM_JOB_ID=12"
#define CLUSTER "SLURM_CLUSTER_NAME=c-1"

static const struct good {
    const char *set[8];
    const char *job, *name; /* NULL: of no batch script */
    int64_t restarts;
} good[] = {
    { { BATCH, CLUSTER }, "12", "slurm-c-1-12", 0 },
    { { BATCH, CLUSTER, "SLURM_RESTART_COUNT=0" }, "12", "slurm-c-1-12", 0 },
    { { BATCH, CLUSTER, "SLURM_RESTART_COUNT=3" }, "12", "slurm-c-1-12", 3 },
    /* scontrol takes the number of an array for all of its tasks */
    { { BATCH, CLUSTER, "SLURM_ARRAY_JOB_ID=10", "SLURM_ARRAY_TASK_ID=0" },
      "10_0",
      "slurm-c-1-10_0",
      0 },
    { { BATCH, CLUSTER, "SLURM_ARRAY_JOB_ID=10", "SLURM_ARRAY_TASK_ID=" },
      "12",
      "slurm-c-1-12",
      0 },
    { { "SLURM_JOB_ID=12", CLUSTER }, NULL, NULL, 0 }, /* salloc's shell */
    { { "ENVIRONMENT=BATCH", CLUSTER }, NULL, NULL, 0 },
    { { "ENVIRONMENT=production", "SLURM_JOB_ID=12", CLUSTER }, NULL, NULL, 0 },
};

START_TEST(names)
{
    const struct good *g = &good[_i];
    struct slurm_batch b = { .restarts = -1 };

    ck_assert_int_eq(slurm_batch_read(variable, (void *)(uintptr_t)g->set, &b, NULL), !!g->job);
    ck_assert_int_eq(b.restarts, g->job ? g->restarts : -1);
    if (g->job) {
        ck_assert_str_eq(b.job, g->job);
        ck_assert_str_eq(b.name, g->name);
    }
}
END_TEST

static const struct bad {
    const char *set[8];
    const char *sentence;
} bad[] = {
    { { BATCH }, "SLURM_CLUSTER_NAME='' is not a name of a cluster" },
    { { BATCH, "SLURM_CLUSTER_NAME=../up" },
      "SLURM_CLUSTER_NAME='../up' is not a name of a cluster" },
    { { "ENVIRONMENT=BATCH", "SLURM_JOB_ID=1/2", CLUSTER },
      "SLURM_JOB_ID='1/2' is not a number from 0 to 9223372036854775807" },
    { { BATCH, CLUSTER, "SLURM_ARRAY_JOB_ID=10", "SLURM_ARRAY_TASK_ID=-1" },
      "SLURM_ARRAY_TASK_ID='-1' is not a number from 0 to 9223372036854775807" },
    { { BATCH, CLUSTER, "SLURM_RESTART_COUNT=900001" },
      "SLURM_RESTART_COUNT='900001' is not a number from 0 to 900000" },
    { { BATCH, CLUSTER, "SLURM_RESTART_COUNT=99999999999999999999" },
      "SLURM_RESTART_COUNT='99999999999999999999' is not a number from 0 to 900000" },
};

START_TEST(refused)
{
    const struct bad *b = &bad[_i];
    struct slurm_batch found = { .restarts = -1 };
    struct eddis_error err = { 0 };

    ck_assert_int_eq(slurm_batch_read(variable, (void *)(uintptr_t)b->set, &found, &err), -EINVAL);
    ck_assert_str_eq(err.text, b->sentence);
    ck_assert_int_eq(found.restarts, -1);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, names, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tc, refused, 0, sizeof bad / sizeof *bad);
}

SUITE_MAIN("slurm_batch", add_tests)
