/* SPDX-License-Identifier: Apache-2.0 */
/* test_launch.c - tests of agents/node/launch.h */
#include "agents/node/launch.h"

#include "agents/guard/guard.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define S(literal) ((char[]){ literal })

static char *no_words[] = { NULL };

static struct case_ {
    struct agent_config agent_config;
    struct order_rank rank[2];
    struct order_node node[3];
    struct board_plan plan;
    int64_t batch[2];
    struct order order;
    struct launch launch;
    struct folders folders;
    char *command[2], file[80];
} c;

static void make(void)
{
    static char shell[] = "sh";

    c = (struct case_){ .command = { shell } };
    snprintf(c.file, sizeof c.file, "%s/ranks.json", scratch);
    strcpy(c.agent_config.job_id, "job-1");
    c.agent_config.command = c.command;
    c.agent_config.env = c.agent_config.mpi_args = c.agent_config.mpi_mca = c.agent_config.setup =
        no_words;
    c.agent_config.lease_ns = 10 * CLOCK_S;
    c.agent_config.workdir = c.agent_config.log_dir = scratch;
    c.agent_config.log_max_bytes = 1000;
    c.agent_config.bind = true;
    c.rank[0] = (struct order_rank){ 0, 0, "numa:0", "0-3,8", 6, 0.75, 0, 0 };
    c.rank[1] = (struct order_rank){ 1, 1, "GPU-12ab", "", 2, 0.25, 0, 0 };
    c.node[0] = (struct order_node){ 0, "login", "10.1.0.7", 2 };
    c.node[1] = (struct order_node){ 5, "c05", "10.1.0.8", 1 };
    c.node[2] = (struct order_node){ 9, "c09", "10.1.0.9", 3 };
    c.batch[0] = 6;
    c.batch[1] = 2;
    c.plan = (struct board_plan){ .version = 1, .global_batch = 8, .batch = c.batch };
    c.order = (struct order){ .number = 1,
                              .type = ORDER_PREPARE,
                              .generation = 3,
                              .node = c.node,
                              .n_nodes = 1,
                              .n_ranks = 2,
                              .rank = c.rank,
                              .n_local = 2,
                              .mode = "sync",
                              .plan = &c.plan };
    c.launch = (struct launch){ .agent_config = &c.agent_config,
                                .order = &c.order,
                                .mpi = openmpi_row(4),
                                .run_dir = "/run/x",
                                .shm_dir = "/shm/x",
                                .rank_program = "/lib/eddis-rank",
                                .rank_file = c.file,
                                .socket = "/run/x/agent",
                                .board = "/shm/x/board",
                                .guard = "",
                                .bin = "/opt/eddis/bin",
                                .master_port = 4242,
                                .cores = 8,
                                .agent_pid = 99,
                                .sender = -1 };
    c.launch.folders = &c.folders;
}

/* What a name must have; NULL: nothing. */
struct pair {
    const char *name, *value;
};

static void check_value(const struct pair *want, const char *value)
{
    ck_assert_msg(want->value ? value && strcmp(value, want->value) == 0 : !value,
                  "%s is '%s' instead of '%s'", want->name, value ? value : "",
                  want->value ? want->value : "");
}

/* Check what stands behind "--mca NAME", which is there once at most; want ends with {}. */
static void check_mca(const struct strlist *a, const struct pair *want)
{
    for (; want->name; want++) {
        const char *value = NULL;

        for (size_t i = 0; i + 2 < a->n; i++)
            if (strcmp(a->item[i], "--mca") == 0 && strcmp(a->item[i + 1], want->name) == 0) {
                ck_assert_msg(!value, "%s is there twice", want->name);
                value = a->item[i + 2];
            }
        check_value(want, value);
    }
}

/* Check variables of an environment likewise. */
static void check_env(char *const *env, const struct pair *want)
{
    for (; want->name; want++)
        check_value(want, strlist_value(env, want->name));
}

#define CHECK_MCA(a, ...) check_mca(a, (const struct pair[]){ __VA_ARGS__, { 0 } })
#define CHECK_ENV(e, ...) check_env(e, (const struct pair[]){ __VA_ARGS__, { 0 } })

