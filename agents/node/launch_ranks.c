/* SPDX-License-Identifier: Apache-2.0 */
/* launch_ranks.c - writes the rank file, the environment of each rank of this node; see rank_file.h
 */
#include "launch.h"

#include "agents/node/keep/keeper.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/model/algorithm.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AMD_ID = 20 }; /* length of the id of an AMD GPU with a UUID; NVIDIA's are longer */

int launch_count_cpus(const char *cpus)
{
    int n = 0;

    while (*cpus) {
        char *end;
        long first = strtol(cpus, &end, 10), last = first;

        if (end == cpus)
            return 0;
        if (*end == '-') {
            cpus = end + 1;
            last = strtol(cpus, &end, 10);
            if (end == cpus)
                return 0;
        }
        if (last < first || last - first > 65535 || (*end && *end != ','))
            return 0;
        n += (int)(last - first + 1);
        cpus = *end ? end + 1 : end;
    }
    return n;
}

/* Borrow the value that a variable has for the ranks unless eddis sets it; NULL: none. */
static const char *given(const struct launch *l, const char *name)
{
    const char *value = strlist_value(l->agent_config->env, name);

    return value ? value : getenv(name);
}

const char *launch_search_path(const struct launch *l)
{
    const char *path = given(l, "PATH");

    return path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
}

/* Add a variable to e unless the user or the environment already sets it. */
static void add_unless_given(struct strlist *e, const struct launch *l, const char *name,
                             const char *value)
{
    if (!given(l, name))
        strlist_addf(e, "%s=%s", name, value);
}

/* Restrict gloo, UCX and NCCL to this node's interface (the loopback interface for one node), by
 * variables that the user has not set.
 */
static void add_interface(struct strlist *e, const struct launch *l)
{
    const char *name = l->interface[0] ? l->interface : "lo";

    add_unless_given(e, l, "GLOO_SOCKET_IFNAME", name);
    add_unless_given(e, l, "UCX_NET_DEVICES", name);
    if (launch_is_six(l)) /* otherwise NCCL takes the interface's IPv4 address, if it has one */
        add_unless_given(e, l, "NCCL_SOCKET_FAMILY", "AF_INET6");
    /* NCCL takes "eth1" as a prefix; "=" asks for the exact name. */
    if (!given(l, "NCCL_SOCKET_IFNAME"))
        strlist_addf(e, "NCCL_SOCKET_IFNAME=%s%s", l->interface[0] ? "=" : "", name);
}

/* Add a parameter of Open MPI that differs between nodes, unless the user sets it. */
static void add_mca(struct strlist *e, const struct launch *l, const char *name, const char *value)
{
    if (!launch_user_sets(l->agent_config, name))
        strlist_addf(e, "OMPI_MCA_%s=%s", name, value);
}

/* Add what mpirun knows only of its own node: folders, rules of algorithms and whether ranks yield
 * when they wait.  Do nothing for a single node.
 */
static void add_node(struct strlist *e, const struct launch *l)
{
    char name[64];

    if (l->order->n_nodes < 2)
        return;
    strlist_addf(e, "EDDIS_RANK_FILE");
    snprintf(name, sizeof name, "btl_%s_backing_directory", l->mpi->shared);
    add_mca(e, l, name, l->shm_dir);
    add_mca(e, l, "osc_sm_backing_directory", l->shm_dir);
    add_mca(e, l, "osc_rdma_backing_directory", l->shm_dir);
    add_mca(e, l, "orte_tmpdir_base", l->run_dir);
    if (launch_is_six(l))
        add_mca(e, l, "btl_tcp_if_include", l->interface);
    add_mca(e, l, "coll_tuned_use_dynamic_rules", "1");
    add_mca(e, l, "coll_tuned_dynamic_rules_filename", l->rules_file);
    /* See launch_argv: cores are short. */
    if (2 * l->order->n_local > l->cores)
        add_mca(e, l, "mpi_yield_when_idle", "1");
}

