/* SPDX-License-Identifier: Apache-2.0 */
/* compare_reach.h - whether and when a run of a comparison has reached the target */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_REACH_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_REACH_H

#include "agents/job/curve.h"
#include "cmd/run/request/compare_ask.h"

#include <stdbool.h>

/* Check whether the point has reached the target; never for COMPARE_EPOCHS. */
bool compare_reached(const struct curve_point *p, const struct compare_target *t);

/* Return the moment at which the target was reached between the point `before` (all 0: the start)
 * and `p`, which has reached it: by interpolation of samples, time or loss. An accuracy counts from
 * the moment at which it was seen, so that the result is p.
 */
struct curve_point compare_crossing(const struct curve_point *before, const struct curve_point *p,
                                    const struct compare_target *t);

#endif
