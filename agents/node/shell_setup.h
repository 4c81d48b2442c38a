/* SPDX-License-Identifier: Apache-2.0 */
/* shell_setup.h - runs the user's shell lines before the program: modules, virtual environments
 *
 * One shell runs the lines and then becomes the program (exec), so that the settings of the lines
 * apply to the program. If a line fails, the output names the line, and the program does not start.
 */
#ifndef EDDIS_AGENTS_NODE_SHELL_SETUP_H
#define EDDIS_AGENTS_NODE_SHELL_SETUP_H

#include "lib/base/strlist.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Append to ret the arguments of a shell that runs the lines (NULL-ended, at least one) and then
 * the command (NULL-ended). shell: the user's shell, which is used if it is bash, sh, dash, ksh or
 * zsh; otherwise bash or sh is used. Return 0 or a negative errno.
 */
int setup_argv(char *const *lines, char *const *command, const char *shell, struct strlist *ret,
               struct eddis_error *err);

/* Check whether process pid, started with the arguments from setup_argv, still runs the setup
 * lines.
 */
bool setup_runs(pid_t pid);

#endif
