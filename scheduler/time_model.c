/* SPDX-License-Identifier: Apache-2.0 */
/* time_model.c - computes a worker's time for a batch from its device's measurements */
#include "time_model.h"

#include <errno.h>
#include <math.h>

/* Reference sample: one image of 224 x 224 forward and backward through ResNet-50 in float32.
 * 4.1e9 multiply-adds forward are 8.2e9 operations, and the backward pass costs twice as much.
 * Its 1.1e7 activations of 4 bytes are written and read about nine times over both passes
 * (convolution, normalisation, rectifier and their gradients).  Between devices the ratio of the
 * two values matters, not their size.  The bytes are the same for every precision: with autocast
 * activations are halved, but copies in the other type are added.  So for fp16 the model has 2 800,
 * 1 300 and 300 samples/s on an A100, a V100 and a 1080 Ti, near what is published of them.
 */
static const double REFERENCE_FLOPS = 24.6e9;
static const double REFERENCE_BYTES = 0.4e9;

double time_model_s(const struct time_model *m, int64_t b)
{
    return b <= 0 ? 0 : m->fixed_s + m->sample_s * (double)b;
}

/* Check whether a measurement is finite and positive. */
static bool measured(double x)
{
    return isfinite(x) && x > 0;
}

/* Store in *ret the exact model of an emulated device.  Return 0, or -EINVAL: a number of its speed
 * is invalid.
 */
static int emulated_model(const struct device *d, struct time_model *ret, struct eddis_error *err)
{
    double sample_s = d->sample_s / d->rate;

    if (!measured(d->rate) || !measured(sample_s) || !isfinite(d->fixed_s) || d->fixed_s < 0)
        return eddis_fail(
            err, -EINVAL,
            "the emulated device '%s' has no valid speed: rate %g, a %g s, c %g s a sample", d->id,
            d->rate, d->fixed_s, d->sample_s);
    *ret = (struct time_model){ .fixed_s = d->fixed_s, .sample_s = sample_s };
    return 0;
}

bool time_model_lacks(const struct device *d, enum precision precision)
{
    return precision > PRECISION_FP32 &&
           (d->kind == DEVICE_CPU || (d->kind == DEVICE_CUDA && profile_rate(d, precision) == 0));
}

/* Return the device's rate of products in this precision, or in fp32 if it lacks them. */
static double rate_of(const struct device *d, enum precision precision)
{
    return profile_rate(d, time_model_lacks(d, precision) ? PRECISION_FP32 : precision);
}

unsigned time_model_figures(const struct device *d, enum precision precision)
{
    if (d->kind == DEVICE_EMULATED)
        return 0;
    return (measured(d->fp32_flops) ? TIME_MODEL_PRODUCT : 0) |
           (measured(rate_of(d, precision)) ? TIME_MODEL_PRECISE : 0) |
           (measured(d->memory_bytes_per_s) ? TIME_MODEL_MEMORY : 0);
}

int time_model_of_device(const struct device *d, unsigned figures, enum precision precision,
                         struct time_model *ret, bool *ret_relative, struct eddis_error *err)
{
    double sample_s = 0;

    if (d->kind == DEVICE_EMULATED) {
        int rc = emulated_model(d, ret, err);

        if (rc == 0)
            *ret_relative = false;
        return rc;
    }
    /* The two times add: a step alternates between products that compute and element-wise passes
     * that move memory.
     */
    if (!figures || (figures & ~time_model_figures(d, precision)))
        return eddis_fail(err, -ENODATA,
                          "device '%s' was not measured; run eddis-run --profile to see why",
                          d->id);
    if (figures & TIME_MODEL_PRECISE)
        sample_s += REFERENCE_FLOPS / rate_of(d, precision);
    else if (figures & TIME_MODEL_PRODUCT)
        sample_s += REFERENCE_FLOPS / d->fp32_flops;
    if (figures & TIME_MODEL_MEMORY)
        sample_s += REFERENCE_BYTES / d->memory_bytes_per_s;
    *ret = (struct time_model){ .fixed_s = 0, .sample_s = sample_s };
    *ret_relative = true;
    return 0;
}
