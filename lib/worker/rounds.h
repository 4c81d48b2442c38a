/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h - the rounds of a step's sets: announce.c begins them, wait.c ends them
 *
 * The state is in step.h, guarded by announce_lock.
 */
#ifndef EDDIS_WORKER_ROUNDS_H
#define EDDIS_WORKER_ROUNDS_H

#include "worker.h"

/* Begin a round of the set unless one is open.  With announce_lock held. */
void rounds_open(struct eddis *e, struct step_set *s);

/* Close the set's open round, so that nothing more can be announced in it; what was not announced
 * counts as zero.  Do nothing if it is closed.  With announce_lock held.
 */
void rounds_finish(struct eddis *e, int set);

/* Return the set whose latest round is number `number` of the step; -1: none, since the set of that
 * round has begun a later round.  With announce_lock held.
 */
int rounds_set(const struct step *s, int number);

/* Wait until the emulated device's time is over, then send the pending announcements, in the order
 * in which their rounds began.  An emulated device has no gradient before that time; if it were
 * sent earlier, communication would be hidden that is not hidden on the real device.  Return 0, or
 * -ETIMEDOUT at deadline_ns: nothing was sent, call again.
 */
int rounds_release(struct eddis *e, int64_t deadline_ns, struct eddis_error *err);

#endif
