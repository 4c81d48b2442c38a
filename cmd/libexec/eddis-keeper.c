/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-keeper.c - starts the agent and leaves nothing behind when it ends
 *
 *     eddis-keeper LEASE_NS MARK < BRIEF
 *     eddis-keeper --cleanup JOB MARK ...      ends what is left of a job here, and says what
 *
 * What earlier starts of the same node, which were given up, may have left here is ended first.
 * Its first words are its version, so that who starts it from afar knows whom he talks to.
 */
#include "agents/node/keep/keeper.h"
#include "agents/node/keep/orphans.h"
#include "agents/protocol/node_identity.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t most_ns = 10 * CLOCK_S; /* for ending what is left */

static int usage(void)
{
    fputs("usage: eddis-keeper LEASE_NS MARK < BRIEF\n"
          "       eddis-keeper --cleanup JOB MARK ...\n"
          "started by eddis-run; the lease is at least 0.1 s\n",
          stderr);
    return 2;
}

static int fail(const struct eddis_error *err)
{
    fprintf(stderr, "eddis-keeper: %s\n", err->text);
    return 1;
}

/* Returns how many identities were made of the words, or -1 when one of them is none. */
static int read_identities(char **words, struct node_identity *ret)
{
    int n = 0;

    for (; *words; words++)
        if (!node_identity_read(*words, &ret[n++]))
            return -1;
    return n;
}

static int clean_up(const char *job, const struct node_identity *start, int n)
{
    struct eddis_error err = { 0 };
    struct orphans l;

    if (orphans_end(job, start, n, clock_now_ns() + most_ns, &l, &err) < 0)
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

/* Before and behind an agent that is not its node's first: what those before it have left may have
 * hidden from the first look.
 */
static int keep_node(int64_t lease_ns, const struct node_identity *id, struct eddis_error *err)
{
    char agent[PATH_MAX];
    const struct keeper_options o = { agent, lease_ns, id, getenv("XDG_RUNTIME_DIR") };
    struct node_identity before;
    struct orphans l;
    bool again = node_identity_before(id, &before);
    int code, rc = program_path("eddis-agent", agent, sizeof agent, err);

    if (rc == 0 && again)
        rc = orphans_end(NULL, &before, 1, clock_now_ns() + most_ns, &l, err);
    code = rc < 0 ? rc : keeper_run(&o, err);
    if (code >= 0 && again)
        rc = orphans_end(NULL, id, 1, clock_now_ns() + most_ns, &l, err);
    return rc < 0 ? rc : code;
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    bool cleanup = argc >= 4 && strcmp(argv[1], "--cleanup") == 0;
    int64_t lease_ns = argc == 3 ? strtoll(argv[1], NULL, 10) : 0;
    cleanup_free struct node_identity *id = calloc((size_t)argc + 1, sizeof *id);
    int code, n;

    if (!id) {
        eddis_fail(&err, -ENOMEM, "no memory for %d arguments", argc);
        return fail(&err);
    }
    if (!cleanup && lease_ns < TIMING_LEAST_LEASE_NS)
        return usage();
    n = read_identities(argv + (cleanup ? 3 : 2), id);
    if (n < 0)
        return usage();
    fputs("eddis-keeper " EDDIS_VERSION "\n", stderr);
    if (cleanup)
        return clean_up(argv[2], id, n);
    code = keep_node(lease_ns, id, &err);
    if (code == KEEPER_EXIT_LOST && err.code)
        (void)fail(&err); /* whoever started it reads why */
    return code < 0 ? fail(&err) : code;
}
