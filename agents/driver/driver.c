/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_impl.h"

#include "addresses.h"

#include "agents/job/checkpoints.h"

#include "agents/job/node_list.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

static const int64_t look_ns = CLOCK_S / 5; /* an awake driver looks round that often */
static const int64_t clean_ns = 10 * CLOCK_S;

/* The network probe is a part of the profile. */
static enum job_state job_state_of(const struct state *s)
{
    static const enum job_state state[] = {
        [PHASE_REGISTER] = JOB_STARTING, [PHASE_PROFILE] = JOB_PROFILING,
        [PHASE_NETWORK] = JOB_PROFILING, [PHASE_PLAN] = JOB_PLANNING,
        [PHASE_PREPARE] = JOB_LAUNCHING, [PHASE_CHECK] = JOB_LAUNCHING,
        [PHASE_START] = JOB_LAUNCHING,   [PHASE_RUN] = JOB_RUNNING,
        [PHASE_STOP] = JOB_STOPPING,     [PHASE_REGROUP] = JOB_LAUNCHING,
        [PHASE_BYE] = JOB_STOPPING,      [PHASE_OVER] = JOB_ENDED,
    };

    return s->generation == 0 && s->phase < PHASE_BYE ? JOB_PROFILING : state[s->phase];
}

/* What failed first, in the generation that ended the job or the last one that it recovered from.
 */
static void fill_failure(const struct state *s, struct job_status *t)
{
    const struct state_failure *f = s->failure.set ? &s->failure : &s->before;

    t->failure = (struct first_failure){ .set = f->set,
                                         .rank = f->rank,
                                         .pid = f->pid,
                                         .code = f->code,
                                         .signal = f->signal,
                                         .step = f->step };
    (void)snprintf(t->failure.node, sizeof t->failure.node, "%s", f->node);
    (void)snprintf(t->failure.what, sizeof t->failure.what, "%.255s", f->what);
}

static void fill_end(const struct state *s, struct job_status *t)
{
    (void)snprintf(t->reason, sizeof t->reason, "%s", s->reason);
    (void)snprintf(t->message, sizeof t->message, "%s", s->message);
    t->exit_code = s->exit_code;
}

/* Once the doors are closed what they told last remains. */
static void fill_refused(struct driver *d)
{
    if (listeners_refused(&d->listeners))
        listeners_refusals_text(&d->listeners, d->run.status.refused, sizeof d->run.status.refused);
}

void driver_fill_status(struct driver *d)
{
    struct job_status *t = &d->run.status;
    int64_t now_ns = clock_now_ns();

    t->state = job_state_of(&d->run.state);
    t->wall_s = (double)(now_ns - d->run.begun_ns) / CLOCK_S;
    (void)snprintf(t->waiting, sizeof t->waiting, "%s",
                   d->run.state.phase == PHASE_REGISTER ? d->waiting : "");
    fill_refused(d);
    t->generation = t->generations = d->run.state.n_ranks ? d->run.state.generation : 0;
    t->restarts = d->run.state.restarts;
    figures_fill(&d->figures, now_ns, t);
    if (d->run.state.failure.set || d->run.state.before.set)
        fill_failure(&d->run.state, t);
    if (d->run.state.reason)
        fill_end(&d->run.state, t);
}

/* ---- opening ---- */

