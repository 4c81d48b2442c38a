/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - updates parameters by one step of SGD, Nesterov or Adam */
#include "optimizer.h"

#include <math.h>

int optimizer_states(const struct optimizer *o)
{
    return o->kind == OPTIMIZER_ADAM ? 2 : o->kind == OPTIMIZER_NESTEROV || o->momentum != 0;
}

/* Update w [n] by its gradient g with SGD without momentum. */
static void sgd(float *restrict w, const float *restrict g, int64_t n, float rate, float decay)
{
    for (int64_t i = 0; i < n; i++)
        w[i] -= rate * (g[i] + decay * w[i]);
}

/* Update w [n] and v by the gradient g with SGD and momentum; c = { rate, momentum, decay }. */
static void sgd_momentum(float *restrict w, const float *restrict g, float *restrict v, int64_t n,
                         const float c[3])
{
    float rate = c[0], momentum = c[1], decay = c[2];

    for (int64_t i = 0; i < n; i++) {
        v[i] = momentum * v[i] + (g[i] + decay * w[i]);
        w[i] -= rate * v[i];
    }
}

/* Update w [n], m and s by the gradient g with Adam; c = { rate, tiny, decay }.  rate and tiny
 * contain both bias corrections: rate m / (1 - b1^t) / (sqrt(s / (1 - b2^t)) + e) = (rate r / (1 -
 * b1^t)) m / (sqrt(s) + e r) with r = sqrt(1 - b2^t).
 */
static void adam(float *restrict w, const float *restrict g, float *restrict m, float *restrict s,
                 int64_t n, const float c[3])
{
    float rate = c[0], tiny = c[1], decay = c[2];

    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + decay * w[i];

        m[i] = (float)0.9 * m[i] + (float)0.1 * d;
        s[i] = (float)0.999 * s[i] + (float)0.001 * d * d;
        w[i] -= rate * m[i] / (sqrtf(s[i]) + tiny);
    }
}

/* Update w [n] and v by the gradient g with Nesterov; c = { rate, momentum, decay }.  Before, w is
 * x + momentum v (optimizer_look_ahead); afterwards x + (momentum v - rate g), which differs from
 * that by -rate g.
 */
static void nesterov(float *restrict w, const float *restrict g, float *restrict v, int64_t n,
                     const float c[3])
{
    float rate = c[0], momentum = c[1], decay = c[2];

    for (int64_t i = 0; i < n; i++) {
        float d = rate * (g[i] + decay * w[i]);

        v[i] = momentum * v[i] - d;
        w[i] -= d;
    }
}

void optimizer_look_ahead(const struct optimizer *o, float *w, const float *state, int64_t n)
{
    float momentum = (float)o->momentum;

    if (o->kind != OPTIMIZER_NESTEROV)
        return;
    for (int64_t i = 0; i < n; i++)
        w[i] += momentum * state[i];
}

void optimizer_update(const struct optimizer *o, double factor, float *w, const float *g,
                      float *state, int64_t n)
{
    double rate = o->rate * factor;
    float decay = (float)o->weight_decay;

    if (o->kind == OPTIMIZER_ADAM) {
        double r = sqrt(1 - pow(0.999, (double)o->updates));
        float c[3] = { (float)(rate * r / (1 - pow(0.9, (double)o->updates))), (float)(1e-8 * r),
                       decay };

        adam(w, g, state, state + n, n, c);
    } else if (o->kind == OPTIMIZER_NESTEROV) {
        nesterov(w, g, state, n, (float[3]){ (float)rate, (float)o->momentum, decay });
    } else if (o->momentum != 0) {
        sgd_momentum(w, g, state, n, (float[3]){ (float)rate, (float)o->momentum, decay });
    } else {
        sgd(w, g, n, (float)rate, decay);
    }
}
