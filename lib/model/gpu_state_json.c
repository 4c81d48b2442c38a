/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_state_json.c - convert a reading of a GPU to and from JSON */
#include "gpu_state_json.h"

#define MOST_BYTES INT64_C(1000000000000000000)

const char *const gpu_slowed_names[GPU_SLOWED_KINDS] = { "",           "heat",      "power brake",
                                                         "hardware",   "power cap", "sync boost",
                                                         "set clocks", "idle" };

static const struct field rows[] = {
    FIELD(struct gpu_state, reading, INT64, 1, INT64_MAX),
    FIELD(struct gpu_state, id, LINE, 0, 0),
    FIELD_REAL(struct gpu_state, busy, MEASURE, 0, 1),
    FIELD(struct gpu_state, memory_used_bytes, INT64, 0, MOST_BYTES),
    FIELD(struct gpu_state, memory_bytes, INT64, 0, MOST_BYTES),
    FIELD_REAL(struct gpu_state, clock_mhz, MEASURE, 0, 1e6),
    FIELD_REAL(struct gpu_state, clock_most_mhz, MEASURE, 0, 1e6),
    FIELD_WORD(struct gpu_state, slowed, gpu_slowed_names),
    FIELD_REAL(struct gpu_state, watts, MEASURE, 0, 1e6),
    FIELD_REAL(struct gpu_state, watts_most, MEASURE, 0, 1e6),
    FIELD_REAL(struct gpu_state, celsius, MEASURE, 0, 1000),
    FIELD(struct gpu_state, ecc_corrected, INT64, -1, INT64_MAX),
    FIELD(struct gpu_state, ecc_uncorrected, INT64, -1, INT64_MAX),
    FIELD(struct gpu_state, xid, INT64, 0, INT64_MAX),
    FIELD(struct gpu_state, xids, INT64, 0, INT64_MAX),
    FIELD(struct gpu_state, others, INT, -1, INT32_MAX),
    FIELD(struct gpu_state, other, LINE, 0, 0),
    FIELD(struct gpu_state, pcie_gen, INT, 0, 99),
    FIELD(struct gpu_state, pcie_gen_most, INT, 0, 99),
    FIELD(struct gpu_state, pcie_width, INT, 0, 99),
    FIELD(struct gpu_state, pcie_width_most, INT, 0, 99),
    FIELD(struct gpu_state, pci, LINE, 0, 0),
    FIELD(struct gpu_state, numa, INT, -1, 1000000),
    FIELD(struct gpu_state, nvlinks, INT, -1, 99),
    FIELD(struct gpu_state, nic, LINE, 0, 0),
};

const struct fields gpu_state_table = FIELDS(struct gpu_state, rows, .open = true);
