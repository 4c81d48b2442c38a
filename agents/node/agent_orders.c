/* SPDX-License-Identifier: Apache-2.0 */
/* agent_orders.c - asks the driver for orders, carries them out, and reports the results */
#include "agent_impl.h"

#include "agents/job/checkpoints.h"
#include "agents/protocol/timing.h"
#include "lib/base/boot_id.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/base/random.h"
#include "lib/topo/interfaces.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time limit within which another node's file in a shared folder must become visible. */
#define CHECK_NS (5 * CLOCK_S)
/* Time in addition to its lease in which a job without a driver ends its workers, and the interval
 * between tries to lock its GPUs.
 */
#define GPU_END_NS   (3 * CLOCK_S)
#define GPU_AGAIN_NS (200 * CLOCK_MS)

/* ---- carrying them out ---- */

/* Start the device probe.  Return 0 or a negative errno. */
static int measure(struct agent *a, const struct order *o, struct eddis_error *err)
{
    a->probe_order = o->generation;
    return probe_start(&a->probe, a->agent_config, o->turn, err);
}

/* Carry out "profile": start the device probe, or, if the node first needs its GPUs, set
 * a->gpu_until_ns, so that the order waits.  Return 0 or a negative errno.
 */
static int profile(struct agent *a, const struct order *o, struct eddis_error *err)
{
    if (!o->wait_ns)
        return measure(a, o, err);
    if (a->gpu_order)
        return eddis_fail(err, -EBUSY, "another order waits for GPUs");
    a->gpu_next_ns = clock_now_ns();
    a->gpu_until_ns = clock_after_ns(a->gpu_next_ns, o->wait_ns);
    return 0;
}

/* Make the job's folders again if they were removed since the agent's start, and tell the user so;
 * also make the log folder.  Return 0 or a negative errno.
 */
static int renew_folders(struct agent *a, int64_t generation, struct eddis_error *err)
{
    int n = folders_renew(a->life.page, a->agent_config->mark, getenv("XDG_RUNTIME_DIR"),
                          &a->folders, err);

    if (n > 0)
        event_sender_note(
            &a->event_sender, generation,
            "the job's folders %s and %s: %s had been removed (now made again); systemd "
            "removes them at a user's last logout; run loginctl enable-linger to keep them",
            a->folders.run, a->folders.shm, n == 1 ? "one" : "both");
    return n < 0 ? n : file_mkdirs(a->agent_config->log_dir, 0700, err);
}

/* Lock the GPUs of a rank, whose ids are divided by commas. Return as gpu_lock_add. */
static int lock_rank(struct agent *a, const char *device_id, struct eddis_error *err)
{
    char ids[DEVICE_ID], *rest = ids;
    const char *id;
    int rc = 0;

    (void)snprintf(ids, sizeof ids, "%s", device_id);
    while (rc == 0 && (id = strsep(&rest, ","))) {
        gpu_lock_move(&a->gpu_wait.held, id, &a->gpus);
        rc = gpu_lock_add(&a->gpus, id, a->agent_config->job_id, err);
    }
    return rc;
}

/* Check whether a rank of the order `ctx` has the GPU with this id (gpu_lock_wanted_fn). */
static bool is_of_order(const char *device_id, const void *ctx)
{
    const struct order *o = ctx;

    for (int i = 0; i < o->n_local; i++) {
        char ids[DEVICE_ID], *rest = ids;
        const char *id;

        (void)snprintf(ids, sizeof ids, "%s", o->rank[i].device_id);
        while ((id = strsep(&rest, ",")))
            if (strcmp(id, device_id) == 0)
                return true;
    }
    return false;
}

/* Lock the GPUs of an order's ranks for the job; the agent keeps those that it has. Release GPUs
 * that get no rank: those that were locked before they were measured, and those of ranks of earlier
 * generations. Return 0, or an error of gpu_lock_add, and then no GPU was added or released.
 */
static int lock_gpus(struct agent *a, const struct order *o, struct eddis_error *err)
{
    int before = a->gpus.n, rc = 0;

    if (o->probe || o->check_only)
        return 0;
    for (int i = 0; i < o->n_local && rc == 0; i++)
        rc = lock_rank(a, o->rank[i].device_id, err);
    if (rc < 0) {
        gpu_lock_cut(&a->gpus, before);
        return rc;
    }
    gpu_lock_keep(&a->gpus, is_of_order, o);
    gpu_lock_release(&a->gpu_wait.held);
    return 0;
}

