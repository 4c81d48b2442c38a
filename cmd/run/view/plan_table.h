/* SPDX-License-Identifier: Apache-2.0 */
/* plan_table.h - the table of a plan's ranks
 *
 * The table has a row for each rank. In a long plan, equal workers (kind and name of device, batch
 * and time) share a row, in the order of their first ranks. For a plan that knows only ratios, the
 * table has each worker's speed relative to the fastest worker instead of rates and times.
 */
#ifndef EDDIS_CMD_RUN_VIEW_PLAN_TABLE_H
#define EDDIS_CMD_RUN_VIEW_PLAN_TABLE_H

#include "lib/base/strbuf.h"
#include "lib/model/plan.h"

/* Print the table of p's ranks, and which ranks split their batch into micro-batches. */
void plan_table_print(const struct plan *p, struct strbuf *b);

#endif