START_TEST(arguments)
{
    char *user[] = { S("btl"), S("self,tcp"), S("mine"), S("1 2"), NULL };
    char *words[] = { S("--report-bindings"), NULL };
    struct strlist a = { 0 };

    c.agent_config.mpi_mca = user;
    c.agent_config.mpi_args = words;
    ck_assert_int_eq(launch_argv(&c.launch, &a, NULL), 0);
    ck_assert_str_eq(a.item[0], "mpirun");
    ck_assert_str_eq(a.item[a.n - 1], c.file);
    ck_assert_str_eq(a.item[a.n - 2], "/lib/eddis-rank");
    ck_assert_str_eq(a.item[a.n - 3], "--report-bindings");
    CHECK_MCA(&a, { "orte_tmpdir_base", "/run/x" }, { "btl_vader_backing_directory", "/shm/x" },
              { "btl", "self,tcp" }, { "mine", "1 2" }, { "mpi_yield_when_idle", NULL });
    strlist_fini(&a);
    c.launch.cores = 3;
    ck_assert_int_eq(launch_argv(&c.launch, &a, NULL), 0);
    CHECK_MCA(&a, { "mpi_yield_when_idle", "1" });
    strlist_fini(&a);
}
END_TEST

START_TEST(variables)
{
    char *user[] = { S("RANK=5"), S("PATH=/usr/bin"), S("EMPTY="), NULL };
    struct rank_file *f;
    struct stat st;

    (void)unsetenv("OMP_NUM_THREADS");
    (void)unsetenv("PYTHONUNBUFFERED");
    (void)unsetenv("TORCH_NCCL_ASYNC_ERROR_HANDLING");
    c.agent_config.env = user;
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), -EEXIST);
    ck_assert_int_eq(stat(c.file, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(rank_file_read(c.file, 2, &f, NULL), -ENOENT);
    ck_assert_int_eq(rank_file_read(c.file, 1, &f, NULL), 0);
    ck_assert_int_eq(f->generation, 3);
    ck_assert_int_eq(f->agent_pid, 99);
    ck_assert_int_eq(f->sender, -1);
    ck_assert_str_eq(f->rank->cpus, "");
    CHECK_ENV(f->rank->env, { "RANK", "1" }, { "EDDIS_BATCH_SIZE", "2" },
              { "EDDIS_GRAD_WEIGHT", "0.25" }, { "CUDA_VISIBLE_DEVICES", "GPU-12ab" },
              { "OMP_NUM_THREADS", "4" });
    CHECK_ENV(f->env, { "MASTER_PORT", "4242" }, { "TORCHELASTIC_RESTART_COUNT", "2" },
              { "GROUP_WORLD_SIZE", "1" }, { "ROLE_NAME", "default" },
              { "TORCHELASTIC_USE_AGENT_STORE", "False" },
              { "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1" }, { "PYTHONUNBUFFERED", "1" },
              { "PATH", "/usr/bin:/opt/eddis/bin" });
    CHECK_ENV(f->user_env, { "RANK", "5" }, { "EMPTY", "" }, { "PATH", NULL });
    rank_file_free(f);
    ck_assert_int_eq(rank_file_read(c.file, 0, &f, NULL), 0);
    ck_assert_str_eq(f->rank->cpus, "0-3,8");
    CHECK_ENV(f->rank->env, { "OMP_NUM_THREADS", "5" }, { "CUDA_VISIBLE_DEVICES", NULL });
    rank_file_free(f);
}
END_TEST

/* What somebody has set stays, in the job or around the agent. */
START_TEST(set_by_others)
{
    char *user[] = { S("PYTHONUNBUFFERED="), NULL };
    struct rank_file *f;

    c.agent_config.env = user;
    ck_assert_int_eq(setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3", 1), 0);
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    (void)unsetenv("TORCH_NCCL_ASYNC_ERROR_HANDLING");
    ck_assert_int_eq(rank_file_read(c.file, 0, &f, NULL), 0);
    CHECK_ENV(f->env, { "PYTHONUNBUFFERED", NULL }, { "TORCH_NCCL_ASYNC_ERROR_HANDLING", NULL });
    CHECK_ENV(f->user_env, { "PYTHONUNBUFFERED", "" });
    rank_file_free(f);
}
END_TEST

/* UUIDs of AMD's GPUs */
#define AMD_A "GPU-aaaaaaaaaaaaaaaa"
#define AMD_B "GPU-bbbbbbbbbbbbbbbb"

/* Each rank of a node sees all GPUs of it, in the order of local ranks; where two have the same, or
 * one has none or a part of one, it sees its own.
 */
START_TEST(devices)
{
    static const struct {
        const char *device[2], *visible[2], *rocr[2], *hip[2];
    } row[] = {
        { { "GPU-b", "GPU-a" }, { "GPU-b,GPU-a", "GPU-b,GPU-a" } },
        { { "GPU-a", "GPU-a" }, { "GPU-a", "GPU-a" } },
        { { "GPU-a", "numa:0" }, { "GPU-a", NULL } },
        { { "MIG-b", "MIG-a" }, { "MIG-b", "MIG-a" } },
        { { "MIG-b", "GPU-a" }, { "MIG-b", "GPU-a" } },
        { { AMD_B, AMD_A },
          { NULL, NULL },
          { AMD_B "," AMD_A, AMD_B "," AMD_A },
          { "0,1", "0,1" } },
        { { AMD_A, AMD_A }, { NULL, NULL }, { AMD_A, AMD_A }, { "0", "0" } },
        { { "HIP-3", "HIP-1" }, { NULL, NULL }, { NULL, NULL }, { "3,1", "3,1" } },
        { { "numa:0", "HIP-12" }, { NULL, NULL }, { NULL, NULL }, { NULL, "12" } },
        { { "GPU-c,GPU-d", "GPU-a,GPU-b" },
          { "GPU-c,GPU-d,GPU-a,GPU-b", "GPU-c,GPU-d,GPU-a,GPU-b" } },
        { { AMD_B "," AMD_A, "numa:0" },
          { NULL, NULL },
          { AMD_B "," AMD_A, NULL },
          { "0,1", NULL } },
        { { "HIP-3,HIP-12", "HIP-0,HIP-1" },
          { NULL, NULL },
          { NULL, NULL },
          { "3,12,0,1", "3,12,0,1" } },
    };

    for (int i = 0; i < 2; i++)
        strcpy(c.rank[i].device_id, row[_i].device[i]);
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct rank_file *f;

        ck_assert_int_eq(rank_file_read(c.file, i, &f, NULL), 0);
        CHECK_ENV(f->rank->env, { "CUDA_VISIBLE_DEVICES", row[_i].visible[i] },
                  { "ROCR_VISIBLE_DEVICES", row[_i].rocr[i] },
                  { "HIP_VISIBLE_DEVICES", row[_i].hip[i] },
                  { "EDDIS_GPUS_PER_WORKER",
                    row[_i].device[i][3] != '-' || row[_i].device[i][0] == 'M' ? NULL
                    : strchr(row[_i].device[i], ',')                           ? "2"
                                                                               : "1" });
        rank_file_free(f);
    }
}
END_TEST

/* A user's list of GPUs, from which the ranks' GPUs were chosen, is not passed on; one that chooses
 * none of them is.
 */
START_TEST(chosen_devices)
{
    char *user[] = { S("CUDA_VISIBLE_DEVICES=2,3"), S("HIP_VISIBLE_DEVICES=4"),
                     S("ROCR_VISIBLE_DEVICES=5"), S("CUDA_VISIBLE=6"), NULL };
    static const struct {
        const char *device, *cuda, *hip, *rocr;
    } row[] = {
        { "GPU-a", NULL, "4", "5" },
        { AMD_A, "2,3", NULL, NULL },
        { "HIP-3", "2,3", NULL, "5" },
        { "numa:0", "2,3", "4", "5" },
    };
    struct rank_file *f;

    c.agent_config.env = user;
    strcpy(c.rank[0].device_id, row[_i].device);
    strcpy(c.rank[1].device_id, "numa:1");
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    ck_assert_int_eq(rank_file_read(c.file, 0, &f, NULL), 0);
    CHECK_ENV(f->user_env, { "CUDA_VISIBLE_DEVICES", row[_i].cuda },
              { "HIP_VISIBLE_DEVICES", row[_i].hip }, { "ROCR_VISIBLE_DEVICES", row[_i].rocr },
              { "CUDA_VISIBLE", "6" });
    rank_file_free(f);
}
END_TEST

/* Make it the first of three nodes with 2, 1 and 3 ranks. */
static void take_several(void)
{
    c.order.n_nodes = 3;
    c.order.n_ranks = 6;
    strcpy(c.order.network, "10.1.0.0/24");
    strcpy(c.launch.interface, "eth1");
    c.launch.relay_program = "/run/x/relay";
    c.launch.relay_socket = "/run/x/relay.socket";
    c.launch.hosts_file = "/run/x/hosts";
    c.launch.rules_file = "/run/x/allreduce.rules";
}

static bool holds(const struct strlist *a, const char *word)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->item[i], word) == 0)
            return true;
    return false;
}

