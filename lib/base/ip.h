/* SPDX-License-Identifier: Apache-2.0 */
/* ip.h - addresses of IPv4 and IPv6 in one form
 *
 * An address of IPv4 is kept as IPv6 maps it, ::ffff:10.1.0.7, so that both are compared and masked
 * alike, and so that the two spellings are one address.  Bits of a network are those of the
 * address's own family, 0 to ip_bits.
 */
#ifndef EDDIS_BASE_IP_H
#define EDDIS_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    IP_CHARS = 46,                   /* of an address as text, with the final 0 */
    IP_NETWORK_CHARS = IP_CHARS + 4, /* "fd00:7::/64" */
};

struct ip {
    uint8_t byte[16]; /* in network order */
};

/* Read "10.1.0.7", "fd00::7" or "::ffff:10.1.0.7"; false: text is no address, as with a scope. */
bool ip_parse(const char *text, struct ip *ret);

/* Take the address of a socket of IPv4 or IPv6; false: it is of neither, or NULL. */
bool ip_of_socket(const struct sockaddr *a, struct ip *ret);

/* Write the address and port for bind or connect; returns its size. */
socklen_t ip_to_socket(const struct ip *a, int port, struct sockaddr_storage *ret);

/* Write the shortest spelling; returns ret. */
const char *ip_text(const struct ip *a, char ret[static IP_CHARS]);

/* Write the network of these bits that the address is in, "10.1.0.0/24"; returns ret. */
const char *ip_network_text(const struct ip *a, int bits, char ret[static IP_NETWORK_CHARS]);

bool ip_is_v4(const struct ip *a);
int ip_bits(const struct ip *a); /* 32 or 128 */

/* Order addresses, those of IPv4 together. */
int ip_compare(const struct ip *a, const struct ip *b);

/* Return the address with all but the first bits cleared. */
struct ip ip_masked(const struct ip *a, int bits);

/* Whether both are in one network of these bits, and of one family. */
bool ip_same_network(const struct ip *a, const struct ip *b, int bits);

bool ip_is_loopback(const struct ip *a);    /* 127.x.y.z, ::1 */
bool ip_is_unspecified(const struct ip *a); /* 0.0.0.0, :: */
bool ip_is_link_local(const struct ip *a);  /* 169.254.x.y, fe80::/10: of one cable only */

/* Whether a packet to it goes to one machine: neither of several nor of a reserved kind. */
bool ip_is_unicast(const struct ip *a);

/* Whether two texts are one address in two spellings. */
bool ip_same(const char *a, const char *b);

#endif
