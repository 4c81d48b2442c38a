/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.h - decides which gradients travel together, and in which order
 *
 * Pure arithmetic.  Gradients lie in one arena that never moves, in the reverse order of
 * registration.  This is roughly the order in which back-propagation produces them.  A bucket is
 * a run of neighbours.  Buckets leave in the order in which the runs are listed:
 *
 *     arena   dense.b dense.w conv2.b conv2.w conv1.b conv1.w
 *     runs    [0, 2)          [2, 6)                            listed as they become ready
 *
 * With r the time at which a bucket's last gradient is ready, and c its duration, buckets being
 * combined one after the other:
 *
 *     end = max(end of the bucket before, r) + c          c = latency + bytes / bandwidth
 *
 * Sources: WFBP, Zhang et al., Poseidon, USENIX ATC 2017; merging, Shi et al., MG-WFBP, INFOCOM
 * 2019.  Its greedy rule approximates the layout that bucket_merge finds by dynamic programming.
 */
#ifndef EDDIS_SYNC_BUCKET_H
#define EDDIS_SYNC_BUCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BUCKET_MAX = 64,      /* buckets of a merged layout; more would not hide more time */
    BUCKET_IN_FLIGHT = 4, /* most buckets being combined at the same time */
};

/* One gradient, in the order of the arena. */
struct bucket_item {
    size_t bytes;
    int type;         /* element type and set; items of different types never share a bucket */
    int64_t ready_ns; /* time since some moment, which is the same for all items */
};

/* A run of neighbouring items, which forms a bucket. */
struct bucket_run {
    int32_t first, end; /* items first .. end - 1 */
};

/* A layout, as sent between ranks and stored in a plan. */
struct bucket_layout {
    int32_t n, reserved;
    struct bucket_run run[BUCKET_MAX];
};

/* The cost of a bucket: a latency and a bandwidth. */
struct bucket_cost {
    double latency_s, bytes_per_s;
};

/* Make buckets by size alone, in arena order.  Fill each up to `bytes` bytes, the first up to
 * first_bytes so that a bucket is under way early.  ret has room for n runs.  Return the number of
 * buckets.
 */
int bucket_fill(const struct bucket_item *item, int n, size_t first_bytes, size_t bytes,
                struct bucket_run *ret);

/* Find the layout whose last bucket ends first, by dynamic programming, and return its number of
 * buckets, at most BUCKET_MAX.  -ENOMEM; -E2BIG: types of neighbours change so often that more than
 * BUCKET_MAX buckets are needed.
 *
 * Candidates list items in the order in which they become ready, or in arena order.  So the result
 * never ends later than one bucket per item, or one bucket for all.  Of several layouts that end
 * first, prefer one with few buckets if the latency matters.  If there are more than 512 items,
 * small neighbours are joined first: the result may end slightly later, and the time of the
 * computation grows only linearly with n.
 */
int bucket_merge(const struct bucket_item *item, int n, const struct bucket_cost *cost,
                 struct bucket_layout *ret);

/* Check whether every item is in exactly one run and no run mixes types. */
bool bucket_fits(const struct bucket_layout *l, const struct bucket_item *item, int n);

/* Return the duration in ns of a bucket of `bytes` bytes. */
int64_t bucket_ns(const struct bucket_cost *cost, size_t bytes);

#endif
