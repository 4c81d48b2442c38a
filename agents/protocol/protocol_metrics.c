/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_metrics.c - converts a worker's step-time measurements to and from JSON */
#include "protocol_metrics.h"

#include "lib/base/fields.h"

#include <errno.h>
#include <float.h>

#define N(table) (sizeof(table) / sizeof *(table))

#define SECONDS(spread, member)                                                                    \
    {                                                                                              \
        .key = #spread "_" #member, .kind = FIELD_DOUBLE,                                          \
        .offset = offsetof(struct step_metrics, spread.member), .low = 0,                          \
        .high = STEP_FIGURES_MAX_S                                                                 \
    }
#define SPREAD(spread)                                                                             \
    SECONDS(spread, low_s), SECONDS(spread, median_s), SECONDS(spread, high_s),                    \
        SECONDS(spread, max_s)

static const struct field metrics_fields[] = {
    FIELD(struct step_metrics, plan, INT64, 1, INT64_MAX),
    FIELD(struct step_metrics, since, INT64, 0, INT64_MAX),
    FIELD(struct step_metrics, steps, INT64, STEP_WINDOW_CHANGE, INT64_MAX),
    FIELD(struct step_metrics, points, INT64, STEP_WINDOW_CHANGE, INT64_MAX),
    FIELD(struct step_metrics, count, INT64, 1, INT64_MAX),
    FIELD_REAL(struct step_metrics, work, DOUBLE, DBL_MIN, DBL_MAX),
    SPREAD(own),
    SPREAD(compute),
    SPREAD(input),
    SPREAD(exposed),
    SPREAD(total),
};

int metrics_write(const struct step_metrics *f, json_t *o)
{
    json_t *one;

    if (f->plan == 0)
        return 0;
    one = json_object();
    if (json_object_set_new(o, "figures", one) < 0 ||
        fields_write(metrics_fields, N(metrics_fields), f, one) < 0)
        return -ENOMEM;
    return 0;
}

int metrics_read(struct step_metrics *ret, const json_t *o, struct eddis_error *err)
{
    json_t *one;
    int rc;

    *ret = (struct step_metrics){ .plan = 0 };
    if (!json_object_get(o, "figures"))
        return 0;
    rc = json_want_object(o, "figures", &one, err);
    if (rc >= 0)
        rc = fields_read(metrics_fields, N(metrics_fields), one, ret, err);
    if (rc >= 0)
        rc = fields_end(one, N(metrics_fields), err);
    if (rc >= 0 && !step_metrics_are_valid(ret))
        rc = eddis_fail(err, -EINVAL, "quartiles are out of order");
    return rc < 0 ? eddis_fail_prefix(err, rc, "figures") : 1;
}
