/* SPDX-License-Identifier: Apache-2.0 */
/* start_step.h - one local process, srun, that connects to the supervisors of several nodes
 *
 *     srun --label ->  "2: eddis-keeper 0.1.0 n07 4"    task 2 is on n07, in step 4
 *                      "2: eddis-agent: ..."            output of that node
 *                      "2: eddis-keeper exit 0"         it has ended there; others continue
 *                      "srun: error: ..."               about the step as a whole
 *
 * The input is written once the first supervisor has answered; srun itself waits for all of them.
 * A step whose nodes have all ended or been given up ends by itself soon, or is ended.  If srun is
 * killed, nodes may continue unless its helper process ends them.  The driver then communicates
 * with them over HTTP, and steps_clean ends what is left.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_START_STEP_H
#define EDDIS_AGENTS_DRIVER_START_START_STEP_H

#include "start_impl.h"

#include <stdbool.h>
#include <stdint.h>

struct start_step;

/* Start this queued host together with the hosts that belong to its step.  A failure is reported
 * for each of them.
 */
void steps_begin(struct starter *s, int host);

/* Record that the supervisor of one of the step's nodes has answered. */
void steps_answered(struct starter *s, int step);

/* Record that one of the step's nodes has reported that nothing is left there. */
void steps_emptied(struct starter *s, int step);

/* Check whether the step's process runs. */
bool steps_run(const struct starter *s, int step);

/* Handle a descriptor of a step that is ready. */
void steps_take(struct starter *s, int step, enum start_watch kind);

/* End steps that no node needs any more.  Return the time of the next call; CLOCK_NEVER: none is
 * needed.
 */
int64_t steps_look(struct starter *s, int64_t now_ns);

/* Wait up to patience_ns for all steps to end, but only briefly for those with nodes that never
 * answered; then have Slurm end the rest, all at once.  Blocks until the deadline at most.  Return
 * -ETIMEDOUT if steps have not ended: err names them and their nodes, and their local processes are
 * gone.  Return -EINPROGRESS if all nodes of these steps reported that nothing is left there: Slurm
 * is still busy, for example with an epilog.
 */
int steps_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                struct eddis_error *err);

/* Free all steps of a starter, and kill requests to end a step that still run. */
void steps_free(struct starter *s);

#endif