/* Add MASTER_ADDR and MASTER_PORT.  With several nodes only the first node knows the port, and
 * mpirun passes it to all nodes.
 */
static void add_master(struct strlist *e, const struct launch *l)
{
    if (l->order->n_nodes > 1)
        strlist_addf(e, "MASTER_ADDR=%s", l->order->node[0].address);
    else
        strlist_addf(e, "MASTER_ADDR=127.0.0.1");
    if (l->order->n_nodes < 2 || l->node == 0)
        strlist_addf(e, "MASTER_PORT=%d", l->master_port);
}

/* Return the folder to resume from; NULL: none.  A later generation uses the job's newest complete
 * checkpoint, which rank 0 searches.  If the job has written none, it uses the checkpoint that the
 * job began with.
 */
const char *launch_resume_from(const struct agent_config *b, const struct order *o)
{
    if (!o->resume)
        return NULL;
    return o->generation > 1 && !o->resume_begun ? b->checkpoint_dir : b->resume_from;
}

/* Add EDDIS_LIBRARY, the path of this release's libeddis, for programs that load it by name: PATH
 * and the system may have another release.  Add nothing if the file is not found or the user sets
 * the variable.
 */
static void add_library(struct strlist *e, const struct launch *l)
{
    static const char *const folders[] = { EDDIS_LIBDIR, "lib" }; /* installed; in a build folder */
    const char *end = strrchr(l->bin, '/');
    char path[PATH_MAX];

    for (size_t i = 0; end && i < sizeof folders / sizeof *folders; i++) {
        int n = snprintf(path, sizeof path, "%.*s/%s/libeddis.so.0", (int)(end - l->bin), l->bin,
                         folders[i]);

        if (n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0) {
            add_unless_given(e, l, "EDDIS_LIBRARY", path);
            return;
        }
    }
}

/* Add the group of each rank in local mode, whose programs may make process groups of them before
 * they join the job; in other modes the variable is unset.
 */
static void add_groups(struct strlist *e, const struct order *o)
{
    struct strbuf groups = { 0 };

    if (!algorithm_has(o->algorithm, ALGORITHM_ROUNDS)) {
        strlist_addf(e, "EDDIS_GROUPS");
        return;
    }
    for (int r = 0; r < o->n_ranks; r++)
        strbuf_addf(&groups, r ? ",%d" : "%d", o->group[r]);
    strlist_addf(e, "EDDIS_GROUPS=%s", strbuf_text(&groups));
    e->failed = e->failed || groups.failed;
    strbuf_fini(&groups);
}

/* Add the variables that all ranks of this node get, as scripts for torchrun and for eddis read
 * them; see eddis-run(1).  A name without "=" means that the variable is unset.
 */
