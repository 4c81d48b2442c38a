/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - what workers report of their steps, for the tests of what is learnt from it */
#ifndef EDDIS_TESTS_STEPS_H
#define EDDIS_TESTS_STEPS_H

#include "lib/model/step_window.h"

/* Return times that are within 1 % of this one. */
static inline struct step_spread spread(double median_s)
{
    return (struct step_spread){
        .low_s = 0.99 * median_s, .median_s = median_s, .high_s = 1.01 * median_s, .max_s = median_s
    };
}

/* Return a report of so many steps, the first of which is `since`. */
static inline struct step_metrics steps_of(int64_t plan, int64_t since, int64_t steps,
                                           int64_t count, double own_s)
{
    return (struct step_metrics){ .plan = plan,
                                  .since = since,
                                  .steps = steps,
                                  .points = steps,
                                  .count = count,
                                  .work = (double)count,
                                  .own = spread(own_s),
                                  .compute = spread(own_s) };
}

#endif
