/* SPDX-License-Identifier: Apache-2.0 */
/* time_model.h - time models: how long a worker needs for a batch b, t(b) = fixed_s + sample_s * b
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
    double fixed_s;  /* time that does not depend on the batch, >= 0 */
    double sample_s; /* time for each sample, > 0 */
};

/* Measurements of a device, bits of a set */
enum {
    TIME_MODEL_PRODUCT = 1, /* the rate of matrix products in float32 */
    TIME_MODEL_MEMORY = 2,  /* the rate of a sweep through memory */
    /* the rate of matrix products in the program's precision; that in float32 of a device which
     * lacks such products
     */
    TIME_MODEL_PRECISE = 4,
    TIME_MODEL_ALL = TIME_MODEL_PRODUCT | TIME_MODEL_MEMORY | TIME_MODEL_PRECISE,
};

/* Check whether the device has no products of matrices in this precision, so that a program's run
 * there at its speed in float32: a CPU, or a GPU whose profile says so.
 */
bool time_model_lacks(const struct device *d, enum precision precision);

/* Return the set of measurements that a CPU or a GPU has for a program of this precision; 0: none,
 * or the device is emulated.
 */
unsigned time_model_figures(const struct device *d, enum precision precision);

/* Return the seconds that a worker needs for b samples; 0 if b is 0. */
double time_model_s(const struct time_model *m, int64_t b);

/* Compute a device's time model from its profile. For an emulated device it is exact, in seconds,
 * and *ret_relative is false. For a real device the measured speeds of a matrix product and a
 * memory sweep are applied to a reference sample; then only ratios between devices have a meaning,
 * and *ret_relative is true. figures: the set of measurements to use, the same for all devices that
 * are compared: a device without one of them would seem faster than it is. Of the two rates of
 * products TIME_MODEL_PRECISE is used if the set has both. Return 0; -ENODATA: the device lacks one
 * of these measurements; -EINVAL: an emulated device has no speed.
 */
int time_model_of_device(const struct device *d, unsigned figures, enum precision precision,
                         struct time_model *ret, bool *ret_relative, struct eddis_error *err);

#endif