START_TEST(arguments_of_several)
{
    struct strlist a = { 0 };

    take_several();
    ck_assert_int_eq(launch_argv(&c.launch, &a, NULL), 0);
    ck_assert(holds(&a, "/run/x/hosts") && holds(&a, "MASTER_PORT=4242") && holds(&a, "6"));
    ck_assert(holds(&a, "--do-not-resolve"));
    ck_assert_str_eq(a.item[a.n - 1], "eddis-rank"); /* found by PATH, on each node its own */
    CHECK_MCA(&a, { "plm", "rsh" }, { "plm_rsh_agent", "/run/x/relay /run/x/relay.socket" },
              { "plm_rsh_no_tree_spawn", "1" }, { "oob_tcp_if_include", "10.1.0.0/24" },
              { "btl_tcp_if_include", "10.1.0.0/24" }, { "btl", "self,vader,tcp" },
              { "btl_tcp_flags", "1" }, /* both directions at a time */
              { "btl_tcp_eager_limit", "262144" }, { "oob_tcp_keepalive_time", "5" });
    /* Folders of this node would be wrong on the others. */
    CHECK_MCA(&a, { "btl_vader_backing_directory", NULL });
    for (size_t i = 0; i < a.n; i++)
        ck_assert_msg(!strstr(a.item[i], "c05") && !strstr(a.item[i], "login"), "%s", a.item[i]);
    strlist_fini(&a);
    c.launch.mpi = openmpi_row(5);
    ck_assert_int_eq(launch_argv(&c.launch, &a, NULL), 0);
    ck_assert(holds(&a, "plm_ssh_agent") && holds(&a, "--prtemca") && holds(&a, "self,sm,tcp"));
    ck_assert(!holds(&a, "--do-not-resolve"));
    strlist_fini(&a);
}
END_TEST

