/* SPDX-License-Identifier: Apache-2.0 */
/* hostfile.h - host files: one machine per line, in the formats of other launchers
 *
 *       node1 slots=4 max_slots=8     # Open MPI, DeepSpeed
 *       node2:4                       # MPICH
 *       node3 4                       # others
 *       ml@c[01-04]                   # a user; a range; repeated lines add up
 */
#ifndef EDDIS_MODEL_HOSTFILE_H
#define EDDIS_MODEL_HOSTFILE_H

#include "host_list.h"

/* Append each host that is named in the n bytes of text to l, once.  Return 0 or a negative errno;
 * hosts of lines before the wrong one stay in l.  -EINVAL: err is "<name>:<line>: <what>"; also if
 * the text names no host.
 */
int hostfile_parse(const char *text, size_t n, const char *name, struct host_list *l,
                   struct eddis_error *err);

#endif