/* Make a->generation with its folders, board, sockets and arguments, but start no process; then
 * report that it is prepared.  Folders of the job that were removed are made again.  Return 0, or a
 * negative errno: there is no generation.
 */
static int make_generation(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct generation_place where = { .agent_config = a->agent_config,
                                      .folders = &a->folders,
                                      .mpi = a->mpi,
                                      .mpi_guard = a->mpi_guard,
                                      .bin = a->options.bin,
                                      .cores = a->cores,
                                      .sender = a->sender };
    struct event e = { .type = EVENT_PREPARED, .generation = o->generation, .rank = -1 };
    int rc = renew_folders(a, o->generation, err);

    if (rc < 0)
        return rc;
    rc = generation_prepare(&where, o, &a->generation, err);
    if (rc < 0)
        return rc;
    (void)agent_watch_fd(a, a->generation->socket);
    (void)agent_watch_fd(a, a->generation->relay);
    event_sender_send(&a->event_sender, &e, clock_now_ns());
    return 0;
}

/* Carry out "prepare": lock the GPUs and make a->generation.  If another job has one of the GPUs,
 * set a->gpu_until_ns, so that the order waits: a job whose driver was killed ends one lease later.
 * Return 0; -EBUSY: the previous generation, or a stop, has not ended; another negative errno:
 * there is no generation.
 */
static int prepare(struct agent *a, const struct order *o, struct eddis_error *err)
{
    int64_t wait_ns = a->life.lease_ns + GPU_END_NS, now = clock_now_ns();
    int rc;

    if (a->generation || a->stop.active || a->gpu_order)
        return eddis_fail(err, -EBUSY, "start %lld has not ended",
                          a->generation ? (long long)a->generation->number : -1LL);
    a->logs.newest = o->generation > a->logs.newest ? o->generation : a->logs.newest;
    rc = lock_gpus(a, o, err);
    if (rc == 0)
        return make_generation(a, o, err);
    if (rc != -EADDRINUSE)
        return rc;
    event_sender_note(&a->event_sender, o->generation,
                      "waiting up to %d s, in case the other job is ending: %s",
                      (int)(wait_ns / CLOCK_S), err->text);
    a->gpu_next_ns = clock_after_ns(now, GPU_AGAIN_NS);
    a->gpu_until_ns = clock_after_ns(now, wait_ns);
    return 0;
}

/* Carry out an order to profile whose GPUs are locked: tell the driver, and start the device probe.
 * Return 0 or a negative errno.
 */
static int measure_locked(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct event e = { .type = EVENT_GPUS, .generation = o->generation, .rank = -1 };

    event_sender_send(&a->event_sender, &e, clock_now_ns());
    return measure(a, o, err);
}

/* Check whether an order that got rc when it tried to lock its GPUs waits further, and tell the
 * user once for which job.  If its time is over, add to err how long it waited.
 */
static bool waits_on(struct agent *a, const struct order *o, int rc, int64_t now_ns,
                     struct eddis_error *err)
{
    if (rc == -EAGAIN)
        return true; /* eddis-probe has a deadline of its own */
    if (rc != -EADDRINUSE)
        return false;
    if (now_ns >= a->gpu_until_ns) {
        if (o->type == ORDER_PROFILE)
            eddis_fail_prefix(err, rc, "waited %.0f s for GPUs (timeouts.gpus)",
                              (double)a->agent_config->gpus_ns / CLOCK_S);
        return false;
    }
    if (o->type == ORDER_PROFILE && !a->gpu_said)
        event_sender_note(&a->event_sender, o->generation, "waiting for GPUs: %s", err->text);
    a->gpu_said = a->gpu_said || o->type == ORDER_PROFILE;
    return true;
}

