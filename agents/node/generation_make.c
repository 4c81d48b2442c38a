/* SPDX-License-Identifier: Apache-2.0 */
/* generation_make.c - makes the folders, board, sockets, rank file and arguments of a generation */
#include "generation.h"

#include "launch.h"
#include "relay.h"
#include "shared_folder.h"

#include "lib/base/cleanup.h"
#include "lib/base/ip.h"
#include "lib/base/program.h"
#include "lib/slurm/slurm_batch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

enum { SOCKET_BYTES = 4 << 20 }; /* for the wrappers' messages */

/* Copy a path to ret [size]; NULL becomes "".  Return 0 or -ENAMETOOLONG. */
static int copy_path(const char *path, char *ret, size_t size, struct eddis_error *err)
{
    if (path && strlen(path) >= size)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%.100s...' is too long", path);
    snprintf(ret, size, "%s", path ? path : "");
    return 0;
}

/* Return one array with the node index of each rank [n_ranks], followed by the group of each rank
 * [n_ranks]; the caller frees it.  NULL: no memory.
 */
static int32_t *make_places(const struct order *o)
{
    int32_t *place = calloc(2 * (size_t)o->n_ranks, sizeof *place);
    int rank = 0;

    for (int i = 0; place && i < o->n_nodes; i++)
        for (int k = 0; k < o->node[i].n_ranks && rank < o->n_ranks; k++)
            place[rank++] = i;
    for (int r = 0; place && r < o->n_ranks; r++)
        place[o->n_ranks + r] = o->group[r];
    return place;
}

/* Return the configured jitter of the emulated device that a rank stands for; 0 for a real device.
 */
static double jitter_of(const struct agent_config *b, const struct order_rank *r)
{
    int row;

    if (sscanf(r->device_id, "emulated:%d", &row) != 1 || row < 0 || row >= b->n_emulate)
        return 0;
    return b->emulate[row].jitter;
}

/* Return the generation number that fences checkpoints; a requeued Slurm job continues the numbers
 * of its earlier starts.  A start with more generations than its range of numbers repeats the last
 * number of the range, rather than using a number of the next start.
 */
static int64_t fence_generation(const struct agent_config *b, const struct order *o)
{
    int64_t most = SLURM_GENERATIONS - 1;

    if (!b->fence_job[0])
        return o->generation;
    return b->fence_before + (o->generation < most ? o->generation : most);
}

/* Return the bytes of dir's file system that users may still allocate; -1: unknown. */
static int64_t free_bytes(const char *dir)
{
    struct statvfs v;

    return statvfs(dir, &v) == 0 ? (int64_t)v.f_bavail * (int64_t)v.f_frsize : -1;
}

/* Make the board g->board with the order's job and options, and publish its first plan on it.  Also
 * set g->shm_free.  Return 0 or a negative errno; the caller closes g, which then owns the board if
 * it was made.
 */
static int make_board(struct generation *g, const struct agent_config *b, const struct order *o,
                      struct eddis_error *err)
{
    cleanup_free struct board_area *area = calloc(1, sizeof *area);
    cleanup_free int32_t *place = make_places(o);
    int rc;

    if (!area || !place)
        return eddis_fail(err, -ENOMEM, "no memory for the board");
    area->n_ranks = o->n_ranks;
    area->n_local = o->n_local;
    area->generation = (int32_t)o->generation;
    area->first_rank = o->rank[0].rank;
    area->emulated = o->emulated;
    area->checkpoint_keep = (int32_t)o->checkpoint_keep;
    area->checkpoint_every = o->checkpoint_every;
    area->bucket_bytes = o->bucket_bytes;
    area->seed = o->seed;
    area->warmup_steps = o->warmup_steps;
    area->check_models = o->check_models;
    area->open_ns = o->open_ns;
    area->mode_named = o->mode_named;
    memcpy(area->mode, o->mode, sizeof area->mode);
    memcpy(area->algorithm, o->algorithm, sizeof area->algorithm);
    area->node_of = place;
    area->group = place + o->n_ranks;
    area->options = o->options;
    area->checks = o->checks;
    if (o->choice)
        area->choice = *o->choice;
    for (int i = 0; i < o->n_local; i++) {
        area->fixed_s[i] = o->rank[i].fixed_s;
        area->sample_s[i] = o->rank[i].sample_s;
        area->jitter[i] = jitter_of(b, &o->rank[i]);
    }
    snprintf(area->job, sizeof area->job, "%s", b->fence_job[0] ? b->fence_job : b->job_id);
    area->fence_generation = fence_generation(b, o);
    if ((rc = copy_path(b->checkpoint_dir, area->checkpoint_dir, sizeof area->checkpoint_dir,
                        err)) < 0 ||
        (rc = copy_path(o->resume || o->generation > 1 ? b->resume_from : NULL, area->resume_from,
                        sizeof area->resume_from, err)) < 0)
        return rc;
    rc = board_create(g->board_path, area, &g->board, err);
    g->shm_free = free_bytes(g->shm);
    if (rc < 0)
        return rc;
    g->board_linked = true;
    return board_publish(g->board, o->plan, err);
}

