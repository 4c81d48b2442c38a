/* SPDX-License-Identifier: Apache-2.0 */
/* program_facts_json.h - field table rows for a member `program` of a struct */
#ifndef EDDIS_MODEL_PROGRAM_FACTS_JSON_H
#define EDDIS_MODEL_PROGRAM_FACTS_JSON_H

#include "lib/base/fields.h"
#include "program_facts.h"

#define PROGRAM_ROW(type, member)                                                                  \
    {                                                                                              \
        .key = #member, .kind = FIELD_INT64, .offset = offsetof(type, program.member), .min = 0,   \
        .max = INT64_MAX                                                                           \
    }
#define PROGRAM_ROWS(type)                                                                         \
    PROGRAM_ROW(type, gradient_bytes), PROGRAM_ROW(type, float32_bytes),                           \
        PROGRAM_ROW(type, largest_bytes), PROGRAM_ROW(type, largest_behind),                       \
        PROGRAM_ROW(type, centre_bytes), PROGRAM_ROW(type, min_count)

#endif