void agent_step_prepare(struct agent *a, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    struct order *o = a->gpu_order;
    bool profiles = o && o->type == ORDER_PROFILE;
    int rc = 0;

    if (!o || (now_ns < a->gpu_next_ns && !a->stop.active && !a->bye))
        return;
    if (!a->stop.active && !a->bye) {
        rc = profiles ? gpu_wait_try(&a->gpu_wait, o, a->agent_config->job_id, &err)
                      : lock_gpus(a, o, &err);
        if (waits_on(a, o, rc, now_ns, &err)) {
            a->gpu_next_ns = clock_after_ns(now_ns, GPU_AGAIN_NS);
            return;
        }
        if (rc == 0)
            rc = profiles ? measure_locked(a, o, &err) : make_generation(a, o, &err);
    }
    if (rc < 0)
        event_sender_failed(&a->event_sender, EVENT_FAILED, o->generation, &err);
    if (rc < 0 || a->stop.active || a->bye)
        gpu_wait_end(&a->gpu_wait);
    order_free(o);
    a->gpu_order = NULL;
    a->gpu_until_ns = 0;
}

/* Return the generation that an order names; NULL, with err set to -ENOENT: it is not the present
 * generation.
 */
static struct generation *meant(const struct agent *a, const struct order *o,
                                struct eddis_error *err)
{
    if (a->generation && a->generation->number == o->generation)
        return a->generation;
    eddis_fail(err, -ENOENT, "there is no start %lld here", (long long)o->generation);
    return NULL;
}

/* Carry out "check": begin to search for the other nodes' files in the shared folder, and start the
 * program's interpreter if the order asks for it; agent_step_check reports the result.  All nodes
 * have left their files before, so that a network file system only needs time to show them.  Return
 * 0, -ENOENT: the order names another generation than the present one; or another negative errno.
 */
static int check(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct generation *g = meant(a, o, err);
    int rc = 0;

    if (!g)
        return -ENOENT;
    if (o->program_ns)
        rc = program_probe_start(&a->program, g->rank_file, g->worker[0].rank, o->program_ns, err);
    if (rc < 0)
        return rc;
    a->check_order = o->generation;
    a->check_until_ns = clock_after_ns(clock_now_ns(), CHECK_NS);
    return 0;
}

/* Carry out "start": start mpirun.  Return 0 or a negative errno; -ENOENT: the order names another
 * generation than the present one.
 */
static int start(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct generation *g = meant(a, o, err);

    return g ? generation_start(g, a->agent_config, err) : -ENOENT;
}

/* Carry out "relay": start mpirun's daemon for the mpirun on another node.  Return 0 or a negative
 * errno; -ENOENT: the order names another generation than the present one.
 */
static int relay(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct generation *g = meant(a, o, err);

    return g ? generation_start_daemon(g, a->agent_config, &o->relay, err) : -ENOENT;
}

/* Carry out "settle": publish the plan and the mode that the ranks wait for on the board.  Return 0
 * or a negative errno; -ENOENT: the order names another generation than the present one.
 */
static int settle(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct generation *g = meant(a, o, err);

    int rc = g ? generation_settle(g, o, err) : -ENOENT;

    return rc < 0 ? eddis_fail_prefix(err, rc, "cannot give the job's mode to the ranks") : 0;
}

/* Carry out "rebalance": publish a new plan on the board.  Return 0 or a negative errno; -ENOENT:
 * the order names another generation than the present one.
 */
static int rebalance(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct generation *g = meant(a, o, err);

    return g ? generation_replan(g, o, err) : -ENOENT;
}

/* Carry out "signal": send SIGUSR2 to the ranks.  Return 0, or -ENOENT: the order names another
 * generation than the present one.
 */
static int pass_signal(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct generation *g = meant(a, o, err);

    if (!g)
        return -ENOENT;
    generation_signal(g, SIGUSR2);
    return 0;
}

/* Carry out "look": begin to find out which code the ranks execute, with py-spy.  Return 0: the
 * order never fails, because a missing answer is no reason to fail a job.
 */
static int look(struct agent *a, const struct order *o, struct eddis_error *err)
{
    (void)err;
    if (a->generation && a->generation->number == o->generation)
        agent_look_at_stacks(a, clock_now_ns());
    return 0;
}

/* Carry out "logs": begin to send the log that the order names.  Return 0 or a negative errno. */
static int send_log(struct agent *a, const struct order *o, struct eddis_error *err)
{
    return agent_logs_send(&a->logs, o, err);
}

