/* SPDX-License-Identifier: Apache-2.0 */
/* link_watch.c - compares tcp_info of the sockets that ranks have open */
#include "link_watch.h"

#include "poll_backoff.h"
#include "sock_diag.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ESTABLISHED = 1, ADDRESS = 46 }; /* ESTABLISHED: TCP_ESTABLISHED of the kernel */
enum { MOST = 64 << 10 }; /* most connections that are read; the load of others is unknown */

/* One TCP connection: time it was busy sending, and acknowledged bytes, since it was opened. */
struct link {
    uint32_t inode;
    uint64_t busy_us, acked; /* microseconds that it was busy sending; acknowledged bytes */
    char peer[ADDRESS];      /* address of its other end */
};

/* The connections of this machine at one moment. */
struct reading {
    struct link *link; /* [n], sorted by inode */
    size_t n, room;
    int64_t at_ns; /* time at which the reading began */
};

struct link_watch {
    pid_t *pid;                 /* [n] */
    struct link_load *load;     /* [n] */
    struct reading now, before; /* the latest two readings */
    int n;
    int64_t next_ns; /* earliest time of the next reading */
};

static const struct link_load unknown = { .busy = NAN, .bytes_per_s = NAN };

struct link_watch *link_watch_open(int n_ranks)
{
    struct link_watch *w = calloc(1, sizeof *w);

    if (w) {
        w->n = n_ranks;
        w->pid = calloc((size_t)n_ranks, sizeof *w->pid);
        w->load = calloc((size_t)n_ranks, sizeof *w->load);
    }
    if (!w || !w->pid || !w->load) {
        link_watch_close(w);
        return NULL;
    }
    for (int i = 0; i < n_ranks; i++)
        w->load[i] = unknown;
    return w;
}

void link_watch_close(struct link_watch *w)
{
    if (!w)
        return;
    free(w->now.link);
    free(w->before.link);
    free(w->pid);
    free(w->load);
    free(w);
}

void link_watch_set(struct link_watch *w, int i, pid_t pid)
{
    w->pid[i] = pid;
}

struct link_load link_watch_load(const struct link_watch *w, int i)
{
    return w->load[i];
}

/* ---- all connections of the machine ---- */

/* Append a connection to r; return false if r has MOST already, or without memory. */
static bool keep(struct reading *r, const struct link *l)
{
    if (r->n == MOST)
        return false;
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        struct link *more = realloc(r->link, room * sizeof *more);

        if (!more)
            return false;
        r->link = more;
        r->room = room;
    }
    r->link[r->n++] = *l;
    return true;
}

/* Check whether a connection leaves this machine: one with equal addresses at both ends uses no
 * link.
 */
static bool goes_out(const struct inet_diag_msg *m)
{
    return memcmp(m->id.idiag_src, m->id.idiag_dst, sizeof m->id.idiag_src) != 0;
}

/* Store a connection's busy time and acknowledged bytes in *ret. n: bytes of the attributes that
 * follow m.  The busy time is without the time in which the receiver had no room, since that is no
 * slow link.  Return false if the kernel is too old to report them.
 */
static bool read_info(const struct inet_diag_msg *m, int n, struct link *ret)
{
    const struct rtattr *a = (const struct rtattr *)(m + 1);
    struct tcp_info info = { 0 };

    for (; RTA_OK(a, n); a = RTA_NEXT(a, n))
        if (a->rta_type == INET_DIAG_INFO) {
            size_t size = RTA_PAYLOAD(a);

            if (size < offsetof(struct tcp_info, tcpi_sndbuf_limited))
                return false;
            memcpy(&info, RTA_DATA(a), size < sizeof info ? size : sizeof info);
            ret->busy_us = info.tcpi_busy_time - info.tcpi_rwnd_limited;
            ret->acked = info.tcpi_bytes_acked;
            return true;
        }
    return false;
}

/* Write the peer's address to ret->peer; return false if that fails.  An IPv4 address on an IPv6
 * socket becomes "10.1.0.7", not "::ffff:10.1.0.7".
 */
