/* SPDX-License-Identifier: Apache-2.0 */
/* openmpi.c - the table of Open MPI's versions, and explanations of its error messages */
#include "openmpi.h"

#include "agents/guard/guard.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/strlist.h"
#include "lib/base/user_env.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time limit of a program that prints its version or configuration. */
#define VERSION_NS (10 * CLOCK_S)

/* Parameters that a daemon always gets, for Open MPI 4 and 5. */
static const char *const orted_always[] = { "--mca", "pmix", "^s1,s2,cray,isolated", NULL };
static const char *const prted_always[] = { "--prtemca", "pmix_session_server", "1", NULL };

static const struct openmpi table[] = {
    { .major = 4,
      .flag = "--mca",
      .plm = "rsh",
      .no_plm = "isolated",
      .agent = "plm_rsh_agent",
      .no_tree = "plm_rsh_no_tree_spawn",
      .daemon = "orted",
      .space = "ess_base_jobid",
      .number = "ess_base_vpid",
      .count = "ess_base_num_procs",
      .uri = "orte_hnp_uri",
      .nodes = "orte_node_regex",
      .always = orted_always,
      .tmpdir = "orte_tmpdir_base",
      .network = "oob_tcp_if_include",
      .no_v4 = "oob_tcp_disable_ipv4_family",
      .loopback = "lo",
      .alive = "oob_tcp_keepalive_time",
      .interval = "oob_tcp_keepalive_intvl",
      .strikes = "oob_tcp_keepalive_probes",
      .no_lookup = { "--do-not-resolve" },
      .oversubscribe = { "--oversubscribe" },
      .order = { "--oversubscribe", "--map-by", "slot", "--rank-by", "slot" },
      .shared = "vader",
      .server = "mpirun" },
    { .major = 5,
      .flag = "--prtemca",
      .plm = "ssh",
      .no_plm = "ssh",
      .agent = "plm_ssh_agent",
      .no_tree = "plm_ssh_no_tree_spawn",
      .daemon = "prted",
      .space = "ess_base_nspace",
      .number = "ess_base_vpid",
      .count = "ess_base_num_procs",
      .uri = "prte_hnp_uri",
      .always = prted_always,
      .tmpdir = "prte_tmpdir_base",
      .network = "oob_tcp_if_include",
      .no_v4 = "oob_tcp_disable_ipv4_family",
      .alive = "oob_tcp_keepalive_time",
      .interval = "oob_tcp_keepalive_intvl",
      .strikes = "oob_tcp_keepalive_probes",
      .no_lookup = { "--prtemca", "prte_do_not_resolve", "1" },
      .oversubscribe = { "--map-by", ":OVERSUBSCRIBE" },
      .order = { "--map-by", "slot:OVERSUBSCRIBE", "--rank-by", "slot" },
      .shared = "sm",
      .server = "prterun" },
};

enum { ROWS = sizeof table / sizeof *table };

const struct openmpi *openmpi_row(int major)
{
    const struct openmpi *row = table;

    for (int i = 1; i < ROWS; i++)
        if (table[i].major <= major)
            row = &table[i];
    return row;
}

/* ---- the version of Open MPI ---- */

int openmpi_parse_version(const char *text, char *ret, size_t size, struct eddis_error *err)
{
    static const char before[] = "(Open MPI) ";
    const char *found = strstr(text, before);
    size_t n;

    if (found)
        found += sizeof before - 1;
    n = found ? strcspn(found, " \t\r\n") : 0;
    if (n == 0 || n >= size || found[0] < '0' || found[0] > '9')
        return eddis_fail(
            err, -EINVAL,
            "the mpirun in PATH is not Open MPI's; eddis needs Open MPI 4.1 or newer");
    memcpy(ret, found, n);
    ret[n] = '\0';
    return atoi(ret);
}

int openmpi_preload_guard(struct strlist *env, const char *library, const char *value,
                          struct eddis_error *err)
{
    const char *others = strlist_value(env->item, "LD_PRELOAD");
    cleanup_free char *list = NULL;

    if (asprintf(&list, "%s%s%s", others ? others : "", others ? ":" : "", library) < 0) {
        list = NULL;
        return eddis_fail(err, -ENOMEM, "no memory for variables");
    }
    strlist_set(env, "LD_PRELOAD", list);
    strlist_set(env, GUARD_VARIABLE, value);
    return env->failed ? eddis_fail(err, -ENOMEM, "no memory for variables") : 0;
}

/* Run a program in the user's environment, and write its standard output to ret [size] as a string.
 * If guard is not "", preload that library.  Block until the program ends or, after VERSION_NS, is
 * killed.  Return 0, whatever the exit code; -ETIMEDOUT: it was killed and had printed nothing; or
 * another negative errno.
 */
static int run_program(const char *const *argv, const char *guard, char *ret, size_t size,
                       struct eddis_error *err)
{
    static const struct spawn_rung end[] = { { 0, VERSION_NS }, { SIGKILL, 5 * CLOCK_S } };
    cleanup_fd int out = memfd_create("eddis-mpi", MFD_CLOEXEC);
    struct spawn s = {
        .argv = argv, .in = -1, .out = out, .err = -1, .parent_death_signal = SIGKILL
    };
    struct strlist env = { 0 };
    int rc, status = 0;
    ssize_t n;
    pid_t pid;

