/* SPDX-License-Identifier: Apache-2.0 */
/* plan_gpus.c - print how the GPUs of the nodes are built in, for --profile */
#include "plan_print.h"

#include "cmd/shared/gpu_cells.h"
#include "cmd/shared/table.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WAY = 5,       /* characters of a way */
    GAP = 2,       /* between two of them */
    MAX_NICS = 8,  /* columns of network cards */
    COLUMNS = 120, /* width of a table */
    CORES = 40,    /* characters of a list of cores */
};

static const struct table_column built_columns[] = {
    { "node", false },         { "GPU", true },          { "PCIe", false }, { "NUMA", true },
    { "NIC", false },          { "power cap W", true },  { "MIG", false },  { "ECC", false },
    { "compute mode", false }, { "persistence", false },
};

static const struct table_column state_columns[] = {
    { "node", false },   { "GPU", true },      { "SM MHz", true },      { "why low", false },
    { "power W", true }, { "temp", true },     { "util", true },        { "memory", true },
    { "others", true },  { "process", false }, { "ECC errors", false },
};

/* A network card, and the way to it */
struct nic {
    char name[31], way[8];
};

/* Columns that a line of COLUMNS characters leaves out, in this order */
static const char *const spare_columns[] = { "process" };

/* Append the cell "power cap W", "400" or, if the card was made with another one, "300 of 400". */
static void add_cap(struct table *t, const struct gpu_facts *g)
{
    if (!isfinite(g->watts_most))
        table_add(t, "-");
    else if (isfinite(g->watts_usual) && fabs(g->watts_most - g->watts_usual) >= 1)
        table_add(t, "%.0f of %.0f", g->watts_most, g->watts_usual);
    else
        table_add(t, "%.0f", g->watts_most);
}

/* Read the next network card of a list as of struct gpu_facts, move *at behind it, and return true;
 * false: there is none.
 */
static bool next_nic(const char **at, struct nic *ret)
{
    int n = 0;

    if (sscanf(*at, " %30s %7s%n", ret->name, ret->way, &n) != 2)
        return false;
    *at += n;
    return true;
}

/* Append the row of a GPU of this host: how it is built in and set up. */
static void add_built(struct table *t, const char *host, const struct device *d)
{
    const struct gpu_facts *g = &d->gpu;
    const char *nics = g->nic;
    struct nic nearest;

    table_add(t, "%s", host);
    table_add(t, "%d", d->index);
    gpu_cells_pcie(t, g->pcie_gen, g->pcie_width, g->pcie_gen_most, g->pcie_width_most);
    if (d->numa >= 0)
        table_add(t, "%d", d->numa);
    else
        table_add(t, "-");
    if (next_nic(&nics, &nearest))
        table_add(t, "%s %s", nearest.name, nearest.way);
    else
        table_add(t, "-");
    add_cap(t, g);
    gpu_cells_word(t, g->mig);
    gpu_cells_word(t, g->ecc);
    gpu_cells_word(t, g->compute_mode);
    gpu_cells_word(t, g->persistence);
}

/* Append the cell "ECC errors", "3 + 5": those that were corrected, and those that were not. */
static void add_ecc(struct table *t, const struct gpu_state *g)
{
    if (g->ecc_corrected < 0 || g->ecc_uncorrected < 0)
        table_add(t, "-");
    else
        table_add(t, "%" PRId64 " + %" PRId64, g->ecc_corrected, g->ecc_uncorrected);
}

/* Append the row of a GPU of this host: what it did. */
static void add_state(struct table *t, const char *host, const struct device *d)
{
    const struct gpu_state *g = &d->gpu.state;

    table_add(t, "%s", host);
    table_add(t, "%d", d->index);
    gpu_cells_clock(t, g);
    gpu_cells_why_low(t, g);
    gpu_cells_power(t, g);
    gpu_cells_temperature(t, g);
    gpu_cells_busy(t, g);
    gpu_cells_memory(t, g);
    gpu_cells_count(t, g, g->others);
    table_add(t, "%s", g->other);
    add_ecc(t, g);
}

/* Append a cell of the ways, after the blanks that fill the cell before, of width *pad. */
static void add_way(struct strbuf *b, const char *word, int n, int *pad)
{
    strbuf_addf(b, "%*s%.*s", *pad, "", n, word);
    *pad = WAY + GAP - n;
}

/* Append a cell of the ways with a word and a number. */
static void add_title(struct strbuf *b, const char *word, int number, int *pad)
{
    char title[16];

    add_way(b, title, snprintf(title, sizeof title, "%s%d", word, number), pad);
}

/* Check whether the ways between a node's GPUs are known, which those of AMD's are not. */
static bool have_ways(const struct node_profile *p)
{
    for (int d = 0; d < p->n_devices; d++)
        if (p->device[d].gpu.links[0])
            return true;
    return false;
}

/* Return the place of a name among the n network cards; n: it is not there. */
static int find_nic(const struct nic *nic, int n, const char *name)
{
    int i = 0;

    while (i < n && strcmp(nic[i].name, name) != 0)
        i++;
    return i;
}

/* Append the network cards that are nearest to a GPU to the n of ret [MAX_NICS], unless they are
 * there. Return their number.
 */