/* Carry out "stop": begin a stop, and let paused ranks continue; agent_step_stop reports its end,
 * which comes immediately without a generation.  Return 0: the order never fails.
 */
static int stop(struct agent *a, const struct order *o, struct eddis_error *err)
{
    (void)err;
    agent_reap(a); /* ranks that have ended by now were not stopped by this order */
    if (a->life.paused && a->generation)
        generation_go_on(a->generation, clock_now_ns()); /* otherwise the ranks cannot save */
    a->stop_generation = o->generation;
    stop_begin(&a->stop, o->ladder, o->grace_ns, clock_now_ns());
    return 0;
}

/* Carry out "pause": suspend the ranks' processes (SIGSTOP), and do not count the driver's silence.
 * Works without a generation.  Return 0: the order never fails.
 */
static int pause_workers(struct agent *a, const struct order *o, struct eddis_error *err)
{
    (void)o;
    (void)err;
    watchdog_pause(&a->life, a->session_log.fd, http_client_hold(a->http, NULL));
    agent_hold(a);
    return 0;
}

/* Carry out "continue": let the ranks' processes run again (SIGCONT), and count the driver's
 * silence again.  Return 0: the order never fails.
 */
static int go_on(struct agent *a, const struct order *o, struct eddis_error *err)
{
    (void)o;
    (void)err;
    watchdog_go_on(&a->life);
    if (a->generation)
        generation_go_on(a->generation, clock_now_ns());
    return 0;
}

/* Carry out "release": release all GPUs, since the newest generation has no worker here.  Return 0;
 * -EBUSY: the previous generation, or a stop, has not ended.
 */
static int release(struct agent *a, const struct order *o, struct eddis_error *err)
{
    if (a->generation || a->stop.active || a->gpu_order)
        return eddis_fail(err, -EBUSY, "a start has not ended, so start %lld cannot release GPUs",
                          (long long)o->generation);
    gpu_lock_release(&a->gpus);
    gpu_lock_release(&a->gpu_wait.held);
    return 0;
}

/* Carry out "bye": kill the generation, unless a stop is under way, and end the agent as soon as no
 * process is left.  Return 0: the order never fails.
 */
static int bye(struct agent *a, const struct order *o, struct eddis_error *err)
{
    (void)o;
    (void)err;
    a->bye = true;
    if (a->generation && !a->stop.active)
        stop_begin(&a->stop, STOP_KILL, 0, clock_now_ns());
    return 0;
}

void agent_hold(struct agent *a)
{
    if (a->generation && a->life.paused && !a->stop.active)
        generation_hold(a->generation);
}

/* Functions that carry out an order, by enum order_type.  Each returns 0 or a negative errno value.
 */
static int (*const carry_out[])(struct agent *a, const struct order *o, struct eddis_error *err) = {
    [ORDER_PROFILE] = profile,     [ORDER_PREPARE] = prepare,    [ORDER_CHECK] = check,
    [ORDER_START] = start,         [ORDER_RELAY] = relay,        [ORDER_SETTLE] = settle,
    [ORDER_REBALANCE] = rebalance, [ORDER_SIGNAL] = pass_signal, [ORDER_LOOK] = look,
    [ORDER_STOP] = stop,           [ORDER_LOGS] = send_log,      [ORDER_PAUSE] = pause_workers,
    [ORDER_CONTINUE] = go_on,      [ORDER_RELEASE] = release,    [ORDER_BYE] = bye,
};

/* Carry out an order if it is the next in sequence, and report a failure to the driver.  Ignore any
 * other order.
 */
static void take_order(struct agent *a, const struct order *o)
{
    struct eddis_error err = { 0 };

    if (o->type == ORDER_NONE || a->over) /* an agent that leaves has removed its files already */
        return;
    if (o->number != a->after + 1) {
        node_log_say(a->event_sender.log, "received order %lld, but expected order %lld",
                     (long long)o->number, (long long)a->after + 1);
        return;
    }
    a->after = o->number;
    node_log_say(a->event_sender.log, "order %lld: %s of start %lld", (long long)o->number,
                 order_type_names[o->type], (long long)o->generation);
    if (!carry_out[o->type])
        eddis_fail(&err, -ENOSYS, "this agent does not know the order \"%s\"",
                   order_type_names[o->type]);
    if (!carry_out[o->type] || carry_out[o->type](a, o, &err) < 0)
        event_sender_failed(&a->event_sender,
                            o->type == ORDER_SETTLE ? EVENT_UNSETTLED : EVENT_FAILED, o->generation,
                            &err);
}

