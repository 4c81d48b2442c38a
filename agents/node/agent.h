/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - eddis-agent: one a node, carries out the driver's orders and tells what happens
 *
 * One thread, one loop.  It holds no policy: which ranks, when to start and stop, what a failure
 * means is the driver's to say.  By itself it decides one thing only: that everything ends when
 * the driver or the keeper is gone.
 */
#ifndef EDDIS_AGENTS_NODE_AGENT_H
#define EDDIS_AGENTS_NODE_AGENT_H

#include "lib/base/error.h"

struct agent_options {
    int brief_fd;     /* where the brief comes from; read to its end */
    int tick_fd;      /* the keeper's page */
    const char *node; /* what comes there is an invitation (agents/protocol/protocol_join.h) for the
                       * node of this name; NULL: it is the brief */
    const char *bin;  /* folder of the programs that users start */
};

enum { AGENT_EXIT_LOST = 3 };

/* Blocks until the job is over on this node.  Returns the exit code: 0 after "bye",
 * AGENT_EXIT_LOST when driver or keeper were lost, 128 + SIGTERM; or an error before all that.
 */
int agent_run(const struct agent_options *o, struct eddis_error *err);

#endif
