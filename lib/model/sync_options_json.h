/* SPDX-License-Identifier: Apache-2.0 */
/* sync_options_json.h - the options of an algorithm, as members of a JSON object */
#ifndef EDDIS_MODEL_SYNC_OPTIONS_JSON_H
#define EDDIS_MODEL_SYNC_OPTIONS_JSON_H

#include "algorithm.h"

#include "lib/base/fields.h"

/* Table of all options; an option that is missing or out of range is rejected. */
extern const struct fields sync_options_table;

/* Return the name of the first option that is set in `wanted` and has another value in `has`; NULL:
 * none.
 */
const char *sync_options_clash(const struct sync_options *wanted, const struct sync_options *has);

#endif