/* On a network of IPv6 each node names its interface, and nothing goes by IPv4. */
static void take_six(void)
{
    strcpy(c.order.network, "fd00:7::/64");
    strcpy(c.node[0].address, "fd00:7::7");
}

START_TEST(arguments_of_six)
{
    struct strlist a = { 0 }, five = { 0 };

    take_several();
    take_six();
    ck_assert_int_eq(launch_argv(&c.launch, &a, NULL), 0);
    CHECK_MCA(&a, { "oob_tcp_if_include", "eth1" }, { "oob_tcp_disable_ipv4_family", "1" },
              { "btl_tcp_if_include", NULL }, /* another one on each node */
              { "btl_tcp_disable_family", "4" });
    c.launch.mpi = openmpi_row(5);
    ck_assert_int_eq(launch_argv(&c.launch, &five, NULL), 0);
    ck_assert(holds(&five, "oob_tcp_disable_ipv4_family") && holds(&five, "eth1"));
    strlist_fini(&five);
    strlist_fini(&a);
    c.launch.mpi = openmpi_row(4);
    c.launch.node = 1;
    strcpy(c.launch.interface, "ens3");
    ck_assert_int_eq(launch_daemon_argv(&c.launch, &a, NULL), 0);
    CHECK_MCA(&a, { "oob_tcp_if_include", "ens3" }, { "oob_tcp_disable_ipv4_family", "1" });
    strlist_fini(&a);
}
END_TEST

START_TEST(variables_of_six)
{
    struct rank_file *f;

    take_several();
    (void)unsetenv("NCCL_SOCKET_FAMILY");
    take_six();
    c.launch.node = 1;
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    ck_assert_int_eq(rank_file_read(c.file, 1, &f, NULL), 0);
    CHECK_ENV(f->env, { "MASTER_ADDR", "fd00:7::7" }, { "NCCL_SOCKET_FAMILY", "AF_INET6" },
              { "OMPI_MCA_btl_tcp_if_include", "eth1" });
    rank_file_free(f);
}
END_TEST

