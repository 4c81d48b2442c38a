/* SPDX-License-Identifier: Apache-2.0 */
/* start_step.h - one process here that stands for eddis-keeper on several nodes: srun
 *
 *     srun --label ->  "2: eddis-keeper 0.1.0 n07 4"    task 2 is on n07, in step 4
 *                      "2: eddis-agent: ..."            words of that node
 *                      "2: eddis-keeper exit 0"         it has ended there; others go on
 *                      "srun: error: ..."               of the step as a whole
 *
 * Its input is written when the first keeper has answered; srun itself waits for all of them.  A
 * step whose nodes have all ended, or were given up, ends by itself in a moment, or is ended.  When
 * srun was killed nodes may live on (its helper ends them, unless that was killed as well): the
 * driver hears of them over HTTP, and steps_clean ends what is left.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_START_STEP_H
#define EDDIS_AGENTS_DRIVER_START_START_STEP_H

#include "start_impl.h"

#include <stdbool.h>
#include <stdint.h>

struct start_step;

/* Start this queued host and those that are to be started with it.  What fails is told of each. */
void steps_begin(struct starter *s, int host);

/* Note that the keeper of one of its nodes has answered. */
void steps_answered(struct starter *s, int step);

/* Note that one of its nodes has said that nothing is left there. */
void steps_emptied(struct starter *s, int step);

/* Whether its process runs. */
bool steps_run(const struct starter *s, int step);

/* Take in what the descriptor of a step tells. */
void steps_take(struct starter *s, int step, enum start_watch kind, int64_t now_ns);

/* End steps that nobody needs any more.  Returns when to look again. */
int64_t steps_look(struct starter *s, int64_t now_ns);

/* Wait until all steps are over, for patience_ns and not for those that have never answered, and
 * have Slurm end what is left of them, all at once.  Blocks until the deadline at most.
 * -ETIMEDOUT: the sentence names steps that have not ended, with their nodes; nothing stands for
 * them here any more.  -EINPROGRESS: the same of steps all of whose nodes have said that nothing is
 * left there: Slurm is still busy with them, as with an epilog.
 */
int steps_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                struct eddis_error *err);

void steps_free(struct starter *s);

#endif
