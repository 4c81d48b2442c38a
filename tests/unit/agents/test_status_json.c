/* SPDX-License-Identifier: Apache-2.0 */
/* test_status_json.c - tests of agents/job/status_json.h */
#include "suite.h"

#include "agents/job/status_json.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static struct eddis_error err;
static struct job_status s; /* of every test: the example */

static void example(void)
{
    job_status_init(&s);
    strcpy(s.job, "digits-20261121-140712-3f9a");
    strcpy(s.name, "digits");
    s.state = JOB_ENDED;
    strcpy(s.reason, "ok");
    s.exit_code = 0;
    strcpy(s.mode, "sync");
    strcpy(s.algorithm, "allreduce");
    s.generation = s.plan_version = s.generations = 1;
    s.n_nodes = 1;
    s.steps_done = s.steps_total = 600;
    s.epoch = s.epochs = 100;
    s.samples = 143700;
    s.global_batch = 256;
    s.loss = 0.125;
    s.accuracy = 0.98123456789012;
    s.samples_per_s = 21900.25;
    s.ideal_samples_per_s = 22600;
    s.predicted_samples_per_s = 22400;
    s.equal_predicted_samples_per_s = 9300;
    s.equal_measured_samples_per_s = 9200;
    s.start_s = 1795270032.5;
    s.wall_s = 7.2;
    s.emulated = true;
    s.n_plans = 2;
    s.plan[0] = (struct plan_status){ .generation = 1,
                                      .version = 1,
                                      .steps = 20,
                                      .samples_per_s = 613.4,
                                      .predicted_samples_per_s = NAN,
                                      .ideal_samples_per_s = 1700 };
    s.plan[1] = (struct plan_status){ .generation = 1,
                                      .version = 2,
                                      .since = 20,
                                      .steps = 580,
                                      .samples_per_s = 1203,
                                      .predicted_samples_per_s = 1210,
                                      .ideal_samples_per_s = 1250,
                                      .reason = "rank 1 is slow" };
    ck_assert_int_eq(job_status_resize(&s, 2, NULL), 0);
    strcpy(s.worker[1].node, "login1");
    strcpy(s.worker[1].device, "emulated 0.50");
    s.worker[1].batch = 46;
    s.worker[1].step_ms = 11.25;
    s.worker[0].relative_speed = 1.01;
    s.worker[1].relative_speed = 0.97;
    s.worker[1].group = 1;
    s.worker[1].staleness = 7;
    s.worker[1].queued_ms = 0.5;
    s.worker[1].memory_bytes = 1 << 30;
    s.worker[1].memory_told = true;
    s.worker[1].metrics = (struct step_metrics){ .plan = 2,
                                                 .since = 7,
                                                 .steps = 64,
                                                 .points = 32,
                                                 .count = 46,
                                                 .work = 46,
                                                 .own = { 0.1, 0.2, 0.3, 0.4 },
                                                 .total = { 0.2, 0.3, 0.4, 0.5 } };
}

static void end(void)
{
    job_status_fini(&s);
}

/* Begin with a status of which nothing is known. */
static void begin_empty(int n_workers)
{
    job_status_fini(&s);
    job_status_init(&s);
    ck_assert_int_eq(job_status_resize(&s, n_workers, NULL), 0);
}

