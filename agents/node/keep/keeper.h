/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - supervisor of an agent: the parent process that lets nothing outlive the agent
 *
 * The supervisor is a child subreaper: whatever a rank's children do (setsid, double fork), they
 * become its children once agent and mpirun are dead.  When the agent dies or is silent for a
 * lease, the supervisor kills and reaps every descendant and removes the node's folders.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_KEEPER_H
#define EDDIS_AGENTS_NODE_KEEP_KEEPER_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>

enum { KEEPER_EXIT_LOST = 3 };

/* Variable with the pid of the process that sends Slurm's signals to a step.  Agent, wrappers and
 * lib/worker recognize by it that a signal is not from eddis or a user.
 */
#define KEEPER_SENDER "EDDIS_SLURM_PID"

struct keeper_options {
    const char *agent_path;
    int64_t lease_ns;
    const struct node_identity *id; /* names by which both are found on the node */
    const char *runtime_dir;        /* XDG_RUNTIME_DIR, or NULL: see folders.h */
    const char *node; /* node name: standard input is an invitation for it; NULL: a configuration */
};

/* Make the node's folders, start the agent with this process's standard input, output and error,
 * and watch it to its end; block.  A lost session, whose output no one reads, ends nothing.  Return
 * the agent's exit code, 128 + signal if it was killed, or KEEPER_EXIT_LOST if we had to kill it.
 */
int keeper_run(const struct keeper_options *o, struct eddis_error *err);

#endif
