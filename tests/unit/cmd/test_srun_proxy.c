/* SPDX-License-Identifier: Apache-2.0 */
/* test_srun_proxy.c - tests of cmd/slurm/srun_proxy.h: two streams that come in any order */
#include "cmd/slurm/srun_proxy.h"

#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take(void *ctx, const char *bytes, size_t n)
{
    ck_assert_int_lt(strlen(ctx) + n, 64);
    (void)strncat(ctx, bytes, n);
}

static const struct {
    const char *srun;
    int code;
    const char *out, *errors;
} rows[] = {
    { "echo eddis is here; echo a page; exit 0", 0, "a page\n", "" },
    { "echo eddis is here; sleep 0.3; echo no such job >&2; exit 2", 2, "", "no such job\n" },
    { "echo no such job >&2; sleep 0.3; echo eddis is here; exit 2", 2, "", "no such job\n" },
    { "echo a banner >&2; sleep 0.3; echo eddis is here; echo a page", 0, "a page\n", "" },
    { "echo a banner >&2; sleep 0.3; echo eddis is here; sleep 0.3; echo no such job >&2; exit 2",
      2, "", "no such job\n" },
};

START_TEST(order)
{
    const struct srun_proxy at = { .job = "12", .name = "12", .node = "node1", .group = -1 };
    const char *const words[] = { "test_cmd_srun_proxy", "12", NULL }; /* any that is beside us */
    cleanup_free char *path = file_join(scratch, "errors"), *errors = NULL;
    int before = dup(STDERR_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), code;
    char out[64] = "";

    scratch_program("srun", "%s", rows[_i].srun); /* it goes nowhere */
    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    code = srun_proxy_run(&at, words, 50 * CLOCK_S, take, out, NULL);
    (void)fflush(stderr);
    ck_assert_int_ge(dup2(before, STDERR_FILENO), 0);
    (void)close(before);
    (void)close(fd);
    errors = scratch_content("errors");
    ck_assert_int_eq(code, rows[_i].code);
    ck_assert_str_eq(out, rows[_i].out);
    ck_assert_str_eq(errors, rows[_i].errors);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_loop_test(tc, order, 0, sizeof rows / sizeof *rows);
}

SUITE_MAIN("srun_proxy", add_tests)
