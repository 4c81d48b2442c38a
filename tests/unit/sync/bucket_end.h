/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_end.h - the predicted end of a layout of buckets, for tests of it */
#ifndef EDDIS_TESTS_BUCKET_END_H
#define EDDIS_TESTS_BUCKET_END_H

#include "lib/sync/bucket.h"

/* Return the time in ns at which the last bucket ends, on the clock of ready_ns. */
static inline int64_t bucket_end_ns(const struct bucket_item *item, const struct bucket_run *run,
                                    int n_runs, const struct bucket_cost *cost)
{
    int64_t end = 0;

    for (int k = 0; k < n_runs; k++) {
        size_t bytes = 0;

        for (int i = run[k].first; i < run[k].end; i++) {
            bytes += item[i].bytes;
            end = item[i].ready_ns > end ? item[i].ready_ns : end;
        }
        end += bucket_ns(cost, bytes);
    }
    return end;
}

#endif
