/* SPDX-License-Identifier: Apache-2.0 */
/* algorithm.h - the table of synchronisation algorithms: names, modes, sources, efficiencies
 *
 * lib/sync implements a row by the ops of the same name, scheduler reads the efficiencies, and a
 * test holds the two together.  libeddis links this file, so it stands on nothing.
 */
#ifndef EDDIS_MODEL_ALGORITHM_H
#define EDDIS_MODEL_ALGORITHM_H

#include <stddef.h>

struct algorithm {
    const char *name;    /* "allreduce" */
    const char *mode;    /* "sync", "async", "hybrid", "local" */
    const char *summary; /* one line */
    const char *source;  /* paper; "" when it is common knowledge */
    double efficiency;   /* progress per sample beside sync, 1 at most */
};

/* Borrows the rows; returns their number. */
size_t algorithms(const struct algorithm **ret);

/* Borrows a row by name, or NULL. */
const struct algorithm *algorithm_find(const char *name);

/* Another mode is chosen only when its predicted progress is this factor ahead of sync. */
#define ALGORITHM_MARGIN 1.05

#endif
