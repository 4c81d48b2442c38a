/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces.h - the addresses of this machine's network interfaces */
#ifndef EDDIS_TOPO_INTERFACES_H
#define EDDIS_TOPO_INTERFACES_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* One address of an interface */
struct interface {
    char name[16];
    char address[46]; /* "10.1.0.7", "fd00::7" */
    int prefix;       /* prefix length of the network */
    bool loopback;
    bool is_virtual;    /* a bridge, a tunnel or a container's interface, by its driver's name */
    int64_t speed_mbit; /* link speed in Mbit/s as the driver reports it; 0: unknown */
};

/* Write up to max addresses of interfaces that are up and have a carrier, in the kernel's order, of
 * this network namespace.  Return the number written.
 */
int interfaces_list(struct interface *ret, int max, struct eddis_error *err);

#endif
