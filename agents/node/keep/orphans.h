/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.h - finding and ending what is left of a job on this node
 *
 * Keeper and agent see to it that nothing is left; this is for when both were killed at once, or
 * could not run.  What belongs to the job is told by the marks of its starts, which stand
 * in the arguments of keeper and agent and in the environment of all below them, lie in their
 * folders and name their control groups; by those folders, which mpirun is told; and by the job's
 * id in the environment of the ranks; and all that descends from these.  Only processes of this
 * user count, and never this process or those above it.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_ORPHANS_H
#define EDDIS_AGENTS_NODE_KEEP_ORPHANS_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>

struct orphans {
    int processes, folders, groups; /* that were ended and removed */
    char names[256];                /* of the processes, the first few: "eddis-agent, python3" */
};

/* End what these starts [n] of the job, and earlier ones of the same nodes, have left, and what has
 * job_id in its environment; NULL or "": the starts' alone.  Blocks.  -ETIMEDOUT: err names a
 * process that does not end, or folders could not all be looked at; -EBUSY: a folder that somebody
 * holds who cannot be seen.
 */
int orphans_end(const char *job_id, const struct node_identity *start, int n, int64_t deadline_ns,
                struct orphans *ret, struct eddis_error *err);

#endif
