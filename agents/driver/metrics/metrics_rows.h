/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_rows.h - which workers a line of metrics.jsonl tells of
 *
 * A job of thousands of workers may run for weeks.  A worker has a row when its figures are of a
 * plan or a speed of which there was none, and else every METRICS_ROW_S seconds; a line has
 * METRICS_ROWS at most, and who found no room there comes first in the next.
 */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_ROWS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_ROWS_H

#include "agents/job/status_json.h"

#include <stdint.h>

enum { METRICS_ROWS = 16, METRICS_ROW_S = 10 };

struct metrics_row {
    int64_t plan, since; /* of the figures in its last row */
    int64_t at_ns;       /* when that was; 0: none yet */
};

struct metrics_rows {
    struct metrics_row *row; /* [n] by rank */
    int n, next;             /* who is looked at first */
};

/* Write the ranks of those that the line at now_ns tells of to ret, and return their number. */
int metrics_rows_choose(struct metrics_rows *m, const struct job_status *s, int64_t now_ns,
                        int ret[METRICS_ROWS]);

void metrics_rows_fini(struct metrics_rows *m);

#endif
