/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - what an agent and the guard in Open MPI's daemons say to each other
 *
 * mpirun and its daemons (orted, prted) listen on all addresses of a node and obey whoever names
 * himself as one of them, without any secret.  The guard is a library that an agent preloads into
 * them, and into nothing else.  It replaces the calls by which they listen, connect and accept:
 *
 *     listener of           bound to, in place of      connections that are heard
 *                           all addresses
 *     the daemons' channel  the node's address on the  begin with a proof of the generation's
 *     (oob/tcp)             job's network              secret
 *     anything else (PMIx)  loopback                   come from a process of this user or root
 *
 * The proof is HMAC-SHA256(secret, "SOURCE ADDRESS:PORT>TARGET ADDRESS:PORT"): who gets one, since
 * he listens on a port that a daemon has left, can use it for no other connection.  It is sent
 * before the first bytes and checked before the first are read; no call waits for it.  Addresses
 * that are translated on the way (NAT) do not pass, nor do Open MPI's own.
 *
 * In a job on one machine nobody needs the channel from outside: it is bound to loopback, and
 * treated like anything else.  A connection that is refused is told to the agent in a datagram.
 *
 * The agent writes the guard file (0600, in a folder of 0700) and names it in GUARD_VARIABLE.  With
 * GUARD_ASK in that variable the guard prints GUARD_ANSWER where it is loaded, and does nothing.
 */
#ifndef EDDIS_AGENTS_GUARD_GUARD_H
#define EDDIS_AGENTS_GUARD_GUARD_H

#include <stdint.h>
#include <sys/un.h>

#define GUARD_VARIABLE "EDDIS_MPI_GUARD"

#define GUARD_ASK    "?"
#define GUARD_ANSWER "eddis-mpi-guard is loaded\n"

/* File name of the library, which is beside the helper programs. */
#define GUARD_LIBRARY "eddis-mpi-guard.so"

enum {
    GUARD_SECRET_CHARS = 64, /* hexadecimal digits */
    GUARD_PROOF = 32,        /* bytes */
    GUARD_ADDRESS_CHARS = 46,
};

/* Content of the guard file, as it is in memory. */
struct guard_file {
    char address[GUARD_ADDRESS_CHARS];   /* to bind the channel to; "": loopback, "*": all */
    char secret[GUARD_SECRET_CHARS + 1]; /* "": none is demanded */
    char socket[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of the agent, for refusals */
};

#define GUARD_MAGIC UINT32_C(0x65646764)

/* Datagram to the agent: connections were refused. */
struct guard_refusal {
    uint32_t magic;
    uint32_t n;                     /* this one, and those that came too fast to be told */
    char peer[GUARD_ADDRESS_CHARS]; /* address of this one, "127.0.0.1" */
};

#endif
