/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_program.h - runs Slurm's own programs, whose interface is stable across versions
 *
 * Each program leads a process group, so that Ctrl-C for the caller does not end it. It is ended
 * when the thread that started it ends.
 */
#ifndef EDDIS_CMD_SLURM_SLURM_PROGRAM_H
#define EDDIS_CMD_SLURM_SLURM_PROGRAM_H

#include "lib/base/clock.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Time limit of one program, in ns; a controller that does not answer takes 10 s. */
#define SLURM_PROGRAM_NS (60 * CLOCK_S)

/* Return the descriptor of an unnamed file that holds the text, positioned at its start. */
int slurm_program_text(const char *text, struct eddis_error *err);

/* Start a program with these descriptors as its standard ones. SIGCHLD is set to its default if
 * ignored. -ENOENT: it is not in PATH.
 */
int slurm_program_start(const char *const *argv, int in, int out, int errors, pid_t *ret,
                        struct eddis_error *err);

/* Check whether SIGINT, SIGTERM or SIGHUP is blocked and pending. */
bool slurm_program_is_interrupted(void);

/* Run a program to its end with this input. Block for a minute at most. Return its exit code, and
 * in *ret all that it printed, which the caller frees. -ETIMEDOUT: it was killed after that time;
 * -EINTR: it was killed because SIGINT, SIGTERM or SIGHUP is blocked and pending.
 */
int slurm_program_run(const char *const *argv, const char *input, char **ret,
                      struct eddis_error *err);

/* Do as slurm_program_run with another time limit. heed: kill the program if such a signal is
 * pending.
 */
int slurm_program_run_for(const char *const *argv, const char *input, int64_t patience_ns,
                          bool heed, char **ret, struct eddis_error *err);

#endif