/* ---- addresses ---- */

/* Write the name of this node's interface that has the address to ret [IF_NAMESIZE].  Return 0;
 * -EADDRNOTAVAIL: no interface has it; -EINVAL: it is not an IP address; another negative errno:
 * the interfaces cannot be listed.
 */
static int find_interface(const char *address, char *ret, struct eddis_error *err)
{
    struct ifaddrs *all, *one;
    struct ip wanted, own;

    if (!ip_parse(address, &wanted))
        return eddis_fail(err, -EINVAL, "'%s' is not an address", address);
    if (getifaddrs(&all) < 0)
        return eddis_fail_errno(err, -errno, "cannot list this node's addresses");
    for (one = all; one; one = one->ifa_next)
        if (ip_of_socket(one->ifa_addr, &own) && ip_compare(&own, &wanted) == 0)
            break;
    if (one)
        snprintf(ret, IF_NAMESIZE, "%s", one->ifa_name);
    freeifaddrs(all);
    return one ? 0
               : eddis_fail(err, -EADDRNOTAVAIL, "this node no longer has the address %s", address);
}

/* Store in *ret a free port of an address of this node, for programs that meet by MASTER_PORT.
 * g->port_fd keeps the port bound until mpirun starts, so that no other program gets the port
 * meanwhile.  Return 0 or a negative errno.
 */
static int choose_port(struct generation *g, const char *address, int *ret, struct eddis_error *err)
{
    struct sockaddr_storage at;
    struct sockaddr_in v4; /* its port is in the same place as that of IPv6 */
    socklen_t n;
    struct ip own;

    if (!ip_parse(address, &own))
        return eddis_fail(err, -EINVAL, "'%s' is not an address", address);
    n = ip_to_socket(&own, 0, &at);
    g->port_fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (g->port_fd < 0 || bind(g->port_fd, (struct sockaddr *)&at, n) < 0 ||
        getsockname(g->port_fd, (struct sockaddr *)&at, &n) < 0)
        return eddis_fail_errno(err, -errno, "cannot find a free port on %s", address);
    memcpy(&v4, &at, sizeof v4);
    *ret = ntohs(v4.sin_port);
    return 0;
}

/* ---- what starts the ranks ---- */

/* Make what a job of several nodes needs: relay, rules, hosts, and the arguments of mpirun (first
 * node, with MASTER_PORT, whose port is also watched for contact) or its daemon.  Return 0 or a
 * negative errno.  The relay is called through a symbolic link, because mpirun cuts its agent's
 * path at spaces.
 */
static int make_several(struct generation *g, struct launch *l, struct eddis_error *err)
{
    char program[PATH_MAX];
    int rc = find_interface(l->order->node[g->place].address, l->interface, err);

    if (rc < 0)
        return rc;
    if ((rc = program_path("eddis-relay", program, sizeof program, err)) < 0)
        return rc;
    if (symlink(program, g->relay_program) < 0)
        return eddis_fail_errno(err, -errno, "cannot make '%s'", g->relay_program);
    if ((rc = launch_write_rules(l, err)) < 0)
        return rc;
    if (g->place > 0)
        return launch_daemon_argv(l, g->argv, err);
    g->relay = relay_listen(g->relay_path, SO_PASSCRED, 1, err);
    if (g->relay < 0)
        return g->relay;
    if ((rc = choose_port(g, l->order->node[0].address, &l->master_port, err)) < 0 ||
        (rc = launch_write_hosts(l, err)) < 0)
        return rc;
    g->contact_watch.port = l->master_port;
    return launch_argv(l, g->argv, err);
}

/* Make mpirun's arguments for a job of one node, and choose MASTER_PORT, whose port is also watched
 * for contact.  Return 0 or a negative errno.
 */
static int make_one(struct generation *g, struct launch *l, struct eddis_error *err)
{
    int rc = choose_port(g, "127.0.0.1", &l->master_port, err);

    g->contact_watch.port = l->master_port;
    return rc < 0 ? rc : launch_argv(l, g->argv, err);
}

