/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - runs eddis-probe, which measures the node, as a child with a deadline
 *
 * A process of its own, so that a driver library that crashes or hangs takes no agent with it.
 */
#ifndef EDDIS_AGENTS_NODE_PROBE_H
#define EDDIS_AGENTS_NODE_PROBE_H

#include "agents/protocol/protocol.h"

#include <stdint.h>
#include <sys/types.h>

#define PROBE_DEADLINE_NS (20 * CLOCK_S)

struct probe {
    pid_t pid; /* 0: none under way */
    int out, err;
    int64_t deadline_ns;
};

int probe_start(struct probe *p, const struct brief *b, struct eddis_error *err);

/* It has ended with this waitpid status.  Returns the profile's text; or an error that ends with
 * what it said on standard error.
 */
int probe_finish(struct probe *p, int status, char **ret, struct eddis_error *err);

/* Kill it, if it is under way; whoever reaps calls probe_finish. */
void probe_kill(const struct probe *p);

#endif
