/* SPDX-License-Identifier: Apache-2.0 */
/* ip.h - IPv4 and IPv6 addresses in one form
 *
 * An IPv4 address is stored as IPv6 maps it, ::ffff:10.1.0.7.  So both families are compared and
 * masked alike, and both spellings are equal.  The prefix length `bits` of a network counts bits of
 * the address's own family: 0 to 32 for IPv4, 0 to 128 for IPv6.
 */
#ifndef EDDIS_BASE_IP_H
#define EDDIS_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    IP_CHARS = 46,                   /* an address as text, with the final 0 */
    IP_NETWORK_CHARS = IP_CHARS + 4, /* a network as text, "fd00:7::/64" */
};

/* An IPv4 or IPv6 address */
struct ip {
    uint8_t byte[16]; /* in network order */
};

/* Parse "10.1.0.7", "fd00::7" or "::ffff:10.1.0.7".  Return false if text is not an address, or has
 * a scope ("%eth0").
 */
bool ip_parse(const char *text, struct ip *ret);

/* Get the address of an IPv4 or IPv6 socket address.  Return false for another family or NULL. */
bool ip_of_socket(const struct sockaddr *a, struct ip *ret);

/* Write address and port as the socket address for bind or connect.  Return its size in bytes. */
socklen_t ip_to_socket(const struct ip *a, int port, struct sockaddr_storage *ret);

/* Format an address in its shortest form.  Return ret, the caller's, never NULL. */
const char *ip_text(const struct ip *a, char ret[static IP_CHARS]);

/* Format the network of this prefix length that contains the address, as "10.1.0.0/24".  Return
 * ret, the caller's, never NULL.
 */
const char *ip_network_text(const struct ip *a, int bits, char ret[static IP_NETWORK_CHARS]);

/* Check whether the address is an IPv4 one. */
bool ip_is_v4(const struct ip *a);

/* Return the length of the address's own form in bits: 32 for IPv4, 128 for IPv6. */
int ip_bits(const struct ip *a);

/* Compare two addresses; return a number < 0, 0 or > 0 as memcmp does.  IPv4 addresses sort
 * together.
 */
int ip_compare(const struct ip *a, const struct ip *b);

/* Return the address with all but its first `bits` bits cleared. */
struct ip ip_masked(const struct ip *a, int bits);

/* Check whether both addresses are of one family and in one network of this prefix length. */
bool ip_same_network(const struct ip *a, const struct ip *b, int bits);

/* Check whether the address is a loopback one: 127.x.y.z or ::1. */
bool ip_is_loopback(const struct ip *a);

/* Check whether the address is the unspecified one: 0.0.0.0 or ::. */
bool ip_is_unspecified(const struct ip *a);

/* Check whether the address is valid on one link only: 169.254.x.y or fe80::/10. */
bool ip_is_link_local(const struct ip *a);

/* Check whether the address can belong to a single machine: not multicast, broadcast, reserved or
 * unspecified.
 */
bool ip_is_unicast(const struct ip *a);

/* Check whether two texts are spellings of one address. */
bool ip_same(const char *a, const char *b);

#endif
