/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_rows.h - choose the workers that appear in a line of metrics.jsonl
 *
 * A job may have thousands of workers and run for weeks. A worker gets a row when its metrics
 * belong to a new plan or speed, and otherwise every METRICS_ROW_S seconds. A line has at most
 * METRICS_ROWS rows; workers for which the line had no room come first in the next line.
 */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_ROWS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_ROWS_H

#include "agents/job/status_json.h"

#include <stdint.h>

enum { METRICS_ROWS = 16, METRICS_ROW_S = 10 };

/* The latest row of a worker. */
struct metrics_row {
    int64_t plan, since; /* plan version, and first step, of the metrics in the row */
    int64_t at_ns;       /* time of the row; 0: the worker had no row yet */
};

/* The latest rows of all workers. */
struct metrics_rows {
    struct metrics_row *row; /* [n] latest row of each rank */
    int n, next;             /* number of workers; first rank to consider for the next line */
};

/* Choose the ranks that appear in the line of metrics.jsonl at now_ns. Write them to ret, and
 * return their number.
 */
int metrics_rows_choose(struct metrics_rows *m, const struct job_status *s, int64_t now_ns,
                        int ret[METRICS_ROWS]);

/* Free the rows and clear *m. */
void metrics_rows_fini(struct metrics_rows *m);

#endif
