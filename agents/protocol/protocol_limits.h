/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_limits.h - the numbers that all of protocol.h's messages share */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_LIMITS_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_LIMITS_H

enum {
    PROTOCOL_VERSION = 13,
    PROTOCOL_COLD_STEPS = 3, /* of a worker, which are slower than those that follow */
    PROTOCOL_LAST_LINES = 20,
    PROTOCOL_LINE = 400,
    PROTOCOL_MAX_AGENTS = 65536,
    PROTOCOL_MARKER = 32, /* digits that name a file by which a shared folder is known */
    PROTOCOL_PIN = 64,
    PROTOCOL_TOKEN = 96,
    PROTOCOL_MPI_SECRET = 64, /* hexadecimal digits */
    PROTOCOL_MAX_ADDRESSES = 64,
    PROTOCOL_LOG_AGENT = -1,         /* in the place of a rank: what its node's agent has said, */
    PROTOCOL_LOG_MPIRUN = -2,        /* and mpirun */
    PROTOCOL_STEP_UNKNOWN = -2,      /* in the place of a checkpoint's step */
    PROTOCOL_MAX_OUTPUT = 256 << 10, /* bytes of output and log pieces in one report, about */
};

#endif
