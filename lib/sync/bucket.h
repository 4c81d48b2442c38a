/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.h - which gradients travel together, and in which order
 *
 * Pure arithmetic.  Gradients lie in one arena that never moves, in the reverse order of
 * registration, which is about the order in which back-propagation produces them; a bucket is a
 * run of neighbours.  Buckets leave in the order in which the runs are listed:
 *
 *     arena   dense.b dense.w conv2.b conv2.w conv1.b conv1.w
 *     runs    [0, 2)          [2, 6)                            listed as they become ready
 *
 * With r when a bucket's last gradient is ready and c how long it takes, one after the other:
 *
 *     end = max(end of the bucket before, r) + c          c = latency + bytes / bandwidth
 *
 * Sources: WFBP, Zhang et al., Poseidon, USENIX ATC 2017; merging, Shi et al., MG-WFBP, INFOCOM
 * 2019, whose greedy rule seeks what bucket_merge finds by dynamic programming.
 */
#ifndef EDDIS_SYNC_BUCKET_H
#define EDDIS_SYNC_BUCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BUCKET_MAX = 64,      /* of a merged layout: more than that hides nothing more */
    BUCKET_IN_FLIGHT = 4, /* buckets being combined at a time */
};

/* One gradient, in the order of the arena. */
struct bucket_item {
    size_t bytes;
    int type;         /* and set; unlike ones never share a bucket */
    int64_t ready_ns; /* since any moment that is the same for all items */
};

struct bucket_run {
    int32_t first, end; /* items first .. end - 1 */
};

/* A layout that travels: between ranks, and in a plan. */
struct bucket_layout {
    int32_t n, reserved;
    struct bucket_run run[BUCKET_MAX];
};

/* What a bucket costs. */
struct bucket_cost {
    double latency_s, bytes_per_s;
};

/* Make buckets without times: in the arena's order, filled up to `bytes`, the first up to
 * first_bytes so that something is under way early.  ret [n].  Returns how many.
 */
int bucket_fill(const struct bucket_item *item, int n, size_t first_bytes, size_t bytes,
                struct bucket_run *ret);

/* Find the layout whose last bucket ends first, among those that list items as they become ready
 * and those that keep the arena's order; so it never ends later than one bucket an item or one for
 * all. Of several that end first it is one of few buckets, where latency matters.  When BUCKET_MAX
 * are not enough, with fewer.  Of more than 512 items small neighbours count as one, so that it may
 * end a little later, and time grows with n alone.  Returns how many, -ENOMEM, or -E2BIG when the
 * types change more often.
 */
int bucket_merge(const struct bucket_item *item, int n, const struct bucket_cost *cost,
                 struct bucket_layout *ret);

/* Return whether every item is in one run, and no run holds two types. */
bool bucket_fits(const struct bucket_layout *l, const struct bucket_item *item, int n);

/* Return how long a bucket of `bytes` bytes takes. */
int64_t bucket_ns(const struct bucket_cost *cost, size_t bytes);

/* Return when the last bucket ends, on the items' clock. */
int64_t bucket_end_ns(const struct bucket_item *item, const struct bucket_run *run, int n_runs,
                      const struct bucket_cost *cost);

#endif
