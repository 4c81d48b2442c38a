/* SPDX-License-Identifier: Apache-2.0 */
/* status_gpus.c - make the table of the workers' GPUs */
#include "status_gpus.h"

#include "cmd/shared/gpu_cells.h"
#include "cmd/shared/table.h"

#include <math.h>

static const struct table_column gpu_columns[] = {
    { "rank", true },     { "node", false },  { "GPU", false },    { "util", true },
    { "memory", true },   { "SM MHz", true }, { "power W", true }, { "temp", true },
    { "PCIe", false },    { "NVLink", true }, { "NUMA", true },    { "NIC", false },
    { "others", true },   { "errors", true }, { "speed", true },   { "state", false },
    { "why low", false },
};

/* Columns that a narrow window leaves out, in this order */
static const char *const spare_columns[] = {
    "NIC",    "NUMA", "NVLink", "PCIe", "others",  "state",
    "errors", "GPU",  "node",   "temp", "power W", "memory"
};

/* Add the row of a worker's GPU; index: among several, else -1. What is the worker's own is in the
 * first row.
 */
static void add_row(struct table *t, const struct worker_status *w, const struct gpu_state *g,
                    int index)
{
    int64_t errors = g->xids + (g->ecc_uncorrected > 0 ? g->ecc_uncorrected : 0);

    table_add(t, "%d", w->rank);
    gpu_cells_word(t, w->node);
    if (index < 0)
        gpu_cells_word(t, w->device);
    else
        table_add(t, "%s of %s", g->pci[0] ? g->pci : g->id, w->device);
    gpu_cells_busy(t, g);
    gpu_cells_memory(t, g);
    gpu_cells_clock(t, g);
    gpu_cells_power(t, g);
    gpu_cells_temperature(t, g);
    gpu_cells_pcie(t, g->pcie_gen, g->pcie_width, g->pcie_gen_most, g->pcie_width_most);
    gpu_cells_count(t, g, g->nvlinks);
    gpu_cells_count(t, g, g->numa);
    gpu_cells_word(t, g->nic);
    gpu_cells_count(t, g, g->others);
    gpu_cells_count(t, g, errors);
    if (index > 0)
        table_add(t, "%s", "");
    else if (isfinite(w->relative_speed))
        table_add(t, "%.2f", w->relative_speed);
    else
        table_add(t, "-");
    table_add(t, "%s", index > 0 ? "" : w->state);
    gpu_cells_why_low(t, g);
}

void status_gpus_add(struct strbuf *b, const struct job_status *s, int columns)
{
    cleanup_table struct table t = { .column = gpu_columns,
                                     .n_columns = sizeof gpu_columns / sizeof *gpu_columns };

    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];

        if (w->n_gpus == 0)
            add_row(&t, w, &w->gpu, -1);
        for (int k = 0; k < w->n_gpus; k++)
            add_row(&t, w, &w->gpus[k], k);
    }
    if (columns)
        table_fit(&t, 2, columns, spare_columns, sizeof spare_columns / sizeof *spare_columns);
    table_print(&t, 2, b);
}
