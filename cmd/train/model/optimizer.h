/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - updates parameters by their gradients
 *
 * With g = gradient + weight_decay * w and t = 1, 2, ... the number of the update:
 *
 *     sgd    v = momentum v + g;  w -= rate v
 *     nesterov   gradient at w + momentum v;  v = momentum v - rate g;  w = w + v
 *     adam   m = 0.9 m + 0.1 g;  s = 0.999 s + 0.001 g^2
 *            w -= rate (m / (1 - 0.9^t)) / (sqrt(s / (1 - 0.999^t)) + 1e-8)
 *
 * sgd and adam are defined as in PyTorch.  Source of adam: Kingma and Ba, ICLR 2015, algorithm 1.
 * Source of nesterov, as used by elastic averaging (EAMSGD): Zhang, Choromanska and LeCun, NeurIPS
 * 2015.
 */
#ifndef EDDIS_TRAIN_OPTIMIZER_H
#define EDDIS_TRAIN_OPTIMIZER_H

#include <stdint.h>

/* The kinds of optimisers. */
enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_NESTEROV };

/* An optimiser and its constants. */
struct optimizer {
    enum optimizer_kind kind;
    double rate, momentum, weight_decay;
    int64_t updates; /* number of updates done so far */
};

/* Return how many numbers of state the optimizer keeps for each parameter value: 0, 1 (v) or 2 (m
 * and s).
 */
int optimizer_states(const struct optimizer *o);

/* Move w [n] to w + momentum v, the point at which nesterov computes the gradient and from which
 * the next update starts. For other kinds of optimiser do nothing.
 */
void optimizer_look_ahead(const struct optimizer *o, float *w, const float *state, int64_t n);

/* Update the parameters w [n] by their gradient g [n] and their state [optimizer_states, n].
 * Before, the caller increments o->updates, once for all parameters together. factor multiplies the
 * rate.
 */
void optimizer_update(const struct optimizer *o, double factor, float *w, const float *g,
                      float *state, int64_t n);

#endif
