/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - a control group for the agent and all below it, where one may be made
 *
 * The keeper makes it under its own, named by struct node_identity, of version 2 or of version 1's
 * freezer, puts the agent in and kills all of it at once in the end.  It is never required: the
 * walk over descendants finds the same processes.  It adds two things: processes that fork faster
 * than a walk sees them end nevertheless, and what a killed keeper and a killed agent have left is
 * found by the group's name.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_CGROUP_H
#define EDDIS_AGENTS_NODE_KEEP_CGROUP_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>
#include <sys/types.h>

enum { CGROUP_PATH = 512 };

struct cgroup {
    char path[CGROUP_PATH]; /* "": none */
};

/* Make a group of this name below this process's own.  Negative: none may be made here. */
int cgroup_make(const char *name, struct cgroup *ret, struct eddis_error *err);

/* Move a process into the group. */
int cgroup_add(const struct cgroup *c, pid_t pid, struct eddis_error *err);

/* SIGKILL all in the group, also what forks meanwhile or is frozen, until nothing lives there or
 * the deadline has passed.  Zombies do not count.  Blocks.  Returns how many processes were seen.
 */
int cgroup_kill(const struct cgroup *c, int64_t deadline_ns, struct eddis_error *err);

/* Remove the group; silently not, when something is in it.  Blocks a moment for what is just
 * ending. */
void cgroup_remove(struct cgroup *c);

/* Find this user's groups of this start, and of earlier ones of its node, wherever they are, at
 * most max.  Returns their number.
 */
int cgroup_find(const struct node_identity *id, struct cgroup *ret, int max);

/* Remove this user's groups, wherever they are, in which nothing is any more: those of dead
 * keepers, also of jobs that a scheduler had put into a group of their own.  There may be groups
 * without number: until the deadline.
 */
void cgroup_sweep(int64_t deadline_ns);

/* Move this process, an agent whose keeper is dead, out of its group, kill what is left in that and
 * remove it.  Nothing happens in a group of another name.
 */
void cgroup_leave(int64_t deadline_ns);

#endif
