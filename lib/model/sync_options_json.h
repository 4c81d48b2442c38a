/* SPDX-License-Identifier: Apache-2.0 */
/* sync_options_json.h - the options of an algorithm, as members of a JSON object */
#ifndef EDDIS_MODEL_SYNC_OPTIONS_JSON_H
#define EDDIS_MODEL_SYNC_OPTIONS_JSON_H

#include "algorithm.h"

#include "lib/base/fields.h"

/* Borrow the field table in *ret; return its number of rows. */
size_t sync_options_fields(const struct field **ret);

/* Add every option to object o.  Return 0 or -ENOMEM. */
int sync_options_write(const struct sync_options *s, json_t *o);

/* Fill *s from object o.  Return how many options it had.  -EINVAL: an option is missing or out of
 * range.
 */
int sync_options_read(const json_t *o, struct sync_options *s, struct eddis_error *err);

/* Return the name of the first option that is set in `wish` and has another value in `has`; NULL:
 * none.
 */
const char *sync_options_clash(const struct sync_options *wish, const struct sync_options *has);

#endif
