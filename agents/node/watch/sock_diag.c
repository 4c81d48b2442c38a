/* SPDX-License-Identifier: Apache-2.0 */
/* sock_diag.c - requests over netlink, and their answers in parts */
#include "sock_diag.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { ANSWER = 32 << 10 };

/* Open a netlink socket and send the request.  Return its descriptor, which the caller closes, or a
 * negative errno value.
 */
static int ask(int family, int state, int attribute)
{
    static const struct timeval most = { .tv_sec = 1 };
    const struct {
        struct nlmsghdr h;
        struct inet_diag_req_v2 q;
    } all = { .h = { .nlmsg_len = sizeof all,
                     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
              .q = { .sdiag_family = (uint8_t)family,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_ext = (uint8_t)(attribute ? 1 << (attribute - 1) : 0),
                     .idiag_states = 1U << state } };
    cleanup_fd int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) < 0 ||
        send(fd, &all, sizeof all, 0) < 0)
        return -errno;
    return cleanup_keep_fd(fd);
}

/* Pass the sockets of one part of an answer to each().  Return 0 after the last one or if each()
 * returns false, -EAGAIN if more follow, or -EOPNOTSUPP if the kernel reports an error.
 */
static int take_part(const void *part, ssize_t n, sock_diag_fn *each, void *ctx)
{
    for (const struct nlmsghdr *h = part; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
        const struct inet_diag_msg *m = NLMSG_DATA(h);

        if (h->nlmsg_type == NLMSG_DONE)
            return 0;
        if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_len < NLMSG_LENGTH(sizeof *m))
            return -EOPNOTSUPP;
        if (!each(ctx, m, (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof *m))))
            return 0;
    }
    return -EAGAIN;
}

int sock_diag_list(int family, int state, int attribute, sock_diag_fn *each, void *ctx)
{
    cleanup_fd int fd = ask(family, state, attribute);
    cleanup_free char *text = malloc(ANSWER);
    int rc = fd < 0 ? fd : text ? -EAGAIN : -ENOMEM;

    while (rc == -EAGAIN) {
        ssize_t n = recv(fd, text, ANSWER, 0);

        rc = n <= 0 ? -ETIMEDOUT : take_part(text, n, each, ctx);
    }
    return rc;
}
