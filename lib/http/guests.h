/* SPDX-License-Identifier: Apache-2.0 */
/* guests.h - a server's connections: deadlines, and which are unauthenticated
 *
 * All functions may be called from any thread; each connection ends once.
 */
#ifndef EDDIS_HTTP_GUESTS_H
#define EDDIS_HTTP_GUESTS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct guests;
struct guest; /* one connection */

/* stranger_ns: time limit of an unauthenticated connection; strangers: most of these. local: the
 * server listens on a Unix socket, and the kernel identifies peers.  This user and root have
 * local_ns at first; others are disconnected.
 */
struct guests_options {
    int64_t stranger_ns, local_ns;
    int strangers;
    bool local;
};

/* Make an empty set of connections and start its thread. */
int guests_open(const struct guests_options *o, struct guests **ret, struct eddis_error *err);

/* Free the set; every connection must have ended.  Accepts NULL. */
void guests_close(struct guests *s);

/* Add a connection, whose socket must stay open until guests_end.  Without memory, return NULL and
 * shut it down.
 */
struct guest *guests_begin(struct guests *s, int fd, const struct sockaddr *peer);
void guests_end(struct guests *s, struct guest *g); /* remove and free; accepts NULL */

/* Check whether g is a connection of this user, or of root, to a Unix socket. */
bool guests_is_local(const struct guest *g);

/* Set g's deadline to ns from now; CLOCK_NEVER: no limit. */
void guests_allow(struct guests *s, struct guest *g, int64_t ns);

/* Mark g as authenticated: it no longer counts among the unauthenticated ones. */
void guests_know(struct guests *s, struct guest *g);

/* Let g wait: wake(ctx) is called after ns, or sooner if the server stops.  Return true at g's
 * first call; false: it has waited already.  The caller suspends the connection before the call;
 * wake resumes it.
 */
bool guests_wait(struct guests *s, struct guest *g, int64_t ns, void (*wake)(void *ctx), void *ctx);

/* Check whether g has waited; true for NULL. */
bool guests_has_waited(const struct guest *g);

/* Wake all that wait, and let none wait later.  Call it before the server stops. */
void guests_wake(struct guests *s);

#endif
