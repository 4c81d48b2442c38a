/* SPDX-License-Identifier: Apache-2.0 */
/* plan_gpus.c - print how the GPUs of the nodes are built in, for --profile */
#include "plan_print.h"

#include "cmd/shared/table.h"

#include "lib/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WAY = 5, GAP = 2 }; /* characters of a way between GPUs, and between two of them */

static const struct table_column gpu_columns[] = {
    { "node", false },         { "GPU", true },          { "PCIe", false },
    { "NUMA", true },          { "NIC", false },         { "power cap W", true },
    { "compute mode", false }, { "persistence", false }, { "ECC", false },
};

/* Append the cell "PCIe", "4x16" or "3x8 of 4x16". */
static void add_pcie(struct table *t, const struct gpu_facts *g)
{
    bool full = g->pcie_gen >= g->pcie_gen_most && g->pcie_width >= g->pcie_width_most;

    if (!g->pcie_gen || !g->pcie_width)
        table_add(t, "-");
    else if (full)
        table_add(t, "%dx%d", g->pcie_gen, g->pcie_width);
    else
        table_add(t, "%dx%d of %dx%d", g->pcie_gen, g->pcie_width, g->pcie_gen_most,
                  g->pcie_width_most);
}

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

/* Append a cell with a word; "-" if it is empty. */
static void add_word(struct table *t, const char *word)
{
    table_add(t, "%s", word[0] ? word : "-");
}

/* Append the row of a GPU of this host. */
static void add_gpu(struct table *t, const char *host, const struct device *d)
{
    table_add(t, "%s", host);
    table_add(t, "%d", d->index);
    add_pcie(t, &d->gpu);
    if (d->numa >= 0)
        table_add(t, "%d", d->numa);
    else
        table_add(t, "-");
    add_word(t, d->gpu.nic);
    add_cap(t, &d->gpu);
    add_word(t, d->gpu.compute_mode);
    add_word(t, d->gpu.persistence);
    add_word(t, d->gpu.ecc);
}

/* Append n bytes of a cell of the ways, after the blanks that fill the cell before, of width *pad.
 */
static void add_way(struct strbuf *b, const char *word, int n, int *pad)
{
    strbuf_addf(b, "%*s%.*s", *pad, "", n, word);
    *pad = WAY + GAP - n;
}

/* Check whether the ways between a node's GPUs are known, which those of AMD's are not. */
static bool have_ways(const struct node_profile *p)
{
    for (int d = 0; d < p->n_devices; d++)
        if (p->device[d].gpu.links[0])
            return true;
    return false;
}

/* Print the ways between the GPUs of a node, unless it has one GPU or they are unknown. */
static void print_ways(const struct plan_print *o, const struct node_profile *p)
{
    int pad = WAY + GAP;
    char name[16];

    if (profile_count(p, DEVICE_CUDA) < 2 || !have_ways(p))
        return;
    strbuf_add(o->out, "\n  ways between the GPUs of ");
    text_add_clean(o->out, "%s", p->host);
    strbuf_add(o->out, "\n  ");
    for (int d = 0; d < p->n_devices; d++)
        if (p->device[d].kind == DEVICE_CUDA)
            add_way(o->out, name, snprintf(name, sizeof name, "GPU%d", p->device[d].index), &pad);
    strbuf_add(o->out, "\n");
    for (int d = 0; d < p->n_devices; d++) {
        const struct device *g = &p->device[d];

        if (g->kind != DEVICE_CUDA)
            continue;
        pad = GAP;
        add_way(o->out, name, snprintf(name, sizeof name, "GPU%d", g->index), &pad);
        for (const char *at = g->gpu.links; *at; at += strspn(at, " ")) {
            int n = (int)strcspn(at, " ");

            add_way(o->out, at, n, &pad);
            at += n;
        }
        strbuf_add(o->out, "\n");
    }
}

void plan_print_gpus(const struct plan_print *o, const struct node_profile *nodes, int n)
{
    cleanup_table struct table t = { .column = gpu_columns,
                                     .n_columns = sizeof gpu_columns / sizeof *gpu_columns };
    int known = 0;

    for (int i = 0; i < n; i++)
        for (int d = 0; d < nodes[i].n_devices; d++)
            if (nodes[i].device[d].gpu.known) {
                add_gpu(&t, nodes[i].host, &nodes[i].device[d]);
                known++;
            }
    if (known == 0)
        return;
    strbuf_add(o->out, "\n");
    table_print(&t, 2, o->out);
    for (int i = 0; i < n; i++)
        print_ways(o, &nodes[i]);
}
