/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - runs eddis-probe, which measures the node, as a child with a deadline
 *
 * eddis-probe is a separate process, so that a GPU library that crashes or hangs cannot affect the
 * agent.
 */
#ifndef EDDIS_AGENTS_NODE_PROBE_H
#define EDDIS_AGENTS_NODE_PROBE_H

#include "agents/protocol/protocol.h"

#include <stdint.h>
#include <sys/types.h>

#define PROBE_DEADLINE_NS (57 * CLOCK_S) /* more than PROFILER_MOST_NS */

struct probe {
    pid_t pid; /* pid of eddis-probe; 0: it does not run */
    int out, err;
    int64_t deadline_ns;
};

/* Start eddis-probe with the agent configuration b. turn: the probe may measure; if false, it only
 * uses a stored profile or emulated devices, because another agent of this machine may measure.
 * Return 0 or a negative errno.
 */
int probe_start(struct probe *p, const struct agent_config *b, bool turn, struct eddis_error *err);

/* Start eddis-probe to list the node's GPUs only; probe_finish gets a line "INDEX ID" for each.
 * Return as probe_start.
 */
int probe_list(struct probe *p, const struct agent_config *b, struct eddis_error *err);

/* Read the result of a probe that has ended with this waitpid status. Return 0, and the profile's
 * text in *ret, which the caller frees; -ENODATA: there is no stored profile, and the probe was not
 * allowed to measure; or another negative errno, and err ends with what the probe wrote on standard
 * error.
 */
int probe_finish(struct probe *p, int status, char **ret, struct eddis_error *err);

/* Kill the probe if it runs. The caller that reaps it calls probe_finish. */
void probe_kill(const struct probe *p);

#endif
