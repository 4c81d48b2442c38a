/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h - the rounds of a step's sets: announce.c begins them, wait.c ends them
 *
 * The state is step.h's, guarded by announce_lock.
 */
#ifndef EDDIS_WORKER_ROUNDS_H
#define EDDIS_WORKER_ROUNDS_H

#include "worker.h"

/* With announce_lock held: the set has a round, which begins unless one has. */
void rounds_open(struct eddis *e, struct step_set *s);

/* With announce_lock held: return the set whose last round is this one of the step; -1: that is
 * over, and another has begun.
 */
int rounds_set(const struct step *s, int number);

/* An emulated device has no gradient before its time is over: what was announced is held until
 * then, or communication would look hidden that on the real device is not.  Wait for that, and send
 * it in the order in which rounds began.
 */
int rounds_release(struct eddis *e, int64_t deadline_ns, struct eddis_error *err);

#endif
