/* SPDX-License-Identifier: Apache-2.0 */
/* program_facts_json.h - rows of a field table for a struct's member `program` */
#ifndef EDDIS_MODEL_PROGRAM_FACTS_JSON_H
#define EDDIS_MODEL_PROGRAM_FACTS_JSON_H

#include "lib/base/fields.h"
#include "program_facts.h"

/* late: older writers do not know them. */
#define PROGRAM_ROW(type, member, late_)                                                           \
    {                                                                                              \
        .key = #member, .kind = FIELD_INT64, .offset = offsetof(type, program.member), .min = 0,   \
        .max = INT64_MAX, .late = (late_)                                                          \
    }
#define PROGRAM_ROWS(type, late)                                                                   \
    PROGRAM_ROW(type, gradient_bytes, late), PROGRAM_ROW(type, float32_bytes, late),               \
        PROGRAM_ROW(type, largest_bytes, late), PROGRAM_ROW(type, largest_behind, late),           \
        PROGRAM_ROW(type, centre_bytes, late), PROGRAM_ROW(type, min_count, late)

#endif
