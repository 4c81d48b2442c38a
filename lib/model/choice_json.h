/* SPDX-License-Identifier: Apache-2.0 */
/* choice_json.h - the measured communication settings, to and from JSON */
#ifndef EDDIS_MODEL_CHOICE_JSON_H
#define EDDIS_MODEL_CHOICE_JSON_H

#include "choice.h"

#include "lib/base/json.h"

/* Return a new JSON object with these settings; NULL without memory. */
json_t *choice_json(const struct comm_choice *c);

/* Read an object from choice_json, possibly edited by a user.  -EINVAL: it is malformed; *ret is
 * then unchanged.
 */
int choice_read(const json_t *o, struct comm_choice *ret, struct eddis_error *err);

/* Return the settings as JSON text on one line, for the caller to free; NULL without memory. */
char *choice_text(const struct comm_choice *c);

/* Parse the output of choice_text.  -EINVAL: it is malformed; *ret is then unchanged. */
int choice_parse(const char *text, size_t n, struct comm_choice *ret, struct eddis_error *err);

#endif