static void add_common(struct strlist *e, const struct launch *l)
{
    const struct order *o = l->order;
    const char *resume_from = launch_resume_from(l->agent_config, o);

    strlist_addf(e, "WORLD_SIZE=%d", o->n_ranks);
    strlist_addf(e, "LOCAL_WORLD_SIZE=%d", o->n_local);
    strlist_addf(e, "NODE_RANK=%d", l->node);
    strlist_addf(e, "GROUP_RANK=%d", l->node);
    strlist_addf(e, "GROUP_WORLD_SIZE=%d", o->n_nodes);
    strlist_addf(e, "ROLE_NAME=default");
    strlist_addf(e, "ROLE_WORLD_SIZE=%d", o->n_ranks);
    add_master(e, l);
    strlist_addf(e, "TORCHELASTIC_RUN_ID=%s", l->agent_config->job_id);
    strlist_addf(e, "TORCHELASTIC_RESTART_COUNT=%lld",
                 (long long)(o->generation > 1 ? o->generation - 1 : 0));
    strlist_addf(e, "TORCHELASTIC_MAX_RESTARTS=%lld", (long long)l->agent_config->restarts);
    /* Rank 0 serves the store, not an agent, whatever an outer torchrun has set. */
    strlist_addf(e, "TORCHELASTIC_USE_AGENT_STORE=False");
    add_unless_given(e, l, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    strlist_addf(e, "EDDIS_JOB_ID=%s", l->agent_config->job_id);
    strlist_addf(e, "EDDIS_GENERATION=%lld", (long long)o->generation);
    strlist_addf(e, "EDDIS_GLOBAL_BATCH=%lld", (long long)o->plan->global_batch);
    strlist_addf(e, "EDDIS_SYNC_MODE=%s", o->mode);
    add_groups(e, o);
    strlist_addf(e, "EDDIS_STALENESS=0"); /* true of all modes implemented today */
    strlist_addf(e, "EDDIS_BOARD=%s", l->board);
    if (l->sender >= 0)
        strlist_addf(e, KEEPER_SENDER "=%d", l->sender);
    else
        strlist_addf(e, KEEPER_SENDER);
    if (resume_from)
        strlist_addf(e, "EDDIS_RESUME_FROM=%s", resume_from);
    else
        strlist_addf(e, "EDDIS_RESUME_FROM");
    add_library(e, l);
    add_unless_given(e, l, "PYTHONUNBUFFERED", "1"); /* a killed process loses its buffer */
    add_interface(e, l);
    add_node(e, l);
    if (l->bin[0])
        strlist_addf(e, "PATH=%s:%s", launch_search_path(l), l->bin);
    else if (l->order->n_nodes > 1)
        strlist_addf(e, "PATH=%s", launch_search_path(l));
}

/* Return the number of threads that a rank may run: if it is bound to cores, their number divided
 * by the ranks that are bound to the same list of cores; otherwise an equal part of the node's
 * cores.  May be 0.
 */
static int threads_of(const struct launch *l, const struct order_rank *r)
{
    int threads, sharing = 0;

    if (!r->cpus[0] || !l->agent_config->bind)
        return l->cores / l->order->n_local;
    threads = launch_count_cpus(r->cpus);
    for (int i = 0; i < l->order->n_local; i++)
        sharing += strcmp(l->order->rank[i].cpus, r->cpus) == 0;
    return sharing > 1 ? threads / sharing : threads;
}

/* Check whether a rank's device is a whole GPU, or several. Ids are as gpu.h describes them. */
static bool is_gpu(const struct order_rank *r)
{
    return strncmp(r->device_id, "GPU-", 4) == 0 || strncmp(r->device_id, "HIP-", 4) == 0;
}

/* Return how many ids a list with commas has. */
static int count_ids(const char *list)
{
    int n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Check whether each rank of the node has a whole GPU of its own. */
static bool have_gpus(const struct order *o)
{
    for (int i = 0; i < o->n_local; i++) {
        if (!is_gpu(&o->rank[i]))
            return false;
        for (int k = 0; k < i; k++)
            if (strcmp(o->rank[i].device_id, o->rank[k].device_id) == 0)
                return false;
    }
    return true;
}

const char *const launch_gpu_lists[] = { "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                         "ROCR_VISIBLE_DEVICES" };

/* Add the variable that shows GPUs; list: their ids, with commas.  Of AMD's GPUs
 * ROCR_VISIBLE_DEVICES takes UUIDs, in each version of ROCm, and HIP_VISIBLE_DEVICES then counts
 * what that shows; a value inherited from the job would choose among them.
 */
static void show(struct strlist *e, const char *list)
{
    struct strbuf numbers = { 0 };
    bool are_amd = strncmp(list, "GPU-", 4) == 0 && strcspn(list, ",") == AMD_ID;

    if (strncmp(list, "HIP-", 4) != 0 && !are_amd) {
        strlist_addf(e, "CUDA_VISIBLE_DEVICES=%s", list);
        return;
    }
    if (are_amd)
        strlist_addf(e, "ROCR_VISIBLE_DEVICES=%s", list);
    for (int i = 0; *list; i++) {
        int n = (int)strcspn(list, ",");

        strbuf_addf(&numbers, "%s", i ? "," : "");
        if (are_amd)
            strbuf_addf(&numbers, "%d", i);
        else
            strbuf_addf(&numbers, "%.*s", n - 4, list + 4);
        list += n + (list[n] == ',');
    }
    strlist_addf(e, "HIP_VISIBLE_DEVICES=%s", strbuf_text(&numbers));
    e->failed = e->failed || numbers.failed;
    strbuf_fini(&numbers);
}

/* Show rank r its GPUs.  If each rank of the node has whole GPUs of its own, all these GPUs are
 * visible, and scripts choose the LOCAL_RANK-th, as with torchrun, or with N GPUs of each rank
 * those from LOCAL_RANK * N on.  Otherwise the rank sees only its own GPU, because CUDA accepts
 * only one part of a GPU (MIG).  For other devices add nothing.
 */
static void add_devices(struct strlist *e, const struct launch *l, const struct order_rank *r)
{
    struct strbuf all = { 0 };

    if (!have_gpus(l->order)) {
        if (is_gpu(r) || strncmp(r->device_id, "MIG-", 4) == 0)
            show(e, r->device_id);
        return;
    }
    for (int k = 0; k < l->order->n_local; k++)
        for (int i = 0; i < l->order->n_local; i++)
            if (l->order->rank[i].local_rank == k)
                strbuf_addf(&all, "%s%s", k ? "," : "", l->order->rank[i].device_id);
    show(e, strbuf_text(&all));
    e->failed = e->failed || all.failed;
    strbuf_fini(&all);
}

/* Add the variables whose values differ between the ranks, for rank r. */
static void add_own(struct strlist *e, const struct launch *l, const struct order_rank *r)
{
    int threads = threads_of(l, r);
    int64_t total = l->order->plan->global_batch;
    char text[16];

    strlist_addf(e, "RANK=%d", r->rank);
    strlist_addf(e, "ROLE_RANK=%d", r->rank);
    strlist_addf(e, "LOCAL_RANK=%d", r->local_rank);
    strlist_addf(e, "EDDIS_BATCH_SIZE=%lld", (long long)r->batch);
    /* Not r->weight, which was rounded in the order. */
    strlist_addf(e, "EDDIS_GRAD_WEIGHT=%.17g",
                 total > 0 ? (double)r->batch / (double)total : r->weight);
    snprintf(text, sizeof text, "%d", threads > 0 ? threads : 1);
    add_unless_given(e, l, "OMP_NUM_THREADS", text);
    add_devices(e, l, r);
    if (is_gpu(r))
        strlist_addf(e, "EDDIS_GPUS_PER_WORKER=%d", count_ids(r->device_id));
}

/* Check whether add_devices has set the variable of NAME=VALUE for one of the node's ranks. */
static bool is_list_of_gpus(const char *variable, const struct strlist *own, int n)
{
    char name[32];

    for (size_t i = 0; i < N_GPU_LISTS; i++) {
        (void)snprintf(name, sizeof name, "%s=", launch_gpu_lists[i]);
        if (strncmp(variable, name, strlen(name)) != 0)
            continue;
        for (int r = 0; r < n; r++)
            if (strlist_value(own[r].item, launch_gpu_lists[i]))
                return true;
    }
    return false;
}

/* Add the user's variables.  Omit PATH if add_common has added it with eddis's folder appended, and
 * the lists of GPUs from which the ranks' own ones (own [n]) were chosen.
 */
static void add_users(struct strlist *e, const struct launch *l, const struct strlist *own, int n)
{
    for (char **v = l->agent_config->env; *v; v++)
        if ((strncmp(*v, "PATH=", 5) != 0 || !l->bin[0]) && !is_list_of_gpus(*v, own, n))
            strlist_addf(e, "%s", *v);
}

/* Fill the rows f->rank [f->n] of the rank file, one for each rank of this node. own [f->n]
 * receives the ranks' own variables, which the rows borrow.  Return 0 or -ENOMEM.
 */
static int fill_specs(const struct launch *l, struct rank_file *f, struct strlist *own,
                      struct eddis_error *err)
{
    bool failed = false;

    for (int i = 0; i < f->n; i++) {
        const struct order_rank *r = &l->order->rank[i];

        add_own(&own[i], l, r);
        failed = failed || own[i].failed;
        f->rank[i].rank = r->rank;
        f->rank[i].env = own[i].item;
        memcpy(f->rank[i].cpus, l->agent_config->bind ? r->cpus : "",
               l->agent_config->bind ? sizeof r->cpus : 1);
    }
    return failed ? eddis_fail(err, -ENOMEM, "no memory for the ranks' variables") : 0;
}

/* Return the limit, in bytes per second, of a rank's output that is copied to the screen.  With it
 * all ranks together load neither driver nor network, and still print more than anyone can read.
 */
static int64_t show_rate(int n_ranks)
{
    enum { OF_JOB = 2 << 20, MOST = 64 << 10, LEAST = 2 << 10 };
    int rate = OF_JOB / n_ranks;

    return rate > MOST ? MOST : rate < LEAST ? LEAST : rate;
}

/* Return the folder of the ranks' logs, which the caller frees; NULL: no memory.  If the driver's
 * folder is not shared, each generation has its own folder: see log_place.h.
 */
static char *log_dir_of(const struct launch *l)
{
    if (!l->agent_config->log_marker[0] || l->order->probe)
        return strdup(l->agent_config->log_dir);
    return file_join(l->agent_config->log_dir, "g%lld", (long long)l->order->generation);
}

int launch_write_rank_file(const struct launch *l, struct eddis_error *err)
{
    struct strlist common = { 0 }, users = { 0 };
    size_t n = (size_t)l->order->n_local;
    cleanup_free struct rank_spec *spec = calloc(n, sizeof *spec);
    cleanup_free struct strlist *own = calloc(n, sizeof *own);
    cleanup_free char *log_dir = log_dir_of(l);
    struct rank_file f = { .generation = l->order->generation,
                           .agent_pid = l->agent_pid,
                           .sender = l->sender,
                           .setup = l->agent_config->setup,
                           .command = l->agent_config->command,
                           .workdir = l->agent_config->workdir,
                           .log_dir = log_dir,
                           .socket = (char *)(uintptr_t)l->socket,
                           .run_dir = (char *)(uintptr_t)l->folders->run,
                           .shm_dir = (char *)(uintptr_t)l->folders->shm,
                           .step_pattern = l->order->probe ? NULL : l->agent_config->step_pattern,
                           .step_samples = l->agent_config->step_samples,
                           .log_max_bytes = l->agent_config->log_max_bytes,
                           .show_bytes_per_s = show_rate(l->order->n_ranks),
                           .rank = spec,
                           .n = (int)n };
    int rc;

    if (!spec || !own || !log_dir)
        return eddis_fail(err, -ENOMEM, "no memory for the ranks");
    rc = file_mkdirs(log_dir, 0700, err);
    if (rc < 0)
        return rc;
    add_common(&common, l);
    rc = fill_specs(l, &f, own, err);
    add_users(&users, l, own, f.n);
    /* Added last: the user cannot override these. */
    strlist_addf(&users, "EDDIS_JOB_ID=%s", l->agent_config->job_id);
    strlist_addf(&users, NODE_IDENTITY_VARIABLE "=%s", l->agent_config->mark);
    f.env = common.item;
    f.user_env = users.item;
    if (common.failed || users.failed)
        rc = eddis_fail(err, -ENOMEM, "no memory for the ranks' variables");
    if (rc == 0)
        rc = rank_file_write(l->rank_file, &f, err);
    strlist_fini(&common);
    strlist_fini(&users);
    for (size_t i = 0; i < n; i++)
        strlist_fini(&own[i]);
    return rc;
}
