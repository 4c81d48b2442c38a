/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - what a gradient does to the parameters
 *
 * With g = gradient + weight_decay * w and t = 1, 2, ... the number of the update:
 *
 *     sgd    v = momentum v + g;  w -= rate v
 *     nesterov   gradient at w + momentum v;  v = momentum v - rate g;  w = w + v
 *     adam   m = 0.9 m + 0.1 g;  s = 0.999 s + 0.001 g^2
 *            w -= rate (m / (1 - 0.9^t)) / (sqrt(s / (1 - 0.999^t)) + 1e-8)
 *
 * sgd and adam as PyTorch defines them.  Source of Adam: Kingma and Ba, ICLR 2015, algorithm 1; of
 * nesterov, as elastic averaging uses it (EAMSGD): Zhang, Choromanska and LeCun, NeurIPS 2015.
 */
#ifndef EDDIS_TRAIN_OPTIMIZER_H
#define EDDIS_TRAIN_OPTIMIZER_H

#include "real.h"

enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_NESTEROV };

struct optimizer {
    enum optimizer_kind kind;
    double rate, momentum, weight_decay;
    int64_t updates; /* done so far */
};

/* Return the numbers of state a parameter: 0, 1 (v) or 2 (m, then s). */
int optimizer_states(const struct optimizer *o);

/* Move w [n] to where nesterov computes the gradient; the update that follows takes that back. Does
 * nothing for the others.
 */
void optimizer_look_ahead(const struct optimizer *o, real *w, const real *state, int64_t n);

/* Update w [n] by g [n] with state [states, n]; the caller counts `updates` up first, once for
 * all parameters.  factor multiplies the rate.
 */
void optimizer_update(const struct optimizer *o, double factor, real *w, const real *g, real *state,
                      int64_t n);

#endif
