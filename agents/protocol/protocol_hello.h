/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_hello.h - how an agent registers with the driver; protocol.h tells the rest */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_HELLO_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_HELLO_H

#include "lib/base/boot_id.h"
#include "lib/base/error.h"
#include "protocol_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address of a node's interface. */
struct node_address {
    char interface[16]; /* its name on that node, which means nothing on others */
    char address[46];   /* "10.1.0.7", "fd00::7" */
    int prefix;         /* bits of it that are the network's */
    int64_t speed_mbit; /* as the kernel tells it; 0 unknown */
    bool is_virtual;    /* a bridge, tunnel or container's end */
};

struct hello {
    int protocol, agent, pid;
    char host[256];
    char eddis_version[16];
    char mpi_version[64];
    char machine[BOOT_ID_CHARS]; /* the same on nodes that share one and its cores; "" unknown */
    bool mpi_guarded;  /* what its mpirun and daemon listen on is guarded (agents/guard) */
    bool mpi_v4_only;  /* its Open MPI was built without IPv6 */
    bool shared_logs;  /* the logs are in the driver's own folder: nothing need be fetched */
    char log_dir[512]; /* where they are; "": the path is longer */
    struct node_address address[PROTOCOL_MAX_ADDRESSES];
    int n_addresses;
};

char *hello_text(const struct hello *h);
int hello_parse(const char *text, size_t n, struct hello *ret, struct eddis_error *err);

#endif
