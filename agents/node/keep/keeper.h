/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - the process above an agent that sees to it that nothing outlives the agent
 *
 * The keeper is a child subreaper: whatever a rank's children do (setsid, double fork), once
 * agent and mpirun are dead they are the keeper's children.  When the agent dies or is silent for
 * a lease, the keeper kills and reaps every descendant and removes the node's folders.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_KEEPER_H
#define EDDIS_AGENTS_NODE_KEEP_KEEPER_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>

enum { KEEPER_EXIT_LOST = 3 };

/* In a step of Slurm's: the process that sends Slurm's signals to those of the step.  The agent,
 * the wrappers and lib/worker know by it that a signal is not from eddis or from a user.
 */
#define KEEPER_SENDER "EDDIS_SLURM_PID"

struct keeper_options {
    const char *agent_path;
    int64_t lease_ns;
    const struct node_identity *id; /* by which both are found on the node */
    const char *runtime_dir;        /* XDG_RUNTIME_DIR, or NULL: see folders.h */
    const char
        *node; /* what comes on standard input is an invitation for this one; NULL: a brief */
};

/* Make the node's folders, start the agent with this process's standard input, output and error and
 * watch it to its end.  That nobody reads what is said ends nothing: a session may be lost. Blocks.
 * Returns the exit code: the agent's own, 128 + signal when it was killed, or KEEPER_EXIT_LOST when
 * it had to be.
 */
int keeper_run(const struct keeper_options *o, struct eddis_error *err);

#endif
