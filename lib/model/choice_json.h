/* SPDX-License-Identifier: Apache-2.0 */
/* choice_json.h - what was chosen of the communication, to and from JSON */
#ifndef EDDIS_MODEL_CHOICE_JSON_H
#define EDDIS_MODEL_CHOICE_JSON_H

#include "choice.h"

#include "lib/base/json.h"

/* Returns a new object, NULL without memory. */
json_t *choice_json(const struct comm_choice *c);

/* Read an object that choice_json made, or somebody edited.  -EINVAL. */
int choice_read(const json_t *o, struct comm_choice *ret, struct eddis_error *err);

/* The same as text on one line, which the caller frees, and from text. */
char *choice_text(const struct comm_choice *c);
int choice_parse(const char *text, size_t n, struct comm_choice *ret, struct eddis_error *err);

#endif
