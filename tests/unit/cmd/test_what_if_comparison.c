/* SPDX-License-Identifier: Apache-2.0 */
/* test_what_if_comparison.c - tests of cmd/run/what_if/comparison.h */
#include "cmd/run/what_if/comparison.h"
#include "cmd/run/what_if/simulated.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "suite.h"

#include "tests/unit/planning.h"

static struct plan *other; /* the plan of today */

static void tear_down(void)
{
    plan_free(other);
    other = NULL;
    planning_end();
}

/* Plan the example of the README with a model of this size, in sync mode and in this mode, and
 * compare the plans.
 */
static struct comparison compare_mode(const char *mode, int64_t model_bytes)
{
    const struct planner_history known = { .model_bytes = model_bytes, .samples = 640000 };

    make_example_node();
    job.batch.global = 256;
    job.sync.mode = word_of("sync");
    ck_assert_msg(plan_nodes(1, &known) == 0, "%s", err.text);
    other = p;
    p = NULL;
    job.sync.mode = word_of(mode);
    ck_assert_msg(plan_nodes(1, &known) == 0, "%s", err.text);
    return (struct comparison){ .today = { .plan = other },
                                .then = { .plan = p, .bytes_per_s = 1.25e9 },
                                .samples = known.samples };
}

static struct comparison compare(int64_t model_bytes)
{
    return compare_mode("async", model_bytes);
}

START_TEST(table)
{
    cleanup_strbuf struct strbuf b = { 0 };
    struct comparison c = compare(1000);

    comparison_print(&c, &b);
    ck_assert_str_eq(strbuf_text(&b),
                     "                                 today         then  ratio\n"
                     "  mode                  sync allreduce  async easgd\n"
                     "  period                             -       1 step\n"
                     "  workers                            4            4  1.00x\n"
                     "  samples/s                     22 500       22 600  1.01x\n"
                     "  of the devices' sum             99 %        100 %\n"
                     "  efficiency                      1.00         0.80  0.80x\n"
                     "  progress                      22 500       18 100  0.81x\n"
                     "  time for its samples            0:29         0:28  0.99x\n");
}
END_TEST

/* What simulations reached follows, a row each. */
START_TEST(simulated)
{
    struct sim_slow_down slow[] = {
        { .rank = 2, .begin_s = 72, .end_s = 110, .followed_s = 74.5, .found = true },
        { .rank = 0, .begin_s = 300, .end_s = 320, .followed_s = INFINITY },
    };
    const struct sim_reached today = { .samples_per_s = 20000, .replans = 4 };
    const struct sim_reached then = { .samples_per_s = 22000,
                                      .replans = 3,
                                      .period_changes = 1,
                                      .period = 1,
                                      .slow = slow,
                                      .n_slow = 2 };
    cleanup_strbuf struct strbuf b = { 0 };
    struct comparison c = compare(1000);

    c.today.reached = &today;
    c.then.reached = &then;
    comparison_print(&c, &b);
    ck_assert_msg(strstr(strbuf_text(&b),
                         "  simulated samples/s            20 000       22 000  1.10x\n"
                         "    of the prediction              89 %         97 %\n"
                         "    of the devices' sum            88 %         97 %\n"
                         "  re-plans                            4            3\n"
                         "    with another period               0            1\n"
                         "  slow-downs                          0            2\n"
                         "    found                             0            1\n") != NULL,
                  "%s", strbuf_text(&b));
    strbuf_fini(&b);
    c.only_today = true;
    c.then = c.today;
    comparison_print(&c, &b);
    ck_assert_msg(strstr(strbuf_text(&b), "then") == NULL && strstr(strbuf_text(&b), "x\n") == NULL,
                  "%s", strbuf_text(&b));
    strbuf_fini(&b);
    simulated_print_slow(&(struct simulated){ p, &then }, &b);
    ck_assert_str_eq(strbuf_text(&b),
                     "\n  rank 2 on login1 is slow from 1:12 to 1:50; a plan follows after 2.5 s\n"
                     "  rank 0 on login1 is slow from 5:00 to 5:20; no plan follows\n");
}
END_TEST

