/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - supervisor of an agent: the parent process, which ends all descendants of the agent
 * after it
 *
 * The supervisor is a child subreaper: when agent and mpirun are dead, all their descendants become
 * its children, even after setsid or a double fork. When the agent dies or is silent for a lease,
 * the supervisor kills and reaps every descendant and removes the node's folders.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_KEEPER_H
#define EDDIS_AGENTS_NODE_KEEP_KEEPER_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>

enum { KEEPER_EXIT_LOST = 3 };

/* Environment variable with the pid of the process that sends Slurm's signals to a step. By this
 * pid agent, wrappers and lib/worker recognize that a signal comes from Slurm.
 */
#define KEEPER_SENDER "EDDIS_SLURM_PID"

struct keeper_options {
    const char *agent_path;
    int64_t lease_ns;
    /* mark and control group by which supervisor and agent are found on the node */
    const struct node_identity *id;
    const char *runtime_dir; /* XDG_RUNTIME_DIR, or NULL: see folders.h */
    /* name of this node: standard input gives an invitation for it; NULL: a configuration */
    const char *node;
};

/* Make the node's folders, start the agent with this process's standard input, output and error,
 * and block until the agent has ended. The loss of the session, after which nobody reads this
 * output, has no effect. Return the agent's exit code, 128 + signal if it was killed,
 * KEEPER_EXIT_LOST if the supervisor had to kill it, or a negative errno if it could not be
 * started.
 */
int keeper_run(const struct keeper_options *o, struct eddis_error *err);

#endif
