/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - a keeper that a login has started moves into a scope of the user's service manager
 *
 * In the control group of a login a user may make none.  systemd's manager of a user who lingers
 * (loginctl enable-linger) makes one that is his, and in that the keeper makes the agent's: what
 * has left its session and its environment is found there, even when keeper and agent were killed
 * at once.  The manager of a user who does not linger ends with his last login and takes its scopes
 * with it, which a job outlives: there, and elsewhere than in a login, nothing happens.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_SCOPE_H
#define EDDIS_AGENTS_NODE_KEEP_SCOPE_H

#include "cgroup.h"

/* Move this process into a scope where that makes the group of this name possible.  Blocks for the
 * manager, five seconds at most; where it does not answer, or refuses, nothing has happened.
 */
void scope_enter(const char *group);

#endif
