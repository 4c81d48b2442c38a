/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - moves a supervisor that was started in a login into a scope of the user's service
 * manager
 *
 * In the control group of a login a user may not make groups. If the user lingers (loginctl
 * enable-linger), systemd's manager of the user can make a scope that the user owns, in which the
 * supervisor then makes the agent's group. In this group even processes that have left their
 * session and environment are found after supervisor and agent were both killed. Without lingering
 * the manager, and its scopes, would end with the user's last login, but a job must continue after
 * that. So scope_enter does nothing for a user who does not linger, and nothing outside a login,
 * nor in a build without libsystemd.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_SCOPE_H
#define EDDIS_AGENTS_NODE_KEEP_SCOPE_H

#include "cgroup.h"

/* Move this process into a scope if a control group of this name can be made only in a scope.
 * Blocks for at most five seconds for the answer of the user's manager. If the manager does not
 * answer or rejects the request, nothing changes.
 */
void scope_enter(const char *group);

#endif
