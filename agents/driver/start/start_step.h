/* SPDX-License-Identifier: Apache-2.0 */
/* start_step.h - one local process, srun, that connects to the supervisors of several nodes
 *
 *     srun --label ->  "2: eddis-keeper 0.1.0 n07 4"    task 2 is on n07, in step 4
 *                      "2: eddis-agent: ..."            output of that node
 *                      "2: eddis-keeper exit 0"         this agent has ended
 *                      "srun: error: ..."               about the step as a whole
 *
 * The input is written when the first supervisor has printed its version; srun itself waits for all
 * supervisors. If all nodes of a step have ended or been given up, the step ends by itself soon, or
 * the driver ends it. If srun is killed, its nodes may continue unless srun's helper process ends
 * them. The driver then communicates with the agents over HTTP, and steps_clean ends the remaining
 * processes.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_START_STEP_H
#define EDDIS_AGENTS_DRIVER_START_START_STEP_H

#include "start_impl.h"

#include <stdbool.h>
#include <stdint.h>

struct start_step;

/* Start this queued host together with the queued hosts that belong to the same step. A failure is
 * reported for each of these hosts.
 */
void steps_begin(struct starter *s, int host);

/* Record that the supervisor of a node of the step has printed its version. */
void steps_answered(struct starter *s, int step);

/* Record that a node of the step has reported that nothing of its start remains on the node. */
void steps_emptied(struct starter *s, int step);

/* Check whether the step's process runs. */
bool steps_run(const struct starter *s, int step);

/* Handle the descriptor `kind` of a step, which epoll has reported as ready. */
void steps_take(struct starter *s, int step, enum start_watch kind);

/* End steps that no node needs any more. Return the time at which to call the function again;
 * CLOCK_NEVER: no call is needed.
 */
int64_t steps_look(struct starter *s, int64_t now_ns);

/* Wait up to patience_ns for all steps to end, but only briefly for steps with nodes whose
 * supervisor never answered; then ask Slurm to end the remaining steps, all at the same time.
 * Blocks at most until the deadline. Return 0 if all steps have ended. Return -ETIMEDOUT if steps
 * have not ended: err names them and their nodes, and their local processes are killed. Return
 * -EINPROGRESS instead if all nodes of these steps reported that nothing remains on them: Slurm is
 * still busy, for example with an epilog.
 */
int steps_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                struct eddis_error *err);

/* Free all steps of a starter, and kill programs that still ask Slurm to end a step. */
void steps_free(struct starter *s);

#endif