static int open_signals(struct driver *d, struct eddis_error *err)
{
    struct sigaction hup;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
        sigaddset(&set, SIGHUP); /* nohup eddis-run stays as it was asked to */
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
        (d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return eddis_fail_errno(err, -errno, "cannot wait for signals");
    return 0;
}

/* Every agent holds two connections, and its start a pipe or two. */
static void raise_descriptor_limit(struct driver *d)
{
    const rlim_t wanted = 4 * (rlim_t)d->run.n_agents + 256;
    struct rlimit l;
    char text[200];

    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    if (l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
        (void)getrlimit(RLIMIT_NOFILE, &l);
    }
    if (l.rlim_cur >= wanted)
        return;
    (void)snprintf(text, sizeof text,
                   "only %llu files may be open at a time, and %d agents may need %llu: raise the "
                   "limit (ulimit -Hn, limits.conf) if some cannot register",
                   (unsigned long long)l.rlim_cur, d->run.n_agents, (unsigned long long)wanted);
    job_run_say(&d->run, JOB_EVENT_SAY, -1, -1, text);
}

static int open_doors(struct driver *d, struct eddis_error *err)
{
    char address[HTTP_MAX_BASES][LISTENERS_ADDRESS];
    struct listeners_options o = { .n_agents = d->run.n_agents,
                                   .address = (const char(*)[LISTENERS_ADDRESS])address,
                                   .lease_ns = d->run.o->job->timeouts.lease_ns };
    int rc = inbox_open(&d->inbox, err);

    if (rc == 0)
        rc = o.n_addresses = addresses_find(d->run.o->job, address, err);
    o.inbox = d->inbox;
    return rc < 0 ? rc : listeners_open(&d->listeners, &o, err);
}

static int write_driver_file(const struct driver *d, struct eddis_error *err)
{
    struct job_driver file = { 0 };
    int rc;

    if (!d->run.o->folder)
        return 0;
    (void)snprintf(file.url, sizeof file.url, "%s", d->listeners.people_url);
    http_tokens_text(d->listeners.person_tokens, PERSON_READER, file.token);
    http_tokens_text(d->listeners.person_tokens, PERSON_OWNER, file.owner);
    rc = job_driver_write(d->run.o->folder, &file, err);
    explicit_bzero(file.token, sizeof file.token);
    explicit_bzero(file.owner, sizeof file.owner);
    return rc;
}

int driver_start_agent(struct driver *d, int agent, int64_t deadline_ns, struct eddis_error *err)
{
    struct run_agent *a = &d->run.agent[agent];
    const struct node_identity before = a->identity; /* what it may have left goes first */
    char lease[32], *brief = NULL;
    const char *const args[] = { lease, a->identity.mark,
                                 before.digits[0] ? before.revive_key : NULL, NULL };
    int rc;

    rc = node_identity_make(&a->identity, err);
    starter_drop(d->starter, agent);
    orders_fini(&a->orders);
    a->pid = 0;
    a->sequence = 0;
    (void)snprintf(lease, sizeof lease, "%" PRId64, d->run.o->job->timeouts.lease_ns);
    if (rc == 0) /* one that was given up may have stayed alive: it speaks for nobody now */
        rc = http_tokens_renew(d->listeners.agent_tokens, agent, err);
    if (rc == 0)
        rc = driver_brief(d, agent, &brief, err);
    if (rc == 0 && d->run.o->folder) {
        cleanup_free char *line =
            starter_record(d->starter, agent, d->run.o->folder->id, &a->identity);

        journal_line(&d->run.journal, JOB_NODES_FILE, line);
    }
    if (rc == 0)
        rc = starter_add(d->starter, agent, args, brief, deadline_ns, err);
    if (brief)
        explicit_bzero(brief, strlen(brief));
    free(brief);
    return rc;
}

static int start_agents(struct driver *d, struct eddis_error *err)
{
    const struct job *job = d->run.o->job;
    const struct start_options o = { .host = job->n_hosts ? job->host : NULL,
                                     .n = d->run.n_agents,
                                     .ssh = &job->ssh,
                                     .launch_ns = job->timeouts.launch_ns };
    int rc = starter_open(&o, &d->starter, err);

    for (int i = 0; rc == 0 && i < d->run.n_agents; i++)
        d->run.state.agent[i].remote = !starter_is_local(d->starter, i);
    for (int i = 0; rc == 0 && i < d->run.n_agents; i++)
        rc =
            driver_start_agent(d, i, clock_after_ns(d->run.begun_ns, job->timeouts.launch_ns), err);
    return rc;
}

/* Agents keep a log even when all they do is measure: then among what they remove in the end. */
static int open_log_dir(struct driver *d, struct eddis_error *err)
{
    const char *dir = d->run.o->job->logs.dir;

    if (!d->run.o->folder)
        d->run.log_dir = strdup("");
    else
        d->run.log_dir = dir ? strdup(dir) : file_join(d->run.o->folder->path, "logs");
    if (!d->run.log_dir)
        return eddis_fail(err, -ENOMEM, "no memory for the driver");
    return d->run.o->folder ? file_mkdirs(d->run.log_dir, 0700, err) : 0;
}

/* A folder of this job's own inside the one that the user names, so that jobs which share that
 * never take, replace or prune each other's checkpoints; the job's folder then has a link to it.
 */
static int open_checkpoint_dir(struct driver *d, struct eddis_error *err)
{
    const char *dir = d->run.o->job->checkpoint.dir;
    const struct job_folder *folder = d->run.o->folder;
    cleanup_free char *own = folder ? file_join(folder->path, "checkpoints") : NULL;

    if (!dir && (!folder || d->run.n_agents > 1))
        return 0; /* this machine's folder is no place for several nodes' checkpoints */
    if (dir)
        d->run.checkpoint_dir = folder ? file_join(dir, "%s", folder->id) : strdup(dir);
    else
        d->run.checkpoint_dir = own ? strdup(own) : NULL;
    if (!d->run.checkpoint_dir || (folder && !own))
        return eddis_fail(err, -ENOMEM, "no memory for the driver");
    if (dir && own)
        (void)symlink(d->run.checkpoint_dir, own); /* a convenience: --resume JOB */
    return 0;
}

static void init_status(struct driver *d)
{
    struct job_status *t = &d->run.status;

    (void)snprintf(t->job, sizeof t->job, "%s", d->run.o->folder ? d->run.o->folder->id : "");
    (void)snprintf(t->name, sizeof t->name, "%s", d->run.o->job->name);
    t->n_nodes = d->run.n_agents;
    t->start_s = (double)clock_wall_ns() / CLOCK_S;
    t->exit_code = -1;
}

static int open_all(struct driver *d, struct eddis_error *err)
{
    const struct job *job = d->run.o->job;
    const struct state_options so = {
        .n_agents = d->run.n_agents,
        .launch_ns = job->timeouts.launch_ns,
        .check_only = d->run.o->check_only,
        .share = job->checkpoint.dir != NULL,
        .restarts = job->restarts,
        .lease_ns = job->timeouts.lease_ns,
        .node_lost_ns = job->timeouts.node_lost_ns,
        .hang_ns = job->timeouts.hang_ns,
        .grace_ns = job->timeouts.grace_ns,
        .checkpoint_ns = job->timeouts.checkpoint_ns,
        .job_ns = job->timeouts.job_ns,
    };
    int rc;

    raise_descriptor_limit(d);
    (void)prctl(PR_SET_DUMPABLE, 0); /* no core file with the tokens */
    d->run.agent = calloc((size_t)d->run.n_agents, sizeof *d->run.agent);
    d->plan_agent = calloc((size_t)d->run.n_agents, sizeof *d->plan_agent);
    if (!d->run.agent || !d->plan_agent)
        return eddis_fail(err, -ENOMEM, "no memory for %d agents", d->run.n_agents);
    for (int i = 0; i < d->run.n_agents; i++)
        d->run.agent[i].orders.first = 1;
    d->waiting_ns = d->run.begun_ns + 2 * CLOCK_S;
    rc = open_checkpoint_dir(d, err);
    if (rc == 0)
        rc = state_init(&d->run.state, &so, d->run.begun_ns, err);
    for (size_t i = 0; rc == 0 && i < job->n_hosts; i++)
        (void)snprintf(d->run.state.agent[i].host, sizeof d->run.state.agent[i].host, "%s",
                       job->host[i].host);
    if (rc == 0)
        rc = open_log_dir(d, err);
    if (rc == 0)
        rc = driver_logs_open(d, err);
    if (rc == 0)
        rc = open_signals(d, err);
    if (rc == 0)
        rc = open_doors(d, err);
    if (rc == 0)
        rc = write_driver_file(d, err);
    if (rc == 0)
        rc = start_agents(d, err);
    return rc;
}

/* ---- the loop ---- */

static void take_signals(struct driver *d)
{
    struct signalfd_siginfo i;

    while (read(d->signals, &i, sizeof i) == sizeof i) {
        journal_event(&d->run.journal, JOB_EVENT_SIGNAL, NULL, -1, strsignal((int)i.ssi_signo));
        if (i.ssi_signo == SIGINT || i.ssi_signo == SIGTERM || i.ssi_signo == SIGQUIT)
            driver_logs_stop(d);
        state_signal(&d->run.state, (int)i.ssi_signo, clock_now_ns());
        driver_act(d);
    }
}

static int64_t next_ns(const struct driver *d)
{
    int64_t at = state_deadline(&d->run.state);

    for (int i = 0; i < d->run.n_agents; i++)
        if (d->run.agent[i].orders.poll && d->run.agent[i].orders.poll_deadline_ns < at)
            at = d->run.agent[i].orders.poll_deadline_ns;
    if (d->run.state.phase == PHASE_RUN && d->metrics_ns < at)
        at = d->metrics_ns;
    if (starter_next_ns(d->starter) < at)
        at = starter_next_ns(d->starter);
    return at;
}

/* A node that was given up and started again: its old agent may still knock, with an old token. */
static bool is_given_up(const struct driver *d, const char *peer)
{
    for (int i = 0; i < d->run.n_agents; i++)
        if (d->run.state.restarts > 0 && strcmp(d->run.agent[i].came_from, peer) == 0)
            return true;
    return false;
}

/* Somebody knocks who has no business here: said once for each of them. */
static void say_refused(struct driver *d)
{
    char peer[HTTP_PEER_CHARS], text[128];

    while (listeners_refusal(&d->listeners, peer, sizeof peer)) {
        (void)snprintf(text, sizeof text, "refused a request from %s: it has no valid token", peer);
        job_run_say(&d->run, is_given_up(d, peer) ? JOB_EVENT_REFUSED : JOB_EVENT_SAY, -1, -1,
                    text);
    }
}

/* While there is time to do something about it. */
static void say_trouble(struct driver *d)
{
    char text[600];

    if (!d->run.journal.trouble.code || d->told_trouble)
        return;
    d->told_trouble = true;
    (void)snprintf(text, sizeof text,
                   "%s; the job goes on: free space there, or its records will have gaps",
                   d->run.journal.trouble.text);
    d->run.o->view.say(d->run.o->view.ctx, text);
}

static void tick(struct driver *d)
{
    int64_t now_ns = clock_now_ns();

    say_refused(d);
    say_trouble(d);
    for (int i = 0; i < d->run.n_agents; i++)
        orders_tick(&d->run.agent[i].orders, now_ns);
    if (d->run.state.preempt_ns && !d->run.state.checkpointed && d->run.checkpoint_dir)
        state_checkpoint_seen(&d->run.state, checkpoints_newest(d->run.checkpoint_dir, NULL, 0));
    driver_logs_tick(d, now_ns);
    state_tick(&d->run.state, now_ns);
    driver_act(d);
    if (d->run.state.phase == PHASE_RUN && now_ns >= d->metrics_ns) {
        driver_fill_status(d);
        journal_metrics(&d->run.journal, &d->run.status);
        d->run.o->view.progress(d->run.o->view.ctx,
                                &d->run.status); /* also of programs without libeddis */
        d->metrics_ns = now_ns + CLOCK_S;
    }
}

static void take_starts(struct driver *d)
{
    struct start_event e;

    starter_turn(d->starter, clock_now_ns());
    while (starter_event(d->starter, &e))
        driver_hear_start(d, &e);
}

/* A start that takes its time names those it waits for, as often as that changes. */
static void say_waiting(struct driver *d)
{
    char text[sizeof d->waiting];
    int64_t now_ns = clock_now_ns();

    if (d->run.state.phase != PHASE_REGISTER || now_ns < d->waiting_ns)
        return;
    d->waiting_ns = now_ns + CLOCK_S;
    if (starter_waiting(d->starter, text, sizeof text) == 0 || strcmp(text, d->waiting) == 0)
        return;
    (void)snprintf(d->waiting, sizeof d->waiting, "%s", text);
    job_run_say(&d->run, JOB_EVENT_WAITING, -1, -1, text);
    d->run.o->view.waiting(d->run.o->view.ctx, text);
}

/* Ctrl-Z, or kill -STOP, which need not have come while we slept in poll. */
static void notice_pause(struct driver *d, int64_t *looked_ns)
{
    int64_t now_ns = clock_now_ns(), gone_ns = now_ns - *looked_ns;

    if (gone_ns > look_ns + timing_pause_ns(d->run.o->job->timeouts.lease_ns))
        state_paused(&d->run.state, gone_ns, now_ns);
    *looked_ns = now_ns;
}

static void loop(struct driver *d)
{
    struct pollfd fds[] = { { .fd = inbox_fd(d->inbox), .events = POLLIN },
                            { .fd = d->signals, .events = POLLIN },
                            { .fd = starter_fd(d->starter), .events = POLLIN } };

    int64_t looked_ns = clock_now_ns();

    while (d->run.state.phase != PHASE_OVER) {
        int64_t at_ns = next_ns(d), most_ns = clock_now_ns() + look_ns;
        struct inbox_item *i;

        (void)poll(fds, 3, clock_poll_ms(at_ns < most_ns ? at_ns : most_ns));
        notice_pause(d, &looked_ns);
        take_signals(d);
        while ((i = inbox_take(d->inbox)))
            driver_take_item(d, i);
        notice_pause(d, &looked_ns); /* before the ends of agents are put down to them */
        take_starts(d); /* behind the inbox: what has registered did so before it ended */
        say_waiting(d);
        tick(d);
        d->run.o->view.turn(d->run.o->view.ctx);
    }
}

/* ---- closing ---- */

static void clean_nodes(struct driver *d)
{
    int64_t lease_ns = d->run.o->job->timeouts.lease_ns;
    struct eddis_error err = { 0 };
    int rc = starter_clean(d->starter, timing_all_over_ns(lease_ns, clean_ns / 2),
                           clock_now_ns() + timing_all_over_ns(lease_ns, clean_ns), &err);

    for (int i = 0; rc >= 0 && i < d->run.n_agents; i++)
        if (d->run.agent[i].identity.digits[0])
            rc = starter_sweep(d->starter, i, &d->run.agent[i].identity, &err);
    if (rc >= 0)
        return;
    job_run_say(&d->run, JOB_EVENT_SAY, -1, -1, err.text);
    if (d->run.state.exit_code == 0)
        d->run.state.exit_code = 1;
}

/* Nobody is served any more, and nothing of the job runs when this returns. */
static void close_agents(struct driver *d)
{
    driver_logs_close(d);
    if (d->inbox)
        inbox_shut(d->inbox);
    for (int i = 0; d->run.agent && i < d->run.n_agents; i++)
        orders_fini(&d->run.agent[i].orders);
    fill_refused(d);
    listeners_close(&d->listeners);
    inbox_close(d->inbox);
    if (d->starter)
        clean_nodes(d);
}

static void free_driver(struct driver *d)
{
    if (d->signals >= 0)
        (void)close(d->signals);
    starter_close(d->starter);
    figures_fini(&d->figures);
    plan_free(d->plan);
    plan_free(d->equal);
    journal_fini(&d->run.journal);
    state_fini(&d->run.state);
    job_status_fini(&d->run.status);
    free(d->run.log_dir);
    free(d->run.checkpoint_dir);
    free(d->plan_agent);
    networks_fini(&d->networks);
    free(d->network_key);
    free(d->measured);
    for (int i = 0; d->run.agent && i < d->run.n_agents; i++)
        free(d->run.agent[i].known);
    free(d->run.agent);
}

/* Figures of --measure-equal that compare a split with itself need a word. */
static void say_only_equal(struct driver *d)
{
    static const char text[] = "the job ended before the plan took force: all its steps had the "
                               "equal split of --measure-equal";
    struct job_status *t = &d->run.status;

    if (!d->equal || t->steps_done == 0 || figures_real_begun(&d->figures))
        return;
    if (!t->message[0])
        (void)snprintf(t->message, sizeof t->message, "%s", text);
    journal_event(&d->run.journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* A job that was stopped can go on: from where, and how. */
static void say_how_to_go_on(struct driver *d)
{
    struct job_status *t = &d->run.status;
    struct job_folder found;
    char path[PATH_MAX];
    size_t n = strlen(t->message);
    int64_t newest;

    if (strcmp(t->reason, "interrupted") != 0 && strcmp(t->reason, "preempted") != 0 &&
        strcmp(t->reason, "timeout") != 0)
        return;
    if (t->steps_done > 0)
        (void)snprintf(t->message + n, sizeof t->message - n, " at step %" PRId64, t->steps_done);
    newest =
        d->run.checkpoint_dir ? checkpoints_newest(d->run.checkpoint_dir, path, sizeof path) : -1;
    if (newest < 0 || !d->run.o->folder)
        return;
    /* The id is shorter, but finds only what lies in the usual places. */
    if (job_folder_find(d->run.o->folder->id, &found, NULL) == 0 &&
        strcmp(found.path, d->run.o->folder->path) == 0)
        (void)snprintf(path, sizeof path, "%s", found.id);
    n = strlen(t->message);
    (void)snprintf(t->message + n, sizeof t->message - n,
                   "; newest checkpoint: step %" PRId64 "; go on with --resume %s", newest, path);
}

/* Devices are emulated by libeddis, in the programs that use it: claim nothing for others. */
static void say_not_emulated(struct driver *d)
{
    static const char text[] = "the program does not use libeddis, so no device was emulated";
    struct job_status *t = &d->run.status;

    if (!t->emulated || t->exit_code != 0 || figures_any_seen(&d->figures))
        return;
    t->emulated = false;
    t->ideal_samples_per_s = t->predicted_samples_per_s = NAN;
    t->equal_predicted_samples_per_s = NAN;
    if (!t->message[0])
        (void)snprintf(t->message, sizeof t->message, "%s", text);
    journal_event(&d->run.journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* What the folder lacks is no failure of the job. */
static void say_gaps(struct driver *d)
{
    cleanup_free char *text = NULL;

    if (!d->run.journal.trouble.code)
        return;
    if (asprintf(&text, "%s%smissing or with gaps in '%s': %s; the job's own result stands",
                 d->told_trouble ? "" : d->run.journal.trouble.text, d->told_trouble ? "" : "; ",
                 d->run.o->folder->path, d->run.journal.missing) >= 0)
        d->run.o->view.say(d->run.o->view.ctx, text);
}

/* The last word: how it went, for the folder and for the caller. */
static void sum_up(struct driver *d)
{
    struct job_status *t = &d->run.status;

    if (d->run.checkpoint_dir)
        state_checkpoint_seen(&d->run.state, checkpoints_newest(d->run.checkpoint_dir, NULL, 0));
    driver_fill_status(d);
    t->state = JOB_ENDED; /* also of a job that could not begin */
    say_only_equal(d);
    say_how_to_go_on(d);
    say_not_emulated(d);
    t->eta_s = 0;
    journal_metrics(&d->run.journal, t);
    journal_event(&d->run.journal, JOB_EVENT_ENDED, NULL, -1, t->reason);
    journal_summary(&d->run.journal, t);
    if (d->run.o->folder)
        (void)job_driver_remove(d->run.o->folder, NULL);
    say_gaps(d);
}

int driver_run(const struct driver_options *o, struct job_status *ret, struct eddis_error *err)
{
    struct driver d = { .run.o = o,
                        .run.n_agents = o->job->n_hosts ? (int)o->job->n_hosts : 1,
                        .signals = -1,
                        .run.journal.folder = o->folder,
                        .run.begun_ns = clock_now_ns() };
    int rc;

    job_status_init(&d.run.status);
    init_status(&d);
    rc = open_all(&d, err);
    if (rc < 0 && d.run.state.agent) {
        take_signals(&d); /* a Ctrl-C may have hit what was to be started, too */
        state_fail(&d.run.state, "start", 3, err ? err->text : "the job could not start",
                   d.run.begun_ns);
        driver_act(&d);
        rc = 0;
    } else if (rc == 0) {
        loop(&d);
    }
    close_agents(&d);
    if (rc == 0) {
        sum_up(&d);
        if (o->check_only)
            driver_check_tell(&d);
        rc = d.run.status.exit_code;
        *ret = d.run.status;
        job_status_init(&d.run.status); /* handed over */
    }
    free_driver(&d);
    return rc;
}