static bool read_peer(const struct inet_diag_msg *m, struct link *ret)
{
    const struct in6_addr *six = (const struct in6_addr *)(const void *)m->id.idiag_dst;

    if (m->idiag_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six))
        return inet_ntop(AF_INET, &six->s6_addr[12], ret->peer, sizeof ret->peer) != NULL;
    return inet_ntop(m->idiag_family, m->id.idiag_dst, ret->peer, sizeof ret->peer) != NULL;
}

/* Add a connection with n bytes of attributes, if it leaves the machine; as sock_diag_fn, ctx is
 * the reading.  If there is no room for it, end the list: the connections read so far are complete.
 */
static bool take_message(void *ctx, const struct inet_diag_msg *m, int n)
{
    struct link l = { .inode = m->idiag_inode };

    return !goes_out(m) || !read_info(m, n, &l) || !read_peer(m, &l) || keep(ctx, &l);
}

/* Compare two connections by inode, for qsort and bsearch. */
static int by_inode(const void *a, const void *b)
{
    const struct link *x = a, *y = b;

    return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Replace the connections in r by those that the machine has now, sorted by inode. */
static void read_all(struct reading *r)
{
    r->n = 0;
    r->at_ns = clock_now_ns();
    (void)sock_diag_list(AF_INET, ESTABLISHED, INET_DIAG_INFO, take_message, r);
    (void)sock_diag_list(AF_INET6, ESTABLISHED, INET_DIAG_INFO, take_message, r);
    if (r->n)
        qsort(r->link, r->n, sizeof *r->link, by_inode);
}

/* Return the connection of a socket's inode in a reading; NULL: none. */
static const struct link *find(const struct reading *r, uint32_t inode)
{
    const struct link key = { .inode = inode };

    return r->n ? bsearch(&key, r->link, r->n, sizeof *r->link, by_inode) : NULL;
}

/* ---- the connections of a rank ---- */

/* Set *busiest to the load of the socket with this inode between the two readings, if both have the
 * socket and it was busier than *busiest.
 */
static void compare(const struct link_watch *w, uint32_t inode, struct link_load *busiest)
{
    const struct link *a = find(&w->before, inode), *b = find(&w->now, inode);
    double passed_s = (double)(w->now.at_ns - w->before.at_ns) / CLOCK_S, busy_s;

    if (!a || !b || b->busy_us < a->busy_us || b->acked < a->acked || !(passed_s > 0))
        return;
    busy_s = 1e-6 * (double)(b->busy_us - a->busy_us);
    if (busiest->busy >= busy_s / passed_s)
        return;
    busiest->busy = fmin(busy_s / passed_s, 1);
    busiest->bytes_per_s = busy_s > 0 ? (double)(b->acked - a->acked) / busy_s : 0;
    memcpy(busiest->peer, b->peer, sizeof busiest->peer);
}

/* Set w->load[i] to the load of the busiest connection of rank i's process since the previous
 * reading; unknown if there is none.
 */
static void take_rank(struct link_watch *w, int i)
{
    char path[64], target[64];
    struct dirent *e;
    cleanup_dir DIR *dir = NULL;

    w->load[i] = unknown;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)w->pid[i]);
    dir = w->pid[i] > 0 ? opendir(path) : NULL;
    while (dir && (e = readdir(dir))) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof target - 1);
        uint32_t inode;

        target[n > 0 ? n : 0] = '\0';
        if (sscanf(target, "socket:[%" SCNu32 "]", &inode) == 1)
            compare(w, inode, &w->load[i]);
    }
}

void link_watch_take(struct link_watch *w, int64_t now_ns)
{
    struct reading before = w->now;
    int64_t begun_ns = clock_thread_ns();

    if (now_ns < w->next_ns)
        return;
    w->now = w->before;
    w->before = before;
    read_all(&w->now);
    for (int i = 0; i < w->n; i++)
        take_rank(w, i);
    w->next_ns = poll_backoff_cost_ns(begun_ns);
}
