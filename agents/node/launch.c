/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- mpirun ---- */

/* A parameter given twice is an error to some versions of mpirun, so what the user sets is left
 * out here.
 */
static void add_mca(struct strlist *a, const struct launch *l, const char *name, const char *value)
{
    for (char **m = l->brief->mpi_mca; *m; m += 2)
        if (strcmp(*m, name) == 0)
            return;
    strlist_addf(a, "--mca");
    strlist_addf(a, "%s", name);
    strlist_addf(a, "%s", value);
}

int launch_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err)
{
    int n = l->order->n_local;

    strlist_addf(ret, "mpirun");
    /* This machine alone, also inside somebody's allocation or beside a default host file. */
    strlist_addf(ret, "--host");
    strlist_addf(ret, "localhost:%d", n);
    strlist_addf(ret, "-n");
    strlist_addf(ret, "%d", n);
    strlist_addf(ret, "--bind-to");
    strlist_addf(ret, "none");
    strlist_addf(ret, "--oversubscribe");
    add_mca(ret, l, "plm", "isolated");
    add_mca(ret, l, "ras", "^slurm,gridengine,tm,lsf,loadleveler,alps");
    add_mca(ret, l, "orte_tmpdir_base", l->run_dir);
    /* The others try out names in /dev/shm that every job shares. */
    add_mca(ret, l, "shmem", "mmap");
    add_mca(ret, l, "btl_vader_backing_directory", l->shm_dir);
    add_mca(ret, l, "osc_sm_backing_directory", l->shm_dir);
    add_mca(ret, l, "osc_rdma_backing_directory", l->shm_dir);
    add_mca(ret, l, "oob_tcp_if_include", "lo");
    add_mca(ret, l, "btl_tcp_if_include", "lo");
    add_mca(ret, l, "pml", "ob1");
    add_mca(ret, l, "btl", "self,vader");
    /* Gradients of a small model then go without asking the receiver first, who may be asleep:
     * with four ranks on two cores that is a tenth of a millisecond a step.
     */
    add_mca(ret, l, "btl_vader_eager_limit", "65536");
    /* A worker computes in one thread and communicates in another; a spinning wait for want of a
     * core costs milliseconds a message.
     */
    if (2 * n > l->cores)
        add_mca(ret, l, "mpi_yield_when_idle", "1");
    for (char **m = l->brief->mpi_mca; *m; m += 2) {
        strlist_addf(ret, "--mca");
        strlist_addf(ret, "%s", m[0]);
        strlist_addf(ret, "%s", m[1]);
    }
    strlist_add_all(ret, l->brief->mpi_args);
    strlist_addf(ret, "%s", l->rank_program);
    strlist_addf(ret, "%s", l->rank_file);
    return ret->failed ? eddis_fail(err, -ENOMEM, "no memory for mpirun's arguments") : 0;
}

int launch_clean_environment(struct eddis_error *err)
{
    static const char *const drop[] = {
        "PMIX_",         "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_",    "OMPI_MCA_orte_", "OMPI_MCA_ess",
        "OMPI_MCA_pmix", "OMPI_APP_CTX",     "OMPI_NUM_APP_CTX",  "OMPI_FIRST_",    "OMPI_COMMAND",
        "OMPI_ARGV",     "OMPI_FILE_",       "EDDIS_RESUME_FROM", "EDDIS_BOARD",
    };
    struct strlist names = { 0 };

    for (char **e = environ; *e; e++)
        for (size_t i = 0; i < sizeof drop / sizeof *drop; i++)
            if (strncmp(*e, drop[i], strlen(drop[i])) == 0)
                strlist_addf(&names, "%.*s", (int)strcspn(*e, "="), *e);
    for (size_t i = 0; i < names.n; i++)
        (void)unsetenv(names.item[i]);
    strlist_fini(&names);
    if (geteuid() == 0 && (setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1) < 0 ||
                           setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1) < 0))
        return eddis_fail_errno(err, -errno, "cannot set a variable");
    return 0;
}

