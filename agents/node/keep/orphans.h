/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.h - finds and ends what is left of a job on this node
 *
 * Supervisor and agent clean up; this is for the case that both were killed at once, or could not
 * run.  A process belongs to the job if it has one of these, or descends from such a process:
 *   - the mark of a start in its arguments (supervisor, agent) or environment (all below them);
 *   - the path of a folder with such a mark in its arguments (mpirun);
 *   - the job's id in its environment (ranks).
 * Control groups are found by the mark in their names.  Only processes of this user count, and
 * never this process or its ancestors.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_ORPHANS_H
#define EDDIS_AGENTS_NODE_KEEP_ORPHANS_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>

struct orphans {
    int processes, folders, groups; /* numbers of those ended and removed */
    char names[256]; /* commands of the first few processes: "eddis-agent, python3" */
};

/* End what n starts of the job, and earlier ones on the same nodes, have left.  Also end processes
 * with job_id in their environment (NULL or "": none).  Block. -ETIMEDOUT: err names a process that
 * does not end, or not all folders could be checked; -EBUSY: an unseen process holds a folder.
 */
int orphans_end(const char *job_id, const struct node_identity *start, int n, int64_t deadline_ns,
                struct orphans *ret, struct eddis_error *err);

#endif
