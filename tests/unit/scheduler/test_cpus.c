/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpus.c - tests of scheduler/cpus.h */
#include "scheduler/cpus.h"

#include "suite.h"

#include <errno.h>
#include <stdio.h>

static const struct {
    const char *list;
    int n; /* or the error */
    const char *again;
} lists[] = {
    { "", 0, "" },
    { "0", 1, "0" },
    { "0-3", 4, "0-3" },
    { "8,0-1,2", 4, "0-2,8" },
    { "0,2,4-5", 4, "0,2,4-5" },
    { "3,3,3", 1, "3" },
    { "4095", 1, "4095" },
    { "4096", -EINVAL, NULL },
    { "99999999999999999999", -EINVAL, NULL },
    { "3-1", -EINVAL, NULL },
    { "1-", -EINVAL, NULL },
    { "1,", -EINVAL, NULL },
    { ",1", -EINVAL, NULL },
    { "-1", -EINVAL, NULL },
    { "a", -EINVAL, NULL },
    { "1 2", -EINVAL, NULL },
    { "1-2-3", -EINVAL, NULL },
};

START_TEST(parse)
{
    int cpu[CPUS_MAX];
    char text[64];
    int n = cpus_parse(lists[_i].list, cpu, NULL);

    ck_assert_int_eq(n, lists[_i].n);
    if (n < 0)
        return;
    ck_assert_int_eq(cpus_format(cpu, n, text, sizeof text, NULL), 0);
    ck_assert_str_eq(text, lists[_i].again);
}
END_TEST

START_TEST(too_long)
{
    int cpu[CPUS_MAX];
    char text[8];

    ck_assert_int_eq(cpus_parse("0,2,4,6,8", cpu, NULL), 5);
    ck_assert_int_eq(cpus_format(cpu, 5, text, sizeof text, NULL), -E2BIG);
}
END_TEST

START_TEST(within)
{
    ck_assert(cpus_within("1,3", "0-3"));
    ck_assert(cpus_within("", "0-3"));
    ck_assert(cpus_within("", ""));
    ck_assert(!cpus_within("3-4", "0-3"));
    ck_assert(!cpus_within("x", "0-3"));
}
END_TEST

/* Shares of a node with two sockets of `cores` cores in all; list a and b are their processors. */
static const struct {
    int cores, threads;
    const char *a, *b;
    int n, i;
    const char *cpus;
    double flops; /* of 64 a socket */
} shares[] = {
    { 8, 8, "0-3", "4-7", 2, 1, "4-7", 64 },
    { 8, 8, "0-3", "4-7", 4, 0, "0-1", 32 },
    { 8, 8, "0-3", "4-7", 4, 3, "6-7", 32 },
    { 8, 8, "0-3", "4-7", 1, 0, "0-7", 128 },
    { 8, 8, "0-3", "4-7", 3, 0, "0-1", 32 },
    { 8, 8, "0-3", "4-7", 3, 1, "2-4", 48 },
    { 8, 8, "0-3", "4-7", 8, 5, "5", 16 },
    { 8, 8, "0-3", "4-7", 16, 5, "0-7", 8 },                 /* more shares than cores */
    { 8, 16, "0-3,8-11", "4-7,12-15", 4, 0, "0-1,8-9", 32 }, /* siblings p and p + 8 */
    { 8, 16, "0-3,8-11", "4-7,12-15", 8, 7, "7,15", 16 },
    { 8, 16, "0-7", "8-15", 4, 0, "0-3", 32 }, /* not so numbered */
    { 0, 0, "0-3", "4-7", 2, 0, "0-3", 64 },
    { 8, 8, "", "", 2, 1, "", 64 },
};

START_TEST(share)
{
    struct node_profile node = { .cores = shares[_i].cores,
                                 .threads = shares[_i].threads,
                                 .n_devices = 3 };
    struct device d;

    node.device[0] =
        (struct device){ .kind = DEVICE_CPU, .fp32_flops = 64, .memory_bytes_per_s = 4 };
    node.device[1] = (struct device){ .kind = DEVICE_CUDA, .cpus = "99" };
    node.device[2] =
        (struct device){ .kind = DEVICE_CPU, .fp32_flops = 64, .memory_bytes_per_s = 4 };
    snprintf(node.device[0].cpus, sizeof node.device[0].cpus, "%s", shares[_i].a);
    snprintf(node.device[2].cpus, sizeof node.device[2].cpus, "%s", shares[_i].b);
    ck_assert_int_eq(cpus_share(&node, shares[_i].i, shares[_i].n, &d, NULL), 0);
    ck_assert_str_eq(d.cpus, shares[_i].cpus);
    ck_assert_double_eq_tol(d.fp32_flops, shares[_i].flops, 1e-9);
    ck_assert_double_eq_tol(d.memory_bytes_per_s, shares[_i].flops / 16, 1e-9);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, parse, 0, sizeof lists / sizeof *lists);
    tcase_add_test(tc, too_long);
    tcase_add_test(tc, within);
    tcase_add_loop_test(tc, share, 0, sizeof shares / sizeof *shares);
}

SUITE_MAIN("cpus", add_tests)
