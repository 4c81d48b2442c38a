/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - eddis-agent: one per node; carries out the driver's orders and reports events
 *
 * One thread, one loop.  The agent has no policy: the driver decides which ranks run, when they
 * start and stop, and what a failure means.  The agent decides one thing by itself: it ends
 * everything if the driver or the supervisor is gone.
 */
#ifndef EDDIS_AGENTS_NODE_AGENT_H
#define EDDIS_AGENTS_NODE_AGENT_H

#include "lib/base/error.h"

struct agent_options {
    int config_fd;    /* the agent configuration is read from here, to its end */
    int tick_fd;      /* memory shared with the supervisor, see keep/tick.h */
    const char *node; /* node name: config_fd gives an invitation (agents/protocol/protocol_join.h)
                         for it; NULL: config_fd gives the agent configuration */
    const char *bin;  /* folder of the programs that users start */
};

enum { AGENT_EXIT_LOST = 3 };

/* Run the agent; block until the job is over on this node.  Return the exit code: 0 after "bye",
 * AGENT_EXIT_LOST if driver or supervisor were lost, 128 + SIGTERM; or an error before all that.
 */
int agent_run(const struct agent_options *o, struct eddis_error *err);

#endif
