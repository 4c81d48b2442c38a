/* SPDX-License-Identifier: Apache-2.0 */
/* compatibility.h - check whether two machines can work in one job */
#ifndef EDDIS_AGENTS_DRIVER_NODES_COMPATIBILITY_H
#define EDDIS_AGENTS_DRIVER_NODES_COMPATIBILITY_H

#include "lib/base/error.h"

/* The versions on a machine; strings are borrowed. */
struct versions {
    const char *node;  /* name for the user */
    int protocol;      /* protocol of driver and agent; 0: unknown */
    const char *eddis; /* "0.1.0"; "": unknown */
    const char *mpi;   /* "Open MPI 4.1.4"; "": unknown */
};

/* Check that a and b can work in one job; otherwise fail with -EPROTO and an error that names both
 * and their versions, without control characters.  Unknown versions match any.
 */
int compatibility_check(const struct versions *a, const struct versions *b,
                        struct eddis_error *err);

#endif
