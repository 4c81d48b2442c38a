/* SPDX-License-Identifier: Apache-2.0 */
/* shell_setup.h - runs the user's shell lines before the program: modules, virtual environments
 *
 * One shell runs the lines and then becomes the program, so that their settings apply to it.  If a
 * line fails, it is named in the output, and the program does not start.
 */
#ifndef EDDIS_AGENTS_NODE_SHELL_SETUP_H
#define EDDIS_AGENTS_NODE_SHELL_SETUP_H

#include "lib/base/strlist.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Append the arguments that run the command (NULL-ended) after the lines (NULL-ended, not empty).
 * shell: the user's; it is used if it is bash, sh, dash, ksh or zsh, else bash or sh.
 */
int setup_argv(char *const *lines, char *const *command, const char *shell, struct strlist *ret,
               struct eddis_error *err);

/* Check whether process pid, started by these arguments, still runs the setup lines. */
bool setup_runs(pid_t pid);

#endif
