/* SPDX-License-Identifier: Apache-2.0 */
/* open_options.h - options of eddis_open: valid values, and equal on all workers */
#ifndef EDDIS_WORKER_OPEN_OPTIONS_H
#define EDDIS_WORKER_OPEN_OPTIONS_H

#include "lib/eddis.h"

#include "collectives.h"

/* Copy the caller's options, of any version of eddis.h, to *ret and check them.  Return 0 or
 * -EINVAL: invalid values.
 */
int open_options_read(const struct eddis_options *in, struct eddis_options *ret,
                      struct eddis_error *err);

/* Return how many steps ahead eddis_plan_step answers. */
int open_options_ahead(const struct eddis_options *o);

/* Compare options and data of all workers.  Collective, with the same result on all.  -EINVAL: a
 * worker has not set its data; -EPROTO: err names the first difference and two workers that differ.
 */
int open_options_compare(struct collectives *all, const struct eddis_options *o,
                         struct eddis_error *err);

#endif
