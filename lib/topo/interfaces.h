/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces.h - the addresses of this machine's network interfaces */
#ifndef EDDIS_TOPO_INTERFACES_H
#define EDDIS_TOPO_INTERFACES_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct interface {
    char name[16];
    char address[46]; /* "10.1.0.7", "fd00::7" */
    int prefix;       /* bits of it that are the network's */
    bool loopback;
    bool is_virtual;    /* a bridge, tunnel or container's end, as its driver calls itself */
    int64_t speed_mbit; /* as the driver says; 0 unknown */
};

/* Write up to max addresses of interfaces that are up and have a carrier, in the kernel's order;
 * returns how many.  In a network namespace they are that namespace's.
 */
int interfaces_list(struct interface *ret, int max, struct eddis_error *err);

#endif
