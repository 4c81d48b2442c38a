/* SPDX-License-Identifier: Apache-2.0 */
/* program_facts_json.h - field table of struct program, for tables of structs that contain one */
#ifndef EDDIS_MODEL_PROGRAM_FACTS_JSON_H
#define EDDIS_MODEL_PROGRAM_FACTS_JSON_H

#include "lib/base/fields.h"
#include "program_facts.h"

static const struct field program_fields[] = {
    FIELD(struct program, gradient_bytes, INT64, 0, INT64_MAX),
    FIELD(struct program, float32_bytes, INT64, 0, INT64_MAX),
    FIELD(struct program, largest_bytes, INT64, 0, INT64_MAX),
    FIELD(struct program, largest_behind, INT64, 0, INT64_MAX),
    FIELD(struct program, centre_bytes, INT64, 0, INT64_MAX),
    FIELD(struct program, min_count, INT64, 0, INT64_MAX),
    FIELD(struct program, gradients, NAME, 0, 0),
    FIELD_WORD(struct program, precision, precision_names),
};

static const struct fields program_table = FIELDS(struct program, program_fields);

/* Make a row for a member `program`, whose members are in the same JSON object. */
#define PROGRAM_ROW(type) FIELD_INLINE("", type, program, program_table)

#endif
