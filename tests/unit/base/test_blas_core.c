/* SPDX-License-Identifier: Apache-2.0 */
/* test_blas_core.c - better kernels where there are any, and only there */
#include "lib/base/blas_core.h"

#include "suite.h"

#include <stdlib.h>
#include <string.h>

START_TEST(only_where_they_are_narrow)
{
    const char *better;

    unsetenv(BLAS_CORE_VARIABLE);
    better = blas_core_better("Prescott");
    ck_assert(!better || strcmp(better, "SkylakeX") == 0 || strcmp(better, "Haswell") == 0);
#if defined(__x86_64__)
    ck_assert_int_eq(better != NULL,
                     __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#else
    ck_assert_ptr_null(better);
#endif
    ck_assert_ptr_eq(blas_core_better("PRESCOTT"), better);
    ck_assert_ptr_eq(blas_core_better("Barcelona"), better);
    ck_assert_ptr_eq(blas_core_better("Nehalem"), better);
    ck_assert_ptr_null(blas_core_better("Haswell"));
    ck_assert_ptr_null(blas_core_better("Zen"));
    ck_assert_ptr_null(blas_core_better("SapphireRapids"));
    ck_assert_ptr_null(blas_core_better(""));
}
END_TEST

START_TEST(a_user_has_chosen)
{
    const char *better;

    unsetenv(BLAS_CORE_VARIABLE);
    better = blas_core_better("Prescott");
    setenv(BLAS_CORE_VARIABLE, "Prescott", 1);
    ck_assert_ptr_null(blas_core_better("Prescott"));
    setenv(BLAS_CORE_VARIABLE, "", 1);
    ck_assert_ptr_eq(blas_core_better("Prescott"), better);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, only_where_they_are_narrow);
    tcase_add_test(tc, a_user_has_chosen);
}

SUITE_MAIN("blas_core", add_tests)