/* What ompi_info says of IPv6; where there is none nothing is known. */
START_TEST(built_without_six)
{
    static const char *const says[] = { "options:ipv6:no", "options:ipv6:yes", "xoptions:ipv6:no" };
    cleanup_free char *path = strdup(getenv("PATH")), *file = NULL;

    if (system("ompi_info --parsable --config | grep -q '^options:ipv6:yes'") == 0)
        ck_assert(!openmpi_is_v4_only());
    ck_assert_int_ge(asprintf(&file, "%s/ompi_info", scratch), 0);
    ck_assert_int_eq(setenv("PATH", scratch, 1), 0);
    ck_assert(!openmpi_is_v4_only());
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        FILE *f = fopen(file, "we");

        ck_assert_ptr_nonnull(f);
        (void)fprintf(f, "#!/bin/sh\necho config:user:x\necho %s\n", says[i]);
        (void)fclose(f);
        ck_assert_int_eq(chmod(file, 0700), 0);
        ck_assert_int_eq(openmpi_is_v4_only(), i == 0);
    }
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
}
END_TEST

START_TEST(hosts)
{
    cleanup_free char *text = NULL;

    take_several();
    c.launch.hosts_file = c.file;
    ck_assert_int_eq(launch_write_hosts(&c.launch, NULL), 0);
    ck_assert_int_eq(file_read(c.file, 1000, &text, NULL, NULL), 0);
    ck_assert_str_eq(text, "localhost slots=2\neddis--1 slots=1\neddis--2 slots=3\n");
}
END_TEST

static const struct {
    const char *name;
    int place;
} name_rows[] = {
    { "eddis--1", 1 },   { "eddis--65535", 65535 }, { "eddis--65536", -1 },
    { "eddis--0", -1 },  { "eddis--01", -1 },       { "eddis--1x", -1 },
    { "eddis--", -1 },   { "localhost", -1 },       { "eddis---1", -1 },
    { "", -1 },          { "eddis-1", -1 },         { "eddis--+1", -1 },
    { "eddis-- 1", -1 },
};

START_TEST(names)
{
    char name[LAUNCH_NAME];

    for (size_t i = 0; i < sizeof name_rows / sizeof *name_rows; i++)
        ck_assert_int_eq(launch_node_place(name_rows[i].name), name_rows[i].place);
    for (int i = 1; i < PROTOCOL_MAX_AGENTS; i++) {
        launch_node_name(i, name);
        ck_assert_int_eq(launch_node_place(name), i);
    }
}
END_TEST

START_TEST(arguments_of_a_daemon)
{
    struct relay r = { "c05",
                       "892207104",
                       1,
                       3,
                       S("892207104.0;tcp://10.1.0.7:59227"),
                       S("login,eddis--[1:1-2]@0(3)") };
    struct strlist a = { 0 }, e = { 0 };

    take_several();
    c.launch.node = 1;
    ck_assert_int_eq(launch_daemon_argv(&c.launch, &a, NULL), 0);
    launch_add_relay(c.launch.mpi, &r, &a);
    ck_assert_str_eq(a.item[0], "orted");
    CHECK_MCA(&a, { "ess", "env" }, { "ess_base_jobid", r.space }, { "ess_base_vpid", "1" },
              { "ess_base_num_procs", "3" }, { "orte_hnp_uri", r.uri },
              { "orte_node_regex", r.nodes }, { "orte_tmpdir_base", "/run/x" });
    strlist_fini(&a);
    ck_assert_int_eq(launch_environ(&c.launch, &e, NULL), 0);
    CHECK_ENV(e.item, { "PMIX_HOSTNAME", "eddis--1" }, { "EDDIS_RANK_FILE", c.file });
    ck_assert_int_eq(strncmp(strlist_value(e.item, "PATH"), "/lib:", 5), 0);
    strlist_fini(&e);
}
END_TEST

