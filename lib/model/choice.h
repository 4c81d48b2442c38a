/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h - how a job's communication was tuned by measurement
 *
 * Rank 0 writes the chosen settings to its progress page, and the driver stores them in the plan.
 * A replayed plan passes them to every worker, which then measures nothing.  The struct is placed
 * in shared memory: its sizes are fixed, and libeddis needs only this header.
 */
#ifndef EDDIS_MODEL_CHOICE_H
#define EDDIS_MODEL_CHOICE_H

#include <stdint.h>

enum {
    CHOICE_MAX_ORDER = 2048, /* most parameters in an order; a model with more keeps the reverse
                              * order of registration */
    CHOICE_MAX_BUCKETS = 512,
    CHOICE_REASON = 512,
};

/* Measured settings of the communication */
struct comm_choice {
    int32_t version;       /* number of these settings, incremented by every change; 0: nothing
                            * chosen yet */
    int32_t shared;        /* 1: ranks of a node reduce in shared memory; 0: by messages */
    int64_t direct_bytes;  /* by messages: largest all-reduce that uses one exchange of each rank
                            * with all */
    int64_t tree_bytes;    /* largest all-reduce above direct_bytes that uses a tree */
    int64_t halving_bytes; /* largest above tree_bytes that uses recursive halving; a larger one
                            * uses a ring */
    int64_t piece_bytes;   /* size of the chunks of a ring; 0: whole blocks */
    double latency_s;      /* measured: an all-reduce of M bytes takes latency_s + M / bytes_per_s
                            * seconds */
    double bytes_per_s;    /* see latency_s; 0: unknown */
    int32_t n_order;       /* length of `order`; 0: the reverse order of registration */
    int32_t n_buckets;     /* length of `bucket`; 0: by communication.bucket_mb alone */
    uint16_t order[CHOICE_MAX_ORDER];    /* numbers of the parameters in the order of sending */
    uint16_t bucket[CHOICE_MAX_BUCKETS]; /* number of parameters in each bucket */
    char reason[CHOICE_REASON];          /* why these settings, one sentence for people */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct comm_choice) ==
                   64 + 2 * (CHOICE_MAX_ORDER + CHOICE_MAX_BUCKETS) + CHOICE_REASON,
               "no padding in shared memory");
#endif

#endif
