/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - a control group for the agent and all its descendants, if this user may make one
 *
 * The supervisor makes the group below its own group (of version 2, or of version 1's freezer),
 * with a name from struct node_identity. The supervisor moves the agent into the group, and in the
 * end kills all processes of the group. The group is never required, since a walk over descendants
 * finds the same processes, but has two advantages. In a group even processes that fork faster than
 * a walk finds them can be killed. And the name of the group identifies the processes that remain
 * after supervisor and agent were both killed.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_CGROUP_H
#define EDDIS_AGENTS_NODE_KEEP_CGROUP_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>
#include <sys/types.h>

enum { CGROUP_PATH = 512 };

struct cgroup {
    char path[CGROUP_PATH]; /* path of the group's folder; "": no group */
};

/* Make a group of this name below this process's own group, in *ret. Return 0, or a negative errno
 * if this user may not make a group there.
 */
int cgroup_make(const char *name, struct cgroup *ret, struct eddis_error *err);

/* Move a process into the group. Return 0 or a negative errno. */
int cgroup_add(const struct cgroup *c, pid_t pid);

/* Send SIGKILL to all processes in the group and the groups below it, also new and frozen
 * processes, until none is alive (zombies do not count) or the deadline has passed. Blocks. Return
 * the number of processes at the beginning; -ETIMEDOUT: some are still alive; or another negative
 * errno.
 */
int cgroup_kill(const struct cgroup *c, int64_t deadline_ns, struct eddis_error *err);

/* Remove the group, and the empty groups below it, unless it has live processes; clear c->path.
 * Blocks while the kernel counts ended processes to it, until the deadline. Return 0; -EBUSY: it
 * has live processes; -ETIMEDOUT: the kernel still counts ended ones.
 */
int cgroup_remove(struct cgroup *c, int64_t deadline_ns, struct eddis_error *err);

/* Find this user's groups of this start and of earlier starts on its node, anywhere in the
 * hierarchy, in ret [max]. Return the number of groups.
 */
int cgroup_find(const struct node_identity *id, struct cgroup *ret, int max);

/* Remove this user's groups without live processes that dead supervisors have left, anywhere in the
 * hierarchy, also in groups of a scheduler. There may be any number of groups, so stop at the
 * deadline. Return 0, also if there was no time for all; -ETIMEDOUT: err names a group to which the
 * kernel still counts ended processes.
 */
int cgroup_sweep(int64_t deadline_ns, struct eddis_error *err);

/* Move this process, an agent whose supervisor is lost, out of its group, kill the other processes
 * in the group, and remove the group. If the name of the group is not that of an agent's group, do
 * nothing.
 */
void cgroup_leave(int64_t deadline_ns);

#endif
