/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_lookup.c - tests of cmd/slurm/slurm_lookup.h */
#include "cmd/slurm/slurm_lookup.h"

#include "suite.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *word;
    bool is;
} words[] = {
    { "1", true },
    { "4711", true },
    { "12_3", true },
    { "12+1", true },
    { "", false },
    { "_3", false },
    { "12_", false },
    { "12+", false },
    { "12_3_4", false },
    { "12-3", false },
    { " 12", false },
    { "12 ", false },
    { "-12", false },
    { "./12", false },
    { "12/", false },
    { "12a", false },
    { "12.0", false },
    { "digits-20261121-140712-3f9a", false },
    { "20261121-140712-3f9a", false },
    { "123456789012345678901234567890", false },
    { "1_123456789012345678901234567890", false },
};

START_TEST(numbers)
{
    ck_assert_msg(slurm_lookup_is_number(words[_i].word) == words[_i].is, "%s", words[_i].word);
}
END_TEST

#define JOB(numbers, state)                                                                        \
    "JobId=" numbers " JobName=x\n   UserId=a(1)\n   JobState=" state " Reason=None\n\n"
#define TASK(raw, task, state)   JOB(raw " ArrayJobId=12 ArrayTaskId=" task, state)
#define PART(raw, offset, state) JOB(raw " HetJobId=12 HetJobOffset=" offset, state)

static const struct {
    const char *said, *id, *why; /* NULL: that of a job */
} choices[] = {
    { JOB("12", "RUNNING"), "12", NULL },
    { JOB("12", "PENDING"), "12", NULL },
    { JOB("12", "FAILED"), "12", NULL },
    { "", NULL, "cannot parse Slurm's description of its job 12" }, /* no word of its own */
    { "welcome\n", NULL, "cannot parse Slurm's description of its job 12" },
    { TASK("12", "3-9", "PENDING") TASK("14", "2", "RUNNING") TASK("13", "1", "COMPLETED"), "14",
      NULL },
    { TASK("12", "3-9", "PENDING") TASK("14", "2", "COMPLETED"), "12", NULL },
    { TASK("15", "3", "RUNNING") TASK("14", "2", "COMPLETING") TASK("13", "1", "FAILED"), NULL,
      "Slurm's job 12 is an array, and 2 of its tasks run; name one: 12_3, 12_2" },
    { TASK("12", "2", "COMPLETED") TASK("13", "1", "FAILED"), NULL,
      "Slurm's job 12 is an array, and 2 of its tasks are over; name one: 12_2, 12_1" },
    { PART("12", "0", "RUNNING") PART("13", "1", "RUNNING"), "12", NULL },
    { PART("12", "0", "FAILED") PART("13", "1", "RUNNING"), "12", NULL },
};

START_TEST(choose)
{
    struct eddis_error err = { 0 };
    struct slurm_job j;
    int rc = slurm_lookup_choose("12", choices[_i].said, &j, &err);

    ck_assert_int_eq(rc == 0, choices[_i].id != NULL);
    if (rc == 0)
        ck_assert_str_eq(j.id, choices[_i].id);
    else
        ck_assert_str_eq(err.text, choices[_i].why);
}
END_TEST

START_TEST(first_node)
{
    struct slurm_job j = { .id = "12", .nodes = "n[07-09],m1" };
    char node[256];

    slurm_lookup_first_node(&j, node, sizeof node);
    ck_assert_str_eq(node, "n07");
    strcpy(j.first, "m1");
    slurm_lookup_first_node(&j, node, sizeof node);
    ck_assert_str_eq(node, "m1");
    j = (struct slurm_job){ .id = "12", .nodes = "(null)" };
    slurm_lookup_first_node(&j, node, sizeof node);
    ck_assert_str_eq(node, "");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, numbers, 0, sizeof words / sizeof *words);
    tcase_add_loop_test(tc, choose, 0, sizeof choices / sizeof *choices);
    tcase_add_test(tc, first_node);
}

SUITE_MAIN("slurm_task", add_tests)
