/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.h - prints a job, its nodes and its plan before the job starts
 *
 *     eddis 0.1.0   job digits-20261121-140712-3f9a   logs in ~/.local/state/eddis/jobs/...
 *     nodes     3   login1 (2 cores, 23 GB, no GPU; 4 emulated devices)
 *                   node1, node2 (each 8 cores, 64 GB, 2 NVIDIA V100)
 *     profile   4 emulated devices, 1 CPU device, cached 2 h ago
 *     plan      sync, allreduce, global batch 256
 *
 *       rank  node    device         rate/s  batch  weight  step ms
 *          0  login1  emulated 1.00    8246     94   0.367     11.4
 *
 *       predicted 22 400 samples/s, 99 % of the devices' sum; an equal split would give 9 300
 *       sync because it is exact ...
 *
 * Control characters in names from other machines are replaced. No errors are returned: without
 * memory the buffer has failed.
 */
#ifndef EDDIS_CMD_RUN_VIEW_PLAN_PRINT_H
#define EDDIS_CMD_RUN_VIEW_PLAN_PRINT_H

#include "lib/base/strbuf.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Maximum rows of the table; if there are more workers, equal workers share a row */
enum { PLAN_PRINT_MAX_ROWS = 32 };

/* Where and how to print. */
struct plan_print {
    struct strbuf *out; /* what is printed is appended to it */
    bool colour;        /* for a terminal that takes escape codes */
    const char *home;   /* folders below it are printed as ~/...; NULL: unchanged */
    int64_t now_s;      /* seconds since 1970, for the age of cached profiles */
    bool drops;         /* the job may leave out workers (nodes.drop): no plan advises that */
};

/* Print the line of the job with its id and folder. If both are NULL, as for --dry-run, print
 * `name`.
 */
void plan_print_job(const struct plan_print *o, const char *name, const char *id,
                    const char *folder);

/* Print the lines of the nodes, one line for consecutive equal nodes, and the profiles' notes. */
void plan_print_nodes(const struct plan_print *o, const struct node_profile *nodes, int n);

/* Print the line about the profiles: number of devices, and when and how they were measured. */
void plan_print_profiles(const struct plan_print *o, const struct node_profile *nodes, int n);

/* Print the plan's line, its table, the predictions and the reason. remark: text added to the line,
 * such as "replayed from plan.json"; NULL: none.
 */
void plan_print_plan(const struct plan_print *o, const struct plan *p, const char *remark);

/* Print a later plan of the same job: only lines that are not in *before, the text printed for the
 * previous plan (empty for the first plan). Replace *before by the text of this plan.
 */
void plan_print_again(const struct plan_print *o, const struct plan *p, const char *remark,
                      struct strbuf *before);

/* Print one line about the workers instead of a plan, if it is not known yet whether the program
 * uses eddis. `before` is as for plan_print_again.
 *
 *     workers   6   on GPUs: ranks 0-3 on node1, 4-5 on node2; no plan, unless the program ...
 */
void plan_print_workers(const struct plan_print *o, const struct plan *p,
                        const struct node_profile *nodes, struct strbuf *before);

/* Return a text about the mode that was chosen when the model's size became known, with the other
 * modes and the reason. The caller frees the text; NULL without memory.
 */
char *plan_print_settled(const struct plan *p, bool colour);

/* Print a table of all devices of the nodes with their measurements (--profile). */
void plan_print_devices(const struct plan_print *o, const struct node_profile *nodes, int n);

/* Print, each after a blank line, how the nodes' GPUs are built in and set up, what they did while
 * they were measured, and for each node the ways from them to each other and to the nearest network
 * cards, with NUMA node and nearest cores, as nvidia-smi topo -m does. Unknown values are left out.
 */
void plan_print_gpus(const struct plan_print *o, const struct node_profile *nodes, int n);

#endif