/* The guard comes behind the user's own libraries. */
START_TEST(guarded_environment)
{
    struct strlist e = { 0 };

    c.launch.guard = "/lib/guard.so";
    c.launch.guard_file = "/run/x/guard";
    ck_assert_int_eq(launch_environ(&c.launch, &e, NULL), 0);
    CHECK_ENV(e.item, { "EDDIS_MPI_GUARD", "/run/x/guard" },
              { "EDDIS_RANK_FILE", NULL }); /* of several nodes alone */
    ck_assert_ptr_nonnull(strstr(strlist_value(e.item, "LD_PRELOAD"), "/lib/guard.so"));
    strlist_fini(&e);
    strlist_addf(&e, "LD_PRELOAD=/u/a.so /u/b.so");
    ck_assert_int_eq(openmpi_preload_guard(&e, "/lib/guard.so", "x", NULL), 0);
    CHECK_ENV(e.item, { "LD_PRELOAD", "/u/a.so /u/b.so:/lib/guard.so" });
    ck_assert_uint_eq(e.n, 2);
    strlist_fini(&e);
}
END_TEST

/* What mpirun and its daemon may listen on, and with which secret. */
static void check_guard(const char *address, const char *secret)
{
    cleanup_free char *path = NULL, *text = NULL;
    struct guard_file file;
    size_t n;

    ck_assert_int_ge(asprintf(&path, "%s/guard", scratch), 0);
    c.launch.guard_file = path;
    ck_assert_int_eq(launch_write_guard(&c.launch, NULL), 0);
    ck_assert_int_eq(launch_write_guard(&c.launch, NULL), -EEXIST); /* nobody's but ours */
    ck_assert_int_eq(file_read(path, sizeof file + 1, &text, &n, NULL), 0);
    ck_assert_uint_eq(n, sizeof file);
    memcpy(&file, text, sizeof file);
    ck_assert_str_eq(file.address, address);
    ck_assert_str_eq(file.secret, secret);
    ck_assert_str_eq(file.socket, "/run/x/agent");
    (void)unlink(path);
}

