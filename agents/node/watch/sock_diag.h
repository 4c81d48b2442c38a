/* SPDX-License-Identifier: Apache-2.0 */
/* sock_diag.h - lists this network namespace's TCP sockets, as the kernel reports them */
#ifndef EDDIS_AGENTS_NODE_WATCH_SOCK_DIAG_H
#define EDDIS_AGENTS_NODE_WATCH_SOCK_DIAG_H

#include <linux/inet_diag.h>
#include <stdbool.h>

/* Called with one socket and the n bytes of attributes behind it.  Return false to end the list. */
typedef bool sock_diag_fn(void *ctx, const struct inet_diag_msg *m, int n);

/* List all TCP sockets of an address family in this state (TCP_LISTEN, ...) with an attribute
 * (INET_DIAG_INFO; 0: none).  Blocks for a second at most.  Return 0, or a negative errno value if
 * the kernel does not report them.
 */
int sock_diag_list(int family, int state, int attribute, sock_diag_fn *each, void *ctx);

#endif
