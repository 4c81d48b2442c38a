/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - moves a supervisor started in a login into a scope of the user's service manager
 *
 * In the control group of a login a user may not make groups.  If the user lingers (loginctl
 * enable-linger), systemd's manager of the user makes a scope that the user owns.  The supervisor
 * makes the agent's group in it.  Processes that have left their session and environment are found
 * there, even if supervisor and agent were killed at once.  Without lingering the manager ends with
 * the user's last login, and ends its scopes with it, but a job must outlive that.  So nothing is
 * done for such a user, nor outside a login, nor in a build without libsystemd.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_SCOPE_H
#define EDDIS_AGENTS_NODE_KEEP_SCOPE_H

#include "cgroup.h"

/* Move this process into a scope if the group of this name can be made only there.  Block for the
 * manager, at most five seconds; if it does not answer, or rejects, nothing changes.
 */
void scope_enter(const char *group);

#endif
