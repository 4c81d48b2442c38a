/* SPDX-License-Identifier: Apache-2.0 */
/* generation.c - starts one generation on this node, reads its progress and ends it */
#include "generation.h"

#include "agents/node/watch/memory_limits.h"
#include "agents/node/watch/page_check.h"
#include "launch.h"
#include "relay.h"
#include "shared_folder.h"

#include "agents/guard/guard.h"
#include "agents/protocol/protocol_relay.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/process_fd.h"
#include "lib/base/proctree.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* The interval between polls of the workers' steps is at least LOOK_NS, and LOOK_PART times the
 * duration of a poll.
 */
#define LOOK_NS (100 * CLOCK_MS)
enum { LOOK_PART = 200 };

/* ---- start ---- */

/* Start g->argv, which is mpirun or its daemon, and record its pid in g->mpirun.  Return 0 or a
 * negative errno; -EALREADY: the generation was started before.  In a Slurm step, block the signals
 * that Slurm sends: mpirun would end the ranks, or pass the signals on, before the ranks have
 * saved.  The programs that mpirun starts have no signal blocked.
 */
static int start(struct generation *g, const struct agent_config *b, struct eddis_error *err)
{
    static const int of_step[] = { SIGTERM, SIGUSR1, SIGUSR2, 0 };
    cleanup_fd int log = file_open_append(g->log_path, 0600, NULL);
    struct spawn s = { .argv = (const char *const *)g->argv->item,
                       .envp = (const char *const *)g->env->item,
                       .dir = b->workdir,
                       .in = -1,
                       .out = log,
                       .err = log,
                       .own_group = true,
                       .blocked = g->in_step ? of_step : NULL,
                       .parent_death_signal = SIGKILL };
    struct stat st;
    int rc;

    if (g->started)
        return eddis_fail(err, -EALREADY, "start %lld was already started", (long long)g->number);
    if (log < 0 || fstat(log, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot write '%s'", g->log_path);
    g->log_offset = st.st_size;
    rc = spawn_start(&s, &g->mpirun, err);
    if (rc == -ENOENT)
        return eddis_fail_prefix(err, rc, "Open MPI is needed (Debian: openmpi-bin)");
    g->started = rc == 0;
    if (g->started && g->share_dir) /* all nodes have seen it, or mpirun would not start */
        shared_folder_take_back(g->share_dir, g->share, g->node[g->place].agent);
    return rc;
}

int generation_unseen(struct generation *g)
{
    for (int i = 0; g->share_dir && i < g->n_nodes; i++)
        if (!shared_folder_is_seen(g->share_dir, g->share, g->node[i].agent, &g->share_kept))
            return i;
    return -1;
}

int generation_start(struct generation *g, const struct agent_config *b, struct eddis_error *err)
{
    if (g->place != 0)
        return eddis_fail(err, -EINVAL, "mpirun runs on node %s, not here", g->node[0].host);
    if (g->port_fd >= 0)
        (void)close(g->port_fd);
    g->port_fd = -1;
    return start(g, b, err);
}

int generation_start_daemon(struct generation *g, const struct agent_config *b,
                            const struct relay *r, struct eddis_error *err)
{
    const struct generation_node *first = &g->node[0];
    struct relay mine = *r;
    cleanup_free char *uri = NULL;

    if (g->place == 0)
        return eddis_fail(err, -EINVAL, "mpirun itself runs here");
    if (g->started)
        return eddis_fail(err, -EALREADY, "mpirun's daemon was started already");
    /* If the user has set mpirun's network, it may be another network than the ranks'. */
    if (!launch_user_sets(b, g->mpi->network)) {
        uri = relay_uri_at(r->uri, first->address, first->host, err);
        if (!uri)
            return -EACCES;
        mine.uri = uri;
    }
    launch_add_relay(g->mpi, &mine, g->argv);
    if (g->argv->failed)
        return eddis_fail(err, -ENOMEM, "no memory for a daemon's arguments");
    return start(g, b, err);
}

/* Check that an order's plan is for as many ranks as the generation has.  Return 0 or -EINVAL. */
static int check_plan(const struct generation *g, const struct order *o, struct eddis_error *err)
{
    int n = board_setup(g->board)->n_ranks;

    return o->n_plan == n ? 0
                          : eddis_fail(err, -EINVAL, "the plan is for %d ranks, but there are %d",
                                       o->n_plan, n);
}

int generation_settle(struct generation *g, const struct order *o, struct eddis_error *err)
{
    cleanup_free struct board_area *area = calloc(1, sizeof *area);
    int rc = area ? check_plan(g, o, err) : eddis_fail(err, -ENOMEM, "no memory for a plan");

    if (rc < 0)
        return rc;
    memcpy(area->mode, o->mode, sizeof area->mode);
    memcpy(area->algorithm, o->algorithm, sizeof area->algorithm);
    area->options = o->options;
    area->group = o->group;
    return board_settle(g->board, area, o->plan, err);
}

int generation_replan(struct generation *g, const struct order *o, struct eddis_error *err)
{
    int rc = check_plan(g, o, err);

    return rc < 0 ? rc : board_publish(g->board, o->plan, err);
}

int generation_relay(struct generation *g, struct relay *ret, struct eddis_error *err)
{
    int place, rc = g->relay < 0 ? 0 : relay_receive(g->relay, ret, err);

    if (rc <= 0)
        return rc;
    place = launch_node_place(ret->host);
    if (place < 1 || place >= g->n_nodes || !g->mpirun) {
        eddis_fail(err, -EINVAL, "mpirun wants a daemon on '%s', which is not a node of the job",
                   ret->host);
        relay_free(ret);
        return -EINVAL;
    }
    strcpy(ret->host, g->node[place].host);
    return 1;
}

/* ---- while it runs ---- */

/* Count the connections that the guard in mpirun or its daemon has rejected, as stated in a message
 * of n bytes; return false if it is not a message of the guard.
 */
static bool take_refusal(struct generation *g, const void *message, ssize_t n)
{
    struct guard_refusal m;

    if (n != sizeof m)
        return false;
    memcpy(&m, message, sizeof m);
    if (m.magic != GUARD_MAGIC)
        return false;
    m.peer[sizeof m.peer - 1] = '\0';
    http_rejections_add(&g->refused, m.peer, m.n);
    return true;
}

/* Record a worker's wrapper and open a pidfd for it.  If that fails although the wrapper lives, set
 * w->watch_error and kill the wrapper, because its end could not be noticed.
 */
static void watch_wrapper(struct worker *w, pid_t wrapper)
{
    w->wrapper = wrapper;
    w->pidfd = process_fd_open(wrapper);
    if (w->pidfd >= 0 || errno == ESRCH)
        return;
    w->watch_error = errno;
    (void)kill(wrapper, SIGKILL);
}

struct worker *generation_message(struct generation *g, struct rank_message *ret)
{
    ssize_t n;

    while ((n = recv(g->socket, ret, sizeof *ret, 0)) >= 0) {
        struct worker *w = NULL;

        if (take_refusal(g, ret, n) || n <= (ssize_t)offsetof(struct rank_message, lines))
            continue; /* the guard's message, or an empty one: a wrapper checks that this agent
                         exists */
        ((char *)ret)[n - 1] = '\0';
        for (int i = 0; i < g->n; i++)
            if (g->worker[i].rank == ret->rank)
                w = &g->worker[i];
        if (ret->magic != RANK_MESSAGE_MAGIC || ret->generation != g->number || !w ||
            ret->wrapper <= 1 || ret->pid < 0 || (w->ended && ret->kind != RANK_OUTPUT))
            continue;
        if (!w->wrapper)
            watch_wrapper(w, ret->wrapper);
        w->pid = ret->pid;
        return w;
    }
    return NULL;
}

bool generation_was_first(const struct worker *w, const struct rank_message *m)
{
    return w->ending && m->signal && m->signal != SIGABRT && !(m->ordered && m->signal == SIGTERM);
}

void generation_signal(const struct generation *g, int sig)
{
    for (int i = 0; i < g->n; i++)
        if (g->worker[i].pidfd >= 0)
            (void)process_fd_signal(g->worker[i].pidfd, g->worker[i].wrapper, sig);
}

/* Return now - before, at least 0. */
static int64_t since(int64_t now, int64_t before)
{
    return now > before ? now - before : 0;
}

/* Set p->recent_steps, recent_samples and recent to what the worker did since the previous report.
 * Leave them as they are if there was no previous report or the counters have gone back.
 */
static void fill_recent(struct progress *p, const struct board_page *page, const struct worker *w)
{
    if (!w->seen || page->samples_done < w->before.samples_done ||
        page->steps_here < w->before.steps_here)
        return;
    p->recent_steps = page->steps_here - w->before.steps_here;
    p->recent_samples = page->samples_done - w->before.samples_done;
    p->recent = (struct board_times){
        .input_ns = since(page->sum.input_ns, w->before.sum.input_ns),
        .compute_ns = since(page->sum.compute_ns, w->before.sum.compute_ns),
        .exposed_ns = since(page->sum.exposed_ns, w->before.sum.exposed_ns),
        .wait_ns = since(page->sum.wait_ns, w->before.sum.wait_ns),
        .total_ns = since(page->sum.total_ns, w->before.sum.total_ns),
    };
}

/* Fill *p, the worker's row of a report, from its progress page.  Ages are relative to now_ns. */
static void fill(struct progress *p, const struct board_page *page, const struct worker *w,
                 int64_t now_ns)
{
    const struct board_step *last = &page->ring[(page->steps_done + BOARD_RING - 1) % BOARD_RING];
    int64_t end_ns = last->end_ns > 0 ? last->end_ns : page->steps_source ? page->phase_ns : 0;

    *p = (struct progress){
        .rank = w->rank,
        .pid = page->pid,
        .phase = page->phase,
        .steps_done = page->steps_done,
        .steps_total = page->steps_total,
        .steps_in_epoch = page->steps_in_epoch,
        .samples_in_epoch = page->samples_in_epoch,
        .epochs = page->epochs,
        .steps_here = page->steps_here,
        .samples_done = page->samples_done,
        .restored_samples = page->restored_samples,
        .restored_at = page->restored_at,
        .plan_version = page->plan_version,
        .plan_since = page->plan_since,
        .bytes_sent = page->bytes_sent,
        .overrun_ns = page->overrun_ns,
        .model_bytes = page->model_bytes,
        .program = page->program,
        .staleness = page->staleness,
        .exchanges = page->exchanges,
        .exchange_ns = page->exchange_ns,
        .page_age_ns = -1,
        .loss = page->has_loss ? page->loss : __builtin_nan(""),
        .sum = page->sum,
        .step_plan = page->step_plan,
        .steps_before = page->steps_before,
        .samples_before = page->samples_before,
        .sum_before = page->sum_before,
        .at_once = page->at_once,
        .takes_pieces = page->takes_pieces != 0,
        .stops = page->stops != 0,
        .trained = page->trained != 0,
        .ended = page->ended != 0,
        .models = page->models,
        .loss_step = page->loss_step,
        .steps_only = page->steps_source != 0,
        .own_times = page->steps_source != 0 && page->own_times != 0,
    };
    memcpy(p->metric, page->metric, sizeof p->metric);
    progress_checkpoints(p, page);
    p->waits_for = (int)page->waits_for;
    p->phase_age_ns = page->phase_ns > 0 ? generation_age_ns(w, now_ns, page->phase_ns) : -1;
    if (page->steps_done > 0 && end_ns > 0) /* otherwise its steps were done before a restart */
        p->page_age_ns = generation_age_ns(w, now_ns, end_ns);
    fill_recent(p, page, w);
}

const struct comm_choice *generation_choice(struct generation *g)
{
    const struct worker *w = &g->worker[0];

    if (w->rank != 0 || !w->seen || w->before.choice.version == g->choice_version)
        return NULL;
    g->choice_version = w->before.choice.version;
    return &w->before.choice;
}

const struct network_check *generation_network_check(struct generation *g)
{
    const struct worker *w = &g->worker[0];

    if (w->rank != 0 || !w->seen || !w->before.network.known || g->network_reported)
        return NULL;
    g->network_reported = true;
    return &w->before.network;
}

int generation_progress(struct generation *g, int64_t now_ns, struct progress *ret)
{
    cleanup_free struct memory_limits_worker *held = calloc((size_t)g->n, sizeof *held);
    int n = 0;

    core_watch_take(g->cores, now_ns);
    if (!g->probe)
        gpu_watch_take(g->gpus, now_ns);
    link_watch_take(g->links, now_ns);
    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];
        struct board_page page;

        step_watch_look_at_memory(&w->steps);
        if (board_read(g->board, w->local_rank, &page, NULL) < 0)
            continue;
        page_check_repair(&page);
        step_watch_take(&w->steps, &page, g->board);
        fill(&ret[n], &page, w, now_ns);
        step_watch_report(&w->steps, &page, w->wrapper, &ret[n]);
        core_watch_set(g->cores, i, w->wrapper, w->steps.load.pid);
        if (held)
            held[n] = (struct memory_limits_worker){ w->steps.load.pid, &w->steps.memory, &ret[n] };
        link_watch_set(g->links, i, w->steps.load.pid);
        ret[n].core_loss = core_watch_loss(g->cores, i);
        if (!g->probe) {
            ret[n].gpu = gpu_watch_state(g->gpus, i, now_ns);
            ret[n].n_gpus = gpu_watch_states(g->gpus, i, now_ns, ret[n].gpus);
        }
        ret[n++].link = link_watch_load(g->links, i);
        w->before = page;
        w->seen = true;
    }
    if (held)
        memory_limits_fill(held, n);
    /* When all workers have mapped the board, remove its file: then the memory is freed as soon as
     * their processes have ended.
     */
    if (g->board_linked && board_all_mapped(g->board)) {
        (void)unlink(g->board_path);
        g->board_linked = false;
    }
    return n;
}

