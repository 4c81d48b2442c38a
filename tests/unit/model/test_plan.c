/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - tests of lib/model/plan.h */
#include "lib/model/plan.h"

#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>

static struct plan *p, *q; /* a plan of three workers, and what is read */
static char *text;
static struct eddis_error err;

static void set_up(void)
{
    static const int64_t batch[] = { 5, 2, 3 };

    q = NULL;
    text = NULL;
    err = (struct eddis_error){ 0 };
    p = plan_new(2, 3);
    p->generation = p->version = 1;
    snprintf(p->mode, sizeof p->mode, "sync");
    snprintf(p->algorithm, sizeof p->algorithm, "allreduce");
    snprintf(p->reason, sizeof p->reason, "sync because of \"it\"");
    p->global_batch = 10;
    p->bucket_bytes = 4 << 20;
    p->options.wire = SYNC_WIRE_BFLOAT16;
    p->seed = INT64_MAX;
    p->emulated = true;
    p->predicted_samples_per_s = 1.0 / 3;
    snprintf(p->node[0], sizeof p->node[0], "n0");
    snprintf(p->node[1], sizeof p->node[1], "n1");
    for (int i = 0; i < 3; i++) {
        struct plan_worker *w = &p->worker[i];

        w->rank = i;
        w->node = i / 2;
        w->local_rank = i % 2;
        w->kind = DEVICE_EMULATED;
        snprintf(w->device_id, sizeof w->device_id, "emulated:%d", i % 2);
        snprintf(w->device, sizeof w->device, "emulated 1.00");
        w->fixed_s = 0.002;
        w->sample_s = 0.0001 / 3;
        w->batch = batch[i];
        w->equal_batch = i == 0 ? 4 : 3;
        w->weight = (double)batch[i] / 10;
        w->step_s = w->fixed_s + w->sample_s * (double)batch[i];
        w->samples_per_s = (double)batch[i] / w->step_s;
    }
}

static void tear_down(void)
{
    free(text);
    plan_free(p);
    plan_free(q);
}

/* Write p to text and read it as q. */
static int read_back(void)
{
    text = plan_text(p);
    return plan_parse(text, strlen(text), "plan", &q, &err);
}

/* Return the text of the plan with the first `from` replaced by `to`; it must be there. */
static char *edited(const char *from, const char *to)
{
    const char *at;
    char *ret;

    text = plan_text(p);
    at = strstr(text, from);
    ret = malloc(strlen(text) + strlen(to) + 1);
    ck_assert_msg(at != NULL, "no '%s' in the text", from);
    sprintf(ret, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return ret;
}

/* mpirun is told how many ranks each node has, in their order: none may come back to a node. */
START_TEST(ranks_by_node)
{
    p->worker[1].node = 1;
    p->worker[1].local_rank = 0;
    p->worker[2].node = 0;
    p->worker[2].local_rank = 1;
    strcpy(p->worker[1].device_id, "emulated:0");
    strcpy(p->worker[2].device_id, "emulated:1");
    ck_assert_int_lt(read_back(), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "worker 2: it is on node 0; ranks are in the order of "
                                           "their nodes"));
}
END_TEST

/* A group whose members take no samples would never write to the centre. */
START_TEST(hungry_group)
{
    p->worker[0].batch = 7;
    p->worker[0].weight = 0.7;
    p->worker[1].batch = 0;
    p->worker[1].weight = 0;
    p->worker[1].group = 1;
    ck_assert_int_eq(read_back(), -EINVAL);
    ck_assert_str_eq(err.text, "plan: not a plan: no worker takes samples in group 1 of 2");
}
END_TEST

START_TEST(there_and_back)
{
    cleanup_free char *again = NULL;

    ck_assert_int_eq(read_back(), 0);
    again = plan_text(q);
    ck_assert_str_eq(text, again);
    ck_assert_int_eq(q->n_workers, 3);
    ck_assert_str_eq(q->node[1], "n1");
    ck_assert_uint_eq(q->seed, INT64_MAX);
    ck_assert(q->epoch_steps == 0 && !strstr(text, "epoch_steps"));
    for (int i = 0; i < 3; i++)
        ck_assert(q->worker[i].weight == p->worker[i].weight); /* the same bits */
}
END_TEST

/* The steps of an epoch are in the plan only if they are known. */
START_TEST(steps_of_an_epoch)
{
    p->epoch_steps = 96.75;
    ck_assert_int_eq(read_back(), 0);
    ck_assert_double_eq(q->epoch_steps, 96.75);
}
END_TEST

