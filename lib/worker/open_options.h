/* SPDX-License-Identifier: Apache-2.0 */
/* open_options.h - what a program opens with: what is possible, and alike on all workers */
#ifndef EDDIS_WORKER_OPEN_OPTIONS_H
#define EDDIS_WORKER_OPEN_OPTIONS_H

#include "lib/eddis.h"

#include "collectives.h"

/* Copy what the caller knows of the options.  -EINVAL: they are impossible. */
int open_options_read(const struct eddis_options *in, struct eddis_options *ret,
                      struct eddis_error *err);

/* Return how many steps behind the present one are told. */
int open_options_ahead(const struct eddis_options *o);

/* Whether they are alike on all workers, and the data given.  Collective, with one result: -EINVAL:
 * a worker has no data; -EPROTO: the first that is not alike, with two workers of which it differs.
 */
int open_options_compare(struct collectives *all, const struct eddis_options *o,
                         struct eddis_error *err);

#endif