    if (out < 0)
        return eddis_fail_errno(err, -errno, "cannot make a file in memory");
    user_env_add(&env);
    rc = guard[0] ? openmpi_preload_guard(&env, guard, GUARD_ASK, err) : 0;
    s.envp = (const char *const *)env.item;
    if (rc == 0)
        rc = spawn_start(&s, &pid, err);
    strlist_fini(&env);
    if (rc < 0)
        return rc;
    rc = spawn_stop(pid, end, sizeof end / sizeof *end, &status, NULL);
    n = pread(out, ret, size - 1, 0);
    if (n <= 0 && (rc < 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)))
        return eddis_fail_errno(err, -ETIMEDOUT, "'%s %s' does not answer", argv[0], argv[1]);
    ret[n > 0 ? n : 0] = '\0';
    return 0;
}

/* Run "program --version" as run_program does, and write its output to ret [size].  Return as
 * run_program.
 */
static int run_version(const char *program, const char *guard, char *ret, size_t size,
                       struct eddis_error *err)
{
    const char *const argv[] = { program, "--version", NULL };

    return run_program(argv, guard, ret, size, err);
}

int openmpi_version(const char *guard, char *ret, size_t size, bool *ret_guarded,
                    struct eddis_error *err)
{
    char text[512] = "", more[512] = "";
    const char *server;
    int major, rc = run_version("mpirun", guard, text, sizeof text, err);

    if (rc == -ENOENT)
        return eddis_fail_prefix(err, rc, "Open MPI is needed (Debian: openmpi-bin)");
    if (rc < 0)
        return rc;
    major = openmpi_parse_version(text, ret, size, err);
    if (major < 0)
        return major;
    server = openmpi_row(major)->server;
    *ret_guarded = strstr(text, GUARD_ANSWER) != NULL;
    if (guard[0] && strcmp(server, "mpirun") != 0)
        *ret_guarded = run_version(server, guard, more, sizeof more, NULL) == 0 &&
                       strstr(more, GUARD_ANSWER) != NULL;
    return major;
}

bool openmpi_is_v4_only(void)
{
    /* without a component to load, ompi_info takes 4 ms and not 220 */
    static const char *const argv[] = { "/usr/bin/env", "OMPI_MCA_mca_base_component_path=none",
                                        "ompi_info",    "--parsable",
                                        "--config",     NULL };
    char text[16384] = "";

    return run_program(argv, "", text, sizeof text, NULL) == 0 &&
           strstr(text, "\noptions:ipv6:no") != NULL;
}

/* ---- error messages of Open MPI ---- */

/* Words of mpirun's error messages and the sentence that explains them.  Sorted from the most
 * specific to the least: a single failure makes mpirun print several messages.
 */
static const struct {
    const char *words, *sentence;
} known[] = {
    { "There are not enough slots", "mpirun finds too few slots for the ranks; look at mpi.args "
                                    "and mpi.mca for what limits them" },
    { "num local peers", "two nodes have the same host name, which Open MPI 5 does not support; "
                         "give each node its own" },
    { "was not found on its list", "mpirun does not know a node that it was told to use" },
    { "exited without calling \"finalize\"",
      "a rank called MPI_Init and ended without MPI_Finalize (init without finalize)" },
    { "version mismatch",
      "the nodes have different versions of Open MPI; install one version on all" },
    { "different version",
      "the nodes have different versions of Open MPI; install one version on all" },
    { "unable to complete a TCP connection",
      "it cannot connect to the node where mpirun runs; check the firewalls between the nodes" },
    { "was unable to open a TCP",
      "it cannot connect to the node where mpirun runs; check the firewalls between the nodes" },
    { "unable to connect",
      "it cannot connect to the node where mpirun runs; check the firewalls between the nodes" },
    { "no path to daemon", "mpirun cannot reach one of its daemons" },
    { "lost communication with", NULL }, /* the message names a node */
    { "unable to reliably start", "mpirun could not start its daemon on a node" },
    { "A daemon failed to report back", "mpirun could not start its daemon on a node" },
    { "None of the TCP networks specified",
      "the network that was chosen is not on the first node" },
    { "No OOB messaging", "mpirun finds no network interface that it may use" },
    { "No network interfaces were found", "mpirun finds no network interface that it may use" },
};

/* Write to ret [size] that mpirun has lost the connection to a node.  The node is named in the
 * words " Remote daemon: [[4711,0],2] on node c07"; if not, write "a node".
 */
static void lost_node(const char *words, char *ret, size_t size)
{
    static const char on[] = " on node ";
    const char *line = strstr(words, "Remote daemon:");
    const char *name = line ? strstr(line, on) : NULL;

    name = name && name < line + strcspn(line, "\n") ? name + strlen(on) : "a node";
    (void)snprintf(ret, size, "mpirun has lost the connection to %.*s", (int)strcspn(name, "\n"),
                   name);
}

bool openmpi_explain(const char *words, char *ret, size_t size)
{
    for (size_t i = 0; words && i < sizeof known / sizeof *known; i++) {
        if (!strstr(words, known[i].words))
            continue;
        if (known[i].sentence)
            (void)snprintf(ret, size, "%s", known[i].sentence);
        else
            lost_node(words, ret, size);
        return true;
    }
    return false;
}