static int add_nearest(const char *nics, int n, struct nic *ret)
{
    char way[8] = "";
    struct nic nic;

    while (n < MAX_NICS && next_nic(&nics, &nic) && (!way[0] || strcmp(nic.way, way) == 0)) {
        strcpy(way, nic.way);
        if (find_nic(ret, n, nic.name) == n)
            ret[n++] = nic;
    }
    return n;
}

/* Append the ways from a GPU to the n network cards. */
static void add_ways_to_nics(struct strbuf *b, const char *nics, const struct nic *nic, int n,
                             int *pad)
{
    char way[MAX_NICS][8] = { "" };
    struct nic one;

    while (next_nic(&nics, &one)) {
        int i = find_nic(nic, n, one.name);

        if (i < n)
            strcpy(way[i], one.way);
    }
    for (int i = 0; i < n; i++)
        add_way(b, way[i][0] ? way[i] : "-", way[i][0] ? (int)strlen(way[i]) : 1, pad);
}

/* Append the row of a GPU: the ways from it, its NUMA node and the nearest cores. */
static void add_ways(struct strbuf *b, const struct device *d, const struct nic *nic, int n)
{
    char numa[16] = "-";
    int pad = GAP;

    add_title(b, "GPU", d->index, &pad);
    for (const char *at = d->gpu.links; *at; at += strspn(at, " ")) {
        int length = (int)strcspn(at, " ");

        add_way(b, at, length, &pad);
        at += length;
    }
    add_ways_to_nics(b, d->gpu.nic, nic, n, &pad);
    if (d->numa >= 0)
        (void)snprintf(numa, sizeof numa, "%d", d->numa);
    add_way(b, numa, (int)strlen(numa), &pad);
    strbuf_addf(b, "%*s%.*s%s\n", pad, "", CORES, d->cpus[0] ? d->cpus : "-",
                strlen(d->cpus) > CORES ? "..." : "");
}

/* Print the ways from the GPUs of a node, as nvidia-smi topo -m does, unless they are unknown. */
static void print_ways(const struct plan_print *o, const struct node_profile *p)
{
    struct nic nic[MAX_NICS];
    int pad = WAY + 2 * GAP, n = 0;

    if (!have_ways(p))
        return;
    strbuf_add(o->out, "\n  ways from the GPUs of ");
    text_add_clean(o->out, "%s", p->host);
    strbuf_add(o->out, "\n");
    for (int d = 0; d < p->n_devices; d++)
        if (p->device[d].kind == DEVICE_CUDA) {
            n = add_nearest(p->device[d].gpu.nic, n, nic);
            add_title(o->out, "GPU", p->device[d].index, &pad);
        }
    for (int i = 0; i < n; i++)
        add_title(o->out, "NIC", i, &pad);
    strbuf_addf(o->out, "%*sNUMA   cores\n", pad, "");
    for (int d = 0; d < p->n_devices; d++)
        if (p->device[d].kind == DEVICE_CUDA)
            add_ways(o->out, &p->device[d], nic, n);
    for (int i = 0; i < n; i++)
        text_add_clean(o->out, "%sNIC%d is %s", i ? ", " : "  ", i, nic[i].name);
    strbuf_add(o->out, n ? "\n" : "");
}

/* A table of GPUs: the one with how they are built in, or the one with what they did */
struct gpu_table {
    const char *title;
    bool (*is_known)(const struct device *d);
    void (*add)(struct table *t, const char *host, const struct device *d);
};

/* Check whether it is known how a GPU is built in. */
static bool is_built_known(const struct device *d)
{
    return d->gpu.known;
}

/* Check whether it is known what a GPU did. */
static bool is_state_known(const struct device *d)
{
    return d->gpu.state.reading;
}

/* Print a table of the GPUs of the nodes after a blank line; nothing if it has no row. */
static void print_table(const struct plan_print *o, const struct node_profile *nodes, int n,
                        const struct gpu_table *g, struct table *t)
{
    for (int i = 0; i < n; i++)
        for (int d = 0; d < nodes[i].n_devices; d++)
            if (g->is_known(&nodes[i].device[d]))
                g->add(t, nodes[i].host, &nodes[i].device[d]);
    if (t->cell.n == 0)
        return;
    strbuf_addf(o->out, "\n%s", g->title);
    table_fit(t, 2, COLUMNS, spare_columns, sizeof spare_columns / sizeof *spare_columns);
    table_print(t, 2, o->out);
}

void plan_print_gpus(const struct plan_print *o, const struct node_profile *nodes, int n)
{
    cleanup_table struct table built = { .column = built_columns,
                                         .n_columns =
                                             sizeof built_columns / sizeof *built_columns };
    cleanup_table struct table state = { .column = state_columns,
                                         .n_columns =
                                             sizeof state_columns / sizeof *state_columns };

    print_table(o, nodes, n, &(struct gpu_table){ "", is_built_known, add_built }, &built);
    print_table(o, nodes, n,
                &(struct gpu_table){ "  during the measurement\n", is_state_known, add_state },
                &state);
    for (int i = 0; i < n; i++)
        print_ways(o, &nodes[i]);
}