/* Make the arguments, the environment and the rank file for mpirun or its daemon.  Return 0 or a
 * negative errno.
 */
static int make_launch(struct generation *g, const struct generation_place *where,
                       const struct order *o, struct eddis_error *err)
{
    char rank_program[PATH_MAX];
    struct launch l = { .agent_config = where->agent_config,
                        .order = o,
                        .mpi = where->mpi,
                        .node = g->place,
                        .run_dir = g->run,
                        .shm_dir = g->shm,
                        .folders = where->folders,
                        .rank_program = rank_program,
                        .rank_file = g->rank_file,
                        .relay_program = g->relay_program,
                        .relay_socket = g->relay_path,
                        .hosts_file = g->hosts_path,
                        .rules_file = g->rules_path,
                        .guard = where->mpi_guard,
                        .guard_file = g->guard_path,
                        .socket = g->socket_path,
                        .board = g->board_path,
                        .bin = where->bin,
                        .cores = where->cores,
                        .agent_pid = (int)getpid(),
                        .sender = where->sender };
    int rc;

    if ((rc = launch_check(&l, err)) < 0 ||
        (rc = program_path("eddis-rank", rank_program, sizeof rank_program, err)) < 0)
        return rc;
    if ((l.guard[0] && (rc = launch_write_guard(&l, err)) < 0) ||
        (rc = launch_environ(&l, g->env, err)) < 0)
        return rc;
    rc = g->n_nodes > 1 ? make_several(g, &l, err) : make_one(g, &l, err);
    return rc < 0 ? rc : launch_write_rank_file(&l, err);
}

/* ---- the whole generation ---- */

/* Set the paths of the generation's files. */
static void name_files(struct generation *g, const struct agent_config *b)
{
    snprintf(g->run, sizeof g->run, "%s/g%lld", g->folders.run, (long long)g->number);
    snprintf(g->shm, sizeof g->shm, "%s/g%lld", g->folders.shm, (long long)g->number);
    snprintf(g->board_path, sizeof g->board_path, "%s/board", g->shm);
    snprintf(g->rank_file, sizeof g->rank_file, "%s/ranks.json", g->run);
    snprintf(g->socket_path, sizeof g->socket_path, "%s/agent", g->run);
    snprintf(g->relay_path, sizeof g->relay_path, "%s/relay.socket", g->run);
    snprintf(g->relay_program, sizeof g->relay_program, "%s/relay", g->run);
    snprintf(g->hosts_path, sizeof g->hosts_path, "%s/hosts", g->run);
    snprintf(g->guard_path, sizeof g->guard_path, "%s/guard", g->run);
    snprintf(g->rules_path, sizeof g->rules_path, "%s/allreduce.rules", g->run);
    /* Nodes may share the log folder, so each node has its own file. */
    if (g->place == 0)
        snprintf(g->log_path, sizeof g->log_path, "%s/mpirun.log", b->log_dir);
    else
        snprintf(g->log_path, sizeof g->log_path, "%s/mpirun-%d.log", b->log_dir, b->agent);
}

/* Return a new generation for an order, in which everything is set that needs no files; the caller
 * frees it with generation_close.  NULL: no memory.
 */
static struct generation *allocate(const struct generation_place *where, const struct order *o)
{
    struct generation *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->worker = calloc((size_t)o->n_local, sizeof *g->worker);
    g->node = calloc((size_t)o->n_nodes, sizeof *g->node);
    g->argv = calloc(1, sizeof *g->argv);
    g->env = calloc(1, sizeof *g->env);
    g->mpi = where->mpi;
    g->number = o->generation;
    g->probe = o->probe;
    g->n = o->n_local;
    g->n_nodes = o->n_nodes;
    g->report_at_step = o->report_at_step;
    g->open = o->plan->version == 0 && o->rank[0].rank == 0;
    g->socket = g->relay = g->port_fd = -1;
    g->folders = *where->folders;
    g->in_step = where->sender >= 0;
    g->cores = core_watch_open("", g->n);
    g->gpus = gpu_watch_open(o->rank, o->probe ? 0 : g->n);
    g->links = link_watch_open(g->n);
    if (g->worker && g->node && g->argv && g->env && g->cores && g->gpus && g->links)
        return g;
    (void)generation_close(g);
    return NULL;
}

/* Fill g->node, set g->place to the index of this node, and initialize the workers.  Return 0, or
 * -EINVAL if the order does not list this node or its ranks do not match the list.
 */