START_TEST(there_and_back)
{
    struct job_status got;
    char *text, *again;

    text = job_status_text(&s);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(job_status_parse(text, strlen(text), "summary.json", &got, &err) == 0, "%s",
                  err.text);
    again = job_status_text(&got);
    ck_assert_str_eq(text, again);
    ck_assert(got.accuracy == s.accuracy && got.samples_per_s == s.samples_per_s);
    ck_assert(isnan(got.eta_s) && isnan(got.worker[0].step_ms));
    ck_assert_str_eq(got.worker[1].device, "emulated 0.50");
    ck_assert_str_eq(got.worker[0].state, "waiting");
    ck_assert_int_eq(got.worker[1].group, 1);
    ck_assert_int_eq(got.worker[1].staleness, 7);
    ck_assert_int_eq(got.worker[0].metrics.plan, 0);
    ck_assert_int_eq(got.worker[1].metrics.since, 7);
    ck_assert(got.worker[1].metrics.own.high_s == 0.3 && got.worker[1].queued_ms == 0.5);
    ck_assert(got.worker[1].memory_bytes == 1 << 30 && got.worker[1].memory_told);
    ck_assert(!got.failure.set);
    free(text);
    free(again);
    job_status_fini(&got);

    s.failure = (struct first_failure){ true, 3, 77, "n1", "rank 3 was killed", -1, 9, 120 };
    s.exit_code = 137;
    s.state = JOB_RUNNING;
    s.checkpoints = (struct checkpoint_status){ 1, 7, 40, "no room" };
    strcpy(s.waiting, "agents 1/2 up; waiting for \xff");
    strcpy(s.refused, "3 refused requests from 10.1.0.9");
    text = job_status_line(&s, &(int){ 1 }, 1);
    ck_assert_ptr_null(strchr(text, '\n'));
    ck_assert_int_eq(job_status_parse(text, strlen(text), "line", &got, &err), 0);
    ck_assert_int_eq(got.n_workers, 1);
    ck_assert_int_eq(got.worker[0].rank, 1);
    ck_assert(got.failure.set && got.failure.signal == 9 && got.failure.step == 120);
    ck_assert_int_eq(got.exit_code, 137);
    ck_assert(got.checkpoints.written == 1 && got.checkpoints.failed == 7);
    ck_assert_int_eq(got.checkpoints.newest, 40);
    ck_assert_str_eq(got.checkpoints.reason, "no room");
    ck_assert_str_eq(got.waiting, "agents 1/2 up; waiting for ?");
    ck_assert_str_eq(got.refused, "3 refused requests from 10.1.0.9");
    free(text);
    job_status_fini(&got);
}
END_TEST

/* What design section 10 lists, under those names. */
START_TEST(keys_of_the_summary)
{
    static const char *const keys[] = {
        "exit_code", "accuracy",    "loss",    "samples",        "samples_per_s",
        "reason",    "wall_s",      "replans", "first_failure",  "ideal_samples_per_s",
        "emulated",  "generations", "workers", "schema_version", "predicted_samples_per_s",
    };
    cleanup_json json_t *o = NULL;
    char *text;

    s.exit_code = -1;
    text = job_status_text(&s);
    ck_assert_int_eq(json_parse(text, strlen(text), "summary", &o, NULL), 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_msg(json_object_get(o, keys[i]) != NULL, "%s", keys[i]);
    ck_assert(json_is_null(json_object_get(o, "first_failure")));
    ck_assert(json_is_null(json_object_get(o, "exit_code")));
    ck_assert(json_real_value(json_object_get(json_object_get(o, "equal_split_samples_per_s"),
                                              "measured")) == 9200);
    free(text);
    text = job_status_workers_text(&s);
    ck_assert_ptr_nonnull(strstr(text, "\"workers\""));
    ck_assert_ptr_null(strstr(text, "accuracy"));
    free(text);
}
END_TEST

/* Every document with one byte changed or cut off is refused or read; nothing else happens. */
START_TEST(damaged_documents)
{
    struct job_status got;
    char *text;
    size_t n;

    text = job_status_text(&s);
    n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        char old = text[i];

        ck_assert_int_lt(job_status_parse(text, i, "f", &got, &err), 0);
        for (const char *c = "\"{}[]0-nx\n"; *c; c++) {
            text[i] = *c;
            if (job_status_parse(text, n, "f", &got, &err) == 0)
                job_status_fini(&got);
        }
        text[i] = old;
    }
    free(text);
}
END_TEST

static const struct {
    const char *text, *sentence;
} bad_rows[] = {
    { "", "f:" },
    { "[]", "schema_version" },
    { "{\"schema_version\": 2}", "another version" },
    { "{\"schema_version\": 1}", "\"job\" is missing" },
    { "{\"schema_version\": 1, \"job\": 5}", "\"job\"" },
};

START_TEST(bad_documents)
{
    struct job_status got;

    ck_assert_int_eq(
        job_status_parse(bad_rows[_i].text, strlen(bad_rows[_i].text), "f", &got, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, bad_rows[_i].sentence) != NULL, "%s", err.text);
}
END_TEST

