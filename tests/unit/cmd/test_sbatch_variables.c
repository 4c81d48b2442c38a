/* SPDX-License-Identifier: Apache-2.0 */
/* test_sbatch_variables.c - tests of cmd/sbatch/sbatch_variables.h */
#include "cmd/sbatch/sbatch_variables.h"

#include "suite.h"

#include <stdint.h>
#include <stdlib.h>

enum { MOST = 12 };

#define WORDS(...) ((char *const *)(uintptr_t)(const char *const[MOST]){ __VA_ARGS__ })

static const struct {
    const char *word, *variable;
    bool named;
} rows[] = {
    { "--time=5", "SBATCH_TIMELIMIT=1", true },
    { "-t5", "SBATCH_TIMELIMIT", true },
    { "-t", "SBATCH_TIMELIMIT", true },
    { "--time-min=5", "SBATCH_TIMELIMIT", false },
    { "--part=a", "SBATCH_PARTITION", true },
    { "--parti", "SBATCH_PARTITION", true },
    { "-Hp", "SBATCH_PARTITION", true },
    { "-Jp", "SBATCH_PARTITION", false },
    { "--partition=a", "SBATCH_QOS", false },
    { "--signal=USR1", "SBATCH_SIGNAL", true },
    { "--mem=1G", "SBATCH_MEM_PER_CPU", true },
    { "--mem=1G", "SBATCH_MEM_BIND", false },
    { "--mem-bind=x", "SBATCH_MEM_BIND", true },
    { "--gpus=2", "SBATCH_GPUS", true },
    { "--gpus=2", "SBATCH_GPUS_PER_NODE", false },
    { "--gpus-per-n=2", "SBATCH_GPUS_PER_NODE", true },
    { "--gres=gpu:1", "SBATCH_GRES_FLAGS", false },
    { "--no-requeue", "SBATCH_REQUEUE", true },
    { "--requeue", "SBATCH_NO_REQUEUE", true },
    { "--wait", "SBATCH_WAIT_ALL_NODES", false },
    { "-Meast", "SBATCH_CLUSTERS", true },
    { "-Meast", "SLURM_CLUSTERS=west", true },
    { "--cluster=east", "SLURM_CLUSTERS=west", true },
    { "-Meast", "SLURM_CLUSTERS_OF=west", false },
    { "--hint=nomultithread", "SLURM_HINT", true },
    { "--hint=nomultithread", "SBATCH_HINT", true },
    { "--cpu-freq=low", "SBATCH_CPU_FREQ_REQ", true },
    { "--bb=x", "SBATCH_BURST_BUFFER", true },
    { "--bbf=x", "SBATCH_BURST_BUFFER", true },
    { "--", "SBATCH_PARTITION", false },
    { "-", "SBATCH_PARTITION", false },
    { "partition", "SBATCH_PARTITION", false },
    { "--time=5", "SBATCH_", false },
    { "--time=5", "TIMELIMIT", false },
    { "--time=5", "SLURM_TIMELIMIT", false },
};

START_TEST(named)
{
    ck_assert(!sbatch_variables_named(NULL, rows[_i].variable));
    ck_assert_int_eq(sbatch_variables_named(WORDS("-N2", rows[_i].word), rows[_i].variable),
                     rows[_i].named);
}
END_TEST

START_TEST(dropped)
{
    ck_assert_int_eq(setenv("SBATCH_PARTITION", "a", 1), 0);
    ck_assert_int_eq(setenv("SBATCH_TIMELIMIT", "1", 1), 0);
    ck_assert_int_eq(setenv("SBATCH_QOS", "q", 1), 0);
    sbatch_variables_drop(NULL);
    ck_assert_ptr_nonnull(getenv("SBATCH_PARTITION"));
    sbatch_variables_drop(WORDS("-p", "b", ":", "-t5"));
    ck_assert_ptr_null(getenv("SBATCH_PARTITION"));
    ck_assert_ptr_null(getenv("SBATCH_TIMELIMIT"));
    ck_assert_str_eq(getenv("SBATCH_QOS"), "q");
    ck_assert_int_eq(setenv("SLURM_CLUSTERS", "west", 1), 0);
    ck_assert_int_eq(setenv("SLURM_CONF", "/c", 1), 0);
    sbatch_variables_drop(WORDS("-M", "east", "--conf=x"));
    ck_assert_ptr_null(getenv("SLURM_CLUSTERS"));
    ck_assert_str_eq(getenv("SLURM_CONF"), "/c");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, named, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, dropped);
}

SUITE_MAIN("sbatch_variables", add_tests)