static int find_place(struct generation *g, const struct agent_config *b, const struct order *o,
                      struct eddis_error *err)
{
    int first = 0;

    g->place = -1;
    for (int i = 0; i < o->n_nodes; i++) {
        g->node[i].agent = o->node[i].agent;
        memcpy(g->node[i].host, o->node[i].host, sizeof g->node[i].host);
        memcpy(g->node[i].address, o->node[i].address, sizeof g->node[i].address);
        if (o->node[i].agent == b->agent)
            g->place = i;
        if (g->place < 0)
            first += o->node[i].n_ranks;
    }
    if (g->place < 0 || o->node[g->place].n_ranks != o->n_local || o->rank[0].rank != first) {
        g->place = 0;
        return eddis_fail(err, -EINVAL,
                          "the order's list of nodes does not match its ranks of this node");
    }
    for (int i = 0; i < g->n; i++) {
        g->worker[i] = (struct worker){ .rank = o->rank[i].rank, .local_rank = i, .pidfd = -1 };
        step_watch_init(&g->worker[i].steps);
    }
    return 0;
}

/* Leave this node's file in the checkpoint folder, which all nodes must share, for the other nodes
 * to find; see shared_folder.h.  Record in g->share, share_dir and share_kept what generation_close
 * has to remove.  Do nothing if the order does not ask for it.  Return 0 or a negative errno.
 */
static int make_share(struct generation *g, const struct agent_config *b, const struct order *o,
                      struct eddis_error *err)
{
    int rc;

    if (!o->share[0] || !b->checkpoint_dir)
        return 0;
    rc = shared_folder_leave(b->checkpoint_dir, o->share, b->agent, &g->share_kept, err);
    if (rc < 0)
        return rc;
    strcpy(g->share, o->share);
    g->share_dir = strdup(b->checkpoint_dir);
    return g->share_dir ? 0 : eddis_fail(err, -ENOMEM, "no memory for a path");
}

/* The agent configuration of a network probe; its pointers are those of the job's configuration. */
struct probe_config {
    struct agent_config agent_config;
    char program[PATH_MAX];
    char *command[2];
};

/* Fill *ret, the agent configuration of the network's probe: the probe runs as the user's program
 * would, but writes nothing to the user's folders.  Return 0 or a negative errno.
 */
static int agent_config_probe(const struct generation *g, const struct agent_config *b,
                              struct probe_config *ret, struct eddis_error *err)
{
    ret->agent_config = *b;
    ret->command[0] = ret->program;
    ret->command[1] = NULL;
    ret->agent_config.command = ret->command;
    ret->agent_config.setup = ret->command + 1;
    ret->agent_config.log_dir = (char *)(uintptr_t)g->run;
    ret->agent_config.checkpoint_dir = ret->agent_config.resume_from = ret->agent_config.data_path =
        NULL;
    return program_path("eddis-net-probe", ret->program, sizeof ret->program, err);
}

/* Make all of a generation's files.  Return 0 or a negative errno; then the caller closes g. */
static int make(struct generation *g, const struct generation_place *where, const struct order *o,
                struct eddis_error *err)
{
    struct generation_place place = *where;
    struct probe_config probe;
    int rc = find_place(g, where->agent_config, o, err);

    if (rc < 0)
        return rc;
    name_files(g, where->agent_config);
    if (o->probe) {
        rc = agent_config_probe(g, where->agent_config, &probe, err);
        place.agent_config = &probe.agent_config;
    }
    if (rc < 0 || (rc = folders_begin(&g->folders, g->number, err)) < 0 ||
        (rc = make_board(g, place.agent_config, o, err)) < 0 ||
        (rc = g->socket = relay_listen(g->socket_path, SO_RCVBUF, SOCKET_BYTES, err)) < 0 ||
        (rc = make_launch(g, &place, o, err)) < 0)
        return rc;
    return make_share(g, place.agent_config, o, err);
}

int generation_prepare(const struct generation_place *where, const struct order *o,
                       struct generation **ret, struct eddis_error *err)
{
    struct generation *g;
    int rc;

    if (o->n_nodes < 1)
        return eddis_fail(err, -EINVAL, "the order names no node");
    g = allocate(where, o);
    if (!g)
        return eddis_fail(err, -ENOMEM, "no memory for a start of the ranks");
    rc = make(g, where, o, err);
    if (rc < 0) {
        (void)generation_close(g);
        return rc;
    }
    *ret = g;
    return 0;
}
