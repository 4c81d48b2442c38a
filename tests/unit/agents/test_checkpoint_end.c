/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_end.c - tests of agents/driver/checkpoints/checkpoint_end.h: nobody waits for the
 * folder */
#include "agents/driver/checkpoints/checkpoint_end.h"

#include "agents/driver/driver.h"
#include "held_thread.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is said, which the linker sends here ---- */

static char said[512];

void __wrap_job_run_say(struct job_run *r, enum job_event type, int agent, int rank,
                        const char *text);

void __wrap_job_run_say(struct job_run *r, enum job_event type, int agent, int rank,
                        const char *text)
{
    (void)r;
    (void)type;
    (void)agent;
    (void)rank;
    (void)snprintf(said, sizeof said, "%s", text);
}

START_TEST(held_up)
{
    cleanup_free char *part = file_join(scratch, "step-00000500.g1.part");
    const struct job_folder folder = { .id = "a" };
    const struct driver_options o = { .folder = &folder };
    struct job_run run = { .o = &o, .checkpoint_dir = scratch };
    struct held held;
    bool over = true;

    ck_assert_int_eq(mkdir(part, 0700), 0);
    ck_assert_int_eq(file_thread_start(&run.reader, NULL), 0);
    hold(run.reader, &held);
    checkpoint_end(&run, &over);
    ck_assert(!over && !*said);
    checkpoint_end_give_up(&run);
    ck_assert_ptr_nonnull(strstr(said, "may remain: the folder '"));
    ck_assert_ptr_nonnull(strstr(said, "' does not answer"));
    *said = '\0';
    let_go(&held);
    settle(run.reader);
    ck_assert(over && !*said);
    ck_assert_int_lt(access(part, F_OK), 0);
    file_thread_stop(run.reader);
}
END_TEST

START_TEST(nothing_to_do)
{
    const struct driver_options o = { 0 };
    struct job_run run = { .o = &o, .checkpoint_dir = scratch };
    bool over = false;

    checkpoint_end(&run, &over);
    ck_assert(over);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, held_up);
    tcase_add_test(tc, nothing_to_do);
}

SUITE_MAIN("checkpoint-end", add_tests)
