/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_cells.h - cells of a table about what a GPU does
 *
 * Each function appends one cell, "-" if nothing is known.
 */
#ifndef EDDIS_CMD_SHARED_GPU_CELLS_H
#define EDDIS_CMD_SHARED_GPU_CELLS_H

#include "table.h"

#include "lib/model/gpu_state.h"

/* Append "97 %", the part of the last second in which it computed. */
void gpu_cells_busy(struct table *t, const struct gpu_state *g);

/* Append "1.1 of 86 GB", its memory in use. */
void gpu_cells_memory(struct table *t, const struct gpu_state *g);

/* Append "1005 of 1410", its clock in MHz. */
void gpu_cells_clock(struct table *t, const struct gpu_state *g);

/* Append "heat", why its clock is low; an empty cell if it is not, or the cause is unknown. */
void gpu_cells_why_low(struct table *t, const struct gpu_state *g);

/* Append "250 of 400", its power in W. */
void gpu_cells_power(struct table *t, const struct gpu_state *g);

/* Append "86 C". */
void gpu_cells_temperature(struct table *t, const struct gpu_state *g);

/* Append "4x16" or, if more is possible, "3x8 of 4x16": generation and lanes of a link. */
void gpu_cells_pcie(struct table *t, int gen, int width, int gen_most, int width_most);

/* Append a count; n < 0: it is unknown. */
void gpu_cells_count(struct table *t, const struct gpu_state *g, int64_t n);

/* Append a word; "": nothing is known. */
void gpu_cells_word(struct table *t, const char *word);

#endif
