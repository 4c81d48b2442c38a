/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - how agents are started
 *
 * One row for each way; "local" is a fork on this machine.  Whatever the way, the driver sees an
 * agent as a process of its own: something that has ended or has not.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_H
#define EDDIS_AGENTS_DRIVER_START_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct start_agent {
    pid_t pid; /* of the process here that stands for it; 0: not started, or ended */
};

struct start_ops {
    const char *name, *summary;

    /* Once, before the first agent.  Returns 1 when clean must not be called, because not all that
     * it would end is ours.
     */
    int (*prepare)(struct eddis_error *err);

    /* Start agent number `agent` and give it its brief on standard input.  node is the host's name;
     * the local way ignores it.
     */
    int (*start)(const char *node, int64_t lease_ns, const char *brief, struct start_agent *ret,
                 struct eddis_error *err);

    /* End what the agents have left behind; called last, when all are thought to be gone, and when
     * they did not go by themselves.  Whatever is still there may take patience_ns to clean up
     * after itself (an agent whose keeper was killed does).  Blocks until the deadline at most.
     */
    int (*clean)(int64_t patience_ns, int64_t deadline_ns, struct eddis_error *err);

    /* After clean: remove the folders of an agent whose brief had these digits.  An agent or its
     * keeper have done so, unless both were killed.
     */
    int (*sweep)(const char *digits, struct eddis_error *err);
};

/* Borrows the way of this name, or NULL. */
const struct start_ops *start_find(const char *name);

/* When the agent's process has ended: reap it, write how for people ("agent exited 3"), return
 * true. */
bool start_ended(struct start_agent *a, char *ret_how, size_t size);

#endif