/* ---- the ranks ---- */

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

/* The value a variable will have unless we set it. */
static const char *given(const struct launch *l, const char *name)
{
    const char *value = strlist_value(l->brief->env, name);

    return value ? value : getenv(name);
}

static const char *search_path(const struct launch *l)
{
    const char *path = given(l, "PATH");

    return path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
}

static void add_unless_given(struct strlist *e, const struct launch *l, const char *name,
                             const char *value)
{
    if (!given(l, name))
        strlist_addf(e, "%s=%s", name, value);
}

/* What scripts written for torchrun and for us read; see the manual of eddis-run. */
static void add_common(struct strlist *e, const struct launch *l)
{
    const struct order *o = l->order;

    strlist_addf(e, "WORLD_SIZE=%d", o->n_ranks);
    strlist_addf(e, "LOCAL_WORLD_SIZE=%d", o->n_local);
    strlist_addf(e, "NODE_RANK=%d", l->brief->agent);
    strlist_addf(e, "GROUP_RANK=%d", l->brief->agent);
    strlist_addf(e, "ROLE_WORLD_SIZE=%d", o->n_ranks);
    strlist_addf(e, "MASTER_ADDR=127.0.0.1");
    strlist_addf(e, "MASTER_PORT=%d", l->master_port);
    strlist_addf(e, "TORCHELASTIC_RUN_ID=%s", l->brief->job_id);
    strlist_addf(e, "TORCHELASTIC_RESTART_COUNT=%lld", (long long)o->generation - 1);
    strlist_addf(e, "EDDIS_JOB_ID=%s", l->brief->job_id);
    strlist_addf(e, "EDDIS_GENERATION=%lld", (long long)o->generation);
    strlist_addf(e, "EDDIS_GLOBAL_BATCH=%lld", (long long)o->plan->global_batch);
    strlist_addf(e, "EDDIS_SYNC_MODE=%s", o->mode);
    strlist_addf(e, "EDDIS_BOARD=%s", l->board);
    if (o->resume && l->brief->resume_from)
        strlist_addf(e, "EDDIS_RESUME_FROM=%s", l->brief->resume_from);
    else
        strlist_addf(e, "EDDIS_RESUME_FROM");
    add_unless_given(e, l, "GLOO_SOCKET_IFNAME", "lo");
    add_unless_given(e, l, "NCCL_SOCKET_IFNAME", "lo");
    add_unless_given(e, l, "UCX_NET_DEVICES", "lo");
    if (l->bin[0])
        strlist_addf(e, "PATH=%s:%s", search_path(l), l->bin);
}

/* How many threads a rank may run at once: its part of its cores, which others may have as well
 * when there are more ranks than cores.
 */
static int threads_of(const struct launch *l, const struct order_rank *r)
{
    int threads, sharing = 0;

    if (!r->cpus[0] || !l->brief->bind)
        return l->cores / l->order->n_local;
    threads = launch_count_cpus(r->cpus);
    for (int i = 0; i < l->order->n_local; i++)
        sharing += strcmp(l->order->rank[i].cpus, r->cpus) == 0;
    return sharing > 1 ? threads / sharing : threads;
}

static void add_own(struct strlist *e, const struct launch *l, const struct order_rank *r)
{
    int threads = threads_of(l, r);
    int64_t total = l->order->plan->global_batch;
    char text[16];

    strlist_addf(e, "RANK=%d", r->rank);
    strlist_addf(e, "ROLE_RANK=%d", r->rank);
    strlist_addf(e, "LOCAL_RANK=%d", r->local_rank);
    strlist_addf(e, "EDDIS_BATCH_SIZE=%lld", (long long)r->batch);
    /* Not r->weight, which lost its last digits on the way here. */
    strlist_addf(e, "EDDIS_GRAD_WEIGHT=%.17g",
                 total > 0 ? (double)r->batch / (double)total : r->weight);
    snprintf(text, sizeof text, "%d", threads > 0 ? threads : 1);
    add_unless_given(e, l, "OMP_NUM_THREADS", text);
    if (strncmp(r->device_id, "GPU-", 4) == 0 || strncmp(r->device_id, "MIG-", 4) == 0)
        strlist_addf(e, "CUDA_VISIBLE_DEVICES=%s", r->device_id);
}

