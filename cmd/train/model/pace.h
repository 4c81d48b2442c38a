/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - emulates a device of another speed: stretches a step to a given time, layer by layer
 *
 * One third of the time is for the forward pass and two thirds for the backward pass, each divided
 * evenly among the layers. All times are measured from the step's start, so late wake-ups do not
 * add up, and if a layer takes too long, later layers sleep less:
 *
 *     start                 1/3                                        1
 *       | layer 0 | layer 1 |     layer 1       |      layer 0         |
 */
#ifndef EDDIS_TRAIN_PACE_H
#define EDDIS_TRAIN_PACE_H

#include <stdint.h>

/* The state of an emulation. */
struct pace {
    int n_layers;      /* number of layers; 0: no emulation, all functions return immediately */
    int64_t credit_ns; /* time of work outside the layers that counts as part of the next step */
    int64_t start_ns, total_ns;
    /* fractions of the step's time: of earlier micro-batches, and of the present micro-batch */
    double before, part;
};

/* Begin a step of total_ns. The step starts at now_ns minus credit_ns, and credit_ns becomes 0. */
void pace_begin(struct pace *p, int64_t now_ns, int64_t total_ns);

/* Begin a micro-batch, which has samples first .. first + n - 1 of the step's `count` samples. */
void pace_piece(struct pace *p, int64_t first, int64_t n, int64_t count);

/* Sleep until the layer's forward pass is over on the emulated device. */
void pace_forward(const struct pace *p, int layer);

/* Sleep until the layer's backward pass is over on the emulated device. */
void pace_backward(const struct pace *p, int layer);

/* Return the time by which the real work of the step exceeds total_ns so far; 0 if it does not. */
int64_t pace_overrun_ns(const struct pace *p);

/* Count work_ns, the time of an optimiser's update, as part of the next emulated step. */
void pace_credit(struct pace *p, int64_t work_ns);

#endif
