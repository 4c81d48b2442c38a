/* SPDX-License-Identifier: Apache-2.0 */
/* sync_options_json.h - the options of an algorithm, to and from members of a JSON object */
#ifndef EDDIS_MODEL_SYNC_OPTIONS_JSON_H
#define EDDIS_MODEL_SYNC_OPTIONS_JSON_H

#include "algorithm.h"

#include "lib/base/fields.h"

/* Borrows the table; returns its number of rows. */
size_t sync_options_fields(const struct field **ret);

/* Add every option to o.  Returns 0 or -ENOMEM. */
int sync_options_write(const struct sync_options *s, json_t *o);

/* Fill *s from o and return how many members were taken.  -EINVAL. */
int sync_options_read(const json_t *o, struct sync_options *s, struct eddis_error *err);

/* Borrows the name of an option that is set in `wish` and that `has` has another value of; NULL:
 * there is none.
 */
const char *sync_options_clash(const struct sync_options *wish, const struct sync_options *has);

#endif
