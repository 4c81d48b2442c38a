/* SPDX-License-Identifier: Apache-2.0 */
/* test_program_versions.c - tests of agents/protocol/program_versions.h */
#include "agents/protocol/program_versions.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

/* What is written is read; a version that is too long, or another member, is not. */
START_TEST(survives)
{
    const struct program_versions v = { "3.12.3", "2.7.1+cu126", "12.6", "2.26.2", "no" };
    cleanup_free char *text = program_versions_text(&v);
    struct program_versions read = { .python = "kept" };
    static const char more[] = "{\"python\": \"3\", \"rocm\": \"6\"}";

    ck_assert_ptr_nonnull(text);
    ck_assert_int_lt(program_versions_parse(more, sizeof more - 1, &read, NULL), 0);
    ck_assert_str_eq(read.python, "kept");
    ck_assert_int_eq(program_versions_parse(text, strlen(text), &read, NULL), 0);
    ck_assert_int_eq(memcmp(&read, &v, sizeof v), 0);
}
END_TEST

static const struct {
    const char *torch_a, *nccl_a, *torch_b, *nccl_b;
    const char *name; /* the library that differs; NULL: none */
} pairs[] = {
    { "2.7.1+cu126", "2.26.2", "2.7.0+cu128", "2.26.2", NULL },
    { "2.7.1", "2.26.2", "2.7.1", "2.26.5", "NCCL" },
    { "2.7.1", "2.26.2", "2.8.1", "2.26.2", "torch" },
    { "2.1.0", "", "2.15.0", "", "torch" },
    { "2.15.0", "", "2.1.0", "", "torch" },
    { "2.7.1", "2.26.2", "2.7.1+cpu", "", NULL },
    { "2.7.1", "2.26.2", "", "", NULL },
    { "2.7", "", "2.7.1", "", NULL },
    { "main", "", "main", "", NULL },
};

START_TEST(compares)
{
    struct program_versions a = { 0 }, b = { 0 };
    const char *name, *of_a, *of_b;
    bool differ;

    strcpy(a.torch, pairs[_i].torch_a);
    strcpy(a.nccl, pairs[_i].nccl_a);
    strcpy(b.torch, pairs[_i].torch_b);
    strcpy(b.nccl, pairs[_i].nccl_b);
    differ = program_versions_differ(&a, &b, &name, &of_a, &of_b);
    ck_assert(differ == (pairs[_i].name != NULL));
    if (!differ)
        return;
    ck_assert_str_eq(name, pairs[_i].name);
    ck_assert_str_eq(of_a, strcmp(name, "NCCL") == 0 ? a.nccl : a.torch);
    ck_assert_str_eq(of_b, strcmp(name, "NCCL") == 0 ? b.nccl : b.torch);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, survives);
    tcase_add_loop_test(tc, compares, 0, sizeof pairs / sizeof *pairs);
}

SUITE_MAIN("program_versions", add_tests)
