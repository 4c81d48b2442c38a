/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - the interface between an agent and the guard in Open MPI's daemons
 *
 * mpirun and its daemons (orted, prted) listen on all addresses of a node, and obey every peer that
 * claims to be one of them, without any secret.  The guard is a library that an agent preloads into
 * these programs only.  It replaces the calls by which they listen, connect and accept:
 *
 *     listener of           bound, instead of          accepts connections that
 *                           all addresses, to
 *     the daemons' channel  the node's address on the  begin with a proof of knowing the
 *     (oob/tcp)             job's network              generation's secret
 *     anything else (PMIx)  loopback                   come from a process of this user or root
 *
 * The proof is HMAC-SHA256(secret, "SOURCE ADDRESS:PORT>TARGET ADDRESS:PORT").  An attacker who
 * listens on a port that a daemon has given up may receive a proof, but cannot use it for another
 * connection.  The proof is sent before the first bytes, and checked before the first bytes are
 * read; no call waits for it.  Connections through address translation (NAT) are rejected, and so
 * are those from an Open MPI without the guard.
 *
 * In a job on one machine nobody needs the channel from outside.  It is bound to loopback and
 * handled like any other listener.  The guard reports each rejected connection to the agent in a
 * datagram.
 *
 * The agent writes the guard file (0600, in a folder of 0700) and names it in GUARD_VARIABLE.  If
 * that variable is GUARD_ASK, the guard prints GUARD_ANSWER when it is loaded, and does nothing.
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
    GUARD_PROOF = 32,        /* bytes */
    GUARD_ADDRESS_CHARS = 46,
};

/* Content of the guard file, in the memory layout of this machine. */
struct guard_file {
    char address[GUARD_ADDRESS_CHARS];   /* to bind the channel to; "": loopback, "*": all */
    char secret[GUARD_SECRET_CHARS + 1]; /* "": no proof is required */
    char socket[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* the agent's, for rejections */
};

#define GUARD_MAGIC UINT32_C(0x65646764)

/* Datagram to the agent: connections were rejected. */
struct guard_refusal {
    uint32_t magic;                 /* GUARD_MAGIC */
    uint32_t n;                     /* this one, and those not reported since the last datagram */
    char peer[GUARD_ADDRESS_CHARS]; /* address of this connection's peer, "127.0.0.1" */
};

#endif