START_TEST(guard_file)
{
    static const char secret[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char *user[] = { S("oob_tcp_if_include"), S("eth7"), NULL };

    check_guard("", "");
    take_several();
    strcpy(c.order.mpi_secret, secret);
    check_guard("10.1.0.7", secret);
    c.launch.node = 1;
    check_guard("10.1.0.8", secret);
    c.agent_config.mpi_mca = user; /* who says which network it is to be may mean another one */
    check_guard("*", secret);
}
END_TEST

START_TEST(variables_of_several)
{
    struct rank_file *f;

    take_several();
    (void)unsetenv("GLOO_SOCKET_IFNAME");
    c.launch.node = 1;
    c.launch.master_port = 0;
    c.order.resume = true;
    c.agent_config.checkpoint_dir = S("/ckpt");
    c.agent_config.resume_from = S("/old");
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    ck_assert_int_eq(rank_file_read(c.file, 1, &f, NULL), 0);
    CHECK_ENV(f->env, { "MASTER_ADDR", "10.1.0.7" }, { "MASTER_PORT", NULL }, /* mpirun brings it */
              { "WORLD_SIZE", "6" }, { "LOCAL_WORLD_SIZE", "2" }, { "NODE_RANK", "1" },
              { "GLOO_SOCKET_IFNAME", "eth1" }, { "NCCL_SOCKET_IFNAME", "=eth1" },
              { "OMPI_MCA_btl_vader_backing_directory", "/shm/x" },
              { "OMPI_MCA_coll_tuned_dynamic_rules_filename", "/run/x/allreduce.rules" },
              { "EDDIS_RESUME_FROM", "/ckpt" });
    rank_file_free(f);
    ck_assert_str_eq(launch_resume_from(&c.agent_config, &c.order), "/ckpt");
    c.order.resume_begun = true; /* the job has written none yet */
    ck_assert_str_eq(launch_resume_from(&c.agent_config, &c.order), "/old");
    c.order.generation = 1;
    ck_assert_str_eq(launch_resume_from(&c.agent_config, &c.order), "/old");
    c.order.resume = false;
    ck_assert_ptr_null(launch_resume_from(&c.agent_config, &c.order));
}
END_TEST

static const struct {
    const char *cpus[2]; /* of the two ranks */
    int cores;
    const char *threads; /* of the first */
} thread_rows[] = {
    { { "0-3", "0-3" }, 4, "2" }, { { "0-2", "0-2" }, 3, "1" }, { { "0", "0" }, 1, "1" },
    { { "0-3", "4-7" }, 8, "4" }, { { "", "" }, 5, "2" },       { { "", "" }, 1, "1" },
};

START_TEST(threads)
{
    struct rank_file *f;

    (void)unsetenv("OMP_NUM_THREADS");
    for (int i = 0; i < 2; i++)
        strcpy(c.rank[i].cpus, thread_rows[_i].cpus[i]);
    c.launch.cores = thread_rows[_i].cores;
    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    ck_assert_int_eq(rank_file_read(c.file, 0, &f, NULL), 0);
    CHECK_ENV(f->rank->env, { "OMP_NUM_THREADS", thread_rows[_i].threads });
    rank_file_free(f);
}
END_TEST

static const struct {
    const char *cpus;
    int n;
} cpus_rows[] = {
    { "", 0 },  { "0", 1 },   { "0-3", 4 }, { "0-3,8", 5 }, { "1,3,5", 3 },
    { "x", 0 }, { "3-1", 0 }, { "1-", 0 },  { "1,,2", 0 },  { "0-99999999", 0 },
};

START_TEST(count_cpus)
{
    ck_assert_int_eq(launch_count_cpus(cpus_rows[_i].cpus), cpus_rows[_i].n);
}
END_TEST

static const struct {
    const char *program;
    int rc;
} check_rows[] = {
    { "sh", 0 },
    { "/bin/sh", 0 },
    { "no-such-program", -ENOENT },
    { "./sh", -ENOENT },
    { "/etc", -EACCES },
    { "/etc/passwd", -EACCES },
    { "/bin/", -EACCES },
    { "eddis-test-script", -ENOENT },
    { "./eddis-test-script", 0 },
};

START_TEST(check)
{
    char script[96];
    struct eddis_error err = { 0 };

    snprintf(script, sizeof script, "%s/eddis-test-script", scratch);
    ck_assert_int_eq(symlink("/bin/sh", script), 0);
    c.command[0] = (char *)(uintptr_t)check_rows[_i].program;
    ck_assert_int_eq(launch_check(&c.launch, &err), check_rows[_i].rc);
    ck_assert_int_eq(err.text[0] != '\0', check_rows[_i].rc != 0);
    c.agent_config.workdir = script;
    ck_assert_int_eq(launch_check(&c.launch, NULL), -ENOTDIR);
    c.agent_config.workdir = scratch;
    c.agent_config.setup = (char *[]){ S("module load x"), NULL }; /* which may bring the program */
    ck_assert_int_eq(launch_check(&c.launch, NULL),
                     strchr(check_rows[_i].program, '/') ? check_rows[_i].rc : 0);
}
END_TEST

/* A Python that the job names for the node alone: the error has the place, and no advice on the
 * command.
 */
START_TEST(check_python)
{
    struct eddis_error err = { 0 };

    take_several();
    c.agent_config.python_from = S("train.yaml:7");
    c.command[0] = S("/no/such/python3");
    ck_assert_int_eq(launch_check(&c.launch, &err), -ENOENT);
    ck_assert_str_eq(err.text, "train.yaml:7: \"python\" of this node is '/no/such/python3', which "
                               "does not exist there; install it, or correct the path");
    c.command[0] = S("/etc/passwd");
    ck_assert_int_eq(launch_check(&c.launch, &err), -EACCES);
    ck_assert_str_eq(err.text,
                     "train.yaml:7: \"python\" of this node is '/etc/passwd', which is not "
                     "an executable program; correct it");
    c.command[0] = S("/bin/sh");
    ck_assert_int_eq(launch_check(&c.launch, &err), 0);
}
END_TEST

START_TEST(check_data)
{
    struct eddis_error err = { 0 };

    take_several();
    c.agent_config.data_path = S("/no/such/data");
    ck_assert_int_eq(launch_check(&c.launch, &err), -ENOENT);
    ck_assert_str_eq(err.text, "cannot read the data '/no/such/data': No such file or directory");
    c.agent_config.data_path = scratch;
    ck_assert_int_eq(launch_check(&c.launch, &err), 0);
}
END_TEST

START_TEST(environment)
{
    static const struct {
        const char *name, *value;
        bool stays;
    } rows[] = {
        { "PMIX_RANK", "3", false },
        { "OMPI_COMM_WORLD_RANK", "3", false },
        { "OMPI_MCA_btl_base_verbose", "1", true }, /* the user's wish */
        { "SLURM_PROCID", "1", false },
        { "SLURM_STEP_NODELIST", "n[0-1]", false },
        { "SLURM_TASKS_PER_NODE", "1(x2)", false },
        { "SLURM_STEPID", "0", false },
        { "SLURM_STEPMGR", "n0", true },
        { "SLURM_JOB_ID", "7", true },
        { "SLURM_ARRAY_TASK_ID", "3", true },
    };
    const size_t n = sizeof rows / sizeof *rows;

    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(setenv(rows[i].name, rows[i].value, 1), 0);
    ck_assert_int_eq(launch_clean_environment(&(struct agent_config){ .mark = "0123" }, NULL), 0);
    ck_assert_str_eq(getenv("EDDIS_NODE_MARK"), "0123");
    for (size_t i = 0; i < n; i++) {
        const struct pair want = { rows[i].name, rows[i].stays ? rows[i].value : NULL };

        check_value(&want, getenv(want.name));
        (void)unsetenv(want.name);
    }
}
END_TEST

/* A rank file is ours alone, but a full disk may have cut it. */
START_TEST(truncated_rank_file)
{
    struct rank_file *f;
    struct stat st;

    ck_assert_int_eq(launch_write_rank_file(&c.launch, NULL), 0);
    ck_assert_int_eq(stat(c.file, &st), 0);
    for (off_t n = st.st_size - 1; n >= 0; n -= 7) {
        ck_assert_int_eq(truncate(c.file, n), 0);
        ck_assert_int_eq(rank_file_read(c.file, 0, &f, NULL), -EINVAL);
    }
}
END_TEST

/* mpirun would wait for ever for pipes that it cannot open. */
START_TEST(descriptors)
{
    struct eddis_error err = { 0 };
    struct rlimit few = { 24, 64 }, now;

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    ck_assert_msg(launch_check(&c.launch, &err) == 0, "%s", err.text);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &now), 0);
    ck_assert_uint_eq(now.rlim_cur, 44); /* raised as far as is needed */
    few.rlim_cur = few.rlim_max = 24;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    ck_assert_int_eq(launch_check(&c.launch, &err), -EMFILE);
    ck_assert_ptr_nonnull(strstr(err.text, "only 24 files may be open at a time here, and mpirun "
                                           "may need 44 for 2 ranks; raise the limit"));
}
END_TEST

