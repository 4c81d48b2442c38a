/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h - TCP as both ends of the control plane want it */
#ifndef EDDIS_HTTP_SOCKET_H
#define EDDIS_HTTP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/* Send small messages at once, and give a connection up when its peer has acknowledged nothing for
 * silence_ns, whether data are under way or not (at least a second; 0: as the system does, which is
 * for hours).  Best effort: what the kernel refuses is left as it is.
 */
void http_socket_tune(int fd, int64_t silence_ns);

/* Is this IPv4 address text one of this machine's own loopback addresses, 127.x.y.z? */
bool http_address_is_loopback(const char *address);

#endif
