/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_limits.h - limits that all messages of protocol.h share */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_LIMITS_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_LIMITS_H

enum {
    PROTOCOL_VERSION = 14,
    /* number of first steps of a worker, which are slower than later steps */
    PROTOCOL_COLD_STEPS = 3,
    PROTOCOL_LAST_LINES = 20, /* maximum lines of a failed rank's output in its event */
    PROTOCOL_LINE = 400,      /* maximum bytes of one line of PROTOCOL_LAST_LINES */
    PROTOCOL_MAX_AGENTS = 65536,
    PROTOCOL_MARKER = 32,     /* digits in the name of the marker file of a shared folder */
    PROTOCOL_PIN = 64,        /* size of a key's hash, "sha256//...", with its 0 */
    PROTOCOL_TOKEN = 96,      /* size of a token, with its 0 */
    PROTOCOL_MPI_SECRET = 64, /* hexadecimal digits of order.mpi_secret */
    PROTOCOL_MAX_ADDRESSES = 64,
    PROTOCOL_LOG_AGENT = -1,  /* in place of a rank: the log of the node's agent */
    PROTOCOL_LOG_MPIRUN = -2, /* in place of a rank: the log of mpirun */
    /* in place of a checkpoint's step: the file system of the folder does not respond */
    PROTOCOL_STEP_UNKNOWN = -2,
    /* approximate maximum of bytes of output and log chunks in one report */
    PROTOCOL_MAX_OUTPUT = 256 << 10,
};

#endif