/* What kept the folder of the logs from being made is the caller's to know. */
START_TEST(no_log_folder)
{
    cleanup_free char *below = file_join(c.file, "logs");
    struct eddis_error err = { 0 };

    ck_assert_int_eq(file_write_atomic(c.file, "", 0, 0600, NULL), 0);
    c.agent_config.log_dir = below;
    ck_assert_int_eq(launch_write_rank_file(&c.launch, &err), -ENOTDIR);
    ck_assert_ptr_nonnull(strstr(err.text, c.file));
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, make, NULL);
    tcase_add_test(tc, arguments);
    tcase_add_test(tc, variables);
    tcase_add_test(tc, set_by_others);
    tcase_add_test(tc, no_log_folder);
    tcase_add_loop_test(tc, devices, 0, 12);
    tcase_add_loop_test(tc, chosen_devices, 0, 4);
    tcase_add_loop_test(tc, threads, 0, sizeof thread_rows / sizeof *thread_rows);
    tcase_add_loop_test(tc, count_cpus, 0, sizeof cpus_rows / sizeof *cpus_rows);
    tcase_add_loop_test(tc, check, 0, sizeof check_rows / sizeof *check_rows);
    tcase_add_test(tc, check_python);
    tcase_add_test(tc, check_data);
    tcase_add_test(tc, arguments_of_several);
    tcase_add_test(tc, arguments_of_six);
    tcase_add_test(tc, variables_of_six);
    tcase_add_test(tc, built_without_six);
    tcase_add_test(tc, hosts);
    tcase_add_test(tc, names);
    tcase_add_test(tc, arguments_of_a_daemon);
    tcase_add_test(tc, guarded_environment);
    tcase_add_test(tc, guard_file);
    tcase_add_test(tc, variables_of_several);
    tcase_add_test(tc, environment);
    tcase_add_test(tc, truncated_rank_file);
    tcase_add_test(tc, descriptors); /* last: the limit stays */
}

SUITE_MAIN("launch", add_tests)
