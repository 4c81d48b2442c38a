/* SPDX-License-Identifier: Apache-2.0 */
/* user_manager.h - asks systemd's manager of this user for a scope, as systemd-run --scope does
 *
 * It is one D-Bus call over the manager's own socket, without a bus or another program.  Formats:
 * D-Bus Specification 0.38 ("Message Protocol", "Authentication Protocol"), and StartTransientUnit
 * in org.freedesktop.systemd1(5).
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_USER_MANAGER_H
#define EDDIS_AGENTS_NODE_KEEP_USER_MANAGER_H

#include "lib/base/error.h"

#include <stdint.h>

/* Ask the manager of this runtime folder ($XDG_RUNTIME_DIR) to put this process into a scope of
 * this name, "eddis-1.scope", whose control group the user owns.  Block until it has agreed or
 * deadline_ns; it moves the process soon after.
 */
int user_manager_scope(const char *runtime_dir, const char *name, int64_t deadline_ns,
                       struct eddis_error *err);

#endif
