/* SPDX-License-Identifier: Apache-2.0 */
/* choice_json.h - the measured communication settings, to and from JSON */
#ifndef EDDIS_MODEL_CHOICE_JSON_H
#define EDDIS_MODEL_CHOICE_JSON_H

#include "choice.h"

#include "lib/base/fields.h"

/* Table of the members of struct comm_choice; it checks their values, since a user may have edited
 * them.
 */
extern const struct fields choice_table;

/* Return the settings as JSON text on one line, for the caller to free; NULL without memory. */
char *choice_text(const struct comm_choice *c);

/* Parse the output of choice_text.  Return 0 or a negative errno, -EINVAL: it is malformed; *ret is
 * then unchanged.
 */
int choice_parse(const char *text, size_t n, struct comm_choice *ret, struct eddis_error *err);

#endif
