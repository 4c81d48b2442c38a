/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h - the main function of a Check suite: SUITE_MAIN("strbuf", add_tests) */
#ifndef EDDIS_TESTS_SUITE_H
#define EDDIS_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

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
        tcase_set_timeout(tc, 300);                                                                \
        add_tests(tc);                                                                             \
        suite_add_tcase(suite, tc);                                                                \
        runner = srunner_create(suite);                                                            \
        srunner_run_all(runner, CK_NORMAL);                                                        \
        failed = srunner_ntests_failed(runner);                                                    \
        srunner_free(runner);                                                                      \
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                               \
    }

#endif