/* Local mode has a period, too, and the figures of its plan. */
START_TEST(local)
{
    cleanup_strbuf struct strbuf b = { 0 };
    struct comparison c = compare_mode("local", 1000);
    char steps[40], want[96];

    comparison_print(&c, &b);
    ck_assert_msg(
        strstr(strbuf_text(&b), "\n  mode                  sync allreduce  local local\n") != NULL,
        "%s", strbuf_text(&b));
    (void)snprintf(steps, sizeof steps, "%lld step%s", (long long)p->options.period,
                   p->options.period == 1 ? "" : "s");
    (void)snprintf(want, sizeof want, "\n  period                             -  %11s\n", steps);
    ck_assert_msg(strstr(strbuf_text(&b), want) != NULL, "%s%s", strbuf_text(&b), want);
}
END_TEST

/* The network of several nodes has a row, also if it is known of one plan only. */
START_TEST(network)
{
    cleanup_strbuf struct strbuf b = { 0 };
    struct comparison c = compare(1000);

    other->n_nodes = 2;
    c.samples = 0;
    comparison_print(&c, &b);
    other->n_nodes = 1;
    ck_assert_msg(
        strstr(strbuf_text(&b), "\n  network                           -    10 Gbit/s\n") != NULL,
        "%s", strbuf_text(&b));
    ck_assert_msg(strstr(strbuf_text(&b), "time") == NULL, "%s", strbuf_text(&b));
}
END_TEST

/* Of ratios of speeds only their ratio is printed. */
START_TEST(relative)
{
    cleanup_strbuf struct strbuf b = { 0 };
    struct comparison c = compare(1000);

    other->relative = p->relative = true;
    p->predicted_samples_per_s = 2 * other->predicted_samples_per_s;
    comparison_print(&c, &b);
    ck_assert_msg(strstr(strbuf_text(&b),
                         "\n  samples/s                          -            -  2.00x\n") != NULL,
                  "%s", strbuf_text(&b));
    p->relative = false;
    strbuf_fini(&b);
    comparison_print(&c, &b);
    ck_assert_msg(strstr(strbuf_text(&b), "2.00x") == NULL, "%s", strbuf_text(&b));
}
END_TEST

START_TEST(document)
{
    struct strlist note = { 0 };
    const struct comparison_about about = { "sync.mode=async", "digits-1", 1700000000, &note };
    struct comparison c = compare(1000);
    cleanup_free char *text = NULL;
    cleanup_json json_t *o = NULL;
    const json_t *then, *today;

    other->relative = true;
    strlist_addf(&note, "a note");
    ck_assert_int_eq(comparison_json(&c, &about, &text, &err), 0);
    strlist_fini(&note);
    ck_assert_msg(json_parse(text, strlen(text), "it", &o, &err) == 0, "%s", err.text);
    today = json_object_get(o, "today");
    then = json_object_get(o, "then");
    ck_assert_int_eq(json_integer_value(json_object_get(o, "schema_version")),
                     WHAT_IF_SCHEMA_VERSION);
    ck_assert(json_is_null(json_object_get(today, "samples_per_s")));
    ck_assert(json_is_null(json_object_get(today, "bytes_per_s")));
    ck_assert_double_eq(json_number_value(json_object_get(then, "bytes_per_s")), 1.25e9);
    ck_assert_double_gt(json_number_value(json_object_get(then, "seconds")), 0);
    ck_assert(json_is_object(json_object_get(then, "plan")));
    ck_assert_int_eq(json_array_size(json_object_get(o, "notes")), 1);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, planning_begin, tear_down);
    tcase_add_test(tc, table);
    tcase_add_test(tc, simulated);
    tcase_add_test(tc, local);
    tcase_add_test(tc, network);
    tcase_add_test(tc, relative);
    tcase_add_test(tc, document);
}

SUITE_MAIN("what_if_comparison", add_tests)
