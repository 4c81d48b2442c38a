/* SPDX-License-Identifier: Apache-2.0 */
/* test_journal.c - tests of agents/driver/core/journal.h: records, while their folder does not
 * answer */
#include "agents/driver/core/journal.h"

#include "held_thread.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct job_folder folder;
static struct journal j;
static struct job_status status;
static struct held held = { .pipe = { -1, -1 } };

static void begin(bool answers)
{
    snprintf(folder.path, sizeof folder.path, "%s", scratch);
    j = (struct journal){ .folder = &folder };
    ck_assert_int_eq(file_thread_start(&j.files, NULL), 0);
    job_status_init(&status);
    if (!answers)
        hold(j.files, &held);
}

static void end(void)
{
    file_thread_stop(j.files);
    journal_fini(&j);
    job_status_fini(&status);
    let_go(&held);
}

static int lines_of(const char *name)
{
    cleanup_free char *text = scratch_content(name);
    int n = 0;

    for (const char *s = text; s && *s; s++)
        n += *s == '\n';
    return n;
}

/* Nothing is lost but lines of metrics, and those are counted; what waited is in its order. */
START_TEST(waits)
{
    cleanup_free char *events = NULL, *summary = NULL;
    const char *at;

    begin(false);
    for (int i = 0; i < 1000; i++)
        journal_event(&j, JOB_EVENT_NOTE, NULL, i, "words");
    for (int i = 0; i < JOURNAL_METRICS + 7; i++)
        journal_metrics(&j, &status);
    journal_file(&j, "plan-1-1.json", "{}");
    journal_line(&j, "nodes.jsonl", "{}");
    journal_summary(&j, &status);
    ck_assert_int_eq(j.metrics_left_out, 7);
    ck_assert_ptr_null(scratch_content("events.jsonl"));
    let_go(&held);
    settle(j.files);
    ck_assert_int_eq(j.trouble.code, 0);
    ck_assert_int_eq(journal_give_up(&j), 0);
    ck_assert_int_eq(lines_of("events.jsonl"), 1000);
    ck_assert_int_eq(lines_of("metrics.jsonl"), JOURNAL_METRICS);
    ck_assert_int_eq(lines_of("nodes.jsonl"), 1);
    at = events = scratch_content("events.jsonl");
    for (int i = 1; i <= 1000; i++) {
        char want[32];

        snprintf(want, sizeof want, "\"n\":%d,", i);
        at = strstr(at, want);
        ck_assert_msg(at != NULL, "event %d is not in its place", i);
    }
    summary = scratch_content("summary.json");
    ck_assert_ptr_nonnull(summary);
    journal_metrics(&j, &status); /* there is room again */
    ck_assert_int_eq(j.metrics_left_out, 7);
}
END_TEST

/* What has not been written in time is named. */
START_TEST(given_up)
{
    begin(false);
    journal_event(&j, JOB_EVENT_NOTE, NULL, -1, "words");
    journal_metrics(&j, &status);
    journal_event(&j, JOB_EVENT_NOTE, NULL, -1, "words");
    journal_summary(&j, &status);
    journal_remove(&j, "driver.json");
    ck_assert_int_lt(journal_give_up(&j), 0);
    ck_assert_str_eq(j.missing, "events.jsonl, metrics.jsonl, summary.json");
    ck_assert_ptr_nonnull(strstr(j.trouble.text, "does not answer"));
}
END_TEST

/* Room for the summary is there until it is written. */
START_TEST(room)
{
    cleanup_free char *kept = NULL, *summary = NULL;

    begin(true);
    journal_reserve(&j);
    settle(j.files);
    kept = scratch_content("reserve");
    ck_assert_ptr_nonnull(kept);
    journal_summary(&j, &status);
    settle(j.files);
    ck_assert_ptr_null(scratch_content("reserve"));
    summary = scratch_content("summary.json");
    ck_assert_ptr_nonnull(summary);
    ck_assert_int_eq(j.trouble.code, 0);
}
END_TEST

/* A folder that cannot be written is heard of when it has been tried. */
START_TEST(trouble)
{
    begin(true);
    ck_assert_int_eq(file_remove_tree(scratch, NULL), 0);
    journal_event(&j, JOB_EVENT_NOTE, NULL, -1, "words");
    settle(j.files);
    ck_assert_int_lt(j.trouble.code, 0);
    ck_assert_str_eq(j.missing, "events.jsonl");
    ck_assert_int_eq(mkdir(scratch, 0700), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_test(tc, waits);
    tcase_add_test(tc, given_up);
    tcase_add_test(tc, room);
    tcase_add_test(tc, trouble);
}

SUITE_MAIN("journal", add_tests)
