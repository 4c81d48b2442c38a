/* SPDX-License-Identifier: Apache-2.0 */
/* test_dry_run.c - tests of cmd/run/view/dry_run.h */
#include "cmd/run/view/dry_run.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "scheduler/planner.h"
#include "suite.h"

#include "tests/unit/jobs.h"

#include <math.h>

static const char yaml[] = "command: [train, --fast]\n"
                           "batch: {global: 96}\n"
                           "env: {API_TOKEN: hunter2, THREADS: \"4\"}\n"
                           "profile: {emulate: [{rate: 1, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]}\n";

static struct node_profile *node;
static struct strbuf b; /* what is printed */
static char *text;      /* the document */

static void set_up(void)
{
    jobs_begin();
    read_job(yaml);
    node = calloc(1, sizeof *node);
    ck_assert_ptr_nonnull(node);
    snprintf(node->host, sizeof node->host, "login1");
    node->cpu_quota = node->load = NAN;
    for (size_t i = 0; i < job->profile.n_emulate; i++) {
        struct device *d = &node->device[node->n_devices++];

        *d = device_unmeasured(DEVICE_EMULATED, (int)i, -1);
        d->rate = job->profile.emulate[i].rate;
        d->fixed_s = job->profile.emulate[i].fixed_s;
        d->sample_s = job->profile.emulate[i].sample_s;
        snprintf(d->id, sizeof d->id, "emulated:%zu", i);
    }
}

static void tear_down(void)
{
    strbuf_fini(&b);
    free(text);
    text = NULL;
    free(node);
    jobs_end();
}

static void make_document(void)
{
    struct plan *p = NULL;

    free(text);
    ck_assert_msg(planner_plan(job, node, 1, NULL, &p, &err) == 0, "%s", err.text);
    ck_assert_msg(dry_run_json(job, node, 1, p, &text, &err) == 0, "%s", err.text);
    plan_free(p);
}

static void check_listing(const char *words, bool is_there)
{
    ck_assert_msg((strstr(strbuf_text(&b), words) != NULL) == is_there, "%s: %s", words,
                  strbuf_text(&b));
}

START_TEST(listing)
{
    ck_assert_int_eq(job_set(job, "seed", "3", "--seed", NULL), 0);
    dry_run_print(job, true, &b);
    dry_run_env(NULL, &b);
    dry_run_env((char *[]){ (char *)"HF_TOKEN=swordfish", (char *)"A=1", NULL }, &b);
    check_listing("\n  variables passed on: HF_TOKEN, A\n", true);
    check_listing("swordfish", false);
    check_listing("\n  batch.global ", true);
    check_listing(" 96\n", true);
    check_listing(" train.yaml:2 ", true);
    check_listing(" --seed ", true);
    check_listing(" default ", true);
    check_listing("hunter2", false);
    check_listing(" \n", false);
}
END_TEST

/* What nobody has set is not looked for among fifty lines. */
START_TEST(short_listing)
{
    ck_assert_int_eq(job_set(job, "seed", "3", "--seed", NULL), 0);
    dry_run_print(job, false, &b);
    check_listing(" train.yaml:2 ", true);
    check_listing(" --seed ", true);
    check_listing(" default ", false);
    check_listing(" keys with their defaults, which -v shows\n", true);
}
END_TEST

START_TEST(document)
{
    cleanup_json json_t *j = NULL;
    const char *value, *origin;

    make_document();
    ck_assert_int_eq(json_parse(text, strlen(text), "document", &j, NULL), 0);
    ck_assert_int_eq(json_unpack(j, "{s:{s:{s:s, s:s}}}", "job", "batch.global", "value", &value,
                                 "origin", &origin),
                     0);
    ck_assert_str_eq(value, "96");
    ck_assert_str_eq(origin, "train.yaml:2");
    ck_assert_int_eq(json_array_size(json_object_get(json_object_get(j, "plan"), "workers")), 2);
    ck_assert_int_eq(json_array_size(json_object_get(j, "profile")), 1);
    ck_assert_ptr_null(strstr(text, "hunter2"));
}
END_TEST

/* When the profile was measured, and whether it was kept, changes no byte. */
START_TEST(same_bytes)
{
    cleanup_free char *before = NULL;

    make_document();
    before = strdup(text);
    node->cached = true;
    node->measured_s = 123456789;
    read_job(yaml);
    make_document();
    ck_assert_str_eq(before, text);
}
END_TEST

/* Values are UTF-8, but the file's own name may be anything. */
START_TEST(any_bytes)
{
    cleanup_json json_t *j = NULL;

    free(job->file);
    job->file = strdup("/data/\xff\xfe");
    make_document();
    ck_assert_int_eq(json_parse(text, strlen(text), "document", &j, NULL), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, listing);
    tcase_add_test(tc, short_listing);
    tcase_add_test(tc, document);
    tcase_add_test(tc, same_bytes);
    tcase_add_test(tc, any_bytes);
}

SUITE_MAIN("dry_run", add_tests)
