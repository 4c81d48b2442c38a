/* SPDX-License-Identifier: Apache-2.0 */
/* other_launcher.h - recognizes a command that starts workers itself: torchrun, accelerate launch,
 * deepspeed, mpirun
 */
#ifndef EDDIS_CMD_RUN_REQUEST_OTHER_LAUNCHER_H
#define EDDIS_CMD_RUN_REQUEST_OTHER_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

struct other_launcher {
    char words[160];     /* launcher as the user wrote it: "/v/bin/torchrun", "accelerate launch" */
    char instead[160];   /* command without the launcher: "python3 x.py"; "": unknown */
    const char *besides; /* static string, how to use the launcher all the same; "": not at all */
    bool never;          /* the launcher works in no worker, even in a single one */
};

/* Check whether the NULL-ended command begins with a launcher that starts workers of its own, and
 * describe it in *ret. Return false if the command is another program, or a launcher with an option
 * by which it starts only the process of its worker.
 */
bool other_launcher_find(char *const *command, struct other_launcher *ret);

#endif
