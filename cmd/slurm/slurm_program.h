/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_program.h - Slurm's own programs, which speak for it whatever its version
 *
 * Each is the leader of a process group, so that a Ctrl-C for the caller does not end it, and ends
 * when the thread that has started it does.
 */
#ifndef EDDIS_CMD_SLURM_SLURM_PROGRAM_H
#define EDDIS_CMD_SLURM_SLURM_PROGRAM_H

#include "lib/base/clock.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* For one to end: a controller that does not answer takes 10 s. */
#define SLURM_PROGRAM_NS (60 * CLOCK_S)

/* Returns the descriptor of a file without a name that holds the text, to be read from its start.
 */
int slurm_program_text(const char *text, struct eddis_error *err);

/* Start one with these descriptors; SIGCHLD is not ignored then.  -ENOENT: it is not in PATH. */
int slurm_program_start(const char *const *argv, int in, int out, int errors, pid_t *ret,
                        struct eddis_error *err);

/* Wait for its end.  Blocks.  Returns its exit code.  -ECHILD: it was reaped elsewhere. */
int slurm_program_wait(pid_t pid);

/* Kill it with all of its group, and reap it. */
void slurm_program_kill(pid_t pid);

/* Run one to its end with this input.  Blocks, for a minute at most.  Returns its exit code, and
 * all that it has printed.  -ETIMEDOUT: it was killed then; -EINTR: it was, since the caller has
 * blocked SIGINT, SIGTERM or SIGHUP and one is pending.
 */
int slurm_program_run(const char *const *argv, const char *input, char **ret,
                      struct eddis_error *err);

/* The same with another patience; heed: signals that are pending end it. */
int slurm_program_run_for(const char *const *argv, const char *input, int64_t patience_ns,
                          bool heed, char **ret, struct eddis_error *err);

#endif
