/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-keeper.c - starts the agent and leaves nothing behind when it ends
 *
 *     eddis-keeper LEASE_NS DIGITS [BEFORE ...] < BRIEF
 *     eddis-keeper --cleanup JOB DIGITS ...      ends what is left of a job here, and says what
 *
 * BEFORE are digits of agents that were given up here: what they may have left is ended first.
 * Its first words are its version, so that who starts it from afar knows whom he talks to.
 */
#include "agents/node/keep/keeper.h"
#include "agents/node/keep/orphans.h"
#include "lib/base/clock.h"
#include "lib/base/program.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 32 };

static const int64_t most_ns = 10 * CLOCK_S; /* for ending what is left */

static bool are_digits(const char *word)
{
    return strlen(word) == DIGITS && strspn(word, "0123456789abcdef") == DIGITS;
}

static int usage(void)
{
    fputs("usage: eddis-keeper LEASE_NS DIGITS [BEFORE ...] < BRIEF\n"
          "       eddis-keeper --cleanup JOB DIGITS ...\n"
          "started by eddis-run; the lease is at least 0.1 s\n",
          stderr);
    return 2;
}

static int fail(const struct eddis_error *err)
{
    fprintf(stderr, "eddis-keeper: %s\n", err->text);
    return 1;
}

static bool all_are_digits(char **words)
{
    for (; *words; words++)
        if (!are_digits(*words))
            return false;
    return true;
}

static int clean_up(const char *job, char **digits)
{
    struct eddis_error err = { 0 };
    struct orphans l;

    if (orphans_end(job, digits, clock_now_ns() + most_ns, &l, &err) < 0)
        return fail(&err);
    if (l.processes + l.folders == 0) {
        fputs("eddis-keeper: nothing was left\n", stderr);
        return 0;
    }
    fprintf(stderr, "eddis-keeper: killed %d process%s%s%s%s, removed %d folder%s\n", l.processes,
            l.processes == 1 ? "" : "es", l.names[0] ? " (" : "", l.names, l.names[0] ? ")" : "",
            l.folders, l.folders == 1 ? "" : "s");
    return 0;
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    bool cleanup = argc >= 4 && strcmp(argv[1], "--cleanup") == 0;
    int64_t lease_ns = argc >= 3 && !cleanup ? strtoll(argv[1], NULL, 10) : 0;
    struct orphans l;
    char agent[PATH_MAX];
    int code;

    if (cleanup ? !all_are_digits(argv + 3)
                : lease_ns < 100 * CLOCK_MS || !all_are_digits(argv + 2))
        return usage();
    fputs("eddis-keeper " EDDIS_VERSION "\n", stderr);
    if (cleanup)
        return clean_up(argv[2], argv + 3);
    code = program_path("eddis-agent", agent, sizeof agent, &err);
    if (code == 0 && argv[3])
        code = orphans_end(NULL, argv + 3, clock_now_ns() + most_ns, &l, &err);
    if (code == 0)
        code = keeper_run(agent, lease_ns, argv[2], &err);
    return code < 0 ? fail(&err) : code;
}