static char *printed(void)
{
    struct strbuf b = { 0 };

    job_status_print(&s, NULL, &b);
    job_status_print_more(&s, NULL, &b);
    return strbuf_steal(&b);
}

static void prints(const char *part)
{
    cleanup_free char *text = printed();

    ck_assert_msg(strstr(text, part), "no '%s' in '%s'", part, text);
}

static void does_not_print(const char *part)
{
    cleanup_free char *text = printed();

    ck_assert_msg(!strstr(text, part), "'%s' in '%s'", part, text);
}

static void prints_all(const char *whole)
{
    cleanup_free char *text = printed();

    ck_assert_str_eq(text, whole);
}

/* What keeps a job below ideal: the worker whose step has most of it. */
static const struct {
    bool emulated;
    double samples_per_s, overrun_ms, exposed_ms; /* of steps of 20 ms */
    const char *says;                             /* NULL: nothing of it */
} below[] = {
    { true, 52, 9.6, 0,
      "  52 % of ideal: the real work of rank 1 takes 9.6 ms of each step (20.0 ms) longer than "
      "the emulated device\n" },
    { true, 52, 9.6, 9, ": the real work of rank 1 takes 9.6 ms" },
    { true, 52, 1.9, 9,
      "  52 % of ideal: rank 1 communicates for 9.0 ms of each step (20.0 ms)\n" },
    { false, 52, 9.6, 9, ": rank 1 communicates for 9.0 ms" },
    { true, 80, 9.6, 9, NULL },
    { true, 52, 1.9, 1.9, NULL },
    { true, 52, NAN, NAN, NULL },
};

START_TEST(below_ideal)
{
    begin_empty(3);
    s.state = JOB_ENDED;
    s.exit_code = 0;
    s.wall_s = 7;
    s.emulated = below[_i].emulated;
    s.samples_per_s = below[_i].samples_per_s;
    s.ideal_samples_per_s = 100;
    for (int i = 0; i < 3; i++)
        s.worker[i].step_ms = 20;
    s.worker[1].overrun_ms = below[_i].overrun_ms;
    s.worker[1].exposed_ms = below[_i].exposed_ms;
    s.worker[2].overrun_ms = below[_i].overrun_ms / 2;
    s.worker[2].exposed_ms = below[_i].exposed_ms / 2;
    if (below[_i].says)
        prints(below[_i].says);
    else
        does_not_print("for rank");
}
END_TEST

START_TEST(summary)
{
    prints_all("done in 7.2 s   test accuracy 0.981   21 900 samples/s = 97 % of ideal, "
               "2.4x an equal split (measured 9 200)   (emulated devices)\n"
               "no stragglers, no restarts, no re-plans\n"
               "more: eddis-status digits-20261121-140712-3f9a --report\n");
    s.equal_measured_samples_per_s = NAN;
    s.worker[1].relative_speed = 0.5; /* nobody was named for that */
    s.generations = 3;
    s.restarts = 2;
    s.replans = 1;
    prints("   21 900 samples/s (last plan 1 203 = 96 % of ideal), "
           "2.4x an equal split (predicted 9 300)   (emulated devices)\n");
    s.plan[1].samples_per_s /= 2; /* an equal split would have been held up, too */
    does_not_print("equal split");
    s.plan[1].samples_per_s *= 2;
    s.emulated = false; /* that knows nothing of communication between real ones */
    prints("samples/s (last plan 1 203 = 96 % of ideal)\n");
    prints("no stragglers, 2 restarts, 1 re-plan (613, 1 203 samples/s)\n");
}
END_TEST

START_TEST(summary_counts)
{
    s.restarts = 2;
    s.n_plans = 9;
    for (int i = 1; i < s.n_plans; i++)
        s.plan[i].samples_per_s = i == 7 ? NAN : 1000 + i;
    s.replans = 8;
    prints("8 re-plans (613, ..., 1 004, 1 005, 1 006, ?, 1 008 samples/s)\n");
    s.stragglers = 2;
    s.worker[0].straggler_times = 3;
    s.worker[0].straggler_since = 44;
    prints("\n2 stragglers (rank 0 took 3.0 times as long from step 44 on), 2 restarts");
}
END_TEST