/* Keys are sorted, whatever the order they were set in. */
/* Each algorithm's plan has the options of the algorithm, and no others. */
START_TEST(options_of_algorithms)
{
    static const struct {
        const char *mode, *algorithm;
        struct sync_options options;
        const char *wrong; /* option that the message names; NULL: the plan is read */
    } plans[] = {
        { "sync", "allreduce", { 0 }, NULL },
        { "sync", "allreduce", { .period = 1 }, "period" },
        { "hybrid", "hsgd", { .period = 1, .moving_rate = 0.5, .momentum = 0.9 }, NULL },
        { "hybrid", "hsgd", { .period = 1 }, "moving_rate" },
        { "hybrid", "hsgd", { .period = 1, .moving_rate = 0.5, .outer_rate = 1 }, "outer_rate" },
        { "local", "local", { .period = 8 }, NULL },
        { "local", "local", { 0 }, "period" },
        { "local", "local", { .period = 8, .moving_rate = 0.5 }, "moving_rate" },
        { "local", "local", { .period = 8, .momentum = 0.5 }, "momentum" },
        { "local", "local", { .period = 8, .outer_momentum = 0.5 }, "outer_momentum" },
        { "local", "diloco", { .period = 8, .outer_rate = 0.7, .outer_momentum = 0.9 }, NULL },
        { "local", "diloco", { .period = 8, .outer_momentum = 0.9 }, "outer_rate" },
        { "local", "local", { .period = 8, .overlap = 7 }, NULL },
        { "hybrid", "hsgd", { .period = 8, .moving_rate = 0.5, .overlap = 7 }, "overlap" },
    };

    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        snprintf(p->mode, sizeof p->mode, "%s", plans[i].mode);
        snprintf(p->algorithm, sizeof p->algorithm, "%s", plans[i].algorithm);
        p->options = plans[i].options;
        p->options.wire = SYNC_WIRE_FLOAT32;
        free(text);
        plan_free(q);
        q = NULL;
        ck_assert_msg(read_back() == (plans[i].wrong ? -EINVAL : 0), "%zu: %s", i, err.text);
        if (plans[i].wrong) {
            char want[96];

            (void)snprintf(want, sizeof want, "\"%s\" does not fit the algorithm '%s' of mode '%s'",
                           plans[i].wrong, plans[i].algorithm, plans[i].mode);
            ck_assert_msg(strstr(err.text, want) != NULL, "%s", err.text);
        } else
            ck_assert(memcmp(&q->options, &p->options, sizeof p->options) == 0);
    }
}
END_TEST

START_TEST(sorted)
{
    text = plan_text(p);
    ck_assert_ptr_nonnull(
        strstr(text, "{\n  \"algorithm\": \"allreduce\",\n  \"bucket_bytes\": 4194304,\n"
                     "  \"candidates\": [],\n  \"centre_bytes\": 0,\n  \"change\": \"\",\n"
                     "  \"communication\": null,"));
    ck_assert_ptr_nonnull(strstr(text, "\"schema_version\": 2"));
}
END_TEST

static const struct {
    const char *from, *to, *words;
} edits[] = {
    { "\"schema_version\": 2", "\"schema_version\": 3", "schema_version is 3, this eddis reads 2" },
    { "\"schema_version\": 2,", "", "\"schema_version\" is missing" },
    { "\"schema_version\": 2", "\"schema_version\": 2, \"sync_samples_per_s\": 1", "unknown" },
    { "\"candidates\": []", "\"candidates\": [7]", "candidate 0: " },
    { "\"candidates\": []", "\"candidates\": 7", "\"candidates\"" },
    { "\"mode\"", "\"mood\"", "unknown member \"mood\"" },
    { "\"batch\": 5", "\"batch\": 5, \"batch\": 5", "duplicate" },
    { "\"batch\": 5", "\"batch\": 5, \"bach\": 5", "worker 0: unknown member \"bach\"" },
    { "\"batch\": 5", "\"batch\": 4", "\"weight\"" },
    { "\"batch\": 5", "\"batch\": -5", "\"batch\"" },
    { "\"batch\": 5", "\"batch\": 11", "\"batch\"" },
    { "\"batch\": 5", "\"batch\": 5.5", "\"batch\"" },
    { "\"batch\": 5", "\"batch\": 1e99", "\"batch\"" },
    { "\"global_batch\": 10", "\"global_batch\": 0", "\"global_batch\"" },
    { "\"equal_batch\": 4", "\"equal_batch\": 5", "\"equal_batch\" do not add up to 10" },
    { "\"rank\": 0", "\"rank\": 1", "worker 0: it has rank 1" },
    { "\"rank\": 1", "\"rank\": 0", "worker 1: it has rank 0" },
    { "\"local_rank\": 1", "\"local_rank\": 0", "worker 1: it has local rank 0; 1 comes next" },
    { "\"node\": 1", "\"node\": 2", "\"node\"" },
    { "\"node\": 1", "\"node\": -1", "\"node\"" },
    { "\"n1\"", "\"\"", "node 1 is not a host name" },
    { "\"n1\"", "7", "node 1 is not a host name" },
    { "\"emulated:1\"", "\"emulated:0\"", "workers 0 and 1 are both on device 'emulated:0'" },
    { "\"group\": 0", "\"group\": 2", "no worker is in group 1 of 3" },
    { "\"kind\": \"emulated\"", "\"kind\": \"toaster\"", "kind of device" },
    { "\"fixed_s\": 0.002", "\"fixed_s\": -1", "\"fixed_s\"" },
    { "\"fixed_s\": 0.002", "\"fixed_s\": 1e400", "" },
    { "\"sample_s\": 3", "\"sample_s\": 0.0, \"x\": 3", "worker 0" },
    { "\"emulated\": true", "\"emulated\": 1", "\"emulated\"" },
    { "\"reason\": \"sync", "\"reason\": \"sync\\u0000", "" },
    { "\"seed\": 9", "\"seed\": -9", "\"seed\"" },
    { "\"bucket_bytes\": 4194304", "\"bucket_bytes\": -1", "\"bucket_bytes\"" },
    { "\"wire\": \"bfloat16\"", "\"wire\": \"float8\"", "\"wire\"" },
    { "\"wire\": \"bfloat16\"", "\"wire\": 2", "\"wire\"" },
    { "\"workers\": [", "\"workers\": [7, ", "worker 0: it is not a JSON object" },
    { "{", "[", "" },
};

