/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - updates parameters by one step of SGD, Nesterov or Adam */
#include "optimizer.h"

int optimizer_states(const struct optimizer *o)
{
    return o->kind == OPTIMIZER_ADAM ? 2 : o->kind == OPTIMIZER_NESTEROV || o->momentum != 0;
}

/* Update w by SGD without momentum. */
static void sgd(real *restrict w, const real *restrict g, int64_t n, real rate, real decay)
{
    for (int64_t i = 0; i < n; i++)
        w[i] -= rate * (g[i] + decay * w[i]);
}

/* Update w and v by SGD with momentum; c = { rate, momentum, decay }. */
static void sgd_momentum(real *restrict w, const real *restrict g, real *restrict v, int64_t n,
                         const real c[3])
{
    real rate = c[0], momentum = c[1], decay = c[2];

    for (int64_t i = 0; i < n; i++) {
        v[i] = momentum * v[i] + (g[i] + decay * w[i]);
        w[i] -= rate * v[i];
    }
}

/* Update w, m and s by Adam; c = { rate, tiny, decay }.  rate and tiny contain both bias
 * corrections: rate m / (1 - b1^t) / (sqrt(s / (1 - b2^t)) + e) = (rate r / (1 - b1^t)) m /
 * (sqrt(s) + e r) with r = sqrt(1 - b2^t).
 */
static void adam(real *restrict w, const real *restrict g, real *restrict m, real *restrict s,
                 int64_t n, const real c[3])
{
    real rate = c[0], tiny = c[1], decay = c[2];

    for (int64_t i = 0; i < n; i++) {
        real d = g[i] + decay * w[i];

        m[i] = (real)0.9 * m[i] + (real)0.1 * d;
        s[i] = (real)0.999 * s[i] + (real)0.001 * d * d;
        w[i] -= rate * m[i] / (real_sqrt(s[i]) + tiny);
    }
}

/* Update w and v by Nesterov; c = { rate, momentum, decay }.  w is at x + momentum v, so the new x
 * + (momentum v - rate g) is a step of -rate g from there.
 */
static void nesterov(real *restrict w, const real *restrict g, real *restrict v, int64_t n,
                     const real c[3])
{
    real rate = c[0], momentum = c[1], decay = c[2];

    for (int64_t i = 0; i < n; i++) {
        real d = rate * (g[i] + decay * w[i]);

        v[i] = momentum * v[i] - d;
        w[i] -= d;
    }
}

void optimizer_look_ahead(const struct optimizer *o, real *w, const real *state, int64_t n)
{
    real momentum = (real)o->momentum;

    if (o->kind != OPTIMIZER_NESTEROV)
        return;
    for (int64_t i = 0; i < n; i++)
        w[i] += momentum * state[i];
}

void optimizer_update(const struct optimizer *o, double factor, real *w, const real *g, real *state,
                      int64_t n)
{
    double rate = o->rate * factor;
    real decay = (real)o->weight_decay;

    if (o->kind == OPTIMIZER_ADAM) {
        double r = sqrt(1 - pow(0.999, (double)o->updates));
        real c[3] = { (real)(rate * r / (1 - pow(0.9, (double)o->updates))), (real)(1e-8 * r),
                      decay };

        adam(w, g, state, state + n, n, c);
    } else if (o->kind == OPTIMIZER_NESTEROV) {
        nesterov(w, g, state, n, (real[3]){ (real)rate, (real)o->momentum, decay });
    } else if (o->momentum != 0) {
        sgd_momentum(w, g, state, n, (real[3]){ (real)rate, (real)o->momentum, decay });
    } else {
        sgd(w, g, n, (real)rate, decay);
    }
}