START_TEST(summary_of_a_failure)
{
    s.exit_code = 137;
    strcpy(s.reason, "rank_signal");
    strcpy(s.message, "rank 3 was killed\033[2J");
    s.failure = (struct first_failure){ true, 3, 77, "n1", "rank 3 was killed\033[2J", -1, 9, 120 };
    does_not_print("\033");
    prints("failed after 7.2 s   a rank was killed, exit code 137");
    prints("\n  rank 3 was killed");
    does_not_print("first failure"); /* the same sentence */
    strcpy(s.message, "another");
    s.checkpoints = (struct checkpoint_status){ 1, 7, 40, "no room" };
    prints(
        "\n  7 of 8 checkpoints were not written, the newest checkpoint is of step 40: no room\n");
    s.checkpoints = (struct checkpoint_status){ 0, 1, -1, "" };
    prints("\n  1 of 1 checkpoint was not written, there is no checkpoint\n");
    prints("\n  first failure: rank 3, node n1, pid 77, signal 9, at step 120\n");
    strcpy(s.reason, "interrupted");
    does_not_print("failed");
    prints("stopped after 7.2 s");
    strcpy(s.reason, "preempted");
    s.exit_code = 75;
    prints("by a signal, exit code 75 (saved)");
    s.exit_code = 143;
    prints("by a signal, exit code 143 (not saved)");
    strcpy(s.message, s.failure.what);
    s.failure.rank = -1; /* nothing beyond the message is known */
    does_not_print("first failure");
}
END_TEST

/* Nobody has said why, so no reason stands there. */
START_TEST(summary_of_a_lost_job)
{
    cleanup_free char *text = NULL;

    begin_empty(0);
    strcpy(s.job, "a-20261121-140712-3f9a");
    strcpy(s.message, "the driver has ended without writing a summary");
    s.state = JOB_LOST;
    s.wall_s = 2.5;
    prints_all("lost after 2.5 s\n"
               "  the driver has ended without writing a summary\n"
               "  eddis-run --cleanup a-20261121-140712-3f9a ends processes that may be left, "
               "--resume continues from its last checkpoint, if any\n"
               "no restarts, no re-plans\n"
               "more: eddis-status a-20261121-140712-3f9a --report\n");
    s.wall_s = NAN;
    text = printed();
    ck_assert(strncmp(text, "lost\n", 5) == 0);
}
END_TEST

START_TEST(summary_of_nothing_known)
{
    begin_empty(0);
    does_not_print("nan");
}
END_TEST

START_TEST(durations)
{
    static const struct {
        double s;
        const char *text;
    } rows[] = { { 0, "0:00" },     { 7.4, "0:07" },     { 59.6, "1:00" },
                 { 3599, "59:59" }, { 3600, "1:00:00" }, { 90061, "25:01:01" },
                 { NAN, "0:00" },   { -5, "0:00" },      { INFINITY, "0:00" } };
    char text[32];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(job_status_duration(rows[i].s, text, sizeof text), rows[i].text);
}
END_TEST

START_TEST(states)
{
    ck_assert_str_eq(job_state_name(JOB_STARTING), "starting");
    ck_assert_str_eq(job_state_name(JOB_LOST), "lost");
    ck_assert_str_eq(job_state_name((enum job_state)99), "unknown");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, example, end);
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, keys_of_the_summary);
    tcase_add_test(tc, damaged_documents);
    tcase_add_loop_test(tc, bad_documents, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, summary);
    tcase_add_loop_test(tc, below_ideal, 0, sizeof below / sizeof *below);
    tcase_add_test(tc, summary_counts);
    tcase_add_test(tc, summary_of_a_failure);
    tcase_add_test(tc, summary_of_a_lost_job);
    tcase_add_test(tc, summary_of_nothing_known);
    tcase_add_test(tc, durations);
    tcase_add_test(tc, states);
}

SUITE_MAIN("status_json", add_tests)
