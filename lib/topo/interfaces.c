/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces.c - read the network interfaces of this machine from the kernel */
#include "interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Return the number of set bits in a network mask of n bytes. */
static int prefix_of(const unsigned char *mask, size_t n)
{
    int bits = 0;

    for (size_t i = 0; i < n; i++)
        bits += __builtin_popcount(mask[i]);
    return bits;
}

/* Store the address and prefix length of entry a in ret.  Return false if the entry has no IPv4 or
 * IPv6 address.
 */
static bool take_address(const struct ifaddrs *a, struct interface *ret)
{
    const void *address, *mask;
    size_t n;

    if (!a->ifa_addr || !a->ifa_netmask)
        return false;
    if (a->ifa_addr->sa_family == AF_INET) {
        address = &((const struct sockaddr_in *)(const void *)a->ifa_addr)->sin_addr;
        mask = &((const struct sockaddr_in *)(const void *)a->ifa_netmask)->sin_addr;
        n = 4;
    } else if (a->ifa_addr->sa_family == AF_INET6) {
        address = &((const struct sockaddr_in6 *)(const void *)a->ifa_addr)->sin6_addr;
        mask = &((const struct sockaddr_in6 *)(const void *)a->ifa_netmask)->sin6_addr;
        n = 16;
    } else {
        return false;
    }
    ret->prefix = prefix_of(mask, n);
    return inet_ntop(a->ifa_addr->sa_family, address, ret->address, sizeof ret->address) != NULL;
}

/* Make an ethtool request about interface `name` by socket fd; `data` is the ethtool command, which
 * the kernel fills in.  Return false on failure.  Files of /sys are not used: in a network
 * namespace they may show the interfaces of another one.
 */
static bool ethtool(int fd, const char *name, void *data)
{
    struct ifreq r = { 0 };

    (void)snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    r.ifr_data = data;
    return ioctl(fd, SIOCETHTOOL, &r) == 0;
}

/* Check by the name of its driver whether interface `name` is virtual: a bridge, a tunnel or an
 * interface of a container.  False if the driver is unknown.
 */
static bool is_virtual(int fd, const char *name)
{
    static const char *const driver[] = { "bridge",  "veth",    "tun",     "openvswitch", "vxlan",
                                          "macvlan", "macvtap", "ipvlan",  "dummy",       "gre",
                                          "ipip",    "geneve",  "team_if", "wireguard",   "nlmon" };
    struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

    if (!ethtool(fd, name, &info))
        return false;
    for (size_t i = 0; i < sizeof driver / sizeof *driver; i++)
        if (strncmp(info.driver, driver[i], sizeof info.driver) == 0)
            return true;
    return false;
}

/* Return the speed of interface `name` in Mbit/s; 0: unknown. */
static int64_t speed_mbit(int fd, const char *name)
{
    struct ethtool_cmd c = { .cmd = ETHTOOL_GSET };
    uint32_t speed;

    if (!ethtool(fd, name, &c))
        return 0;
    speed = (uint32_t)c.speed_hi << 16 | c.speed;
    return speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
}

int interfaces_list(struct interface *ret, int max, struct eddis_error *err)
{
    struct ifaddrs *all = NULL;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), n = 0;

    if (fd < 0 || getifaddrs(&all) < 0) {
        int rc = eddis_fail_errno(err, -errno, "cannot list the network interfaces");

        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    for (const struct ifaddrs *a = all; a && n < max; a = a->ifa_next) {
        struct interface i = { 0 };

        if (!(a->ifa_flags & IFF_UP) || !(a->ifa_flags & IFF_RUNNING) || !take_address(a, &i))
            continue;
        (void)snprintf(i.name, sizeof i.name, "%s", a->ifa_name);
        i.loopback = a->ifa_flags & IFF_LOOPBACK;
        i.is_virtual = !i.loopback && is_virtual(fd, i.name);
        i.speed_mbit = i.loopback ? 0 : speed_mbit(fd, i.name);
        ret[n++] = i;
    }
    freeifaddrs(all);
    (void)close(fd);
    return n;
}