/* The user's variables but PATH, to which ours is appended already. */
static void add_users(struct strlist *e, const struct launch *l)
{
    for (char **v = l->brief->env; *v; v++)
        if (strncmp(*v, "PATH=", 5) != 0 || !l->bin[0])
            strlist_addf(e, "%s", *v);
}

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
        memcpy(f->rank[i].cpus, l->brief->bind ? r->cpus : "", l->brief->bind ? sizeof r->cpus : 1);
    }
    return failed ? eddis_fail(err, -ENOMEM, "no memory for the ranks' variables") : 0;
}

int launch_write_rank_file(const struct launch *l, struct eddis_error *err)
{
    struct strlist common = { 0 }, users = { 0 };
    size_t n = (size_t)l->order->n_local;
    cleanup_free struct rank_spec *spec = calloc(n, sizeof *spec);
    cleanup_free struct strlist *own = calloc(n, sizeof *own);
    struct rank_file f = { .generation = l->order->generation,
                           .agent_pid = l->agent_pid,
                           .command = l->brief->command,
                           .workdir = l->brief->workdir,
                           .log_dir = l->brief->log_dir,
                           .socket = (char *)(uintptr_t)l->socket,
                           .run_dir = (char *)(uintptr_t)l->folders->run,
                           .shm_dir = (char *)(uintptr_t)l->folders->shm,
                           .log_max_bytes = l->brief->log_max_bytes,
                           .rank = spec,
                           .n = (int)n };
    int rc;

    if (!spec || !own)
        return eddis_fail(err, -ENOMEM, "no memory for the ranks");
    add_common(&common, l);
    add_users(&users, l);
    strlist_addf(&users, "EDDIS_JOB_ID=%s", l->brief->job_id); /* never empty, never the user's */
    f.env = common.item;
    f.user_env = users.item;
    rc = fill_specs(l, &f, own, err);
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

/* ---- before anything is started ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int check_with_slash(const char *dir, const char *name, struct eddis_error *err)
{
    cleanup_free char *path = NULL;

    while (name[0] == '.' && name[1] == '/' && name[2]) /* for the sentence */
        name += 2;
    if (asprintf(&path, "%s%s%s", name[0] == '/' ? "" : dir, name[0] == '/' ? "" : "/", name) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (access(path, F_OK) < 0)
        return eddis_fail(err, -errno, "no program '%s'; build it first, or correct the command",
                          path);
    if (!is_program(path))
        return eddis_fail(err, -EACCES, "'%s' is no program that may be executed", path);
    return 0;
}

int launch_check(const struct launch *l, struct eddis_error *err)
{
    const char *name = l->brief->command[0], *path = search_path(l);
    char at[PATH_MAX];
    struct stat st;

    if (stat(l->brief->workdir, &st) < 0)
        return eddis_fail_errno(err, -errno, "no folder '%s' to work in", l->brief->workdir);
    if (!S_ISDIR(st.st_mode))
        return eddis_fail(err, -ENOTDIR, "'%s' is no folder to work in", l->brief->workdir);
    if (strchr(name, '/'))
        return check_with_slash(l->brief->workdir, name, err);
    while (*path) {
        size_t n = strcspn(path, ":");

        if (n && snprintf(at, sizeof at, "%.*s/%s", (int)n, path, name) < (int)sizeof at &&
            is_program(at))
            return 0;
        path += n + (path[n] == ':');
    }
    snprintf(at, sizeof at, "%s/%s", l->bin, name);
    if (l->bin[0] && is_program(at))
        return 0;
    return eddis_fail(err, -ENOENT,
                      "no program '%s' in PATH; install it, or write its path as in ./%s", name,
                      name);
}
