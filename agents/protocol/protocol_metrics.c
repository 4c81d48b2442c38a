/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_metrics.c - converts a worker's step-time measurements to and from JSON */
#include "protocol_metrics.h"

#include <errno.h>
#include <float.h>

static const struct field spread_fields[] = {
    FIELD_REAL(struct step_spread, low_s, DOUBLE, 0, STEP_FIGURES_MAX_S),
    FIELD_REAL(struct step_spread, median_s, DOUBLE, 0, STEP_FIGURES_MAX_S),
    FIELD_REAL(struct step_spread, high_s, DOUBLE, 0, STEP_FIGURES_MAX_S),
    FIELD_REAL(struct step_spread, max_s, DOUBLE, 0, STEP_FIGURES_MAX_S),
};
static const struct fields spread_table = FIELDS(struct step_spread, spread_fields);

static const struct field metrics_fields[] = {
    FIELD(struct step_metrics, plan, INT64, 1, INT64_MAX),
    FIELD(struct step_metrics, since, INT64, 0, INT64_MAX),
    FIELD(struct step_metrics, steps, INT64, STEP_WINDOW_CHANGE, INT64_MAX),
    FIELD(struct step_metrics, points, INT64, STEP_WINDOW_CHANGE, INT64_MAX),
    FIELD(struct step_metrics, count, INT64, 1, INT64_MAX),
    FIELD_REAL(struct step_metrics, work, DOUBLE, DBL_MIN, DBL_MAX),
    FIELD_INLINE("own_", struct step_metrics, own, spread_table),
    FIELD_INLINE("compute_", struct step_metrics, compute, spread_table),
    FIELD_INLINE("input_", struct step_metrics, input, spread_table),
    FIELD_INLINE("exposed_", struct step_metrics, exposed, spread_table),
    FIELD_INLINE("total_", struct step_metrics, total, spread_table),
};

/* Check that the statistics are possible and complete, as step_metrics_are_valid says
 * (fields.check).  Return 0 or -EINVAL.
 */
static int check(const void *metrics, struct eddis_error *err)
{
    return step_metrics_are_valid(metrics) ? 0
                                           : eddis_fail(err, -EINVAL, "quartiles are out of order");
}

const struct fields step_metrics_table =
    FIELDS(struct step_metrics, metrics_fields, .name = "figures", .check = check);
