/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-keeper.c - starts the agent and leaves nothing behind when it ends
 *
 *     eddis-keeper LEASE_NS MARK < BRIEF
 *     eddis-keeper --join LEASE_NS WAIT_NS MARK < INVITATION    of several nodes that Slurm starts
 *     eddis-keeper --cleanup JOB MARK ...      ends what is left of a job here, and says what
 *
 * What earlier starts of the same node, which were given up, may have left here is ended first.
 * Its first words are its version, so that who starts it from afar knows whom he talks to; as a
 * task of Slurm's it says behind them which node it is on and in which step, and at its end how it
 * ended.
 */
#include "agents/node/keep/keeper.h"
#include "agents/node/keep/orphans.h"
#include "agents/node/keep/scope.h"
#include "agents/protocol/node_identity.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/program.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t most_ns = 10 * CLOCK_S; /* for ending what is left */

static int usage(void)
{
    fputs("usage: eddis-keeper LEASE_NS MARK < BRIEF\n"
          "       eddis-keeper --join LEASE_NS WAIT_NS MARK < INVITATION\n"
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
        fprintf(stderr, "eddis-keeper: %s\n",
                l.groups ? "removed the control groups that were left" : "nothing was left");
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
static int keep_node(int64_t lease_ns, const struct node_identity *id, const char *node,
                     struct eddis_error *err)
{
    char agent[PATH_MAX];
    const struct keeper_options o = { .agent_path = agent,
                                      .lease_ns = lease_ns,
                                      .id = id,
                                      .runtime_dir = getenv("XDG_RUNTIME_DIR"),
                                      .node = node };
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

/* Slurm writes to its tasks when all of them run, which is no reason for the agent to be taken for
 * one that hangs.  Whoever should have written may have gone, and nobody may tell us.
 */
static int await_input(int64_t wait_ns, struct eddis_error *err)
{
    int64_t end_ns = clock_after_ns(clock_now_ns(), wait_ns);
    struct pollfd in = { .fd = 0, .events = POLLIN };
    int n;

    do
        n = poll(&in, 1, clock_poll_ms(end_ns));
    while ((n < 0 && errno == EINTR) || (n == 0 && clock_now_ns() < end_ns));
    return n > 0 ? 0
                 : eddis_fail(err, -ETIMEDOUT, "eddis-run said nothing for %g s (timeouts.launch)",
                              (double)wait_ns / CLOCK_S);
}

/* Slurm may warn of the end of a job's time as soon as it has begun: what comes before the agent is
 * there waits for it.
 */
static void hold_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The words behind the mode, if any. */
struct request {
    bool cleanup, join;
    int64_t lease_ns, wait_ns;
    char **marks;            /* NULL-ended */
    const char *node, *step; /* NULL: not a task of Slurm's */
};

static bool read_request(int argc, char **argv, struct request *ret)
{
    const char *step = getenv("SLURM_STEP_ID"), *node = getenv("SLURMD_NODENAME");
    struct request r = { .cleanup = argc >= 4 && strcmp(argv[1], "--cleanup") == 0,
                         .join = argc == 5 && strcmp(argv[1], "--join") == 0 };

    r.marks = argv + (r.cleanup ? 3 : r.join ? 4 : 2);
    if (r.cleanup || r.join) {
        r.node = step ? node : NULL;
        r.step = step;
    }
    if (r.join)
        r.wait_ns = strtoll(argv[3], NULL, 10);
    if (!r.cleanup)
        r.lease_ns = argc == 3 || r.join ? strtoll(argv[r.join ? 2 : 1], NULL, 10) : 0;
    *ret = r;
    return r.cleanup || (r.lease_ns >= TIMING_LEAST_LEASE_NS && (!r.join || r.wait_ns > 0));
}

static int keep(const struct request *r, struct node_identity *id)
{
    struct eddis_error err = { 0 };
    int code = 0;

    if (r->join && !r->node)
        code = eddis_fail(&err, -EINVAL, "SLURMD_NODENAME is not set; srun starts this program");
    if (code == 0 && r->join) {
        hold_signals();
        node_identity_name(id, r->node);
        code = await_input(r->wait_ns, &err);
    }
    if (code == 0)
        code = keep_node(r->lease_ns, id, r->join ? r->node : NULL, &err);
    if (code == KEEPER_EXIT_LOST && err.code)
        (void)fail(&err); /* whoever started it reads why */
    return code < 0 ? fail(&err) : code;
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    cleanup_free struct node_identity *id = calloc((size_t)argc + 1, sizeof *id);
    struct request r;
    int code, n;

    program_outlive_file_limit();
    if (!id) {
        eddis_fail(&err, -ENOMEM, "no memory for %d arguments", argc);
        return fail(&err);
    }
    if (!read_request(argc, argv, &r))
        return usage();
    n = read_identities(r.marks, id);
    if (n < 0)
        return usage();
    if (!r.cleanup && !r.node) /* a step of Slurm's has a group already */
        scope_enter(id->cgroup);
    fprintf(stderr, "eddis-keeper " EDDIS_VERSION "%s%s%s%s\n", r.node ? " " : "",
            r.node ? r.node : "", r.node ? " " : "", r.node ? r.step : "");
    code = r.cleanup ? clean_up(argv[2], id, n) : keep(&r, id);
    if (r.node)
        fprintf(stderr, "eddis-keeper exit %d\n", code);
    return code;
}
