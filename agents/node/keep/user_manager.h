/* SPDX-License-Identifier: Apache-2.0 */
/* user_manager.h - asks systemd's manager of this user for a scope, as systemd-run --scope does
 *
 * One call of D-Bus over the manager's own socket, which needs no bus and no program; the formats
 * are those of the D-Bus Specification 0.38 ("Message Protocol", "Authentication Protocol") and of
 * StartTransientUnit of org.freedesktop.systemd1(5).
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_USER_MANAGER_H
#define EDDIS_AGENTS_NODE_KEEP_USER_MANAGER_H

#include "lib/base/error.h"

#include <stdint.h>

/* Have the manager whose runtime folder ($XDG_RUNTIME_DIR) this is put this process into a scope of
 * this name, "eddis-1.scope", whose control group is the user's own.  The manager has agreed when
 * this returns, and moves the process soon after.  Blocks for its answer, until deadline_ns.
 */
int user_manager_scope(const char *runtime_dir, const char *name, int64_t deadline_ns,
                       struct eddis_error *err);

#endif
