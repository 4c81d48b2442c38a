/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_options.h - options of sbatch as a user writes them, on their way to lines of a script
 *
 * eddis does not know sbatch's options, which differ from version to version: a word that begins
 * with '-' is one, and the word behind it is its value unless it begins so, too.  A word ":" goes
 * on to the next component of a heterogeneous job, as on sbatch's own command line.  Lists of words
 * are NULL-ended and may be NULL.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_OPTIONS_H
#define EDDIS_CMD_SBATCH_SBATCH_OPTIONS_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether they can be lines of a script that eddis makes, of a job of so many components.  -EINVAL:
 * a word that belongs to no option, or one that does not go with eddis, with what to do instead.
 */
int sbatch_words_check(char *const *words, size_t components, struct eddis_error *err);

/* The sentence about --gpus-per-task, whoever asked for it. */
int sbatch_words_no_gpus_per_task(const char *word, struct eddis_error *err);

/* Whether an option stands there, by its long name or its letter (0: it has none). */
bool sbatch_words_have(char *const *words, const char *name, char letter);

/* Borrows the value of the last such option of a component, from 0, or NULL. */
const char *sbatch_words_value(char *const *words, size_t component, const char *name, char letter);

/* Whether what stands there says how much of a component's nodes is asked for. */
bool sbatch_words_have_share(char *const *words, size_t component);

/* Append a line "#SBATCH ..." for each option of a component. */
void sbatch_words_add(char *const *words, size_t component, struct strbuf *b);

#endif
