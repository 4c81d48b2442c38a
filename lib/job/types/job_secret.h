/* SPDX-License-Identifier: Apache-2.0 */
/* job_secret.h - values of variables that are never shown */
#ifndef EDDIS_JOB_TYPES_JOB_SECRET_H
#define EDDIS_JOB_TYPES_JOB_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Check whether values of a variable of this name [n] must never be shown: it contains KEY, TOKEN,
 * SECRET, PASSWORD, PASSWD or CREDENTIAL.
 */
bool job_is_secret(const char *name, size_t n);

/* Return a copy of text with the values of secret assignments masked, "export API_KEY=***"; NULL
 * without memory.  Only names in capitals count: --tokenizer=bert is not secret.
 */
char *job_masked(const char *text);

#endif
