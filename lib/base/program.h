/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - where the other programs of eddis are, seen from the one that runs
 *
 * Programs find each other relative to their own file, so that an installed tree may be moved and
 * the build folder works without installing.  And whether a program of the user's is there.
 */
#ifndef EDDIS_BASE_PROGRAM_H
#define EDDIS_BASE_PROGRAM_H

#include "error.h"

#include <stddef.h>

/* To be called first by a program of eddis that writes: a file that reaches its limit (ulimit -f)
 * is then as a full disk, -EFBIG, and not the end of the program.  What spawn_start starts gets the
 * default again.
 */
void program_outlive_file_limit(void);

/* Write the absolute path of "eddis-agent", "eddis-keeper", ... to ret [size].
 * -ENOENT: it is not installed beside this program.
 */
int program_path(const char *name, char *ret, size_t size, struct eddis_error *err);

/* Write the folder of this program's own file to ret [size]. */
int program_folder(char *ret, size_t size, struct eddis_error *err);

/* Look for the program of a command as one that works in `folder` finds it, by this PATH; one of
 * the folder `beside` is found last, "" none.  Of a script that names its interpreter that must be
 * there, too.  -ENOENT, -EACCES or, with lines that end in CRLF, -ENOEXEC, with what to do about
 * it: where a name is near that is there, that one is asked for.  path NULL, of a name with a
 * slash: it is not known, and what only it would tell is taken for right.
 */
int program_check(const char *name, const char *folder, const char *path, const char *beside,
                  struct eddis_error *err);

/* Where the NULL-ended command is an interpreter with a script, as "python3 -u train.py", look for
 * the script likewise.  0 also where that cannot be told from the words.  -ENOENT as above.
 */
int program_check_script(char *const *command, const char *folder, const char *path,
                         struct eddis_error *err);

/* Write to ret [size] what a user may have meant by the path of a file that is not there: the name
 * in its folder that is nearest, as a question, or else the advice.
 */
void program_meant(const char *path, const char *advice, char *ret, size_t size);

#endif
