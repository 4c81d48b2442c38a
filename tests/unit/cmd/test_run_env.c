/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_env.c - which variables of the caller reach the workers */
#include "cmd/run/request/run_env.h"

#include "lib/base/strbuf.h"
#include "suite.h"

#include "tests/unit/jobs.h"

static char *const environment[] = {
    (char *)"WANDB_B=2", (char *)"HOME=/root",       (char *)"WANDB_A=1",
    (char *)"RANK=3",    (char *)"EDDIS_BOARD=x",    (char *)"EMPTY=",
    (char *)"TOKEN=a=b", (char *)"no assignment",    (char *)"SSH_AUTH_SOCK=/x",
    (char *)"THREADS=4", (char *)"BASH_FUNC_f%%=()", NULL,
};

static const struct {
    const char *yaml; /* behind "command: [a]\n" */
    const char *x;    /* NULL: no -x */
    const char *want;
} rows[] = {
    { "", NULL, "" },
    { "env_pass: [\"WANDB_*\"]", NULL, "WANDB_A=1 WANDB_B=2" },
    { "env_pass: [\"WANDB_?\", TOKEN]", NULL, "TOKEN=a=b WANDB_A=1 WANDB_B=2" },
    { "env_pass: [WANDB]", NULL, "" },
    { "env_pass: [\"*\"]", NULL, "EMPTY= THREADS=4 TOKEN=a=b WANDB_A=1 WANDB_B=2" },
    { "env_pass: [HOME, SSH_AUTH_SOCK]", NULL, "HOME=/root SSH_AUTH_SOCK=/x" },
    { "env_pass: [RANK, \"EDDIS_*\", NONE]", NULL, "" },
    { "env_pass: [\"*\"]\nenv: {TOKEN: x, WANDB_A: y}", NULL, "EMPTY= THREADS=4 WANDB_B=2" },
    { "env_pass: [THREADS]", "THREADS=8", "THREADS=4 THREADS=8" },
    { "", "A=b c", "A=b c" },
};

START_TEST(passed)
{
    struct strlist e = { 0 };
    struct strbuf b = { 0 };
    char text[300];

    snprintf(text, sizeof text, "command: [a]\n%s\n", rows[_i].yaml);
    read_job(text);
    if (rows[_i].x)
        ck_assert_int_eq(run_env_set(&e, rows[_i].x, &err), 0);
    ck_assert_int_eq(run_env_pass(&e, job, environment, &err), 0);
    for (size_t i = 0; i < e.n; i++)
        strbuf_addf(&b, "%s%s", i ? " " : "", e.item[i]);
    ck_assert_str_eq(strbuf_text(&b), rows[_i].want);
    ck_assert(!e.item || !e.item[e.n]);
    strbuf_fini(&b);
    strlist_fini(&e);
}
END_TEST

START_TEST(refused)
{
    struct strlist e = { 0 };

    ck_assert_int_eq(run_env_set(&e, "RANK=1", &err), -EINVAL);
    ck_assert_int_eq(run_env_set(&e, "A B=1", &err), -EINVAL);
    ck_assert_int_eq(run_env_set(&e, "=1", &err), -EINVAL);
    ck_assert_int_eq(run_env_set(&e, "SURELY_NOT_SET_HERE", &err), -EINVAL);
    ck_assert_str_eq(err.text, "-x SURELY_NOT_SET_HERE: the variable is not set here; write -x "
                               "SURELY_NOT_SET_HERE=VALUE");
    ck_assert_uint_eq(e.n, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    jobs_add(tc);
    tcase_add_loop_test(tc, passed, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, refused);
}

SUITE_MAIN("run_env", add_tests)
