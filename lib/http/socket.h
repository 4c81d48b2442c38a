/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h - TCP as both ends of the control plane want it */
#ifndef EDDIS_HTTP_SOCKET_H
#define EDDIS_HTTP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/* When a connection is given up, whether data are under way or not.  All 0: when the system does,
 * which is after hours.
 */
struct http_tcp {
    int64_t silence_ms;  /* that the peer has acknowledged nothing */
    int probe_s, probes; /* an idle connection: time before and between probes, and their number */
};

/* Send small messages at once, and give the connection up as t says.  Best effort: what the kernel
 * refuses is left as it is.
 */
void http_socket_tune(int fd, const struct http_tcp *t);

/* Whether this is one of the machine's own loopback addresses, 127.x.y.z or ::1. */
bool http_address_is_loopback(const char *address);

#endif
