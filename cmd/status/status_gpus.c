/* SPDX-License-Identifier: Apache-2.0 */
/* status_gpus.c - make the table of the workers' GPUs */
#include "status_gpus.h"

#include "cmd/shared/table.h"

#include <inttypes.h>
#include <math.h>

static const struct table_column gpu_columns[] = {
    { "rank", true },   { "node", false },    { "GPU", false },    { "util", true },
    { "memory", true }, { "SM MHz", true },   { "power W", true }, { "temp", true },
    { "PCIe", false },  { "others", true },   { "errors", true },  { "speed", true },
    { "state", false }, { "why low", false },
};

/* Columns that a narrow window leaves out, in this order */
static const char *const spare_columns[] = { "PCIe", "others", "state",   "errors", "GPU",
                                             "node", "temp",   "power W", "memory" };

/* Return a number, or NAN if the GPU was not read. */
static double if_read(const struct gpu_state *g, double x)
{
    return g->reading ? x : NAN;
}

/* Append a cell "12 of 34", without digits behind the point; "-" if the first is unknown. */
static void add_of(struct table *t, double x, double most)
{
    if (!isfinite(x))
        table_add(t, "-");
    else if (!isfinite(most))
        table_add(t, "%.0f", x);
    else
        table_add(t, "%.0f of %.0f", x, most);
}

/* Append a cell with x and its unit; "-" if x is unknown. */
static void add_number(struct table *t, double x, const char *unit)
{
    if (isfinite(x))
        table_add(t, "%.0f%s", x, unit);
    else
        table_add(t, "-");
}

/* Append a cell with a count; "-" if it is unknown. */
static void add_count(struct table *t, const struct gpu_state *g, int64_t n)
{
    if (g->reading && n >= 0)
        table_add(t, "%" PRId64, n);
    else
        table_add(t, "-");
}

/* Append the cells "PCIe", "3x8 of 4x16". */
static void add_pcie(struct table *t, const struct gpu_state *g)
{
    if (!g->reading || !g->pcie_gen || !g->pcie_width)
        table_add(t, "-");
    else if (g->pcie_gen == g->pcie_gen_most && g->pcie_width == g->pcie_width_most)
        table_add(t, "%dx%d", g->pcie_gen, g->pcie_width);
    else
        table_add(t, "%dx%d of %dx%d", g->pcie_gen, g->pcie_width, g->pcie_gen_most,
                  g->pcie_width_most);
}

/* Return why the clock is low, in words; "": it is not, or the cause is unknown. */
static const char *why(const struct gpu_state *g)
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

    return g->reading ? words[g->slowed] : "-";
}

/* Add the row of a worker. */
static void add_row(struct table *t, const struct worker_status *w)
{
    const struct gpu_state *g = &w->gpu;
    int64_t errors = g->xids + (g->ecc_uncorrected > 0 ? g->ecc_uncorrected : 0);

    table_add(t, "%d", w->rank);
    table_add(t, "%s", w->node[0] ? w->node : "-");
    table_add(t, "%s", w->device[0] ? w->device : "-");
    add_number(t, if_read(g, 100 * g->busy), " %");
    if (g->reading && g->memory_bytes)
        table_add(t, "%.1f of %.0f GB", 1e-9 * (double)g->memory_used_bytes,
                  1e-9 * (double)g->memory_bytes);
    else
        table_add(t, "-");
    add_of(t, if_read(g, g->clock_mhz), g->clock_most_mhz);
    add_of(t, if_read(g, g->watts), g->watts_most);
    add_number(t, if_read(g, g->celsius), " C");
    add_pcie(t, g);
    add_count(t, g, g->others);
    add_count(t, g, errors);
    if (isfinite(w->relative_speed))
        table_add(t, "%.2f", w->relative_speed);
    else
        table_add(t, "-");
    table_add(t, "%s", w->state);
    table_add(t, "%s", why(g));
}

void status_gpus_add(struct strbuf *b, const struct job_status *s, int columns)
{
    cleanup_table struct table t = { .column = gpu_columns,
                                     .n_columns = sizeof gpu_columns / sizeof *gpu_columns };

    for (int i = 0; i < s->n_workers; i++)
        add_row(&t, &s->worker[i]);
    if (columns)
        table_fit(&t, 2, columns, spare_columns, sizeof spare_columns / sizeof *spare_columns);
    table_print(&t, 2, b);
}
