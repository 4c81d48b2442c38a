/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_limits.h - limits that all messages of protocol.h share */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_LIMITS_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_LIMITS_H

enum {
    PROTOCOL_VERSION = 13,
    PROTOCOL_COLD_STEPS = 3,  /* first steps of a worker, slower than those that follow */
    PROTOCOL_LAST_LINES = 20, /* lines of a failed rank's output in its event */
    PROTOCOL_LINE = 400,      /* bytes of one such line */
    PROTOCOL_MAX_AGENTS = 65536,
    PROTOCOL_MARKER = 32,     /* digits in the name of the marker file of a shared folder */
    PROTOCOL_PIN = 64,        /* size of a key's hash, "sha256//...", with its 0 */
    PROTOCOL_TOKEN = 96,      /* size of a token, with its 0 */
    PROTOCOL_MPI_SECRET = 64, /* hexadecimal digits */
    PROTOCOL_MAX_ADDRESSES = 64,
    PROTOCOL_LOG_AGENT = -1,    /* instead of a rank: the log of the node's agent */
    PROTOCOL_LOG_MPIRUN = -2,   /* instead of a rank: the log of mpirun */
    PROTOCOL_STEP_UNKNOWN = -2, /* instead of a checkpoint's step: the folder does not answer */
    PROTOCOL_MAX_OUTPUT = 256 << 10, /* bytes of output and log chunks in one report, about */
};

#endif