/* ---- asking the driver for orders ---- */

/* Set a->ask_ns, the time of the next request after a failed one.  It is random, so that the agents
 * of a job do not all ask simultaneously when the driver is back.
 */
static void ask_again(struct agent *a)
{
    a->ask_ns =
        clock_now_ns() + timing_retry_ns(a->agent_config->lease_ns, random_next(&a->chance));
}

/* Handle the answer to a request for an order: carry the order out, or ask again later (callback of
 * the HTTP client on the agent's thread; ctx is the struct agent).
 */
static void on_order(void *ctx, int status, const char *body, size_t body_n,
                     const struct eddis_error *why)
{
    struct agent *a = ctx;
    struct eddis_error err = { 0 };
    struct order *o = NULL;

    a->asking = false;
    if (status == 200 && order_parse(body, body_n, &o, &err) == 0) {
        watchdog_heard(&a->life);
        take_order(a, o);
        if (a->gpu_until_ns && !a->gpu_order)
            a->gpu_order = o;
        else
            order_free(o);
        return;
    }
    ask_again(a);
    if (!a->over)
        node_log_say(a->event_sender.log, "no order: status %d, %s", status,
                     status == 200 ? err.text : why->text);
}

/* Handle the answer to the registration (callback of the HTTP client on the agent's thread; ctx is
 * the struct agent).  Without success ask again later, or end the agent if the driver rejects it
 * (status 4xx).
 */
static void on_registered(void *ctx, int status, const char *body, size_t body_n,
                          const struct eddis_error *why)
{
    struct agent *a = ctx;

    a->asking = false;
    if (status == 200) {
        a->registered = true;
        if (a->agent_config->gpus_ns)
            gpu_wait_list(&a->gpu_wait, a->agent_config);
        /* Send the first report only after one interval: it needs a second connection, and other
         * agents still wait for their first.
         */
        a->progress_ns = clock_after_ns(clock_now_ns(), a->agent_config->heartbeat_ns);
        watchdog_heard(&a->life);
        node_log_say(a->event_sender.log, "registered");
        session_log_end(&a->session_log, node_log_fd(a->event_sender.log));
        return;
    }
    ask_again(a);
    if (a->over)
        return;
    node_log_say(a->event_sender.log, "not registered: status %d, %s", status,
                 status ? (body_n ? body : "refused") : why->text);
    if (status == 0)
        session_log_say(&a->session_log, clock_now_ns(), "%s", why->text);
    else
        session_log_say(&a->session_log, clock_now_ns(), "the driver refuses this agent: %s",
                        body_n ? body : "it gives no reason");
    if (status >= 400 && status < 500) /* the driver rejects this agent for good */
        agent_end(a, AGENT_EXIT_LOST);
}

/* Add this node's addresses, without those of loopback, to h; the driver chooses the job's network
 * by them.
 */
static void add_addresses(struct hello *h)
{
    enum { MANY = 4 * PROTOCOL_MAX_ADDRESSES };
    cleanup_free struct interface *list = calloc(MANY, sizeof *list);
    int n = list ? interfaces_list(list, MANY, NULL) : 0;

    for (int i = 0; i < n && h->n_addresses < PROTOCOL_MAX_ADDRESSES; i++) {
        struct node_address *a = &h->address[h->n_addresses];

        if (list[i].loopback)
            continue;
        (void)snprintf(a->interface, sizeof a->interface, "%s", list[i].name);
        (void)snprintf(a->address, sizeof a->address, "%s", list[i].address);
        a->prefix = list[i].prefix;
        a->speed_mbit = list[i].speed_mbit;
        a->is_virtual = list[i].is_virtual;
        h->n_addresses++;
    }
}

/* Start the request to register this agent; on_registered gets the answer.  Return 0 or a negative
 * errno.
 */
