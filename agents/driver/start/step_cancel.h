/* SPDX-License-Identifier: Apache-2.0 */
/* step_cancel.h - run the program that asks Slurm to end a step */
#ifndef EDDIS_AGENTS_DRIVER_START_STEP_CANCEL_H
#define EDDIS_AGENTS_DRIVER_START_STEP_CANCEL_H

#include <stdbool.h>
#include <sys/types.h>

/* A running or finished request. */
struct step_cancel {
    pid_t pid;    /* 0: it does not run */
    int told;     /* memfd with its output; -1: none */
    bool refused; /* it failed or was killed */
};

/* Initialise a request to end a step, without a process. */
void step_cancel_init(struct step_cancel *c);

/* Start the program that asks Slurm to end a step; c is as step_cancel_init or step_cancel_fini
 * leaves it.
 */
int step_cancel_begin(struct step_cancel *c, char *const *argv, char *const *envp);

/* Check whether the request to end a step has ended or never began.  is_over (NULL: never): checks
 * whether the program's output means that the step was over already, which is no failure.
 */
bool step_cancel_is_over(struct step_cancel *c, bool (*is_over)(const char *said));

/* Kill the program that asks Slurm to end a step, if it still runs, and close its output. */
void step_cancel_fini(struct step_cancel *c);

#endif
