/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_hello.h - the message with which an agent registers with the driver (see protocol.h) */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_HELLO_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_HELLO_H

#include "lib/base/boot_id.h"
#include "lib/base/error.h"
#include "protocol_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One address of a node's network interface. */
struct node_address {
    char interface[16]; /* name of the interface on this node; it may differ on other nodes */
    char address[46];   /* the address as text, "10.1.0.7", "fd00::7" */
    int prefix;         /* length of the network prefix, bits */
    int64_t speed_mbit; /* link speed reported by the kernel, Mbit/s; 0: unknown */
    bool is_virtual;    /* the interface is a bridge, a tunnel or a container's interface */
};

/* Registration of an agent. */
struct hello {
    int protocol, agent, pid; /* protocol: the agent's PROTOCOL_VERSION */
    char host[256];
    char eddis_version[16];
    char mpi_version[64];
    /* id of the machine: equal on nodes that share its cores; "": unknown */
    char machine[BOOT_ID_CHARS];
    /* the guard (agents/guard) protects the ports of this node's mpirun and MPI daemon */
    bool mpi_guarded;
    bool mpi_v4_only; /* Open MPI on this node was built without IPv6 */
    /* logs are in the driver's own folder, so that the driver need not fetch them */
    bool shared_logs;
    char log_dir[512]; /* folder of the logs; "": the path does not fit */
    struct node_address address[PROTOCOL_MAX_ADDRESSES];
    int n_addresses;
};

/* Return the message as JSON, which the caller frees; NULL without memory. */
char *hello_text(const struct hello *h);

/* Parse n bytes of JSON into *ret.  Return 0 or a negative errno; *ret is written only on success.
 */
int hello_parse(const char *text, size_t n, struct hello *ret, struct eddis_error *err);

#endif
