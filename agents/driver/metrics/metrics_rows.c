/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_rows.c - visit the workers in turn, so that each gets its row in time */
#include "metrics_rows.h"

#include "lib/base/clock.h"

#include <stdlib.h>

/* If the number of workers has changed, as it may with a generation, forget all rows and make room
 * for n.  Without memory there is room for none.
 */
static void resize(struct metrics_rows *m, int n)
{
    if (m->n == n)
        return;
    metrics_rows_fini(m);
    m->row = n > 0 ? calloc((size_t)n, sizeof *m->row) : NULL;
    m->n = m->row ? n : 0;
}

/* Check whether to write a row of a worker's metrics: the worker has metrics, and their plan or
 * speed is new or the last row is METRICS_ROW_S old.
 */
static bool is_due(const struct metrics_row *row, const struct worker_status *w, int64_t now_ns)
{
    return w->metrics.plan > 0 &&
           (row->at_ns == 0 || row->plan != w->metrics.plan || row->since != w->metrics.since ||
            now_ns - row->at_ns >= METRICS_ROW_S * CLOCK_S);
}

int metrics_rows_choose(struct metrics_rows *m, const struct job_status *s, int64_t now_ns,
                        int ret[METRICS_ROWS])
{
    int n = 0, first;

    resize(m, s->n_workers);
    first = m->next;
    for (int i = 0; i < m->n && n < METRICS_ROWS; i++) {
        int rank = (first + i) % m->n;
        const struct worker_status *w = &s->worker[rank];

        if (!is_due(&m->row[rank], w, now_ns))
            continue;
        m->row[rank] = (struct metrics_row){ w->metrics.plan, w->metrics.since, now_ns };
        m->next = (rank + 1) % m->n;
        ret[n++] = rank;
    }
    return n;
}

void metrics_rows_fini(struct metrics_rows *m)
{
    free(m->row);
    *m = (struct metrics_rows){ 0 };
}
