/* SPDX-License-Identifier: Apache-2.0 */
/* localhost.c - compare a host name with the names and addresses of this machine */
#include "localhost.h"

#include "lib/base/ip.h"

#include <ifaddrs.h>
#include <string.h>
#include <unistd.h>

/* Check whether a name is `own`, this machine's. "c07" is the machine "c07.cluster", whose search
 * domain completes it. "c07.elsewhere" is not the machine "c07".
 */
static bool is_own_name(const char *name, const char *own)
{
    size_t n = strlen(name);

    if (strcasecmp(name, own) == 0)
        return true;
    return !strchr(name, '.') && strncasecmp(name, own, n) == 0 && own[n] == '.';
}

/* Check whether an address belongs to an interface of this machine. */
static bool is_interface(const struct ip *address)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    struct ip own;

    if (getifaddrs(&all) < 0)
        return false;
    for (struct ifaddrs *i = all; i && !found; i = i->ifa_next)
        found = ip_of_socket(i->ifa_addr, &own) && ip_compare(&own, address) == 0;
    freeifaddrs(all);
    return found;
}

bool localhost_is_named(const char *name, const char *own)
{
    struct ip a;

    if (!*name)
        return false;
    if (strcasecmp(name, "localhost") == 0 || strcasecmp(name, "localhost.localdomain") == 0)
        return true;
    if (ip_parse(name, &a))
        return ip_is_loopback(&a) || is_interface(&a);
    return *own && is_own_name(name, own);
}

bool localhost_is(const char *name)
{
    char own[256] = "";

    if (gethostname(own, sizeof own - 1) < 0)
        own[0] = '\0';
    return localhost_is_named(name, own);
}
