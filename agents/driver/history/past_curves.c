/* SPDX-License-Identifier: Apache-2.0 */
/* past_curves.c - compare the courses of a program's jobs */
#include "past_curves.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Part of an efficiency that the newest job decides, if an earlier value is there: the losses of
 * single jobs differ by chance.
 */
#define NEWEST_PART (1.0 / 3)

/* Efficiencies beyond these are no property of a mode. */
#define LEAST 0.01
#define MOST  100.0

static const struct field point_fields[] = {
    FIELD(struct curve_point, samples, INT64, 1, INT64_C(1) << 53),
    FIELD(struct curve_point, loss, MEASURE, 0, 0),
};
static const struct fields point_table = FIELDS(struct curve_point, point_fields);

static const struct field curve_fields[] = {
    FIELD(struct past_curve, key, LINE, 0, 0),
    FIELD(struct past_curve, algorithm, LINE, 0, 0),
    FIELD(struct past_curve, writers, INT64, 1, INT64_C(1) << 20),
    FIELD(struct past_curve, period, INT64, 0, INT64_C(1) << 53),
    FIELD(struct past_curve, batch, INT64, 1, INT64_C(1) << 53),
    FIELD_ARRAY("points", struct past_curve, point, n, point_table),
    FIELD(struct past_curve, learnt_s, INT64, 0, INT64_MAX),
};
static const struct fields curve_table = FIELDS(struct past_curve, curve_fields);
static const struct field curves_row =
    FIELD_OWNED("curves", struct past_rows, row, n, PAST_CURVES, curve_table);
static const struct past_kind curves_kind = { "curves", &curves_row,
                                              offsetof(struct past_curve, learnt_s) };

void past_curve_take(struct past_curve *ret, const struct curve *c)
{
    ret->n = c->n < PAST_POINTS ? c->n : PAST_POINTS;
    for (int i = 0; i < ret->n; i++) {
        const struct curve_point *p =
            &c->point[ret->n > 1 ? (int64_t)i * (c->n - 1) / (ret->n - 1) : 0];

        ret->point[i] = (struct curve_point){ .samples = p->samples, .loss = p->loss };
    }
}

/* Drop the oldest course if there are PAST_CURVES and none has the key of c. */
static void make_room(struct past_rows *l, const struct past_curve *c)
{
    struct past_curve *row = l->row;
    int oldest = 0;

    if (l->n < PAST_CURVES || key_index_find(&l->index, l->row, c->key) >= 0)
        return;
    for (int i = 1; i < l->n; i++)
        if (row[i].learnt_s < row[oldest].learnt_s)
            oldest = i;
    key_index_remove(&l->index, l->row, oldest);
    l->n--;
}

/* Store the efficiency of the course `mode` beside that of sync mode in the list. Return 1; 0: they
 * show none; or -ENOMEM.
 */
static int compare(const struct past_curve *sync, const struct past_curve *mode,
                   struct past_efficiencies *l)
{
    struct efficiency_row row = { .writers = mode->writers,
                                  .period = mode->period,
                                  .batch = mode->batch };
    double value = curve_ratio(sync->point, sync->n, mode->point, mode->n), before;

    if (mode->writers < 2 || mode->period < 1 || !(value >= LEAST && value <= MOST))
        return 0;
    (void)snprintf(row.algorithm, sizeof row.algorithm, "%s", mode->algorithm);
    before = past_efficiency(l, &row);
    row.value = before > 0 ? pow(before, 1 - NEWEST_PART) * pow(value, NEWEST_PART) : value;
    return past_efficiencies_set(l, &row) < 0 ? -ENOMEM : 1;
}

/* Check whether the course is of sync mode, with which others are compared. */
static bool is_exact(const struct past_curve *c)
{
    return algorithm_has(c->algorithm, ALGORITHM_EXACT);
}

/* Compare a course of sync mode with all others of the same batch. Return the number of
 * efficiencies, or -ENOMEM.
 */
static int compare_all(const struct past_rows *curves, const struct past_curve *sync,
                       struct past_efficiencies *l)
{
    const struct past_curve *row = curves->row;
    int n = 0, rc = 0;

    for (int i = 0; i < curves->n && rc >= 0; i++) {
        rc = row[i].batch == sync->batch && !is_exact(&row[i]) ? compare(sync, &row[i], l) : 0;
        n += rc > 0;
    }
    return rc < 0 ? rc : n;
}

/* Return the newest course of sync mode with this batch, borrowed; NULL: there is none. */
static const struct past_curve *newest_exact(const struct past_rows *curves, int64_t batch)
{
    const struct past_curve *row = curves->row, *newest = NULL;

    for (int i = 0; i < curves->n; i++)
        if (row[i].batch == batch && is_exact(&row[i]) &&
            (!newest || row[i].learnt_s >= newest->learnt_s))
            newest = &row[i];
    return newest;
}

/* Compare course c with those that it can be compared with, as compare_all. */
static int compare_with(const struct past_rows *curves, const struct past_curve *c,
                        struct past_efficiencies *l)
{
    const struct past_curve *sync;

    if (is_exact(c))
        return compare_all(curves, c, l);
    sync = newest_exact(curves, c->batch);
    return sync ? compare(sync, c, l) : 0;
}

/* As past_curve_keep, with the tables as they were loaded. */
static int keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                const struct past_curve *c, struct past_rows *curves,
                struct past_efficiencies *efficiencies, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();
    int n = compare_with(curves, c, efficiencies), rc;

    make_room(curves, c);
    if (n < 0 || past_put(&curves_kind, curves, c) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for the course of the job");
    rc = past_keep(reader, job, model_bytes, &curves_kind, o, curves, err);
    if (rc == 0 && n > 0)
        rc = past_efficiencies_keep(reader, job, model_bytes, efficiencies, err);
    return rc < 0 ? rc : n;
}

/* Check whether a table that was loaded with this result may be replaced. */
static bool may_replace(int rc)
{
    return rc == 0 || rc == -ENOENT;
}

int past_curve_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                    const struct past_curve *c, struct eddis_error *err)
{
    struct past_efficiencies efficiencies = { 0 };
    struct past_rows curves = { 0 };
    struct past_curve keyed = *c;
    struct efficiency_row of = { .writers = c->writers, .period = c->period, .batch = c->batch };
    int rc;

    if (job->profile.cache_ns == 0 || is_exact(c) != (c->writers == 1))
        return 0;
    (void)snprintf(of.algorithm, sizeof of.algorithm, "%s", c->algorithm);
    efficiency_key(&of);
    memcpy(keyed.key, of.key, sizeof keyed.key);
    rc = past_load(reader, job, model_bytes, &curves_kind, &curves, NULL);
    if (may_replace(rc))
        rc = past_efficiencies_load(reader, job, model_bytes, &efficiencies);
    rc = may_replace(rc)
             ? keep(reader, job, model_bytes, &keyed, &curves, &efficiencies, err)
             : eddis_fail(err, rc,
                          "the losses of earlier jobs cannot be read from the cache: the "
                          "next plan does without this job's");
    past_rows_fini(&curves);
    past_efficiencies_fini(&efficiencies);
    return rc;
}
