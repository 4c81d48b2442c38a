/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_lock.c - tests of agents/node/gpu_lock.h */
#include "agents/node/gpu_lock.h"

#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

START_TEST(locks)
{
    struct gpu_lock first = { 0 }, second = { 0 };
    struct eddis_error err = { 0 };
    char gpu[64], other[64], words[160];

    /* Names of this process's own: the machine may run the test twice. */
    (void)snprintf(gpu, sizeof gpu, "GPU-%ld", (long)getpid());
    (void)snprintf(other, sizeof other, "MIG-%ld", (long)getpid());
    ck_assert_int_eq(gpu_lock_add(&first, "numa:0", "one", &err), 0);
    ck_assert_int_eq(first.n, 0);
    ck_assert_int_eq(gpu_lock_add(&first, gpu, "one", &err), 0);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "one", &err), 0); /* of the same job */
    ck_assert_int_eq(gpu_lock_add(&second, other, "two", &err), 0);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "one-more", &err), -EADDRINUSE);
    (void)snprintf(words, sizeof words, "'%s' is in use by job one of ", gpu);
    ck_assert_msg(strncmp(err.text, words, strlen(words)) == 0, "%s", err.text);
    gpu_lock_release(&first);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "two", &err), 0);
    gpu_lock_release(&second);
    ck_assert_int_eq(second.n, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, locks);
}

SUITE_MAIN("gpu_lock", add_tests)
