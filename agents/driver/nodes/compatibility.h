/* SPDX-License-Identifier: Apache-2.0 */
/* compatibility.h - whether two machines can work in one job */
#ifndef EDDIS_AGENTS_DRIVER_NODES_COMPATIBILITY_H
#define EDDIS_AGENTS_DRIVER_NODES_COMPATIBILITY_H

#include "lib/base/error.h"

struct versions {
    const char *node;  /* as people know it */
    int protocol;      /* of driver and agent; 0 unknown */
    const char *eddis; /* "0.1.0"; "" unknown */
    const char *mpi;   /* "Open MPI 4.1.4"; "" unknown */
};

/* Fail with -EPROTO when a and b cannot work in one job; err names both and what each has, without
 * control characters.  What is unknown is no reason.
 */
int versions_agree(const struct versions *a, const struct versions *b, struct eddis_error *err);

#endif
