/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - eddis-agent: one per node; carries out the driver's orders and reports events
 *
 * The agent has one thread and one loop. The agent has no policy: the driver decides which ranks
 * run, when they start and stop, and what a failure means. The agent decides only one thing by
 * itself: if the driver or the supervisor is lost, it ends all its processes.
 */
#ifndef EDDIS_AGENTS_NODE_AGENT_H
#define EDDIS_AGENTS_NODE_AGENT_H

#include "lib/base/error.h"

struct agent_options {
    /* descriptor from which the agent reads its configuration, until the end of the file */
    int config_fd;
    int tick_fd; /* descriptor of the memory shared with the supervisor, see keep/tick.h */
    /* name of this node: config_fd gives an invitation (agents/protocol/protocol_join.h) for the
     * node; NULL: config_fd gives the agent configuration
     */
    const char *node;
    const char *bin; /* folder of the programs that users start */
};

enum { AGENT_EXIT_LOST = 3 };

/* Run the agent; block until the job is over on this node. Return the exit code: 0 after the order
 * "bye", AGENT_EXIT_LOST if driver or supervisor were lost, 128 + SIGTERM after this signal; or a
 * negative errno if the agent could not start.
 */
int agent_run(const struct agent_options *o, struct eddis_error *err);

#endif
