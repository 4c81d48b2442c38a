/* SPDX-License-Identifier: Apache-2.0 */
/* job_texts.h - texts of a job that other programs read: what they may be
 *
 * Each function returns -EINVAL with a sentence that names the text and says what to write.
 */
#ifndef EDDIS_JOB_TYPES_JOB_TEXTS_H
#define EDDIS_JOB_TYPES_JOB_TEXTS_H

#include "lib/base/error.h"

#include <stdbool.h>

/* Check the name of a network interface, an address of this machine, or a network.  Return 0 or
 * -EINVAL.
 */
int job_check_interface(const char *text, struct eddis_error *err);

/* Check a path of eddis on another machine, which must be absolute.  Return 0 or -EINVAL. */
int job_check_eddis(const char *path, struct eddis_error *err);

/* Check the path of a Python on a node: absolute, its last part the name of a Python.  Return 0 or
 * -EINVAL.
 */
int job_check_python(const char *path, struct eddis_error *err);

/* Check the text before a worker's lines on the screen (logs.prefix).  Return 0 or -EINVAL. */
int job_check_prefix(const char *text, struct eddis_error *err);

/* Check whether s is a name: letters, digits and _, not beginning with a digit. */
bool job_is_variable(const char *s);

/* Check the name of a variable that a user sets for the workers: letters, digits and _, and none
 * that eddis sets itself.  Return 0 or -EINVAL: err states which rule it breaks.
 */
int job_check_variable(const char *name, struct eddis_error *err);

/* Check a pattern of variables' names with * and ? (env_pass).  Return 0 or -EINVAL. */
int job_check_pattern(const char *pattern, struct eddis_error *err);

/* Check a text that becomes a part of a line "#SBATCH --option=text".  Return 0 or -EINVAL. */
int job_check_slurm_text(const char *text, struct eddis_error *err);

/* Check a whole option of sbatch (slurm.extra).  Return 0 or -EINVAL. */
int job_check_slurm_word(const char *word, struct eddis_error *err);

/* Check a POSIX extended regular expression whose first group is the number of a step.  Return 0,
 * or -EINVAL: the expression is malformed or has no group.
 */
int job_check_progress(const char *pattern, struct eddis_error *err);

#endif
