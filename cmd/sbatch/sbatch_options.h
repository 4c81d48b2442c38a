/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_options.h - options of sbatch as a user writes them, which become lines of a script
 *
 * eddis does not know sbatch's options, which differ between versions. A word that begins with '-'
 * is an option; the next word is its value unless that word begins with '-', too. A word ":" begins
 * the next component of a heterogeneous job, as on sbatch's own command line. Lists of words are
 * NULL-ended and may be NULL.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_OPTIONS_H
#define EDDIS_CMD_SBATCH_SBATCH_OPTIONS_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Check whether the words can become lines of eddis's script for a job with this number of
 * components. Return 0; -EINVAL: a word belongs to no option, or an option conflicts with eddis;
 * err says what to do instead.
 */
int sbatch_options_check(char *const *words, size_t components, struct eddis_error *err);

/* Return -EINVAL, and explain in err why `word`, which requests GPUs per task, cannot be used. */
int sbatch_options_no_gpus_per_task(const char *word, struct eddis_error *err);

/* Check whether an option, with this long name or this letter (0: it has no letter), is given in
 * any component.
 */
bool sbatch_options_have(char *const *words, const char *name, char letter);

/* Borrow the value of the last option with this name or letter in a component (from 0); NULL: not
 * given.
 */
const char *sbatch_options_value(char *const *words, size_t component, const char *name,
                                 char letter);

/* Check whether the words give a component (from 0) an option for its share of a node: processors,
 * tasks, GPUs or exclusive use.
 */
bool sbatch_options_have_share(char *const *words, size_t component);

/* Append to b a line "#SBATCH ..." for each option of a component (from 0), with its values. */
void sbatch_options_add(char *const *words, size_t component, struct strbuf *b);

#endif
