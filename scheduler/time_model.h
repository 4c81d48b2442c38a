/* SPDX-License-Identifier: Apache-2.0 */
/* time_model.h - how long a worker takes for a batch: t(b) = fixed_s + sample_s * b
 *
 * The affine form is that of LB-BSP (SoCC 2020), Pollux (OSDI 2021) and Cannikin (Middleware 2024).
 * A worker with b = 0 takes no time: it only joins the collectives.
 */
#ifndef EDDIS_SCHEDULER_TIME_MODEL_H
#define EDDIS_SCHEDULER_TIME_MODEL_H

#include "lib/base/error.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct time_model {
    double fixed_s;  /* >= 0 */
    double sample_s; /* > 0 */
};

/* Return the seconds for b samples; 0 for none. */
double time_model_s(const struct time_model *m, int64_t b);

/* Compute a device's model from its profile. Emulated devices give it exactly, in seconds. For real
 * ones the speeds of a matrix product and a memory sweep are applied to a reference sample. Then
 * only ratios between devices have a meaning, and *ret_relative is true. -ENODATA: not measured;
 * -EINVAL: an emulated device without a speed.
 */
int time_model_of_device(const struct device *d, struct time_model *ret, bool *ret_relative,
                         struct eddis_error *err);

#endif
