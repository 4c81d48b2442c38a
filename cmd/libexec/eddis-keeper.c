/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-keeper.c - supervisor: starts the agent, and leaves nothing behind when the agent ends
 *
 *     eddis-keeper LEASE_NS MARK < CONFIGURATION
 *     eddis-keeper --join LEASE_NS WAIT_NS MARK < INVITATION    on each of several nodes, by srun
 *     eddis-keeper --cleanup JOB MARK ...      ends what is left of a job here, and reports it
 *
 * It first ends what earlier starts of the same node, which were given up, may have left here. Its
 * first line of output is its version, so that a remote caller can check it. As a task of Slurm's
 * it adds its node and step to that line, and prints its exit code at its end.
 */
#include "agents/node/keep/keeper.h"
#include "agents/node/keep/orphans.h"
#include "agents/node/keep/scope.h"
#include "agents/protocol/node_identity.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/program.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t most_ns = 10 * CLOCK_S; /* time limit for ending leftovers of earlier starts */

/* Print the usage to standard error and return the exit code for wrong arguments. */
static int usage(void)
{
    fprintf(
        stderr,
        "usage: eddis-keeper LEASE_NS MARK < CONFIGURATION\n       eddis-keeper --join LEASE_NS "
        "WAIT_NS MARK < INVITATION\n       eddis-keeper --cleanup JOB MARK ...\nstarted by "
        "eddis-run; the lease is at least %g s\n",
        (double)TIMING_LEAST_LEASE_NS / CLOCK_S);
    return EXIT_USAGE;
}

/* Print the error on standard error and return 1, the exit code. */
static int fail(const struct eddis_error *err)
{
    fprintf(stderr, "eddis-keeper: %s\n", err->text);
    return 1;
}

/* Parse the NULL-ended words, each the identity of a start, into ret, which has room for all.
 * Return their number; -1: one is no valid identity.
 */
static int read_identities(char **words, struct node_identity *ret)
{
    int n = 0;

    for (; *words; words++)
        if (!node_identity_read(*words, &ret[n++]))
            return -1;
    return n;
}

/* End the processes and remove the folders and control groups that these n starts of the job left
 * on this node. Print on standard error what was done. Block for 10 s at most. Return the exit
 * code: 0, or 1 if that failed.
 */
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

/* Run the agent with this identity until it ends. Return its exit code or a negative error. If this
 * is not the node's first start, end what earlier starts left, both before and after the agent:
 * some leftovers hide others from the first search. node: the node's name in Slurm, or NULL.
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

/* Block until standard input is readable, for wait_ns at most, since Slurm writes to its tasks only
 * when all of them run, and the agent must not seem to hang meanwhile. Return 0; -ETIMEDOUT:
 * nothing came, as when the writer is gone without notice.
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
                 : eddis_fail(err, -ETIMEDOUT, "eddis-run sent nothing for %g s (timeouts.launch)",
                              (double)wait_ns / CLOCK_S);
}

/* Block SIGUSR1 and SIGUSR2, until the agent exists: Slurm may send them, to warn of the end of a
 * job's time, as soon as the job has begun.
 */
static void hold_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Arguments of the command line. */
struct request {
    bool cleanup, join;
    int64_t lease_ns, wait_ns;
    char **marks;            /* words that are identities of starts, NULL-ended; within argv */
    const char *node, *step; /* node and step in Slurm; NULL: not a task of Slurm's */
};

/* Parse the command line and Slurm's variables into *ret. Return false if the number of arguments,
 * the lease or the wait is not valid; the identities in ret->marks are not checked.
 */
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

/* Run the agent as the request asks, until it ends. With --join (a task of Slurm's) first store the
 * node's name in *id and wait for the invitation on standard input. Return the exit code: the
 * agent's, or 1 after an error was printed.
 */
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
        (void)fail(&err); /* the caller reads the reason from standard error */
    return code < 0 ? fail(&err) : code;
}

/* Start an agent and supervise it until it ends, or with --cleanup end what is left of a job here.
 * Return the agent's exit code, 0 after a cleanup, 1 after an error was printed, or EXIT_USAGE.
 */
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
    if (!r.cleanup && !r.node) /* a step of Slurm's has a control group already */
        scope_enter(id->cgroup);
    fprintf(stderr, "eddis-keeper " EDDIS_VERSION "%s%s%s%s\n", r.node ? " " : "",
            r.node ? r.node : "", r.node ? " " : "", r.node ? r.step : "");
    code = r.cleanup ? clean_up(argv[2], id, n) : keep(&r, id);
    if (r.node)
        fprintf(stderr, "eddis-keeper exit %d\n", code);
    return code;
}
