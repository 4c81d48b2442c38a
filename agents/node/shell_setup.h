/* SPDX-License-Identifier: Apache-2.0 */
/* shell_setup.h - the user's lines of shell before the program: modules, virtual environments
 *
 * One shell runs the lines and then becomes the program, so that what they set holds for it.  The
 * first line that fails is named, and the program does not start.
 */
#ifndef EDDIS_AGENTS_NODE_SHELL_SETUP_H
#define EDDIS_AGENTS_NODE_SHELL_SETUP_H

#include "lib/base/strlist.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Append the vector that runs the command (NULL-ended) after the lines (NULL-ended, not empty).
 * shell: the user's, used when it is one that understands these lines; else bash or sh is.
 */
int setup_argv(char *const *lines, char *const *command, const char *shell, struct strlist *ret,
               struct eddis_error *err);

/* Whether process pid, begun by that vector, still runs the lines. */
bool setup_runs(pid_t pid);

#endif
