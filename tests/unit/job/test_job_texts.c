/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_texts.c - tests of lib/job/types/job_texts.h and job_secret.h: names of variables,
 * secrets */
#include "lib/job/types/job_secret.h"
#include "lib/job/types/job_texts.h"
#include "suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int rc;
} variable_rows[] = {
    { "A", 0 },         { "_a1", 0 },           { "", -EINVAL },        { "1A", -EINVAL },
    { "A-B", -EINVAL }, { "A B", -EINVAL },     { "RANK", -EINVAL },    { "RANKS", 0 },
    { "MY_RANK", 0 },   { "PMIX_", -EINVAL },   { "PMIX_ID", -EINVAL }, { "PMI", 0 },
    { "EDDIS", 0 },     { "EDDIS_X", -EINVAL }, { "MASTER_PORT", 0 },   { "OMPI_MCA_btl", 0 },
};

START_TEST(variables)
{
    struct eddis_error err = { 0 };
    int rc = job_check_variable(variable_rows[_i].name, &err);

    ck_assert_msg(rc == variable_rows[_i].rc, "%s: %d", variable_rows[_i].name, rc);
    ck_assert_int_eq(err.text[0] != 0, rc < 0);
}
END_TEST

static const struct {
    const char *text, *masked;
} masked_rows[] = {
    { "", "" },
    { "export WANDB_API_KEY=abc", "export WANDB_API_KEY=***" },
    { "A=1 HF_TOKEN='a b' B=2", "A=1 HF_TOKEN=*** B=2" },
    { "HF_TOKEN=\"a 'b", "HF_TOKEN=***" },
    { "PASSWD=x;CREDENTIALS=y", "PASSWD=***" },
    { "--tokenizer=bert", "--tokenizer=bert" },
    { "--max_tokens=5", "--max_tokens=5" },
    { "--api-KEY=5", "--api-KEY=***" },
    { "aKEY=5", "aKEY=5" },
    { "KEY", "KEY" },
    { "KEY=", "KEY=***" },
    { "\xc3\xa9 SECRET=\xc3\xa9 x", "\xc3\xa9 SECRET=*** x" },
};

START_TEST(masked)
{
    char *text = job_masked(masked_rows[_i].text);

    ck_assert_str_eq(text, masked_rows[_i].masked);
    free(text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, variables, 0, sizeof variable_rows / sizeof *variable_rows);
    tcase_add_loop_test(tc, masked, 0, sizeof masked_rows / sizeof *masked_rows);
}

SUITE_MAIN("job_texts", add_tests)
