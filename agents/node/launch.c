/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - writes the arguments of mpirun and of its daemons from fixed templates */
#include "launch.h"

#include "agents/guard/guard.h"
#include "agents/node/keep/keeper.h"
#include "agents/protocol/timing.h"
#include "lib/base/decimal.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/user_env.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names of nodes ---- */

/* Prefix of the names of nodes for mpirun, except the first node's. */
static const char name_begin[] = "eddis--";

void launch_node_name(int node, char *ret)
{
    if (node == 0)
        strcpy(ret, "localhost");
    else
        snprintf(ret, LAUNCH_NAME, "%s%d", name_begin, node);
}

int launch_node_place(const char *name)
{
    int64_t n;

    if (strncmp(name, name_begin, sizeof name_begin - 1) != 0 ||
        !decimal_whole(name + sizeof name_begin - 1, &n) || n < 1 || n >= PROTOCOL_MAX_AGENTS)
        return -1;
    return (int)n;
}

int launch_write_hosts(const struct launch *l, struct eddis_error *err)
{
    struct strbuf text = { 0 };
    char name[LAUNCH_NAME];
    int rc;

    for (int i = 0; i < l->order->n_nodes; i++) {
        launch_node_name(i, name);
        strbuf_addf(&text, "%s slots=%d\n", name, l->order->node[i].n_ranks);
    }
    rc = text.failed ? eddis_fail(err, -ENOMEM, "no memory for the list of nodes")
                     : file_write_new(l->hosts_file, strbuf_text(&text), text.len, err);
    strbuf_fini(&text);
    return rc;
}

int launch_write_rules(const struct launch *l, struct eddis_error *err)
{
    static const char rules[] = "1           # one collective\n"
                                "2           # all-reduce\n"
                                "1           # for one range of sizes of the communicator\n"
                                "2           # two ranks or more\n"
                                "2           # with two ranges of bytes\n"
                                "0 0 0 0     # small ones as Open MPI thinks best\n"
                                "1048576 4 0 0 # from 1 MiB: ring\n";

    return file_write_new(l->rules_file, rules, sizeof rules - 1, err);
}

/* ---- parameters ---- */

bool launch_user_sets(const struct agent_config *b, const char *name)
{
    for (char **m = b->mpi_mca; *m; m += 2)
        if (strcmp(*m, name) == 0)
            return true;
    return false;
}

/* Append a parameter of Open MPI with its flag. */
static void add_pair(struct strlist *a, const char *flag, const char *name, const char *value)
{
    strlist_addf(a, "%s", flag);
    strlist_addf(a, "%s", name);
    strlist_addf(a, "%s", value);
}

/* Append a parameter of Open MPI with its flag, unless the user sets it: some versions of mpirun
 * reject a parameter given twice.
 */
static void add(struct strlist *a, const struct launch *l, const char *flag, const char *name,
                const char *value)
{
    if (!launch_user_sets(l->agent_config, name))
        add_pair(a, flag, name, value);
}

/* Append a parameter of MPI itself, which the ranks read, unless the user sets it. */
static void add_mca(struct strlist *a, const struct launch *l, const char *name, const char *value)
{
    add(a, l, "--mca", name, value);
}

/* Append a parameter of the runtime (ORTE or PRRTE) that starts the ranks, unless the user sets it.
 */
static void add_runtime(struct strlist *a, const struct launch *l, const char *name,
                        const char *value)
{
    add(a, l, l->mpi->flag, name, value);
}

/* Append a parameter of the runtime whose value is a number, unless the user sets it. */
static void add_number(struct strlist *a, const struct launch *l, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    add_runtime(a, l, name, text);
}

/* Append the words of a NULL-ended list. */
static void add_words(struct strlist *a, const char *const *word)
{
    for (; *word; word++)
        strlist_addf(a, "%s", *word);
}

/* Append the parameters that the user sets in mpi.mca. */
static void add_users(struct strlist *a, const struct launch *l)
{
    for (char **m = l->agent_config->mpi_mca; *m; m += 2)
        add_pair(a, "--mca", m[0], m[1]);
}

/* Check whether the job has several nodes. */
static bool is_several(const struct launch *l)
{
    return l->order->n_nodes > 1;
}