/* Return the time of the next poll.  Wait until the fastest worker, with step_ns per step, can have
 * done a step, and LOOK_PART times as long as the poll took, which began at began_ns; at least
 * LOOK_NS, but at most most_ns.
 */
static int64_t look_again_ns(int64_t step_ns, int64_t most_ns, int64_t began_ns)
{
    int64_t now_ns = clock_now_ns(), wait_ns = LOOK_PART * (now_ns - began_ns);

    wait_ns = wait_ns > step_ns ? wait_ns : step_ns;
    wait_ns = wait_ns > LOOK_NS ? wait_ns : LOOK_NS;
    return now_ns + (wait_ns < most_ns ? wait_ns : most_ns);
}

bool generation_look(struct generation *g, int64_t most_ns, int64_t now_ns)
{
    int64_t step_ns = most_ns;
    bool news = false;

    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];
        const struct board_step *last;
        struct board_page page;

        if (board_read(g->board, w->local_rank, &page, NULL) < 0 || page.steps_done == 0)
            continue;
        page_check_repair(&page);
        step_watch_take(&w->steps, &page, g->board);
        last = &page.ring[(page.steps_done - 1) % BOARD_RING];
        step_ns = last->t.total_ns < step_ns ? last->t.total_ns : step_ns;
        news = news || step_watch_has_news(&w->steps);
    }
    g->look_ns = look_again_ns(step_ns, most_ns, now_ns);
    return news;
}

