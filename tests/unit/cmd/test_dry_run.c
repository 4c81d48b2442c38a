/* SPDX-License-Identifier: Apache-2.0 */
/* test_dry_run.c - tests of cmd/run/view/dry_run.h */
#include "cmd/run/view/dry_run.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/job/job_read.h"
#include "scheduler/planner.h"
#include "suite.h"

#include <math.h>
#include <string.h>

static const char yaml[] = "command: [train, --fast]\n"
                           "batch: {global: 96}\n"
                           "env: {API_TOKEN: hunter2, THREADS: \"4\"}\n"
                           "profile: {emulate: [{rate: 1, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]}\n";

static struct job *read_job(void)
{
    struct eddis_error err = { 0 };
    struct job *job = NULL;

    ck_assert_msg(job_parse(yaml, strlen(yaml), "train.yaml", "/tmp", &job, &err) == 0, "%s",
                  err.text);
    return job;
}

static struct node_profile *node_of(const struct job *job)
{
    struct node_profile *node = calloc(1, sizeof *node);

    snprintf(node->host, sizeof node->host, "login1");
    node->cpu_quota = node->load = NAN;
    for (size_t i = 0; i < job->profile.n_emulate; i++) {
        struct device *d = &node->device[node->n_devices++];

        *d = (struct device){ .kind = DEVICE_EMULATED,
                              .rate = job->profile.emulate[i].rate,
                              .fixed_s = job->profile.emulate[i].fixed_s,
                              .sample_s = job->profile.emulate[i].sample_s,
                              .fp32_flops = NAN,
                              .fp16_flops = NAN,
                              .memory_bytes_per_s = NAN,
                              .to_device_bytes_per_s = NAN,
                              .from_device_bytes_per_s = NAN };
        snprintf(d->id, sizeof d->id, "emulated:%zu", i);
    }
    return node;
}

static char *json_of(struct job *job, const struct node_profile *node)
{
    struct eddis_error err = { 0 };
    struct plan *p = NULL;
    char *text = NULL;

    ck_assert_msg(planner_plan(job, node, 1, NULL, &p, &err) == 0, "%s", err.text);
    ck_assert_msg(dry_run_json(job, node, 1, p, &text, &err) == 0, "%s", err.text);
    plan_free(p);
    return text;
}

START_TEST(listing)
{
    struct job *job = read_job();
    struct strbuf b = { 0 };
    const char *text;

    ck_assert_int_eq(job_set(job, "seed", "3", "--seed", NULL), 0);
    dry_run_print(job, true, &b);
    dry_run_env(NULL, &b);
    dry_run_env((char *[]){ (char *)"HF_TOKEN=swordfish", (char *)"A=1", NULL }, &b);
    text = strbuf_text(&b);
    ck_assert_ptr_nonnull(strstr(text, "\n  variables passed on: HF_TOKEN, A\n"));
    ck_assert_ptr_null(strstr(text, "swordfish"));
    ck_assert_ptr_nonnull(strstr(text, "\n  batch.global "));
    ck_assert_ptr_nonnull(strstr(text, " 96\n"));
    ck_assert_ptr_nonnull(strstr(text, " train.yaml:2 "));
    ck_assert_ptr_nonnull(strstr(text, " --seed "));
    ck_assert_ptr_nonnull(strstr(text, " default "));
    ck_assert_ptr_null(strstr(text, "hunter2"));
    ck_assert_ptr_null(strstr(text, " \n"));
    strbuf_fini(&b);
    job_free(job);
}
END_TEST

/* What nobody has set is not looked for among fifty lines. */
START_TEST(short_listing)
{
    struct job *job = read_job();
    struct strbuf b = { 0 };
    const char *text;

    ck_assert_int_eq(job_set(job, "seed", "3", "--seed", NULL), 0);
    dry_run_print(job, false, &b);
    text = strbuf_text(&b);
    ck_assert_ptr_nonnull(strstr(text, " train.yaml:2 "));
    ck_assert_ptr_nonnull(strstr(text, " --seed "));
    ck_assert_ptr_null(strstr(text, " default "));
    ck_assert_ptr_nonnull(strstr(text, " keys with their defaults, which -v shows\n"));
    strbuf_fini(&b);
    job_free(job);
}
END_TEST

START_TEST(document)
{
    struct job *job = read_job();
    cleanup_free struct node_profile *node = node_of(job);
    cleanup_free char *text = json_of(job, node);
    cleanup_json json_t *j = NULL;
    const char *value, *origin;

    ck_assert_int_eq(json_parse(text, strlen(text), "document", &j, NULL), 0);
    ck_assert_int_eq(json_unpack(j, "{s:{s:{s:s, s:s}}}", "job", "batch.global", "value", &value,
                                 "origin", &origin),
                     0);
    ck_assert_str_eq(value, "96");
    ck_assert_str_eq(origin, "train.yaml:2");
    ck_assert_int_eq(json_array_size(json_object_get(json_object_get(j, "plan"), "workers")), 2);
    ck_assert_int_eq(json_array_size(json_object_get(j, "profile")), 1);
    ck_assert_ptr_null(strstr(text, "hunter2"));
    job_free(job);
}
END_TEST

/* When the profile was measured, and whether it was kept, changes no byte. */
START_TEST(same_bytes)
{
    struct job *job = read_job(), *other = read_job();
    cleanup_free struct node_profile *node = node_of(job);
    cleanup_free char *a = json_of(job, node), *b = NULL;

    node->cached = true;
    node->measured_s = 123456789;
    b = json_of(other, node);
    ck_assert_str_eq(a, b);
    job_free(job);
    job_free(other);
}
END_TEST

/* Values are UTF-8, but the file's own name may be anything. */
START_TEST(any_bytes)
{
    struct job *job = read_job();
    cleanup_free struct node_profile *node = node_of(job);
    cleanup_free char *text = NULL;
    cleanup_json json_t *j = NULL;

    free(job->file);
    job->file = strdup("/data/\xff\xfe");
    text = json_of(job, node);
    ck_assert_int_eq(json_parse(text, strlen(text), "document", &j, NULL), 0);
    job_free(job);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, listing);
    tcase_add_test(tc, short_listing);
    tcase_add_test(tc, document);
    tcase_add_test(tc, same_bytes);
    tcase_add_test(tc, any_bytes);
}

SUITE_MAIN("dry_run", add_tests)
