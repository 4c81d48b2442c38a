/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h - how a job's communication was tuned by measurement
 *
 * Rank 0 writes it to its progress page, and the driver stores it in the plan.  A replayed plan
 * passes it to every worker, which then measures nothing.  The struct is placed in shared memory:
 * its sizes are fixed, and libeddis needs only this header.
 */
#ifndef EDDIS_MODEL_CHOICE_H
#define EDDIS_MODEL_CHOICE_H

#include <stdint.h>

enum {
    CHOICE_MAX_ORDER = 2048, /* parameters; a larger model keeps the order of registration */
    CHOICE_MAX_BUCKETS = 512,
    CHOICE_REASON = 512,
};

/* Measured settings of the communication */
struct comm_choice {
    int32_t version;       /* 0: nothing chosen yet; incremented by every change */
    int32_t shared;        /* 1: ranks of a node reduce in shared memory; 0: by messages */
    int64_t direct_bytes;  /* messages: all-reduces up to this size use one exchange with all ... */
    int64_t tree_bytes;    /* ... up to this size a tree ... */
    int64_t halving_bytes; /* ... up to this size recursive halving, larger ones a ring ... */
    int64_t piece_bytes;   /* ... in chunks of this size; 0: whole blocks */
    double latency_s;      /* measured: an all-reduce of M bytes takes ... */
    double bytes_per_s;    /* ... latency_s + M / bytes_per_s seconds; 0: unknown */
    int32_t n_order;       /* length of `order`; 0: the reverse order of registration */
    int32_t n_buckets;     /* length of `bucket`; 0: by communication.bucket_mb alone */
    uint16_t order[CHOICE_MAX_ORDER];    /* numbers of the parameters in the order of sending */
    uint16_t bucket[CHOICE_MAX_BUCKETS]; /* number of parameters in each bucket */
    char reason[CHOICE_REASON];          /* for people, one sentence */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct comm_choice) ==
                   64 + 2 * (CHOICE_MAX_ORDER + CHOICE_MAX_BUCKETS) + CHOICE_REASON,
               "no padding in shared memory");
#endif

#endif
