/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_batch.c - tests of cmd/run_batch.h */
#include "cmd/run_batch.h"
#include "tests/unit/scratch.h"
#include "tests/unit/suite.h"

static void save(const char *step)
{
    cleanup_free char *folder = file_join(scratch, "slurm-c-7/%s", step);
    cleanup_free char *inside = file_join(folder, "rank-0000.w");

    ck_assert_int_eq(file_mkdirs(folder, 0700, NULL), 0);
    ck_assert_int_eq(file_write_atomic(inside, "x", 1, 0600, NULL), 0);
}

/* What it went on from is nothing that it has saved itself: else it would come back for ever. */
START_TEST(advances)
{
    static const char *const command[] = { "true", NULL };
    struct slurm_batch b = { .job = "7", .name = "slurm-c-7", .newest = -1 };
    struct job *job = NULL;

    ck_assert_int_eq(job_from_command(command, "/", &job, NULL), 0);
    ck_assert_int_eq(job_set_text(job, "checkpoint.dir", scratch, "--set", NULL), 0);
    ck_assert(!run_batch_advanced(job, &b)); /* no folder even */
    save("step-00000010");
    ck_assert(run_batch_advanced(job, &b));
    b.newest = 10;
    ck_assert(!run_batch_advanced(job, &b));
    save("step-00000030.g1.part");
    ck_assert(!run_batch_advanced(job, &b));
    save("step-00000011");
    ck_assert(run_batch_advanced(job, &b));
    job_free(job);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, advances);
}

SUITE_MAIN("run_batch", add_tests)
