/* SPDX-License-Identifier: Apache-2.0 */
/* compatibility.h - check whether two machines can work in one job */
#ifndef EDDIS_AGENTS_DRIVER_NODES_COMPATIBILITY_H
#define EDDIS_AGENTS_DRIVER_NODES_COMPATIBILITY_H

#include "lib/base/error.h"

/* The versions on a machine; strings are borrowed. */
struct versions {
    const char *node;  /* name of the machine, for messages to the user */
    int protocol;      /* version of the protocol between driver and agent; 0: unknown */
    const char *eddis; /* version of eddis, "0.1.0"; "": unknown */
    const char *mpi;   /* version of MPI, "Open MPI 4.1.4"; "": unknown */
};

/* Check that machines with the versions a and b can work in one job. An unknown version matches any
 * version. Return 0 or -EPROTO; err names both machines and their versions, without control
 * characters.
 */
int compatibility_check(const struct versions *a, const struct versions *b,
                        struct eddis_error *err);

#endif