static int ask_registration(struct agent *a, struct eddis_error *err)
{
    struct hello h = { .protocol = PROTOCOL_VERSION,
                       .agent = a->agent_config->agent,
                       .pid = (int)getpid(),
                       .eddis_version = EDDIS_VERSION,
                       .mpi_guarded = a->mpi_guarded,
                       .mpi_v4_only = a->mpi_v4_only,
                       .shared_logs = a->logs.place.shared };
    cleanup_free char *text = NULL;

    memcpy(h.mpi_version, a->mpi_version, sizeof h.mpi_version);
    boot_id_read(h.machine);
    if (a->agent_config->host[0])
        strcpy(h.host, a->agent_config->host);
    else if (gethostname(h.host, sizeof h.host - 1) < 0)
        strcpy(h.host, "?");
    if (strlen(a->logs.place.dir) < sizeof h.log_dir)
        strcpy(h.log_dir, a->logs.place.dir);
    add_addresses(&h);
    text = hello_text(&h);
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory to register");
    return http_client_start(a->http, "/v1/agents", text,
                             timing_request_ns(a->agent_config->lease_ns), on_registered, a, err);
}

void agent_ask(struct agent *a, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    char path[96];
    int rc;

    if (a->asking || now_ns < a->ask_ns)
        return;
    snprintf(path, sizeof path, "/v1/agents/%d/orders?after=%lld", a->agent_config->agent,
             (long long)a->after);
    a->asking = true; /* set first: the answer may arrive inside the call */
    rc = a->registered ? http_client_start(a->http, path, NULL,
                                           timing_poll_request_ns(a->agent_config->lease_ns),
                                           on_order, a, &err)
                       : ask_registration(a, &err);
    if (rc < 0) {
        a->asking = false;
        ask_again(a);
        node_log_say(a->event_sender.log, "cannot ask the driver: %s", err.text);
    }
}

/* ---- the shared folder ---- */

void agent_step_check(struct agent *a, int64_t now_ns)
{
    struct event e = { .type = EVENT_CHECKED, .generation = a->check_order, .rank = -1 };
    struct generation *g = a->generation;
    struct eddis_error err = { 0 };
    int unseen;

    if (a->check_order < 0)
        return;
    unseen = g ? generation_unseen(g) : -1;
    program_probe_look(&a->program, now_ns);
    if (((unseen >= 0 && now_ns < a->check_until_ns) || a->program.pid) && !a->stop.active)
        return;
    a->check_order = -1;
    if (!g || a->stop.active)
        return;
    if (unseen < 0) {
        e.text = a->versions;
        event_sender_send(&a->event_sender, &e, now_ns);
        return;
    }
    eddis_fail(&err, -ENOENT,
               "checkpoint.dir '%s' is not the same folder on %s: a file that %s wrote there is "
               "not visible; name a folder that all nodes share",
               g->share_dir, g->node[g->place].host, g->node[unseen].host);
    event_sender_failed(&a->event_sender, EVENT_FAILED, e.generation, &err);
}

/* ---- the end of a generation ---- */

/* Send the signal of one row of the stop ladder to the row's receivers. */
static void carry_row(struct agent *a, const struct stop_row *row)
{
    struct generation *g = a->generation;

    switch (row->whom) {
    case STOP_RANKS:
        if (g)
            generation_signal(g, row->signal);
        break;
    case STOP_MPIRUN:
        if (g && g->mpirun)
            (void)kill(g->mpirun, row->signal);
        break;
    case STOP_ALL:
        (void)proctree_signal(getpid(), row->signal, 0, NULL);
        break;
    }
}

/* Handle the last messages, close the generation, end the stop, and report to the driver that no
 * process of the generation is left. step: step of the newest checkpoint; -1: there is none;
 * PROTOCOL_STEP_UNKNOWN.
 */
static void stopped(struct agent *a, int64_t step)
{
    struct event e = {
        .type = EVENT_STOPPED, .generation = a->stop_generation, .rank = -1, .step = step
    };

    agent_read_messages(a);    /* the last output */
    agent_look_at_wrappers(a); /* report ends that no wrapper has reported */
    node_log_say(a->event_sender.log, "start %lld has ended", (long long)a->stop_generation);
    agent_note_reader(a, 0, generation_close(a->generation));
    a->generation = NULL;
    a->stop = (struct stop){ 0 };
    a->looking = false;
    event_sender_send(&a->event_sender, &e, clock_now_ns());
}

