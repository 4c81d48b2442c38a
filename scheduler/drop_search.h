/* SPDX-License-Identifier: Apache-2.0 */
/* drop_search.h - searches the set of workers with the most progress
 *
 * Workers are sorted into few kinds: of equal device, speed and network. The search begins with the
 * best of these sets: all workers, the fastest kinds, the kinds with the best links, each node.
 * Then it changes the number of workers of one kind, or takes or leaves a whole node, as long as
 * that helps. It also takes few workers one after another, and exchanges them. The work is bounded,
 * by the number of workers in all plans that are weighed.
 */
#ifndef EDDIS_SCHEDULER_DROP_SEARCH_H
#define EDDIS_SCHEDULER_DROP_SEARCH_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { DROP_MAX_KINDS = 16 };

/* A worker, by what the search sorts it */
struct drop_worker {
    int node;           /* from 0, not smaller than that of the worker before */
    int device;         /* number of the kind of device */
    double sample_s;    /* time per sample in a usual batch */
    double bytes_per_s; /* bandwidth of its node; 0: unknown */
};

/* Predict in *ret the progress of the workers in the set keep [n]; 0: the job does not allow it.
 * Return 0 or -ENOMEM.
 */
typedef int drop_weigh_fn(void *ctx, const bool *keep, double *ret, struct eddis_error *err);

/* A search, and what it found */
struct drop_search {
    const struct drop_worker *worker; /* [n] borrowed */
    int n;
    drop_weigh_fn *weigh;
    void *ctx;     /* of weigh */
    double margin; /* least factor by which a kind's return must lower the progress, above 1 */
    /* results: */
    int *kind;                   /* [n] kind of each worker; owned */
    int n_kinds;                 /* at most DROP_MAX_KINDS */
    bool *keep;                  /* [n] workers that stay; owned */
    double all, best;            /* progress of all workers, and of those that stay */
    double with[DROP_MAX_KINDS]; /* [n_kinds] progress with the kind's other workers, if some are
                                  * left out */
    int64_t spent;               /* number of workers in all plans that were weighed */
};

/* Search. The caller frees the results with drop_search_fini in any case. Return 0, or a negative
 * errno.
 */
int drop_search_run(struct drop_search *s, struct eddis_error *err);

void drop_search_fini(struct drop_search *s);

#define cleanup_drop_search __attribute__((cleanup(drop_search_fini)))

#endif
