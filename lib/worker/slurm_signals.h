/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_signals.h - handle the signals with which Slurm ends a job
 *
 * Before a job's end Slurm may send SIGTERM, or the SIGUSR1 that the user requested, to every
 * process of a step.  Without this module a worker would then die before it has saved.  The agent
 * on its node gets the signal too, and the job saves and ends in order, so the worker ignores it.
 * From any other sender, such as eddis or the user, the same signal ends the worker immediately, as
 * usual.
 */
#ifndef EDDIS_WORKER_SLURM_SIGNALS_H
#define EDDIS_WORKER_SLURM_SIGNALS_H

#include <sys/types.h>

/* Ignore SIGTERM and SIGUSR1 from this sender from now on, each only if the program has left its
 * default action.  Calls are counted: each needs one slurm_signals_stop.
 */
void slurm_signals_start(pid_t sender);

/* Ignore SIGTERM and SIGUSR1 as slurm_signals_start does, but in a child process of a worker and
 * for the rest of its life.  A runtime's handler of SIGTERM is still called for other senders.
 */
void slurm_signals_take(pid_t sender);

/* Undo one slurm_signals_start.  When all are undone, restore the default actions, except where the
 * program has set another handler meanwhile.
 */
void slurm_signals_stop(void);

#endif