void generation_inspect_contacts(struct generation *g, int64_t now_ns)
{
    bool ranks = now_ns >= g->contact_watch.ranks_ns, any = false;
    struct contact_watch_listeners found,
        *l = contact_watch_find_listeners(&found) < 0 ? NULL : &found;

    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];

        if (w->seen || w->ended)
            continue;
        any = true;
        if (ranks && w->pid > 0)
            contact_watch_inspect_rank(&w->contact_watch, w->pid, l);
    }
    if (ranks)
        g->contact_watch.ranks_ns = look_again_ns(LOOK_NS, CLOCK_S, now_ns);
    if (any)
        contact_watch_inspect_port(&g->contact_watch, l);
    g->contact_watch.next_ns = any ? now_ns + LOOK_NS : CLOCK_NEVER;
}

bool generation_reached_step(struct generation *g, int64_t most_ns, int64_t now_ns)
{
    bool last = g->warm || g->report_at_step <= PROTOCOL_COLD_STEPS;
    int64_t seen = 0, want = last ? g->report_at_step : PROTOCOL_COLD_STEPS;
    int reached = 0;

    for (int i = 0; i < g->n; i++) {
        struct board_page page;

        if (board_read(g->board, g->worker[i].local_rank, &page, NULL) < 0)
            continue;
        page_check_repair(&page);
        reached += page.steps_here >= want;
        seen += 1 + (page.steps_here < want ? page.steps_here : want);
    }
    poll_backoff_taken(&g->backoff, seen, most_ns, now_ns);
    if (want == 0 || reached < g->n)
        return false;
    g->warm = true;
    g->look_ns = now_ns; /* the first measurements are only a few steps away */
    if (last)
        g->report_at_step = 0;
    return true;
}

