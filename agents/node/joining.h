/* SPDX-License-Identifier: Apache-2.0 */
/* joining.h - an agent's own brief for the invitation that it shares with others */
#ifndef EDDIS_AGENTS_NODE_JOINING_H
#define EDDIS_AGENTS_NODE_JOINING_H

#include "agents/node/keep/tick.h"
#include "lib/base/error.h"

#include <stddef.h>

/* Ask the driver for the brief of this node.  invitation [n] is JSON text; what was made of it is
 * wiped.  Blocks for a lease at most, and shows the keeper meanwhile that this process lives.  *ret
 * is JSON text of *ret_n bytes, for the caller to wipe and free.  -EACCES: the driver refuses.
 */
int joining_ask(const char *invitation, size_t n, const char *node, struct tick_page *page,
                char **ret, size_t *ret_n, struct eddis_error *err);

#endif
