/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_program.h - runs Slurm's own programs, whose interface is stable across versions
 *
 * Each program leads a process group of its own, so that Ctrl-C for the caller does not end the
 * program. When the thread that started the program ends, the program is killed.
 */
#ifndef EDDIS_CMD_SLURM_SLURM_PROGRAM_H
#define EDDIS_CMD_SLURM_SLURM_PROGRAM_H

#include "lib/base/clock.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Time limit of one program, in ns; with a controller that does not answer a program takes 10 s */
#define SLURM_PROGRAM_NS (60 * CLOCK_S)

/* Return the descriptor of an unnamed file with this text, at offset 0; or a negative errno. */
int slurm_program_text(const char *text, struct eddis_error *err);

/* Start a program, with these descriptors as standard input, output and error, and store its pid in
 * *ret. If SIGCHLD is ignored, set it to its default. Return 0; -ENOENT: the program is not in
 * PATH; or another negative errno.
 */
int slurm_program_start(const char *const *argv, int in, int out, int errors, pid_t *ret,
                        struct eddis_error *err);

/* Check whether SIGINT, SIGTERM or SIGHUP is blocked and pending. */
bool slurm_program_is_interrupted(void);

/* Run a program with this input until it ends. Blocks for at most a minute. Return its exit code,
 * and in *ret all that it printed, which the caller frees. -ETIMEDOUT: the program was killed after
 * the minute; -EINTR: it was killed because SIGINT, SIGTERM or SIGHUP is blocked and pending; or
 * another negative errno.
 */
int slurm_program_run(const char *const *argv, const char *input, char **ret,
                      struct eddis_error *err);

/* Do as slurm_program_run, but with the time limit patience_ns. heed: kill the program if SIGINT,
 * SIGTERM or SIGHUP is pending. Returns as slurm_program_run.
 */
int slurm_program_run_for(const char *const *argv, const char *input, int64_t patience_ns,
                          bool heed, char **ret, struct eddis_error *err);

#endif
