/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - the interface between an agent and the guard in Open MPI's daemons
 *
 * mpirun and its daemons (orted, prted) listen on all addresses of a node, and obey every peer that
 * claims to be one of them, without any secret. The guard is a library that an agent preloads into
 * these programs only. The guard replaces the calls by which these programs listen, connect and
 * accept:
 *
 *     listener of           bound, instead of          accepts connections that
 *                           all addresses, to
 *     the daemons' channel  the node's address on the  begin with a proof of knowing the
 *     (oob/tcp)             job's network              generation's secret
 *     anything else (PMIx)  loopback                   come from a process of this user or root
 *
 * The proof is HMAC-SHA256(secret, "SOURCE ADDRESS:PORT>TARGET ADDRESS:PORT"). An attacker who
 * listens on a port that a daemon has closed may receive a proof, but cannot use the proof for
 * another connection. The proof is sent before the first bytes, and checked before the first bytes
 * are read; no call waits for the proof. Connections through address translation (NAT) are
 * rejected, as are connections from an Open MPI without the guard.
 *
 * In a job on one machine the channel is not needed from outside. The channel is bound to loopback
 * then, and handled like any other listener. The guard reports each rejected connection to the
 * agent in a datagram.
 *
 * The agent writes the guard file (0600, in a folder of 0700), and sets GUARD_VARIABLE to its path.
 * If this variable is GUARD_ASK, the guard only prints GUARD_ANSWER when it is loaded.
 */
#ifndef EDDIS_AGENTS_GUARD_GUARD_H
#define EDDIS_AGENTS_GUARD_GUARD_H

#include <stdint.h>
#include <sys/un.h>

#define GUARD_VARIABLE "EDDIS_MPI_GUARD" /* path of the guard file, or GUARD_ASK */

#define GUARD_ASK    "?"
#define GUARD_ANSWER "eddis-mpi-guard is loaded\n"

/* File name of the library, which is in the folder of the helper programs. */
#define GUARD_LIBRARY "eddis-mpi-guard.so"

enum {
    GUARD_SECRET_CHARS = 64, /* hexadecimal digits */
    GUARD_PROOF = 32,        /* bytes of a proof */
    GUARD_ADDRESS_CHARS = 46,
};

/* Content of the guard file, in the memory layout of this machine. */
struct guard_file {
    /* address to which the channel is bound; "": loopback, "*": all */
    char address[GUARD_ADDRESS_CHARS];
    char secret[GUARD_SECRET_CHARS + 1]; /* the generation's secret; "": no proof is required */
    /* path of the agent's socket for reports of rejections */
    char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

#define GUARD_MAGIC UINT32_C(0x65646764)

/* Datagram to the agent: connections were rejected */
struct guard_refusal {
    uint32_t magic; /* GUARD_MAGIC */
    uint32_t n;     /* number of connections rejected since the last datagram */
    /* address of the peer of the last rejected connection, "127.0.0.1" */
    char peer[GUARD_ADDRESS_CHARS];
};

#endif
