/* SPDX-License-Identifier: Apache-2.0 */
/* modes_train.c - bench-modes-train: one worker with a model whose computing is replaced by sleep
 *
 * LAYERS layers have 10^6 float32 parameters together.  A step of b samples takes as long as on the
 * device that the worker emulates: a third of it forward, the rest backward, layer by layer.  Each
 * layer's gradient is announced when its part is over.  All gradients are 1, so their weighted mean
 * is known; in half precision it may differ by the environment variable ROUNDED.  The job ends when
 * all workers together have done SAMPLES samples.
 */
#include "layers.h"

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/eddis.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 16, ELEMENTS = 1000000 / LAYERS };

#define TIMEOUT_NS (120 * CLOCK_S)

/* Set all gradients to 1. */
static void fill_gradients(struct eddis *e)
{
    for (int i = 0; i < LAYERS; i++) {
        float *g = eddis_gradient(e, i);

        for (int k = 0; k < ELEMENTS; k++)
            g[k] = 1;
    }
}

/* Sleep through the forward and backward pass of step_s seconds, and announce each gradient.  The
 * gradients are the results of the previous step, which are 1 again.
 */
static int compute(struct eddis *e, double step_s, struct eddis_error *err)
{
    int64_t begin = clock_now_ns();
    int rc = 0;

    for (int i = LAYERS - 1, done = 1; rc == 0 && i >= 0; i--, done++) {
        double until = step_s * (1.0 / 3 + 2.0 / 3 * done / LAYERS);

        clock_sleep_until_ns(begin + (int64_t)(until * 1e9));
        rc = eddis_announce(e, i, NULL, NULL, err);
    }
    return rc;
}

/* Check whether a mean of ones is 1, except for float32's rounding.  In half precision each hop
 * rounds, and whatever is added to equal sums is rounded alike each time, so the mean may differ by
 * `off`.  Such a mean itself has 16 bits.  If every worker adds a share that it alone has rounded,
 * it may have a few more bits: a share of 1/32 is a multiple of 2^-12.
 */
static bool is_one(float mean, float off)
{
    uint32_t bits;

    memcpy(&bits, &mean, sizeof bits);
    return fabsf(mean - 1) <= 1e-4F || ((bits & 0xfff) == 0 && fabsf(mean - 1) <= off);
}

/* Check that all combined gradients are 1.  Return 0 or -EPROTO. */
static int check_result(struct eddis *e, float off, struct eddis_error *err)
{
    for (int i = 0; i < LAYERS; i++) {
        const float *g = eddis_gradient(e, i);

        if (!is_one(g[0], off) || !is_one(g[ELEMENTS - 1], off))
            return eddis_fail(err, -EPROTO, "layer %d: the mean of ones is %g", i, g[0]);
    }
    return 0;
}

/* Make steps until there are none left.  Return 0 or a negative errno. */
static int train(struct eddis *e, float off, struct eddis_error *err)
{
    struct eddis_step s = { .size = sizeof s };
    int rc = 0;

    while (rc == 0 && (rc = eddis_step_begin(e, &s, err)) == 1) {
        rc = compute(e, s.emulated_s, err);
        if (rc == 0)
            rc = eddis_wait(e, TIMEOUT_NS, err);
        if (rc == 0)
            rc = check_result(e, off, err);
        if (rc == 0)
            rc = eddis_step_end(e, NULL, err);
    }
    return rc;
}

int main(void)
{
    const char *samples = getenv("SAMPLES"), *off = getenv("ROUNDED");
    struct eddis_options o = { .size = sizeof o, .epochs = 1, .own_pace = 1 };
    float *value = calloc((size_t)LAYERS * ELEMENTS, sizeof *value);
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int rc;

    o.samples = samples ? atoll(samples) : 0;
    if (o.samples < 1 || !value) {
        fprintf(stderr, "bench-modes-train: no SAMPLES in the environment\n");
        return 2;
    }
    rc = eddis_open(&o, &e, &err);
    if (rc == 0)
        rc = layers_register(e, value, LAYERS, ELEMENTS, &err);
    if (rc == 0)
        fill_gradients(e);
    if (rc == 0)
        rc = eddis_broadcast_parameters(e, 0, &err);
    if (rc == 0)
        rc = train(e, off ? strtof(off, NULL) : 0, &err);
    if (rc == 0)
        rc = eddis_close(e, &err);
    if (rc < 0) {
        fprintf(stderr, "bench-modes-train: %s\n", err.text);
        eddis_abort(e, 1);
    }
    free(value);
    return 0;
}
