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

/* Start eddis-probe as the brief says.  Without turn, when others of this machine may measure, it
 * takes a kept profile only; for emulated devices nothing is measured anyhow.
 */
int probe_start(struct probe *p, const struct brief *b, bool turn, struct eddis_error *err);

/* Take the result of a probe that has ended with this status, as waitpid's.  *ret: the profile's
 * text, for the caller to free.  -ENODATA: there is none that is kept, and it was not the agent's
 * turn.  An error ends with what the probe said on standard error.
 */
int probe_finish(struct probe *p, int status, char **ret, struct eddis_error *err);

/* Kill the probe if one is under way; who reaps it calls probe_finish. */
void probe_kill(const struct probe *p);

#endif
