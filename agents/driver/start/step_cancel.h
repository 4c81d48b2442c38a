/* SPDX-License-Identifier: Apache-2.0 */
/* step_cancel.h - run the program that asks Slurm to end a step */
#ifndef EDDIS_AGENTS_DRIVER_START_STEP_CANCEL_H
#define EDDIS_AGENTS_DRIVER_START_STEP_CANCEL_H

#include <stdbool.h>
#include <sys/types.h>

/* A running or finished request to end a step */
struct step_cancel {
    pid_t pid;    /* process of the program; 0: it does not run */
    int output;   /* memfd with the program's output; -1: none */
    bool refused; /* the program failed or was killed */
};

/* Initialise a request to end a step, without a process. */
void step_cancel_init(struct step_cancel *c);

/* Start the program that asks Slurm to end a step. *c must be as step_cancel_init or
 * step_cancel_fini leaves it. Return 0, or a negative errno with *c as before.
 */
int step_cancel_begin(struct step_cancel *c, char *const *argv, char *const *envp);

/* Check whether the request to end a step has ended or was never started. If the program has
 * failed, set c->refused, unless is_over (NULL: none) finds that its output means that the step had
 * already ended.
 */
bool step_cancel_is_over(struct step_cancel *c, bool (*is_over)(const char *said));

/* Kill the program that asks Slurm to end a step, if it still runs, and close its output. */
void step_cancel_fini(struct step_cancel *c);

#endif