bool launch_is_six(const struct launch *l)
{
    return is_several(l) && strchr(l->order->network, ':') != NULL;
}

/* Append parameter `what` of the shared-memory transfer layer (BTL), which has another name in each
 * version of Open MPI, unless the user sets it.
 */
static void add_shared(struct strlist *a, const struct launch *l, const char *what,
                       const char *value)
{
    char name[64];

    snprintf(name, sizeof name, "btl_%s_%s", l->mpi->shared, what);
    add_mca(a, l, name, value);
}

/* Append the parameters with which both mpirun and its daemons connect several nodes: relay,
 * folder, network and detection of dead connections.
 */
static void add_connection(struct strlist *a, const struct launch *l)
{
    char agent[2 * sizeof l->folders->run + 256];

    add_runtime(a, l, "plm", l->mpi->plm);
    snprintf(agent, sizeof agent, "%s %s", l->relay_program, l->relay_socket);
    add_runtime(a, l, l->mpi->agent, agent);
    add_runtime(a, l, l->mpi->no_tree, "1");
    add_runtime(a, l, l->mpi->tmpdir, l->run_dir);
    /* No version of Open MPI accepts an IPv6 network, but all accept the name of an interface. */
    add_runtime(a, l, l->mpi->network, launch_is_six(l) ? l->interface : l->order->network);
    /* If the user has named the network, it may be an IPv4 network. */
    if (launch_is_six(l) && !launch_user_sets(l->agent_config, l->mpi->network))
        add_runtime(a, l, l->mpi->no_v4, "1");
    /* The keep-alive probes detect a pulled cable, too, but the agents detect it earlier. */
    add_number(a, l, l->mpi->alive, timing_mpi_alive_s(l->agent_config->lease_ns));
    add_number(a, l, l->mpi->interval, timing_mpi_probe_s(l->agent_config->lease_ns));
    add_number(a, l, l->mpi->strikes, TIMING_MPI_PROBES);
}

/* ---- mpirun ---- */

/* Append mpirun's arguments for a job on this machine alone.  They also hold inside an allocation
 * and beside a default host file.
 */
static void add_one(struct strlist *a, const struct launch *l)
{
    strlist_addf(a, "--host");
    strlist_addf(a, "localhost:%d", l->order->n_local);
    strlist_addf(a, "-n");
    strlist_addf(a, "%d", l->order->n_local);
    strlist_addf(a, "--bind-to");
    strlist_addf(a, "none");
    add_words(a, l->mpi->oversubscribe);
    add_runtime(a, l, "plm", l->mpi->no_plm);
    add_runtime(a, l, l->mpi->tmpdir, l->run_dir);
    add_shared(a, l, "backing_directory", l->shm_dir);
    add_mca(a, l, "osc_sm_backing_directory", l->shm_dir);
    add_mca(a, l, "osc_rdma_backing_directory", l->shm_dir);
    if (l->mpi->loopback)
        add_runtime(a, l, l->mpi->network, l->mpi->loopback);
    add_mca(a, l, "btl_tcp_if_include", "lo");
}

/* Append mpirun's arguments for several nodes.  A node's folders are not among them, because all
 * nodes would read them: they are in the node's rank file.
 */
static void add_several(struct strlist *a, const struct launch *l)
{
    strlist_addf(a, "--hostfile");
    strlist_addf(a, "%s", l->hosts_file);
    strlist_addf(a, "-n");
    strlist_addf(a, "%d", l->order->n_ranks);
    strlist_addf(a, "--bind-to");
    strlist_addf(a, "none");
    add_words(a, l->mpi->order);
    add_words(a, l->mpi->no_lookup);
    strlist_addf(a, "-x");
    strlist_addf(a, "MASTER_PORT=%d", l->master_port);
    add_connection(a, l);
    if (!launch_is_six(l))
        add_mca(a, l, "btl_tcp_if_include", l->order->network);
    else if (!launch_user_sets(l->agent_config, "btl_tcp_if_include"))
        add_mca(a, l, "btl_tcp_disable_family", "4"); /* see launch_ranks.c */
    /* 1: send only.  TCP's other protocols (put, get) transfer data in only one direction
     * simultaneously, which halves the speed of an all-reduce.
     */
    add_mca(a, l, "btl_tcp_flags", "1");
    /* With this limit the largest message of a halved layer is sent without asking the receiver
     * first: with sixteen workers on two cores a step ends 5 ms earlier.
     */
    add_mca(a, l, "btl_tcp_eager_limit", "262144");
    add_mca(a, l, "btl_tcp_max_send_size", "262144");
}

