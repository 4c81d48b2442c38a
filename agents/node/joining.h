/* SPDX-License-Identifier: Apache-2.0 */
/* joining.h - requests an agent's configuration with an invitation that several nodes share */
#ifndef EDDIS_AGENTS_NODE_JOINING_H
#define EDDIS_AGENTS_NODE_JOINING_H

#include "agents/node/keep/tick.h"
#include "lib/base/error.h"
#include "lib/http/client.h"

#include <stddef.h>
#include <stdint.h>

/* Make a client of the driver at these URLs (NULL-ended), with the time limits of a lease, in *ret;
 * it does not connect yet. The caller closes it with http_client_close. Return 0, or the error of
 * http_client_open.
 */
int joining_client(char *const *url, const char *token, const char *pin, int64_t lease_ns,
                   struct http_client **ret, struct eddis_error *err);

/* Request from the driver the configuration of `node`. Block for at most a lease, with heartbeats
 * to the supervisor. invitation [n] is JSON text; the function wipes its copies of the text. On
 * success *ret is JSON text of *ret_n bytes, which the caller wipes and frees. Return 0, -EACCES if
 * the driver rejects the node, or another negative errno.
 */
int joining_ask(const char *invitation, size_t n, const char *node, struct tick_page *page,
                char **ret, size_t *ret_n, struct eddis_error *err);

#endif