/* Longest interval between polls for rank 0's request for its mode.  So the answer is late by at
 * most 0.1 s; ranks that first read a large data set take minutes to ask.
 */
#define ASKED_NS (100 * CLOCK_MS)

bool generation_asks_mode(struct generation *g, int64_t now_ns)
{
    struct board_page page;
    bool seen = board_read(g->board, 0, &page, NULL) == 0;

    poll_backoff_taken(&g->asked, seen, ASKED_NS, now_ns);
    return seen && page.committed;
}

int64_t generation_model_bytes(struct generation *g, struct program *ret)
{
    const struct worker *w = &g->worker[0];

    if (!g->open || !w->seen || !w->before.committed)
        return -1;
    g->open = false;
    *ret = w->before.program;
    return w->before.model_bytes;
}

/* ---- stopped processes ---- */

/* Check whether process pid has been stopped (SIGSTOP) for more than limit_ns without a break, and
 * update *f.  A process stopped at two checks may have run between them, which its context switches
 * show.  As in tick.h, each check adds at most one interval between checks: a process that was
 * stopped together with this agent gets the full limit.
 */
static bool is_frozen(struct frozen *f, pid_t pid, int64_t now_ns, int64_t limit_ns)
{
    int64_t gone = f->looked_ns ? now_ns - f->looked_ns : 0;
    bool stopped = proctree_state(pid) == 'T';
    int64_t switches = stopped ? proctree_switches(pid) : 0;

    if (stopped && switches == f->switches)
        f->stopped_ns += timing_least_ns(gone, timing_frozen_look_ns(limit_ns));
    else
        f->stopped_ns = 0;
    f->looked_ns = now_ns;
    f->switches = switches;
    return f->stopped_ns > limit_ns;
}