int launch_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err)
{
    char btl[32];

    strlist_addf(ret, "mpirun");
    if (is_several(l))
        add_several(ret, l);
    else
        add_one(ret, l);
    add_runtime(ret, l, "ras", "^slurm,gridengine,tm,lsf,loadleveler,alps");
    /* The other components try names in /dev/shm, which every job shares. */
    add_mca(ret, l, "shmem", "mmap");
    add_mca(ret, l, "pml", "ob1");
    snprintf(btl, sizeof btl, "self,%s%s", l->mpi->shared, is_several(l) ? ",tcp" : "");
    add_mca(ret, l, "btl", btl);
    /* With this limit gradients of a small model are sent without asking the receiver first, who
     * may be asleep: with four ranks on two cores that saves 0.1 ms a step.
     */
    add_shared(ret, l, "eager_limit", "65536");
    /* A worker computes in one thread and communicates in another.  If cores are short, a spinning
     * wait costs milliseconds per message.  With several nodes each node decides this for itself.
     */
    if (!is_several(l) && 2 * l->order->n_local > l->cores)
        add_mca(ret, l, "mpi_yield_when_idle", "1");
    add_users(ret, l);
    strlist_add_all(ret, l->agent_config->mpi_args);
    strlist_addf(ret, "%s", is_several(l) ? "eddis-rank" : l->rank_program);
    if (!is_several(l))
        strlist_addf(ret, "%s", l->rank_file);
    return ret->failed ? eddis_fail(err, -ENOMEM, "no memory for mpirun's arguments") : 0;
}

/* ---- mpirun's daemons ---- */

int launch_daemon_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err)
{
    strlist_addf(ret, "%s", l->mpi->daemon);
    add_words(ret, l->mpi->always);
    add_runtime(ret, l, "ess", "env");
    add_connection(ret, l);
    add_runtime(ret, l, "hwloc_base_binding_policy", "none");
    add_runtime(ret, l, "rmaps_base_oversubscribe", "1");
    add_users(ret, l);
    return ret->failed ? eddis_fail(err, -ENOMEM, "no memory for a daemon's arguments") : 0;
}

void launch_add_relay(const struct openmpi *mpi, const struct relay *r, struct strlist *ret)
{
    char number[16], count[16];

    snprintf(number, sizeof number, "%d", r->daemon);
    snprintf(count, sizeof count, "%d", r->daemons);
    add_pair(ret, mpi->flag, mpi->space, r->space);
    add_pair(ret, mpi->flag, mpi->number, number);
    add_pair(ret, mpi->flag, mpi->count, count);
    add_pair(ret, mpi->flag, mpi->uri, r->uri);
    if (mpi->nodes && r->nodes[0])
        add_pair(ret, mpi->flag, mpi->nodes, r->nodes);
}

/* Set in env the variables that a job of several nodes needs: PATH with eddis-rank's folder first,
 * the rank file and, except on the first node, PMIx's host name.
 */
