/* SPDX-License-Identifier: Apache-2.0 */
/* plan_table.h - the table of a plan's ranks
 *
 * A row a rank; in a long plan a row for all equal workers (kind and name of device, batch and
 * time), in the order of their first ranks.  A plan that knows only ratios shows each worker's
 * speed beside the fastest one's instead of rates and times.
 */
#ifndef EDDIS_CMD_RUN_VIEW_PLAN_TABLE_H
#define EDDIS_CMD_RUN_VIEW_PLAN_TABLE_H

#include "lib/model/plan.h"

#include <stdio.h>

void plan_table_print(const struct plan *p, FILE *out);

#endif
