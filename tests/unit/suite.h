/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h - the main function of a Check suite: SUITE_MAIN("strbuf", add_tests) */
#ifndef EDDIS_TESTS_SUITE_H
#define EDDIS_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* A sanitizer that keeps shadows takes more address space than a small limit allows. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SUITE_SHADOWED 1
#elif defined __has_feature
#define SUITE_SHADOWED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SUITE_SHADOWED 0
#endif

/* How many of n random cases of one code to try: a sanitizer sees nothing in the tenth that it did
 * not see in the first, and takes ten times as long.
 */
#define SUITE_SEEDS(n) ((n) / (SUITE_SHADOWED ? 10 : 1))

/* add_tests receives one test case with a generous time limit.  CK_FORK=no in the environment runs
 * everything in one process, as sanitizers and MPI like it.
 */
#define SUITE_MAIN(name, add_tests)                                                                \
    int main(void)                                                                                 \
    {                                                                                              \
        Suite *suite = suite_create(name);                                                         \
        TCase *tc = tcase_create(name);                                                            \
        SRunner *runner;                                                                           \
        int failed;                                                                                \
                                                                                                   \
        tcase_set_timeout(tc, 60);                                                                 \
        add_tests(tc);                                                                             \
        suite_add_tcase(suite, tc);                                                                \
        runner = srunner_create(suite);                                                            \
        srunner_run_all(runner, CK_NORMAL);                                                        \
        failed = srunner_ntests_failed(runner);                                                    \
        srunner_free(runner);                                                                      \
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                               \
    }

#endif
