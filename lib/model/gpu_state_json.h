/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_state_json.h - a reading of a GPU, to and from JSON */
#ifndef EDDIS_MODEL_GPU_STATE_JSON_H
#define EDDIS_MODEL_GPU_STATE_JSON_H

#include "gpu_state.h"

#include "lib/base/fields.h"

/* Table of the members of struct gpu_state */
extern const struct fields gpu_state_table;

#endif
