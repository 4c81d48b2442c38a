/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.h - a job, its nodes and its plan as people read them before the job starts
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
 * Names that come from other machines lose their control characters.  Nothing is returned: the
 * caller asks ferror of its stream once.
 */
#ifndef EDDIS_CMD_RUN_VIEW_PLAN_PRINT_H
#define EDDIS_CMD_RUN_VIEW_PLAN_PRINT_H

#include "lib/base/strbuf.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Beyond so many workers, equal ones share a row of the table. */
enum { PLAN_PRINT_MAX_ROWS = 32 };

struct plan_print {
    FILE *out;
    bool colour;      /* the stream is a terminal that takes escape codes */
    const char *home; /* folders below it are shown as ~/...; NULL: as they are */
    int64_t now_s;    /* seconds since 1970, for the age of cached profiles */
};

/* The line of the job; id and folder NULL before there is one (--dry-run): `name` stands there. */
void plan_print_job(const struct plan_print *o, const char *name, const char *id,
                    const char *folder);

/* The lines of the nodes, runs of equal nodes together, and the line of their profiles. */
void plan_print_nodes(const struct plan_print *o, const struct node_profile *nodes, int n);
void plan_print_profiles(const struct plan_print *o, const struct node_profile *nodes, int n);

/* The plan's line, its table, the predictions and the reason.  remark is added to the line,
 * "replayed from plan.json"; NULL: none.
 */
void plan_print_plan(const struct plan_print *o, const struct plan *p, const char *remark);

/* The same of a job's plans one behind another: only the lines that `before` has not, the text of
 * the plan before and what else was printed of it; empty of the first.  It becomes the text of this
 * one.
 */
void plan_print_again(const struct plan_print *o, const struct plan *p, const char *remark,
                      struct strbuf *before);

/* Print one line about the workers instead of a plan, if it is not known whether the program uses
 * eddis; `before` as of plan_print_again.
 *
 *     workers   6   on GPUs: ranks 0-3 on node1, 4-5 on node2; no plan, unless the program ...
 */
void plan_print_workers(const struct plan_print *o, const struct plan *p,
                        const struct node_profile *nodes, struct strbuf *before);

/* Returns the mode that was chosen once the size of the model was known, beside the others, and
 * why, for the caller to free; NULL without memory.
 */
char *plan_print_settled(const struct plan *p, bool colour);

/* Every device of the nodes with what was measured: what --profile prints. */
void plan_print_devices(const struct plan_print *o, const struct node_profile *nodes, int n);

#endif