/* A search for the newest checkpoint in a thread, because its file system may block. */
struct look {
    struct file_task task;
    struct agent *agent;      /* not used in the thread */
    int64_t generation, step; /* step: the result, see stopped() */
    char dir[];
};

/* Set l->step to the newest checkpoint's step (file_task.run, on the file thread). */
static void look_run(struct file_task *k)
{
    struct look *l = (struct look *)k;

    l->step = checkpoints_newest(l->dir, NULL, 0);
}

/* Close the generation and report its end, if its stop still waits for this search (file_task.done,
 * on the agent's thread).  If a later call has reported it already, do nothing.
 */
static void look_done(struct file_task *k)
{
    const struct look *l = (const struct look *)k;

    if (l->agent->looking && l->agent->stop_generation == l->generation)
        stopped(l->agent, l->step);
}

/* Search for the newest checkpoint in a thread, then close the generation and report both.  Report
 * without it if the file system takes too long.
 */
static void look_and_say(struct agent *a, int64_t now_ns)
{
    const char *dir = a->agent_config->checkpoint_dir;
    struct look *l = dir && !a->looking ? malloc(sizeof *l + strlen(dir) + 1) : NULL;

    if (!dir) {
        stopped(a, -1);
    } else if (!a->looking && l) {
        *l = (struct look){ .task = { .run = look_run, .done = look_done },
                            .agent = a,
                            .generation = a->stop_generation };
        strcpy(l->dir, dir);
        a->looking = true;
        a->look_ns = now_ns;
        file_thread_add(a->files, &l->task);
    } else if (!l && (!a->looking || now_ns >= a->look_ns + FILE_THREAD_LATE_NS)) {
        stopped(a, PROTOCOL_STEP_UNKNOWN);
    }
}

/* Check whether the stop ladder need not wait before its next row: there is no generation, all
 * programs have ended, mpirun has ended, or no rank has started (then mpirun may wait for a daemon
 * that never comes).
 */
static bool is_empty(const struct generation *g)
{
    bool begun = false;

    for (int i = 0; g && i < g->n; i++) {
        if (g->worker[i].pidfd >= 0 && !g->worker[i].ended)
            return false;
        begun = begun || g->worker[i].wrapper;
    }
    return !g || !g->mpirun || !begun || g->n_ended == g->n;
}

/* Check whether this killed process only read the GPUs, of this generation or an earlier one. */
static bool is_reader(const struct agent *a, pid_t pid, int64_t now_ns)
{
    for (size_t i = 0; i < sizeof a->reader / sizeof *a->reader; i++)
        if (a->reader[i] == pid)
            return true;
    return a->generation && gpu_watch_stuck(a->generation->gpus, now_ns) == pid;
}

/* Check whether a process of the generation is left, apart from those that only read the GPUs and
 * that a driver blocks in the kernel.
 */
static bool is_any_left(const struct agent *a, int64_t now_ns)
{
    cleanup_free struct proctree_process *left = NULL;
    int n = proctree_list(getpid(), &left, NULL);

    for (int i = 0; i < n; i++)
        if (!is_reader(a, left[i].pid, now_ns))
            return true;
    return n < 0;
}

void agent_step_stop(struct agent *a, int64_t now_ns)
{
    const struct stop_row *row;

    if (a->stop.active && a->generation)
        gpu_watch_stop(a->generation->gpus, now_ns);
    if (is_empty(a->generation))
        stop_hasten(&a->stop, now_ns);
    while ((row = stop_due(&a->stop, now_ns))) {
        if (row->signal != SIGKILL || row->whom != STOP_ALL)
            node_log_say(a->event_sender.log, "stop: signal %d to %s", row->signal,
                         row->whom == STOP_MPIRUN ? "mpirun" : "the ranks");
        carry_row(a, row);
    }
    if (!a->stop.active)
        return;
    agent_reap(a);
    if (!is_any_left(a, now_ns))
        look_and_say(a, now_ns);
}
