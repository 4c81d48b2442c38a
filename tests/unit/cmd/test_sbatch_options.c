/* SPDX-License-Identifier: Apache-2.0 */
/* test_sbatch_options.c - tests of cmd/sbatch/sbatch_options.h */
#include "cmd/sbatch/sbatch_options.h"

#include "suite.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { MOST = 12 };

#define WORDS(...) ((char *const *)(uintptr_t)(const char *const[MOST]){ __VA_ARGS__ })

START_TEST(check)
{
    struct eddis_error err;

    ck_assert_int_eq(sbatch_options_check(NULL, 1, NULL), 0);
    ck_assert_int_eq(
        sbatch_options_check(WORDS("-N", "4", "-p", "a,b", "--mem=4G", "-c8"), 1, NULL), 0);
    ck_assert_int_eq(sbatch_options_check(WORDS("--comment", "a b", "--wait"), 1, NULL), 0);
    ck_assert_int_eq(sbatch_options_check(WORDS("-N2", ":", "-N3", ":"), 3, NULL), 0);
    ck_assert_int_eq(sbatch_options_check(WORDS("-N2", ":", "-N3", ":"), 2, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "slurm.components"));
    for (int i = 0; i < 4; i++) {
        char *const *const stray[] = { WORDS("x"), WORDS("-N", "4", "x"), WORDS("-N4", "x"),
                                       WORDS("--nodes=4", "x") };

        ck_assert_int_eq(sbatch_options_check(stray[i], 1, &err), -EINVAL);
        ck_assert_msg(strncmp(err.text, "\"x\" is not an option of sbatch", 30) == 0, "%s",
                      err.text);
    }
    ck_assert_int_eq(sbatch_options_check(WORDS("-N2", ":", "x"), 2, NULL), -EINVAL);
    ck_assert_int_eq(sbatch_options_check(WORDS("--gpus-per-task=1"), 1, NULL), -EINVAL);
    ck_assert_int_eq(sbatch_options_check(WORDS("--gpus-per-t", "1"), 1, NULL), -EINVAL);
    ck_assert_int_eq(sbatch_options_check(WORDS("--ntasks-per-gpu=1"), 1, NULL), -EINVAL);
    ck_assert_int_eq(sbatch_options_check(WORDS("--gpus-per-node=1"), 1, NULL), 0);
    ck_assert_int_eq(sbatch_options_check(WORDS("--wrap", "true"), 1, NULL), -EINVAL);
    ck_assert_int_eq(sbatch_options_check(WORDS("--comment=a\nb"), 1, NULL), -EINVAL);
}
END_TEST

START_TEST(have)
{
    char *const *words = WORDS("-N4", "--mem=4G", "--time", "5", "--exclude=gres");

    ck_assert(sbatch_options_have(words, "nodes", 'N'));
    ck_assert(sbatch_options_have(words, "mem", 0));
    ck_assert(sbatch_options_have(words, "time", 't'));
    ck_assert(!sbatch_options_have(words, "tim", 0));
    ck_assert(!sbatch_options_have(words, "gres", 0));
    ck_assert(!sbatch_options_have(NULL, "gres", 0));
    ck_assert_str_eq(sbatch_options_value(words, 0, "nodes", 'N'), "4");
    ck_assert_str_eq(sbatch_options_value(words, 0, "time", 't'), "5");
    ck_assert_str_eq(sbatch_options_value(words, 0, "mem", 0), "4G");
    ck_assert_ptr_null(sbatch_options_value(words, 0, "partition", 'p'));
    ck_assert(!sbatch_options_have_share(words, 0));
    ck_assert(sbatch_options_have_share(WORDS("-c", "3"), 0));
    ck_assert(sbatch_options_have_share(WORDS("--exclusive=user"), 0));
    ck_assert(sbatch_options_have_share(WORDS("--gres=gpu:1"), 0));
}
END_TEST

START_TEST(of_components)
{
    char *const *words = WORDS("-t5", ":", "-N", "2", "-t", ":", "-c3", "-t", "7");

    ck_assert_str_eq(sbatch_options_value(words, 0, "time", 't'), "5");
    ck_assert_ptr_null(sbatch_options_value(words, 1, "time", 't'));
    ck_assert_str_eq(sbatch_options_value(words, 2, "time", 't'), "7");
    ck_assert_ptr_null(sbatch_options_value(words, 3, "time", 't'));
    ck_assert(!sbatch_options_have_share(words, 0) && !sbatch_options_have_share(words, 1));
    ck_assert(sbatch_options_have_share(words, 2) && !sbatch_options_have_share(words, 3));
}
END_TEST

static void expect(char *const *words, size_t component, const char *want)
{
    struct strbuf b = { 0 };

    sbatch_options_add(words, component, &b);
    ck_assert_str_eq(strbuf_text(&b), want);
    strbuf_fini(&b);
}

START_TEST(lines)
{
    char *const *words = WORDS("-N", "2", "--wait", ":", "--comment", "a \"b\"\\ #1", "-t5");

    expect(NULL, 0, "");
    expect(words, 0, "#SBATCH -N 2\n#SBATCH --wait\n");
    expect(words, 1, "#SBATCH --comment \"a \\\"b\\\"\\\\ #1\"\n#SBATCH -t5\n");
    expect(words, 2, "");
    expect(WORDS("--comment", ""), 0, "#SBATCH --comment \"\"\n");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, check);
    tcase_add_test(tc, have);
    tcase_add_test(tc, of_components);
    tcase_add_test(tc, lines);
}

SUITE_MAIN("sbatch_options", add_tests)
