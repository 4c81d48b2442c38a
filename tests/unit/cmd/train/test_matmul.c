/* SPDX-License-Identifier: Apache-2.0 */
/* test_matmul.c - tests of cmd/train/model/matmul.h: a process that gets no more memory */
#include "cmd/train/model/matmul.h"

#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { N = 512, SPARE = 1 << 20 };

static float a[N * N], b[N * N], c[N * N];

/* Bytes that the process may write of its own; what RLIMIT_DATA bounds. */
static rlim_t data_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    unsigned long long kb = 0;
    char line[256];

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmData: %llu kB", &kb) == 1)
            break;
    ck_assert(f && kb > 0);
    (void)fclose(f);
    return (rlim_t)kb << 10;
}

/* _i: threads.  OpenBLAS would go on asking for its memory, were it not taken. */
START_TEST(refused_later)
{
    struct rlimit was, l;

    matmul_set_threads(_i);
    ck_assert_int_eq(matmul_warm_up(NULL), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &was), 0);
    l = (struct rlimit){ data_bytes() + SPARE, was.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &l), 0);
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    for (int n = 1; n <= N; n *= 2) {
        matmul(c, a, b, n, n, n, 0);
        ck_assert(c[0] == (float)n && c[n * n - 1] == (float)n);
        matmul_ta(c, a, b, n, n, n, 1);
        matmul_tb(c, a, b, n, n, n, 1);
        ck_assert(c[0] == (float)(3 * n) && c[n * n - 1] == (float)(3 * n));
    }
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &was), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, refused_later, 1, 3);
}

SUITE_MAIN("matmul", add_tests)
