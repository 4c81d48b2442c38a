/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - find the other programs of eddis, and check the programs of a user's command
 *
 * Programs find each other relative to their own file.  So an installed tree may be moved, and the
 * build folder works without installation.
 */
#ifndef EDDIS_BASE_PROGRAM_H
#define EDDIS_BASE_PROGRAM_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* Ignore SIGXFSZ, so that a write beyond the file size limit (ulimit -f) fails with -EFBIG instead
 * of ending the program.  Call it first in each program that writes. spawn_start restores the
 * default in children.
 */
void program_outlive_file_limit(void);

/* Write the absolute path of an eddis program ("eddis-agent", "eddis-keeper", ...) to ret [size].
 * Return 0 or a negative errno; -ENOENT: the program is not installed beside this program.
 */
int program_path(const char *name, char *ret, size_t size, struct eddis_error *err);

/* Write the folder of this program's own file to ret [size].  Return 0 or a negative errno;
 * -ENAMETOOLONG: ret is too small, its content is undefined.
 */
int program_folder(char *ret, size_t size, struct eddis_error *err);

/* Check that a command's program exists: found as execvp would in `folder` with this PATH, or in
 * the folder `beside` ("": none).  A script's interpreter must exist, too.  If the name has a
 * slash, path may be NULL (PATH is unknown); then an interpreter that is looked up in PATH is not
 * checked.  Return 0, -ENOENT, -EACCES, or -ENOEXEC (lines that end in CRLF); err has a remedy.
 */
int program_check(const char *name, const char *folder, const char *path, const char *beside,
                  struct eddis_error *err);

/* If the NULL-ended command is an interpreter with a script, as "python3 -u train.py", check that
 * the script exists.  Return 0 also if the script cannot be determined from the words.  -ENOENT:
 * the script is missing.
 */
int program_check_script(char *const *command, const char *folder, const char *path,
                         struct eddis_error *err);

/* Check whether a program, by the last part of its path, is a Python: "python", "python3.12". */
bool program_is_python(const char *program);

/* Check that the Python that a job names for a node alone, in the place `from`, is a program.
 * Return 0, -ENOENT or -EACCES.
 */
int program_check_python(const char *python, const char *from, struct eddis_error *err);

/* Write a hint for a path that does not exist to ret [size]: a question with the nearest name in
 * its folder, or else the advice.
 */
void program_meant(const char *path, const char *advice, char *ret, size_t size);

#endif
