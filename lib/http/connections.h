/* SPDX-License-Identifier: Apache-2.0 */
/* connections.h - a server's connections: deadlines, and which are unauthenticated
 *
 * All functions may be called from any thread; connections_end is called once for each connection.
 */
#ifndef EDDIS_HTTP_GUESTS_H
#define EDDIS_HTTP_GUESTS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct connections;
struct guest; /* one connection */

/* unauthenticated_ns: time limit of an unauthenticated connection; unauthenticated: most such
 * connections.  local: the server listens on a Unix socket, and the kernel identifies peers.
 * Connections of this user and root then have local_ns as their first deadline; those of other
 * users are shut down.
 */
struct connections_options {
    int64_t unauthenticated_ns, local_ns;
    int unauthenticated;
    bool local;
};

/* Make an empty set of connections and start its thread.  The caller frees *ret by
 * connections_close.  Return 0 or a negative errno.
 */
int connections_open(const struct connections_options *o, struct connections **ret,
                     struct eddis_error *err);

/* Free the set; every connection must have ended.  Accepts NULL. */
void connections_close(struct connections *s);

/* Add a connection; the caller keeps fd open until connections_end.  Without memory, shut fd down
 * and return NULL.  Another user's connection to a Unix socket is shut down too, but added.  If too
 * many connections are unauthenticated, shut one of them down, perhaps this one.
 */
struct guest *connections_begin(struct connections *s, int fd, const struct sockaddr *peer);

/* Remove connection g from the set and free g; its socket stays open.  Accept NULL for g. */
void connections_end(struct connections *s, struct guest *g);

/* Check whether g is a connection of this user, or of root, to a Unix socket. */
bool connections_is_local(const struct guest *g);

/* Set g's deadline to ns from now; CLOCK_NEVER: no limit. */
void connections_allow(struct connections *s, struct guest *g, int64_t ns);

/* Mark g as authenticated: it no longer counts as an unauthenticated connection. */
void connections_know(struct connections *s, struct guest *g);

/* Let connection g wait: wake(ctx) is called after ns, or sooner if the server stops.  Return true
 * if this is the first such call for g; false: g has waited already, and wake is not called.  The
 * caller suspends the connection before the call; wake resumes it.
 */
bool connections_wait(struct connections *s, struct guest *g, int64_t ns, void (*wake)(void *ctx),
                      void *ctx);

/* Check whether g has waited; true for NULL. */
bool connections_has_waited(const struct guest *g);

/* Wake all waiting connections, and let none wait from now on.  Call it before the server stops. */
void connections_wake(struct connections *s);

#endif
