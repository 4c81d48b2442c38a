/* SPDX-License-Identifier: Apache-2.0 */
/* contact_watch.c - reads which ports are listened on, and which libraries ranks have loaded */
#include "contact_watch.h"

#include "lib/base/cleanup.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Fewer polls may have missed a listener between two of them. */
enum { LOOKS_SURE = 5 };

static const char *const frameworks[] = { "/libtorch", "/libtensorflow", "/jaxlib/", "/paddle/" };
static const char *const joins[] = { "/libeddis.so", "/libmpi" };

/* Check whether a line contains any of n words. */
static bool holds_any(const char *line, const char *const *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(line, word[i]))
            return true;
    return false;
}

/* Record whether a rank has loaded a training framework, and libeddis or MPI, from its memory map.
 */
static void look_at_memory(struct contact_watch_rank *r, pid_t pid)
{
    char path[64], line[4096 + 128];
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        r->trains |= holds_any(line, frameworks, sizeof frameworks / sizeof *frameworks);
        r->joined |= holds_any(line, joins, sizeof joins / sizeof *joins);
    }
    if (f)
        (void)fclose(f);
}

/* Check whether a process listens on any port: others may connect to it. */
static bool listens(pid_t pid, const struct contact_watch_listeners *l)
{
    char path[64], to[64];
    const struct dirent *e;
    bool found = false;
    DIR *d;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    d = opendir(path);
    while (d && !found && (e = readdir(d))) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);
        unsigned inode;

        to[n > 0 ? n : 0] = '\0';
        if (sscanf(to, "socket:[%u]", &inode) == 1)
            for (int i = 0; i < l->n; i++)
                found = found || l->one[i].inode == inode;
    }
    if (d)
        (void)closedir(d);
    return found;
}

void contact_watch_inspect_rank(struct contact_watch_rank *r, pid_t pid,
                                const struct contact_watch_listeners *l)
{
    if (!r->joined)
        look_at_memory(r, pid);
    if (!r->joined && r->trains)
        r->joined = !l || listens(pid, l);
}

/* Request the listening sockets of an address family: there are few, however many connections there
 * are.
 */
static int ask(int fd, int family)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 wanted;
    } q = { .head = { .nlmsg_len = sizeof q,
                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
            .wanted = { .sdiag_family = (uint8_t)family,
                        .sdiag_protocol = IPPROTO_TCP,
                        .idiag_states = 1U << TCP_LISTEN } };

    return send(fd, &q, sizeof q, 0) < 0 ? -errno : 0;
}

/* Add the listeners of one part of an answer.  Return 0 after the last part, -EAGAIN if more
 * follow, or an error.
 */
static int take(const char *data, ssize_t n, struct contact_watch_listeners *ret)
{
    const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)data;

    for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
        const struct inet_diag_msg *m = NLMSG_DATA(h);

        if (h->nlmsg_type == NLMSG_DONE)
            return 0;
        if (h->nlmsg_type == NLMSG_ERROR)
            return -EOPNOTSUPP;
        if (ret->n < MEETING_LISTENERS)
            ret->one[ret->n++] =
                (struct contact_watch_listener){ m->idiag_inode, ntohs(m->id.idiag_sport) };
    }
    return -EAGAIN;
}

/* Add all listening sockets of an address family.  Return 0 or a negative errno value. */
static int look_at_family(int fd, int family, struct contact_watch_listeners *ret)
{
    _Alignas(struct nlmsghdr) char data[16384];
    int rc = ask(fd, family);

    if (rc < 0)
        return rc;
    do {
        ssize_t n = recv(fd, data, sizeof data, 0);

        rc = n < 0 ? -ETIMEDOUT : take(data, n, ret);
    } while (rc == -EAGAIN);
    return rc;
}

int contact_watch_find_listeners(struct contact_watch_listeners *ret)
{
    static const int family[] = { AF_INET, AF_INET6 };
    const struct timeval second = { .tv_sec = 1 };
    int rc = 0;

    ret->n = 0;
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) < 0)
            return -errno;
        rc = look_at_family(fd, family[i], ret);
    }
    return rc;
}

bool contact_watch_is_listened_on(const struct contact_watch_listeners *l, int port)
{
    for (int i = 0; i < l->n; i++)
        if (l->one[i].port == port)
            return true;
    return false;
}

void contact_watch_inspect_port(struct contact_watch *m, const struct contact_watch_listeners *l)
{
    m->looks++;
    m->listened = m->listened || !l || l->n == MEETING_LISTENERS ||
                  (m->port && contact_watch_is_listened_on(l, m->port));
}

bool contact_watch_was_alone(const struct contact_watch *m, const struct contact_watch_rank *r,
                             bool is_first)
{
    return r->trains && !r->joined && (!is_first || (m->looks >= LOOKS_SURE && !m->listened));
}
