/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_state_json.h - a reading of a GPU, to and from JSON */
#ifndef EDDIS_MODEL_GPU_STATE_JSON_H
#define EDDIS_MODEL_GPU_STATE_JSON_H

#include "gpu_state.h"

#include "lib/base/fields.h"

/* Words for why a clock is low, as in the JSON: "heat", "power cap"; "" of GPU_SLOWED_NOT */
extern const char *const gpu_slowed_names[GPU_SLOWED_KINDS];

/* Table of the members of struct gpu_state */
extern const struct fields gpu_state_table;

#endif
