/* SPDX-License-Identifier: Apache-2.0 */
/* modes_train.c - bench-modes-train: one worker of a model whose compute is slept
 *
 * LAYERS layers hold 10^6 float32 parameters in all.  A step of b samples takes as long as on the
 * device that the worker emulates, a third of it forward and the rest backward, layer by layer;
 * each layer's gradient is announced when its part is over.  Gradients are ones, so that their
 * weighted mean is known; in 16 bits it may be off by what the variable ROUNDED says.  The job ends
 * when all workers together have done as many samples as SAMPLES says.
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

static void fill_gradients(struct eddis *e)
{
    for (int i = 0; i < LAYERS; i++) {
        float *g = eddis_gradient(e, i);

        for (int k = 0; k < ELEMENTS; k++)
            g[k] = 1;
    }
}

/* The pass itself; results of the step before, ones again, are this one's gradients. */
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

/* A mean of ones is 1 but for float32's rounding.  Where gradients travelled as 16 bits each hop
 * has rounded, and what is added to equal sums is rounded alike each time: it may be `off` then.
 * Such a mean has 16 bits itself; or, where everybody has added what the others had rounded, the
 * few more that the smallest of these has: a share of a 32nd is a multiple of 2^-12.
 */
static bool is_one(float mean, float off)
{
    uint32_t bits;

    memcpy(&bits, &mean, sizeof bits);
    return fabsf(mean - 1) <= 1e-4F || ((bits & 0xfff) == 0 && fabsf(mean - 1) <= off);
}

static int check_result(struct eddis *e, float off, struct eddis_error *err)
{
    for (int i = 0; i < LAYERS; i++) {
        const float *g = eddis_gradient(e, i);

        if (!is_one(g[0], off) || !is_one(g[ELEMENTS - 1], off))
            return eddis_fail(err, -EPROTO, "layer %d: the mean of ones is %g", i, g[0]);
    }
    return 0;
}

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
