/* SPDX-License-Identifier: Apache-2.0 */
/* ip.c - read, format and compare IPv4 and IPv6 addresses */
#include "ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { MAPPED = 12 }; /* length in bytes of the prefix of an IPv4-mapped address */

/* The prefix of an IPv4-mapped address, ::ffff:0:0/96. */
static const uint8_t mapped[MAPPED] = { [10] = 0xff, [11] = 0xff };

/* Store the IPv4 address at `four` (4 bytes, network order) in ret as an IPv4-mapped address. */
static void take_v4(const void *four, struct ip *ret)
{
    memcpy(ret->byte, mapped, MAPPED);
    memcpy(ret->byte + MAPPED, four, 4);
}

bool ip_parse(const char *text, struct ip *ret)
{
    struct in_addr four;
    struct in6_addr six;

    if (inet_pton(AF_INET, text, &four) == 1)
        take_v4(&four, ret);
    else if (inet_pton(AF_INET6, text, &six) == 1)
        memcpy(ret->byte, &six, sizeof ret->byte);
    else
        return false;
    return true;
}

bool ip_of_socket(const struct sockaddr *a, struct ip *ret)
{
    if (a && a->sa_family == AF_INET)
        take_v4(&((const struct sockaddr_in *)(const void *)a)->sin_addr, ret);
    else if (a && a->sa_family == AF_INET6)
        memcpy(ret->byte, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
               sizeof ret->byte);
    else
        return false;
    return true;
}

socklen_t ip_to_socket(const struct ip *a, int port, struct sockaddr_storage *ret)
{
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

    memset(ret, 0, sizeof *ret);
    memcpy(&four.sin_addr, a->byte + MAPPED, sizeof four.sin_addr);
    memcpy(&six.sin6_addr, a->byte, sizeof six.sin6_addr);
    if (ip_is_v4(a))
        memcpy(ret, &four, sizeof four);
    else
        memcpy(ret, &six, sizeof six);
    return ip_is_v4(a) ? sizeof four : sizeof six;
}

const char *ip_text(const struct ip *a, char ret[static IP_CHARS])
{
    bool v4 = ip_is_v4(a);

    return inet_ntop(v4 ? AF_INET : AF_INET6, a->byte + (v4 ? MAPPED : 0), ret, IP_CHARS);
}

const char *ip_network_text(const struct ip *a, int bits, char ret[static IP_NETWORK_CHARS])
{
    struct ip net = ip_masked(a, bits);
    char text[IP_CHARS];

    (void)snprintf(ret, IP_NETWORK_CHARS, "%s/%d", ip_text(&net, text), bits);
    return ret;
}

bool ip_is_v4(const struct ip *a)
{
    return memcmp(a->byte, mapped, MAPPED) == 0;
}

int ip_bits(const struct ip *a)
{
    return ip_is_v4(a) ? 32 : 128;
}

int ip_compare(const struct ip *a, const struct ip *b)
{
    return memcmp(a->byte, b->byte, sizeof a->byte);
}

struct ip ip_masked(const struct ip *a, int bits)
{
    struct ip ret = *a;
    int n = bits + (ip_is_v4(a) ? 8 * MAPPED : 0);

    for (int i = 0; i < 16; i++, n -= 8)
        if (n < 8)
            ret.byte[i] &= n <= 0 ? 0 : (uint8_t)(0xff << (8 - n));
    return ret;
}

bool ip_same_network(const struct ip *a, const struct ip *b, int bits)
{
    struct ip x = ip_masked(a, bits), y = ip_masked(b, bits);

    return ip_is_v4(a) == ip_is_v4(b) && ip_compare(&x, &y) == 0;
}

bool ip_is_loopback(const struct ip *a)
{
    static const struct ip one = { .byte = { [15] = 1 } };

    return ip_is_v4(a) ? a->byte[MAPPED] == IN_LOOPBACKNET : ip_compare(a, &one) == 0;
}

bool ip_is_unspecified(const struct ip *a)
{
    static const struct ip none;

    return memcmp(a->byte + MAPPED, none.byte, 4) == 0 &&
           (ip_is_v4(a) || ip_compare(a, &none) == 0);
}

bool ip_is_link_local(const struct ip *a)
{
    if (ip_is_v4(a))
        return a->byte[MAPPED] == 169 && a->byte[MAPPED + 1] == 254;
    return a->byte[0] == 0xfe && (a->byte[1] & 0xc0) == 0x80;
}

bool ip_is_unicast(const struct ip *a)
{
    if (ip_is_v4(a))
        return a->byte[MAPPED] != 0 && a->byte[MAPPED] < 224;
    return a->byte[0] != 0xff && !ip_is_unspecified(a);
}

bool ip_same(const char *a, const char *b)
{
    struct ip x, y;

    return ip_parse(a, &x) && ip_parse(b, &y) && ip_compare(&x, &y) == 0;
}
