/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h - what of a job's communication was chosen by measurement
 *
 * Rank 0 writes it to its page of the progress board, the driver keeps it in the plan, and a plan
 * that is replayed gives it back to every worker, which then measures nothing.  It lies in shared
 * memory as it stands here, so sizes are fixed and libeddis needs no more than this header.
 */
#ifndef EDDIS_MODEL_CHOICE_H
#define EDDIS_MODEL_CHOICE_H

#include <stdint.h>

enum {
    CHOICE_MAX_ORDER = 2048, /* parameters; a model of more keeps the order of registration */
    CHOICE_MAX_BUCKETS = 512,
    CHOICE_REASON = 512,
};

struct comm_choice {
    int32_t version;       /* 0: nothing was chosen; raised by every change in a run */
    int32_t shared;        /* 1: ranks of a node reduce in shared memory; 0: by messages */
    int64_t direct_bytes;  /* messages: up to this size by one exchange with everybody ... */
    int64_t tree_bytes;    /* ... up to this one by a tree ... */
    int64_t halving_bytes; /* ... up to this one by recursive halving, larger ones by a ring ... */
    int64_t piece_bytes;   /* ... in pieces of this size; 0: whole blocks */
    double latency_s;      /* measured: an all-reduce of M bytes takes ... */
    double bytes_per_s;    /* ... latency_s + M / bytes_per_s; 0 unknown */
    int32_t n_order;       /* 0: the reverse order of registration */
    int32_t n_buckets;     /* 0: by communication.bucket_mb alone */
    uint16_t order[CHOICE_MAX_ORDER];    /* parameters by their numbers, first to be sent first */
    uint16_t bucket[CHOICE_MAX_BUCKETS]; /* how many of them each bucket holds */
    char reason[CHOICE_REASON];          /* for people, one sentence */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct comm_choice) ==
                   64 + 2 * (CHOICE_MAX_ORDER + CHOICE_MAX_BUCKETS) + CHOICE_REASON,
               "no padding in shared memory");
#endif

#endif
