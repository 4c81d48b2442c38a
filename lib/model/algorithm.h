/* SPDX-License-Identifier: Apache-2.0 */
/* algorithm.h - the table of synchronisation algorithms: names, modes, sources, efficiencies
 *
 * lib/sync implements a row by the ops of the same name, scheduler reads the efficiencies, and a
 * test holds the two together.  libeddis links this file, so it stands on nothing.
 */
#ifndef EDDIS_MODEL_ALGORITHM_H
#define EDDIS_MODEL_ALGORITHM_H

#include <stddef.h>
#include <stdint.h>

struct algorithm {
    const char *name;                    /* "allreduce" */
    const char *mode;                    /* "sync", "async", "hybrid", "local" */
    const char *summary;                 /* one line */
    const char *source;                  /* paper; "" when it is common knowledge */
    const struct efficiency *efficiency; /* see algorithm_efficiency; NULL: 1 */
};

/* Borrows the rows; returns their number. */
size_t algorithms(const struct algorithm **ret);

/* Borrows a row by name, or NULL. */
const struct algorithm *algorithm_find(const char *name);

/* Progress per sample beside sync, 1 at most: of so many writers (workers of the async modes,
 * groups of the hybrid ones) that average models every `period` steps.  Never more for more
 * writers, or for a longer period; 1 for one writer and for what has no period (0).
 */
double algorithm_efficiency(const struct algorithm *a, int writers, int64_t period);

/* Another mode is chosen only when its predicted progress is this factor ahead of sync. */
#define ALGORITHM_MARGIN 1.05

#endif
