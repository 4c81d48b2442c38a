/* SPDX-License-Identifier: Apache-2.0 */
/* job_keys.h - the table of all keys of train.yaml */
#ifndef EDDIS_JOB_JOB_KEYS_H
#define EDDIS_JOB_JOB_KEYS_H

#include "lib/job/tree/job_field.h"

extern const struct job_table job_table; /* fills struct job */

/* Borrow the table in *ret, in the order of the manual, and return its number of rows. */
size_t job_keys(const struct job_key **ret);

#endif