bool generation_kill_frozen(struct generation *g, int64_t now_ns, int64_t limit_ns, char *ret,
                            size_t size)
{
    static const char said[] = "was suspended by a signal and did not continue: killed";

    if (g->mpirun && is_frozen(&g->mpirun_frozen, g->mpirun, now_ns, limit_ns)) {
        if (g->place)
            snprintf(ret, size, "mpirun's daemon, %s (pid %d), %s", g->mpi->daemon, (int)g->mpirun,
                     said);
        else
            snprintf(ret, size, "mpirun (pid %d) %s", (int)g->mpirun, said);
        (void)kill(g->mpirun, SIGKILL);
        g->mpirun_frozen.stopped_ns = 0;
        return true;
    }
    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];
        bool program = is_frozen(&w->program_frozen, w->pid, now_ns, limit_ns);
        bool wrapper = is_frozen(&w->wrapper_frozen, w->wrapper, now_ns, limit_ns);

        if (w->ended || w->pidfd < 0 || (!program && !wrapper))
            continue;
        snprintf(ret, size, "rank %d (pid %d) %s", w->rank, (int)(program ? w->pid : w->wrapper),
                 said);
        (void)kill(program ? w->pid : w->wrapper, SIGKILL);
        w->program_frozen.stopped_ns = w->wrapper_frozen.stopped_ns = 0;
        return true;
    }
    return false;
}

/* Free a list, its items and the struct itself; accept NULL. */
static void free_list(struct strlist *l)
{
    if (l)
        strlist_fini(l);
    free(l);
}

pid_t generation_close(struct generation *g)
{
    pid_t reader;

    if (!g)
        return 0;
    for (int i = 0; g->worker && i < g->n; i++) {
        stack_inspect_drop(&g->worker[i].stack);
        if (g->worker[i].pidfd >= 0)
            (void)close(g->worker[i].pidfd);
    }
    for (int *fd = (int[]){ g->socket, g->relay, g->port_fd, -2 }; *fd != -2; fd++)
        if (*fd >= 0)
            (void)close(*fd);
    if (g->share_dir)
        shared_folder_remove(g->share_dir, g->share, g->node[g->place].agent, g->share_kept);
    board_close(g->board);
    folders_end(&g->folders, g->number);
    free_list(g->argv);
    free_list(g->env);
    free(g->share_dir);
    free(g->node);
    core_watch_close(g->cores);
    reader = gpu_watch_close(g->gpus);
    link_watch_close(g->links);
    free(g->worker);
    free(g);
    return reader;
}
