/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.h - steps that last as long as on the device that this worker emulates
 *
 * No lock: only the thread that makes steps writes struct emulation.  Announcing threads read
 * until_ns, which changes only with announce_lock (step.h) held once the step has begun.
 */
#ifndef EDDIS_WORKER_EMULATE_H
#define EDDIS_WORKER_EMULATE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct emulation {
    bool emulated;            /* false: the library does not sleep for a device */
    double fixed_s, sample_s; /* mean step time: fixed_s + sample_s * samples; 0: none */
    double jitter;            /* relative standard deviation of that time */
    uint64_t seed;            /* seed of this worker's jitter */
    int64_t until_ns;         /* time when the current step's compute ends; 0: nothing to emulate */
    int64_t overrun_ns;       /* time by which this step's real work exceeded the emulated time */
    int64_t waited_ns;        /* time when the previous wait returned */
    int64_t update_ns;        /* duration of the program's update after that wait; it counts as
                               * compute of the next step */
};

/* Return the seconds that the device takes for this step of count samples.  Equal arguments give
 * equal results, at least a fifth of the average.
 */
double emulate_step_s(const struct emulation *m, int64_t step, int64_t count);

/* Begin an emulated step: compute until_ns. */
void emulate_begin(struct emulation *m, int64_t step, int64_t count, int64_t now_ns);

/* Sleep until the emulated step's compute time is over, at most until deadline_ns.  Return 0, also
 * if nothing is emulated, or -ETIMEDOUT at that deadline.  Once that time is over, set overrun_ns
 * to the time by which the real work took longer.
 */
int emulate_wait(struct emulation *m, int64_t step, int64_t deadline_ns, struct eddis_error *err);

/* End an emulated step: set update_ns to the time that the update after the wait took. */
void emulate_end(struct emulation *m, int64_t now_ns);

#endif
