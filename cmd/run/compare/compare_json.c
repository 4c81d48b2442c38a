/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.c - converts a comparison to and from compare.json */
#include "compare_json.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "lib/base/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const compare_state_names[COMPARE_STATES] = { "open", "reached", "ended",
                                                          "late", "failed",  "not run" };

#define POINT(member)  FIELD(struct curve_point, member, MEASURE, 0, 0)
#define RUN(member)    FIELD(struct compare_run, member, MEASURE, 0, 0)
#define ROW(member)    FIELD(struct compare_row, member, MEASURE, 0, 0)
#define COUNT(s, name) FIELD(struct s, name, INT64, 0, INT64_MAX)

static const struct field point_fields[] = {
    POINT(seconds),
    COUNT(curve_point, samples),
    POINT(loss),
    POINT(accuracy),
};
static const struct fields point_table =
    FIELDS(struct curve_point, point_fields, .open = true, .name = "point");

static const struct field run_fields[] = {
    FIELD(struct compare_run, mode, NAME, 0, 0),
    FIELD(struct compare_run, round, INT, 0, COMPARE_MOST_ROUNDS),
    FIELD(struct compare_run, seed, UINT64, 0, 0),
    FIELD_WORD(struct compare_run, state, compare_state_names),
    FIELD(struct compare_run, why, LINE, 0, 0),
    FIELD(struct compare_run, job, TEXT, 0, 0),
    FIELD(struct compare_run, algorithm, TEXT, 0, 0),
    FIELD(struct compare_run, writers, INT, 0, PLAN_MAX_WORKERS),
    COUNT(compare_run, period),
    FIELD(struct compare_run, wire, TEXT, 0, 0),
    COUNT(compare_run, global_batch),
    COUNT(compare_run, model_bytes),
    RUN(samples_per_s),
    RUN(seconds),
    COUNT(compare_run, samples),
    RUN(took_s),
    RUN(accuracy),
    RUN(test_loss),
    RUN(loss),
    FIELD_ARRAY("curve", struct compare_run, curve.point, curve.n, point_table),
};
static const struct fields run_table =
    FIELDS(struct compare_run, run_fields, .open = true, .name = "run");

static const struct field row_fields[] = {
    FIELD(struct compare_row, mode, NAME, 0, 0),
    FIELD_WORD(struct compare_row, state, compare_state_names),
    FIELD(struct compare_row, why, LINE, 0, 0),
    FIELD(struct compare_row, rounds, INT, 0, COMPARE_MOST_ROUNDS),
    FIELD(struct compare_row, algorithm, TEXT, 0, 0),
    FIELD(struct compare_row, writers, INT, 0, PLAN_MAX_WORKERS),
    COUNT(compare_row, period),
    FIELD(struct compare_row, wire, TEXT, 0, 0),
    COUNT(compare_row, global_batch),
    COUNT(compare_row, model_bytes),
    ROW(samples_per_s),
    FIELD(struct compare_row, above, BOOL, 0, 0),
    ROW(seconds),
    ROW(samples),
    ROW(final),
    ROW(interval),
    ROW(efficiency),
    FIELD_AS("efficiency_by", struct compare_row, by, TEXT, 0),
};
static const struct fields row_table =
    FIELDS(struct compare_row, row_fields, .open = true, .name = "mode");

static const struct field target_fields[] = {
    FIELD_WORD(struct compare_target, goal, compare_goal_names),
    FIELD(struct compare_target, value, MEASURE, 0, 0),
};
static const struct fields target_table =
    FIELDS(struct compare_target, target_fields, .open = true);

static const struct field compare_fields[] = {
    FIELD(struct compare, schema_version, INT64, COMPARE_SCHEMA_VERSION, COMPARE_SCHEMA_VERSION),
    FIELD(struct compare, key, TEXT, 0, 0),
    FIELD(struct compare, name, TEXT, 0, 0),
    FIELD(struct compare, seed, UINT64, 0, 0),
    FIELD(struct compare, rounds, INT, 1, COMPARE_MOST_ROUNDS),
    FIELD_STRUCT("target", struct compare, target, target_table),
    FIELD(struct compare, finished, BOOL, 0, 0),
    FIELD(struct compare, best, TEXT, 0, 0),
    FIELD(struct compare, final_is, TEXT, 0, 0),
    FIELD_ARRAY("modes", struct compare, row, n_rows, row_table),
    FIELD_ARRAY("runs", struct compare, run, n_runs, run_table),
};
static const struct fields compare_table =
    FIELDS(struct compare, compare_fields, .open = true, .name = "comparison");

void compare_run_folder(const char *mode, int round, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s-%d", mode, round + 1);
}

char *compare_text(const struct compare *c)
{
    cleanup_json json_t *j = fields_json(&compare_table, c);

    return j ? json_text(j, true) : NULL;
}

int compare_write(const struct compare *c, const char *path, struct eddis_error *err)
{
    cleanup_json json_t *j = fields_json(&compare_table, c);

    return j ? json_write_file(path, j, err)
             : eddis_fail(err, -ENOMEM, "no memory for the comparison");
}

/* Check whether a run's mode exists, and its folder is the one that eddis gives it: the folder is
 * removed before the run begins.
 */
static bool is_named(const struct compare_run *r)
{
    char job[sizeof r->job];

    compare_run_folder(r->mode, r->round, job, sizeof job);
    return sync_mode_find(r->mode, strlen(r->mode)) < SYNC_MODES && strcmp(r->job, job) == 0;
}

int compare_parse(const char *text, size_t n, const char *what, struct compare **ret,
                  struct eddis_error *err)
{
    cleanup_free struct compare *c = NULL;
    int rc = fields_parse_new(&compare_table, text, n, what, &c, err);

    if (rc < 0)
        return rc;
    if (c->n_runs < 1 || c->n_runs % c->rounds || c->n_runs / c->rounds > SYNC_MODES)
        return eddis_fail(err, -EINVAL, "%s: the number of runs does not fit the rounds", what);
    for (int i = 0; i < c->n_runs; i++) {
        struct curve *curve = &c->run[i].curve;

        if (!is_named(&c->run[i]))
            return eddis_fail(err, -EINVAL, "%s: run %d has no mode or another folder", what, i);
        if (curve->n > 0)
            curve->last = curve->point[curve->n - 1];
    }
    *ret = cleanup_keep(c);
    return 0;
}

int compare_read(const char *path, struct compare **ret, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read_trusted(path, JSON_MAX_BYTES, NULL, &text, &n, err);

    return rc < 0 ? rc : compare_parse(text, n, path, ret, err);
}
