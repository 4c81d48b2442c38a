/* SPDX-License-Identifier: Apache-2.0 */
/* step_cancel.h - the program by which Slurm is told to end a step, and what it answers */
#ifndef EDDIS_AGENTS_DRIVER_START_STEP_CANCEL_H
#define EDDIS_AGENTS_DRIVER_START_STEP_CANCEL_H

#include <stdbool.h>
#include <sys/types.h>

struct step_cancel {
    pid_t pid;    /* 0: it does not run */
    int told;     /* holds what it says; -1: nothing does */
    bool refused; /* it has ended without having done so, or was killed */
};

void step_cancel_init(struct step_cancel *c);

/* Run it; c is as step_cancel_init or step_cancel_fini leave it. */
int step_cancel_begin(struct step_cancel *c, char *const *argv, char *const *envp);

/* Whether it does not run, or no more.  is_over (NULL: never): whether what it has said means that
 * there was nothing to end, which is no refusal.
 */
bool step_cancel_is_over(struct step_cancel *c, bool (*is_over)(const char *said));

/* Kill it if it still runs, and forget what it has said. */
void step_cancel_fini(struct step_cancel *c);

#endif
