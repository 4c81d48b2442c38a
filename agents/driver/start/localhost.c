/* SPDX-License-Identifier: Apache-2.0 */
/* localhost.c - compares a host's name with the names and addresses of this machine */
#include "localhost.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* "c07" is the machine "c07.cluster", whose search domain says so; but "c07.elsewhere" is not known
 * to be the machine "c07".
 */
static bool is_own_name(const char *name, const char *own)
{
    size_t n = strlen(name);

    if (strcasecmp(name, own) == 0)
        return true;
    return !strchr(name, '.') && strncasecmp(name, own, n) == 0 && own[n] == '.';
}

static bool is_interface(int family, const void *address)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) < 0)
        return false;
    for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != family)
            continue;
        if (family == AF_INET)
            found = memcmp(&((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, address, 4) == 0;
        else
            found =
                memcmp(&((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr, address, 16) == 0;
    }
    freeifaddrs(all);
    return found;
}

bool localhost_is_named(const char *name, const char *own)
{
    struct in6_addr six;
    struct in_addr four;

    if (!*name)
        return false;
    if (strcasecmp(name, "localhost") == 0 || strcasecmp(name, "localhost.localdomain") == 0)
        return true;
    if (inet_pton(AF_INET, name, &four) == 1)
        return (ntohl(four.s_addr) >> 24) == 127 || is_interface(AF_INET, &four);
    if (inet_pton(AF_INET6, name, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six) || is_interface(AF_INET6, &six);
    return *own && is_own_name(name, own);
}

bool localhost_is(const char *name)
{
    char own[256] = "";

    if (gethostname(own, sizeof own - 1) < 0)
        own[0] = '\0';
    return localhost_is_named(name, own);
}
