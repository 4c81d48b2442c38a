/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - runs eddis-probe, which measures the node, as a child with a deadline
 *
 * It is a separate process, so that a GPU library that crashes or hangs cannot affect the agent.
 */
#ifndef EDDIS_AGENTS_NODE_PROBE_H
#define EDDIS_AGENTS_NODE_PROBE_H

#include "agents/protocol/protocol.h"

#include <stdint.h>
#include <sys/types.h>

#define PROBE_DEADLINE_NS (20 * CLOCK_S)

struct probe {
    pid_t pid; /* pid of eddis-probe; 0: none under way */
    int out, err;
    int64_t deadline_ns;
};

/* Start eddis-probe with the agent configuration b. turn false: only a stored profile is used,
 * because others of this machine may measure; emulated devices need no measuring.
 */
int probe_start(struct probe *p, const struct agent_config *b, bool turn, struct eddis_error *err);

/* Read the result of a probe that has ended with this waitpid status. *ret: the profile's text,
 * freed by the caller. -ENODATA: there is no stored profile, and it was not to measure.  Other
 * errors end with its message on standard error.
 */
int probe_finish(struct probe *p, int status, char **ret, struct eddis_error *err);

/* Kill the probe if one is under way; whoever reaps it calls probe_finish. */
void probe_kill(const struct probe *p);

#endif
