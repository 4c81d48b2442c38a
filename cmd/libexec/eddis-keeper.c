/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-keeper - starts the agent and leaves nothing behind when it ends: LEASE_NS DIGITS */
#include "agents/node/keeper.h"
#include "lib/base/clock.h"
#include "lib/base/program.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 32 };

static bool are_digits(const char *word)
{
    return strlen(word) == DIGITS && strspn(word, "0123456789abcdef") == DIGITS;
}

static int usage(void)
{
    fputs("usage: eddis-keeper LEASE_NS DIGITS < BRIEF\n"
          "started by eddis-run; the lease is at least 0.1 s\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    int64_t lease_ns = argc == 3 ? strtoll(argv[1], NULL, 10) : 0;
    char agent[PATH_MAX];
    int code;

    if (argc != 3 || lease_ns < 100 * CLOCK_MS || !are_digits(argv[2]))
        return usage();
    code = program_path("eddis-agent", agent, sizeof agent, &err);
    if (code == 0)
        code = keeper_run(agent, lease_ns, argv[2], &err);
    if (code < 0)
        fprintf(stderr, "eddis-keeper: %s\n", err.text);
    return code < 0 ? 1 : code;
}