START_TEST(refuses)
{
    cleanup_free char *wrong = edited(edits[_i].from, edits[_i].to);

    ck_assert_int_eq(plan_parse(wrong, strlen(wrong), "my plan", &q, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, edits[_i].words) != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.text, "my plan") != NULL, "%s", err.text);
    ck_assert_ptr_null(q);
}
END_TEST

/* Every beginning of a plan is refused, without reading past its end. */
START_TEST(truncated)
{
    size_t n;

    text = plan_text(p);
    n = strlen(text) - 2; /* the last bracket and the newline */
    for (size_t i = 0; i <= n; i++) {
        char *part = malloc(i + 1);

        memcpy(part, text, i);
        ck_assert_int_lt(plan_parse(part, i, "plan", &q, NULL), 0);
        free(part);
    }
}
END_TEST

static const struct {
    const char *text;
    size_t n;
} junk[] = {
    { "", 0 },
    { "{}", 2 },
    { "[]", 2 },
    { "null", 4 },
    { "\0\1\2\377", 4 },
    { "{\"a\":", 5 },
    { "[[[[[[[[[[[[", 12 },
    { "{\"workers\":[]}", 14 },
};

START_TEST(garbage)
{
    ck_assert_int_lt(plan_parse(junk[_i].text, junk[_i].n, "plan", &q, &err), 0);
    ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(files)
{
    cleanup_free char *path = file_join(scratch, "plan.json");

    text = plan_text(p);
    ck_assert_int_eq(plan_read(path, &q, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "plan.json"));
    scratch_write("plan.json", text, 0600);
    ck_assert_int_eq(plan_read(path, &q, NULL), 0);
    ck_assert_int_eq(q->n_workers, 3);
}
END_TEST

/* The limit on a file's bytes leaves 1024 for each worker: the longest strings fit. */
START_TEST(largest)
{
    struct plan *small = p;

    p = plan_new(1, 2000);
    p->generation = p->version = p->global_batch = p->bucket_bytes = 1;
    snprintf(p->node[0], sizeof p->node[0], "n");
    for (int i = 0; i < p->n_workers; i++) {
        struct plan_worker *w = &p->worker[i];

        *w = small->worker[0];
        w->rank = w->local_rank = i;
        snprintf(w->device_id, sizeof w->device_id, "%063d", i);
        memset(w->device, 'd', sizeof w->device - 1);
        memset(w->cpus, '1', sizeof w->cpus - 1);
        w->batch = w->equal_batch = i == 0;
        w->weight = i == 0;
    }
    ck_assert_int_eq(read_back(), 0);
    ck_assert_uint_lt(strlen(text), (size_t)2000 * 1024);
    plan_free(small);
}
END_TEST

START_TEST(empty_hands)
{
    plan_free(NULL);
    ck_assert_ptr_null(plan_new(-1, 1));
    ck_assert_ptr_null(plan_new(1, -1));
}
END_TEST

/* Another file than a plan. */
START_TEST(no_plan)
{
    static const char *const others[] = { "command: [a]\n", "{\"name\": 1}", "[1]" };

    ck_assert_int_lt(plan_parse(others[_i], strlen(others[_i]), "my.yaml", &q, &err), 0);
    ck_assert_msg(strstr(err.text,
                         "my.yaml is not a plan; a plan is a plan-*.json of a job's "
                         "folder or the output of eddis-run --dry-run --json (") == err.text,
                  "%s", err.text);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, steps_of_an_epoch);
    tcase_add_test(tc, ranks_by_node);
    tcase_add_test(tc, hungry_group);
    tcase_add_loop_test(tc, no_plan, 0, 3);
    tcase_add_test(tc, options_of_algorithms);
    tcase_add_test(tc, sorted);
    tcase_add_loop_test(tc, refuses, 0, sizeof edits / sizeof *edits);
    tcase_add_test(tc, truncated);
    tcase_add_loop_test(tc, garbage, 0, sizeof junk / sizeof *junk);
    tcase_add_test(tc, files);
    tcase_add_test(tc, largest);
    tcase_add_test(tc, empty_hands);
}

SUITE_MAIN("plan", add_tests)
