/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.h - finds and ends the processes, folders and control groups that remain of a job on this
 * node
 *
 * Normally supervisor and agent clean up; orphans_end is for the case that both were killed at the
 * same time, or could not run. A process belongs to the job if it, or an ancestor of it, has one of
 * these:
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
    /* numbers of processes ended, and of folders and control groups removed */
    int processes, folders, groups;
    char names[256]; /* commands of the first few processes: "eddis-agent, python3" */
};

/* End the processes, and remove the folders and control groups, that n starts of the job, and
 * earlier starts on the same nodes, have left. Also end processes with job_id in their environment
 * (NULL or "": none). Blocks. Return 0, with the numbers in *ret; -ETIMEDOUT: a process does not
 * end (err names it; a quarter of the time is kept for the folders), or not all folders could be
 * checked, but those found are removed; -EBUSY: a process that is not visible holds a folder.
 */
int orphans_end(const char *job_id, const struct node_identity *start, int n, int64_t deadline_ns,
                struct orphans *ret, struct eddis_error *err);

#endif
