/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml_late.c - tests of profiler/nvml_late.h */
#include "profiler/nvml_late.h"

#include "fake_root.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct fake_root root;
static struct machine machine;
static char *file;

static void begin(void)
{
    fake_root_init(&root);
    memset(&machine, 0, sizeof machine);
    strcpy(machine.host, "node-1");
    strcpy(machine.driver, "550.54");
    file = file_join(root.path, "nvml-late-node-1");
}

static void end(void)
{
    fake_root_fini(&root);
    free(file);
}

/* Date the file so many seconds back. */
static void age(long seconds)
{
    struct timeval at[2] = { { .tv_sec = time(NULL) - seconds },
                             { .tv_sec = time(NULL) - seconds } };

    ck_assert_int_eq(utimes(file, at), 0);
}

/* It is kept until NVML answers, and an hour at most. */
START_TEST(kept)
{
    ck_assert(!nvml_late_known(root.path, &machine));
    nvml_late_keep(root.path, &machine, false);
    nvml_late_keep(root.path, &machine, true);
    ck_assert(nvml_late_known(root.path, &machine));
    age(1800);
    ck_assert(nvml_late_known(root.path, &machine));
    age(3601);
    ck_assert(!nvml_late_known(root.path, &machine));
    age(-1000); /* a clock that was set */
    ck_assert(!nvml_late_known(root.path, &machine));
    nvml_late_keep(root.path, &machine, true);
    nvml_late_keep(root.path, &machine, false);
    ck_assert(!nvml_late_known(root.path, &machine));
    ck_assert_int_eq(access(file, F_OK), -1);
}
END_TEST

/* Another driver, host or start of the machine begins anew, and nobody else's file counts. */
START_TEST(of_another)
{
    FILE *f;

    nvml_late_keep(root.path, &machine, true);
    strcpy(machine.driver, "560.28");
    ck_assert(!nvml_late_known(root.path, &machine));
    strcpy(machine.driver, "550.54");
    strcpy(machine.host, "node-2");
    ck_assert(!nvml_late_known(root.path, &machine));
    strcpy(machine.host, "node-1");
    ck_assert_int_eq(chmod(file, 0666), 0);
    ck_assert(!nvml_late_known(root.path, &machine));
    ck_assert_int_eq(chmod(file, 0600), 0);
    ck_assert(nvml_late_known(root.path, &machine));
    f = fopen(file, "w");
    ck_assert_ptr_nonnull(f);
    (void)fprintf(f, "01234567-0123-0123-0123-0123456789ab 550.54\n");
    ck_assert_int_eq(fclose(f), 0);
    ck_assert(!nvml_late_known(root.path, &machine));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, kept);
    tcase_add_test(tc, of_another);
}

SUITE_MAIN("late NVML", add_tests)
