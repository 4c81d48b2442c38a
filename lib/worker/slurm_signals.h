/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_signals.h - what a worker does with the signals by which Slurm ends a job
 *
 * Before its end Slurm may send SIGTERM, or the SIGUSR1 that it was asked for, to every process of
 * a step, and a worker would die before it has saved.  The agent on its node gets the signal, too,
 * and the job saves and ends in order: so the worker lets it pass.  From anybody else, eddis and
 * the user above all, the same signal ends it at once, as without all this.
 */
#ifndef EDDIS_WORKER_SLURM_SIGNALS_H
#define EDDIS_WORKER_SLURM_SIGNALS_H

#include <sys/types.h>

/* Let SIGTERM and SIGUSR1 of this process pass from now on, each only where the program has left it
 * at its default.  Counted: for every call there is one of slurm_signals_stop.
 */
void slurm_signals_start(pid_t sender);

/* The same in a process that a worker has made, where SIGTERM may be a runtime's by now, which goes
 * on having it from others; for
 * the rest of that process' life.
 */
void slurm_signals_take(pid_t sender);

/* The last one gives the default back, unless the program has set something else meanwhile. */
void slurm_signals_stop(void);

#endif
