/* SPDX-License-Identifier: Apache-2.0 */
/* guests.h - a server's connections: how long each may stay, and which of them are strangers'
 *
 * All functions may be called from any thread; a guest ends once.
 */
#ifndef EDDIS_HTTP_GUESTS_H
#define EDDIS_HTTP_GUESTS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct guests;
struct guest; /* one connection */

/* stranger_ns: how long one may stay that has shown no token, of whom there may be as many as
 * strangers; local: they come to a Unix socket,
 * where the kernel tells who they are: this user and root, who may stay local_ns at first, or
 * others, who are shown out.
 */
struct guests_options {
    int64_t stranger_ns, local_ns;
    int strangers;
    bool local;
};

int guests_open(const struct guests_options *o, struct guests **ret, struct eddis_error *err);

/* Free all; every guest must have ended.  Accepts NULL. */
void guests_close(struct guests *s);

/* Begin with a connection, whose socket must stay open until guests_end.  Returns NULL, and shuts
 * it down, without memory.
 */
struct guest *guests_begin(struct guests *s, int fd, const struct sockaddr *peer);
void guests_end(struct guests *s, struct guest *g); /* accepts NULL */

/* Whether g is this user's, or root's, at a Unix socket. */
bool guests_is_local(const struct guest *g);

/* Let g stay so long from now on; CLOCK_NEVER: no limit for now. */
void guests_allow(struct guests *s, struct guest *g, int64_t ns);

/* Count g among the strangers no longer: it has shown a token. */
void guests_know(struct guests *s, struct guest *g);

/* Have g wait: wake(ctx) is called after ns, or sooner when it has to go.  True once for a guest,
 * at first; false: it has waited, or cannot.  What stops the connection has to be done before, and
 * is undone by wake also when this fails then.
 */
bool guests_wait(struct guests *s, struct guest *g, int64_t ns, void (*wake)(void *ctx), void *ctx);
bool guests_has_waited(const struct guest *g);

/* Wake all who wait, and let nobody wait any more: before the server stops. */
void guests_wake(struct guests *s);

#endif
