/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - emulate a device of another speed: stretch a step to a given time, layer by layer
 *
 * A third of the time is the forward pass's, two thirds the backward pass's, each divided evenly
 * among the layers.  Every moment is counted from the step's start, so that late wake-ups do not
 * add up, and a layer that took too long is made good by the next ones:
 *
 *     start                 1/3                                        1
 *       | layer 0 | layer 1 |     layer 1       |      layer 0         |
 */
#ifndef EDDIS_TRAIN_PACE_H
#define EDDIS_TRAIN_PACE_H

#include <stdint.h>

struct pace {
    int n_layers;      /* 0: no emulation, every function returns at once */
    int64_t credit_ns; /* work done outside of the layers that belongs to the next step */
    int64_t start_ns, total_ns;
    double before,
        part; /* of a step's time: what its pieces so far have had, and what this one has */
};

/* Begin a step of total_ns at now_ns, or before by the credit, which is used up. */
void pace_begin(struct pace *p, int64_t now_ns, int64_t total_ns);

/* Begin a piece: samples first .. first + n - 1 of count. */
void pace_piece(struct pace *p, int64_t first, int64_t n, int64_t count);

/* Sleep until the layer's forward (backward) pass is over on the emulated device. */
void pace_forward(const struct pace *p, int layer);
void pace_backward(const struct pace *p, int layer);

/* Return by how much real work has exceeded the step's time until now; 0 when it fitted. */
int64_t pace_overrun_ns(const struct pace *p);

/* Count work_ns of an optimiser's update as a part of the next emulated step. */
void pace_credit(struct pace *p, int64_t work_ns);

#endif
