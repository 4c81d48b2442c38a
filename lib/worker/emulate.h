/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.h - steps that last as long as on the device that this worker emulates
 *
 * No lock: the thread that begins, waits for and ends a step uses it; announcing threads only read
 * until_ns, which changes with announce_lock (step.h) held once the step has begun.
 */
#ifndef EDDIS_WORKER_EMULATE_H
#define EDDIS_WORKER_EMULATE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct emulation {
    bool emulated;            /* false: the worker takes the time that it takes */
    double fixed_s, sample_s; /* a step takes fixed_s + sample_s * samples on average; 0: none */
    double jitter;            /* its relative standard deviation */
    uint64_t seed;            /* of this worker's deviations */
    int64_t until_ns;         /* when the current step's compute is over; 0: nothing to emulate */
    int64_t overrun_ns;       /* by how much the real work of this step was longer */
    int64_t waited_ns;        /* when the last wait returned: the update behind it belongs to the */
    int64_t update_ns;        /* next step's compute, and lasted this long */
};

/* Seconds that the device takes for a step of count samples: equal calls, equal answers, and never
 * below a fifth of the average.
 */
double emulate_step_s(const struct emulation *m, int64_t step, int64_t count);

/* The three moments of a step that an emulated device needs.  emulate_wait sleeps, until
 * deadline_ns at most: -ETIMEDOUT then, which names the step.
 */
void emulate_begin(struct emulation *m, int64_t step, int64_t count, int64_t now_ns);
int emulate_wait(struct emulation *m, int64_t step, int64_t deadline_ns, struct eddis_error *err);
void emulate_end(struct emulation *m, int64_t now_ns);

#endif
