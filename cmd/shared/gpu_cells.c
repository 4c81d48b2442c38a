/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_cells.c - cells of a table about what a GPU does */
#include "gpu_cells.h"

#include <inttypes.h>
#include <math.h>

/* Append x with its unit. */
static void add_number(struct table *t, const struct gpu_state *g, double x, const char *unit)
{
    if (g->reading && isfinite(x))
        table_add(t, "%.0f%s", x, unit);
    else
        table_add(t, "-");
}

/* Append "12 of 34", without digits behind the point. */
static void add_of(struct table *t, const struct gpu_state *g, double x, double most)
{
    if (!isfinite(most))
        add_number(t, g, x, "");
    else if (g->reading && isfinite(x))
        table_add(t, "%.0f of %.0f", x, most);
    else
        table_add(t, "-");
}

void gpu_cells_busy(struct table *t, const struct gpu_state *g)
{
    add_number(t, g, 100 * g->busy, " %");
}

void gpu_cells_memory(struct table *t, const struct gpu_state *g)
{
    if (g->reading && g->memory_bytes)
        table_add(t, "%.1f of %.0f GB", 1e-9 * (double)g->memory_used_bytes,
                  1e-9 * (double)g->memory_bytes);
    else
        table_add(t, "-");
}

void gpu_cells_clock(struct table *t, const struct gpu_state *g)
{
    add_of(t, g, g->clock_mhz, g->clock_most_mhz);
}

void gpu_cells_why_low(struct table *t, const struct gpu_state *g)
{
    static const char *const words[GPU_SLOWED_KINDS] = {
        [GPU_SLOWED_NOT] = "",
        [GPU_SLOWED_HEAT] = "heat",
        [GPU_SLOWED_BRAKE] = "power supply",
        [GPU_SLOWED_HARDWARE] = "hardware",
        [GPU_SLOWED_POWER] = "power cap",
        [GPU_SLOWED_SYNC] = "other GPUs",
        [GPU_SLOWED_SET] = "set clocks",
        [GPU_SLOWED_IDLE] = "idle",
    };

    table_add(t, "%s", g->reading ? words[g->slowed] : "-");
}

void gpu_cells_power(struct table *t, const struct gpu_state *g)
{
    add_of(t, g, g->watts, g->watts_most);
}

void gpu_cells_temperature(struct table *t, const struct gpu_state *g)
{
    add_number(t, g, g->celsius, " C");
}

void gpu_cells_pcie(struct table *t, int gen, int width, int gen_most, int width_most)
{
    if (!gen || !width)
        table_add(t, "-");
    else if (gen >= gen_most && width >= width_most)
        table_add(t, "%dx%d", gen, width);
    else
        table_add(t, "%dx%d of %dx%d", gen, width, gen_most, width_most);
}

void gpu_cells_count(struct table *t, const struct gpu_state *g, int64_t n)
{
    if (g->reading && n >= 0)
        table_add(t, "%" PRId64, n);
    else
        table_add(t, "-");
}

void gpu_cells_word(struct table *t, const char *word)
{
    table_add(t, "%s", word[0] ? word : "-");
}