static void add_places(const struct launch *l, struct strlist *env)
{
    const char *path = getenv("PATH");
    struct strbuf all = { 0 };
    char name[LAUNCH_NAME];

    strbuf_addf(&all, "%.*s:%s", (int)(strrchr(l->rank_program, '/') - l->rank_program),
                l->rank_program, path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
    strlist_set(env, "PATH", strbuf_text(&all));
    strlist_set(env, "EDDIS_RANK_FILE", l->rank_file);
    /* Without it PMIx takes this node for the first node if their host names are equal. */
    launch_node_name(l->node, name);
    if (l->node > 0)
        strlist_set(env, "PMIX_HOSTNAME", name);
    env->failed = env->failed || all.failed;
    strbuf_fini(&all);
}

int launch_environ(const struct launch *l, struct strlist *ret, struct eddis_error *err)
{
    user_env_add(ret);
    if (is_several(l))
        add_places(l, ret);
    if (ret->failed)
        return eddis_fail(err, -ENOMEM, "no memory for mpirun's environment");
    return l->guard[0] ? openmpi_preload_guard(ret, l->guard, l->guard_file, err) : 0;
}

/* Return the address that the guard allows mpirun and its daemons to use, a string constant or
 * borrowed from l->order: "": a job of one node; "*": any, because the user sets mpirun's network,
 * which may differ from the ranks' network.
 */
static const char *channel_address(const struct launch *l)
{
    if (!is_several(l))
        return "";
    return launch_user_sets(l->agent_config, l->mpi->network) ? "*"
                                                              : l->order->node[l->node].address;
}

_Static_assert((int)PROTOCOL_MPI_SECRET == (int)GUARD_SECRET_CHARS,
               "an order's secret is a guard's");

int launch_write_guard(const struct launch *l, struct eddis_error *err)
{
    struct guard_file file = { .address = "" };
    int rc;

    (void)snprintf(file.address, sizeof file.address, "%s", channel_address(l));
    (void)snprintf(file.secret, sizeof file.secret, "%s", l->order->mpi_secret);
    (void)snprintf(file.socket, sizeof file.socket, "%s", l->socket);
    rc = file_write_new(l->guard_file, &file, sizeof file, err);
    explicit_bzero(&file, sizeof file);
    return rc;
}

/* Prefixes of environment variables that no program of the job may inherit. */
static const char *const drop[] = {
    "PMIX_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_",
    "OMPI_MCA_orte_",
    "OMPI_MCA_ess",
    "OMPI_MCA_pmix",
    "OMPI_APP_CTX",
    "OMPI_NUM_APP_CTX",
    "OMPI_FIRST_",
    "OMPI_COMMAND",
    "OMPI_ARGV",
    "OMPI_FILE_",
    "PRTE_MCA_ess",
    "PRTE_MCA_prte_",
    "EDDIS_RESUME_FROM",
    "EDDIS_BOARD",
    "EDDIS_RANK_FILE",
    KEEPER_SENDER,
    /* Variables of the Slurm step of the agents; the job's own are passed to the ranks. */
    "SLURM_STEPID",
    "SLURM_STEP_", /* SLURM_STEPMGR belongs to the job */
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_GTIDS",
    "SLURM_TASK",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NNODES",
    "SLURM_NODELIST",
    "SLURM_SRUN_",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_CPU_BIND",
    "SLURM_MEM_BIND",
    "SLURM_DISTRIBUTION",
    "SLURM_LABELIO",
    "SLURM_PRIO_PROCESS",
    "SLURM_UMASK",
    "SLURM_PMI",
    "SLURM_MPI_TYPE",
    "PMI_",
};

/* Variables that allow Open MPI to run as root. */
static const char *const as_root[] = {
    "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    "PRTE_ALLOW_RUN_AS_ROOT",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
};

/* Check whether this user has no home folder, such as a random user in a container: Open MPI 4
 * crashes then.
 */
static bool is_homeless(void)
{
    return !getenv("HOME") && !getpwuid(getuid());
}

int launch_clean_environment(const struct agent_config *b, struct eddis_error *err)
{
    struct strlist names = { 0 };

    for (char **e = environ; *e; e++)
        for (size_t i = 0; i < sizeof drop / sizeof *drop; i++)
            if (strncmp(*e, drop[i], strlen(drop[i])) == 0)
                strlist_addf(&names, "%.*s", (int)strcspn(*e, "="), *e);
    for (size_t i = 0; i < names.n; i++)
        (void)unsetenv(names.item[i]);
    strlist_fini(&names);
    /* Replace a missing home.  Then set the variables by which other jobs on the node, and a later
     * cleanup, recognize the job of a process.
     */
    if (is_homeless() && setenv("HOME", "/", 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot set a variable");
    if (setenv(NODE_IDENTITY_VARIABLE, b->mark, 1) < 0 || setenv("EDDIS_JOB_ID", b->job_id, 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot set a variable");
    for (size_t i = 0; geteuid() == 0 && i < sizeof as_root / sizeof *as_root; i++)
        if (setenv(as_root[i], "1", 1) < 0)
            return eddis_fail_errno(err, -errno, "cannot set a variable");
    return 0;
}
