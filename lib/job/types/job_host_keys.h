/* SPDX-License-Identifier: Apache-2.0 */
/* job_host_keys.h - the keys of one entry of `nodes` */
#ifndef EDDIS_JOB_TYPES_JOB_HOST_KEYS_H
#define EDDIS_JOB_TYPES_JOB_HOST_KEYS_H

#include "lib/job/tree/job_field.h"

extern const struct job_table job_host_table; /* fills struct job_host */

/* Free n hosts that were moved out of a list, and the array.  Accepts NULL. */
void job_hosts_free(struct job_host *host, size_t n);

#endif
