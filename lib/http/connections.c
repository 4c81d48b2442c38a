/* SPDX-License-Identifier: Apache-2.0 */
/* connections.c - deadlines of a server's connections, and limits for unauthenticated ones */
#include "connections.h"

#include "deadline.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/ip.h"
#include "lib/base/trust.h"
#include "unauthenticated.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One connection. */
struct guest {
    /* first member; in the ring of unauthenticated connections until it is authenticated */
    struct stranger stranger;
    struct deadline *deadline;
    /* it is from this user or root, by a Unix socket; connections_wait has been called for it */
    bool local, waited;
};

/* All connections of a server. */
struct connections {
    struct connections_options o;
    struct deadlines *deadlines;
    pthread_mutex_t lock; /* protects `unauthenticated` */
    struct unauthenticated unauthenticated;
};

int connections_open(const struct connections_options *o, struct connections **ret,
                     struct eddis_error *err)
{
    struct connections *s = calloc(1, sizeof *s);
    int rc;

    if (!s)
        return eddis_fail(err, -ENOMEM, "no memory for a server's connections");
    s->o = *o;
    pthread_mutex_init(&s->lock, NULL);
    unauthenticated_init(&s->unauthenticated, o->unauthenticated);
    rc = deadlines_start(&s->deadlines, err);
    if (rc < 0)
        connections_close(s);
    else
        *ret = s;
    return rc;
}

void connections_close(struct connections *s)
{
    if (!s)
        return;
    deadlines_stop(s->deadlines);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* Check whether the peer of the Unix socket fd is this process's user or root; false if the kernel
 * does not tell.
 */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && trust_is_user(peer.uid);
}

/* Return the number by which unauthenticated_add distinguishes peers: the address, for IPv6 its /64
 * network; 0 for another kind of address.
 */
static uint64_t address_of(const struct sockaddr *peer)
{
    uint64_t ret = 0;
    struct ip a;

    if (ip_of_socket(peer, &a))
        memcpy(&ret, a.byte + (ip_is_v4(&a) ? 8 : 0), sizeof ret);
    return ret;
}

/* Add g to the unauthenticated connections.  If there are too many, set the deadline of one of
 * them, perhaps g, to a time that has passed, so that it is shut down.
 */
static void stranger_came(struct connections *s, struct guest *g, const struct sockaddr *peer,
                          int64_t now_ns)
{
    struct stranger *goes;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    goes = unauthenticated_add(&s->unauthenticated, &g->stranger, address_of(peer), now_ns);
    if (goes) /* still under the lock, because another thread may be ending it */
        deadline_set(s->deadlines, ((struct guest *)goes)->deadline, 0);
}

struct guest *connections_begin(struct connections *s, int fd, const struct sockaddr *peer)
{
    struct guest *g = calloc(1, sizeof *g);
    int64_t now_ns = clock_now_ns();

    if (g) {
        g->local = s->o.local && is_ours(fd);
        g->deadline = deadline_add(
            s->deadlines, fd,
            clock_after_ns(now_ns, g->local ? s->o.local_ns : s->o.unauthenticated_ns));
    }
    if (s->o.local && g && !g->local)
        (void)shutdown(fd, SHUT_RDWR);
    if (!g || !g->deadline) { /* without a deadline nothing would end it */
        (void)shutdown(fd, SHUT_RDWR);
        free(g);
        return NULL;
    }
    if (!g->local)
        stranger_came(s, g, peer, now_ns);
    return g;
}

void connections_know(struct connections *s, struct guest *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&s->lock);
    unauthenticated_remove(&s->unauthenticated, &g->stranger);
    pthread_mutex_unlock(&s->lock);
}

void connections_end(struct connections *s, struct guest *g)
{
    if (!g)
        return;
    connections_know(s, g);
    deadline_remove(s->deadlines, g->deadline);
    free(g);
}

bool connections_is_local(const struct guest *g)
{
    return g && g->local;
}

void connections_allow(struct connections *s, struct guest *g, int64_t ns)
{
    if (g)
        deadline_set(s->deadlines, g->deadline, clock_after_ns(clock_now_ns(), ns));
}

bool connections_has_waited(const struct guest *g)
{
    return !g || g->waited;
}

bool connections_wait(struct connections *s, struct guest *g, int64_t ns, void (*wake)(void *ctx),
                      void *ctx)
{
    if (connections_has_waited(g))
        return false;
    g->waited = true;
    if (!deadline_hold(s->deadlines, g->deadline, clock_now_ns() + ns, wake, ctx))
        wake(ctx);
    return true;
}

void connections_wake(struct connections *s)
{
    deadlines_wake(s->deadlines);
}
