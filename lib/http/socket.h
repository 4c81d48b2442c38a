/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h - TCP options for both ends of the control plane */
#ifndef EDDIS_HTTP_SOCKET_H
#define EDDIS_HTTP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/* When to abort a connection whose peer does not answer.  The limits cover connections with data in
 * flight and idle ones.  All 0: the system's default, hours.
 */
struct http_tcp {
    int64_t silence_ms;  /* abort if the peer acknowledges nothing for this long */
    int probe_s, probes; /* idle connections: interval and number of keepalive probes */
};

/* Disable Nagle's delay and set the limits of t.  Errors are ignored. */
void http_socket_tune(int fd, const struct http_tcp *t);

/* Check whether the text is a loopback address, 127.x.y.z or ::1. */
bool http_address_is_loopback(const char *address);

#endif
