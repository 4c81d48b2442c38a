/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-keeper - starts the agent and leaves nothing behind when it ends: AGENT-PATH LEASE_NS */
#include "agents/node/keeper.h"
#include "lib/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    int64_t lease_ns = argc == 3 ? strtoll(argv[2], NULL, 10) : 0;
    int code;

    if (argc != 3 || argv[1][0] != '/' || lease_ns < 100 * CLOCK_MS) {
        fputs("usage: eddis-keeper AGENT-PATH LEASE_NS < BRIEF\n"
              "started by eddis-run; the lease is at least 0.1 s\n",
              stderr);
        return 2;
    }
    code = keeper_run(argv[1], lease_ns, &err);
    if (code < 0)
        fprintf(stderr, "eddis-keeper: %s\n", err.text);
    return code < 0 ? 1 : code;
}
