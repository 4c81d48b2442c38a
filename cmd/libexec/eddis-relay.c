/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-relay.c - replaces ssh for mpirun: SOCKET HOST orted ARGUMENTS... */
#include "agents/node/relay.h"
#include "agents/protocol/protocol_relay.h"
#include "lib/base/exit_code.h"
#include "lib/base/program.h"

#include <stdio.h>

/* Send mpirun's request for a daemon on HOST to the agent at SOCKET. Return 0, 1 if that fails, or
 * EXIT_USAGE.
 */
int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    struct relay r;
    int rc;

    program_outlive_file_limit();
    if (argc < 4 || argv[1][0] != '/') {
        fputs("usage: eddis-relay SOCKET HOST DAEMON ARGUMENTS...\nstarted by mpirun\n", stderr);
        return EXIT_USAGE;
    }
    rc = relay_parse(argc - 2, argv + 2, &r, &err);
    if (rc == 0) {
        rc = relay_send(argv[1], &r, &err);
        relay_free(&r);
    }
    if (rc < 0)
        fprintf(stderr, "eddis-relay: %s: %s\n", argv[2], err.text);
    return rc < 0 ? 1 : 0;
}
