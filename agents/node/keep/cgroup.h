/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - a control group for the agent and all its descendants, if one may be made
 *
 * The supervisor makes it below its own group, of version 2 or of version 1's freezer, named by
 * struct node_identity.  It puts the agent in, and kills the whole group in the end.  The group is
 * never required: a walk over descendants finds the same processes.  It adds two things.  It ends
 * processes that fork faster than a walk finds them.  And its name identifies what is left after
 * supervisor and agent were both killed.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_CGROUP_H
#define EDDIS_AGENTS_NODE_KEEP_CGROUP_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>
#include <sys/types.h>

enum { CGROUP_PATH = 512 };

struct cgroup {
    char path[CGROUP_PATH]; /* path of its folder; "": none */
};

/* Make a group of this name below this process's own.  Return 0, or an error if none may be made
 * here.
 */
int cgroup_make(const char *name, struct cgroup *ret, struct eddis_error *err);

/* Move a process into the group. */
int cgroup_add(const struct cgroup *c, pid_t pid);

/* SIGKILL all processes in the group, including new and frozen ones, until none is alive (zombies
 * do not count) or the deadline has passed (-ETIMEDOUT).  Block.  Return how many were there first.
 */
int cgroup_kill(const struct cgroup *c, int64_t deadline_ns, struct eddis_error *err);

/* Remove the group unless something is in it.  Block a moment for processes that are just ending.
 */
void cgroup_remove(struct cgroup *c);

/* Find this user's groups of this start, and of earlier ones on its node, anywhere, at most max.
 * Return their number.
 */
int cgroup_find(const struct node_identity *id, struct cgroup *ret, int max);

/* Remove this user's empty groups anywhere, left by dead supervisors, also in groups of a
 * scheduler.  There may be any number of groups, so stop at the deadline.
 */
void cgroup_sweep(int64_t deadline_ns);

/* Move this process, an agent whose supervisor is dead, out of its group, kill what is left there
 * and remove the group.  Do nothing in a group with another kind of name.
 */
void cgroup_leave(int64_t deadline_ns);

#endif
