/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - open everything that one job needs, run it, close everything */
#include "driver.h"

#include "driver_impl.h"

#include "agents/driver/nodes/addresses.h"
#include "agents/driver/nodes/agent_config_make.h"
#include "agents/driver/nodes/check.h"
#include "agents/driver/report/summary.h"

#include "agents/job/driver_socket.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/signal_fd.h"
#include "lib/job/job_text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- opening ---- */

/* Block the signals that the driver handles and open a signalfd for them, d->signals.  Return 0 or
 * a negative error.
 */
static int open_signals(struct driver *d, struct eddis_error *err)
{
    static const int of_terminal[] = { SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGCONT };
    int wanted[sizeof of_terminal / sizeof *of_terminal + 4] = { SIGTERM, SIGUSR1, SIGUSR2 }, n = 3;
    struct sigaction now;

    for (size_t i = 0; i < sizeof of_terminal / sizeof *of_terminal; i++)
        if (sigaction(of_terminal[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            wanted[n++] = of_terminal[i]; /* ignored: nohup or a script's `&` */
    d->signals = signal_fd_open(wanted, NULL);
    return d->signals < 0 ? eddis_fail_errno(err, d->signals, "cannot wait for signals") : 0;
}

/* Return how many file descriptors the job may need: each agent has two connections, and the
 * process that starts it has a pipe or two.
 */
static rlim_t descriptors_wanted(const struct driver *d)
{
    return 4 * (rlim_t)d->run.n_agents + 256;
}

/* Raise the soft limit of open files to the hard limit, and warn the user if that may not be
 * enough.
 */
static void raise_descriptor_limit(struct driver *d)
{
    const rlim_t wanted = descriptors_wanted(d);
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    if (l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
        (void)getrlimit(RLIMIT_NOFILE, &l);
    }
    if (l.rlim_cur >= wanted)
        return;
    job_run_sayf(&d->run, JOB_EVENT_SAY, -1, -1,
                 "only %llu files may be open at a time, but %d agent%s may need %llu; raise the "
                 "limit (ulimit -Hn, limits.conf) if some agents cannot register",
                 (unsigned long long)l.rlim_cur, d->run.n_agents, d->run.n_agents == 1 ? "" : "s",
                 (unsigned long long)wanted);
}

/* Return how many unauthenticated connections each of `doors` listening sockets may have, so that
 * they never use a descriptor that the job needs.  Half is kept in reserve: a rejected connection
 * stays open for a moment while its successor is open.
 */
static int strangers_allowed(const struct driver *d, int doors)
{
    enum { LEAST = 16, MOST = 1 << 16 };
    const rlim_t wanted = descriptors_wanted(d);
    struct rlimit l;
    rlim_t n;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur <= wanted)
        return LEAST;
    n = (l.rlim_cur - wanted) / (2 * (rlim_t)doors);
    return n < LEAST ? LEAST : n > MOST ? MOST : (int)n;
}

/* Open the request queue and the HTTP servers for agents and for people.  Return 0 or a negative
 * error.  May block for a few seconds to resolve names.
 */
static int open_listeners(struct driver *d, struct eddis_error *err)
{
    char address[HTTP_MAX_BASES][LISTENERS_ADDRESS], secret[JOB_DOOR_PATH] = "";
    struct listeners_options o = { .n_agents = d->run.n_agents,
                                   .n_secrets = admission_secrets(&d->run),
                                   .address = (const char(*)[LISTENERS_ADDRESS])address,
                                   .lease_ns = d->run.o->job->timeouts.lease_ns,
                                   .path = secret };
    int rc = request_queue_open(d->run.n_agents, &d->request_queue, err);

    if (rc == 0)
        rc = o.n_addresses = addresses_find(d->run.o->job, address, err);
    o.request_queue = d->request_queue;
    o.strangers = rc < 0 ? 0 : strangers_allowed(d, o.n_addresses + 2); /* plus two for people */
    if (rc >= 0 && d->run.o->folder) {
        driver_socket_sweep(d->run.o->folder, d->run.o->runtime_dir);
        (void)driver_socket_choose(d->run.o->folder, d->run.o->runtime_dir, secret);
    }
    return rc < 0 ? rc : listeners_open(&d->listeners, &o, err);
}

/* Write the driver's URL, socket path and the people's tokens into the job's folder, if there is
 * one.  Return 0 or a negative error.
 */
static int write_driver_file(const struct driver *d, struct eddis_error *err)
{
    struct job_driver file = { 0 };
    int rc;

    if (!d->run.o->folder)
        return 0;
    (void)snprintf(file.url, sizeof file.url, "%s", d->listeners.people_url);
    (void)snprintf(file.socket, sizeof file.socket, "%s", http_server_path(d->listeners.local));
    http_tokens_text(d->listeners.person_tokens, REQUEST_READER, file.token);
    http_tokens_text(d->listeners.person_tokens, REQUEST_OWNER, file.owner);
    rc = job_driver_write(d->run.o->folder, &file, err);
    explicit_bzero(file.token, sizeof file.token);
    explicit_bzero(file.owner, sizeof file.owner);
    return rc;
}

/* Set the log folder, d->run.log_dir, and create it if the job has a folder.  Without a job folder
 * the log folder is "": the agents then log into their temporary folders.  Return 0 or a negative
 * error.
 */
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

/* Return the name of the job's folder below checkpoint.dir, borrowed from the job's options, never
 * NULL.  For a batch job it is Slurm's name, because each start of a batch job is a new job of
 * eddis.
 */
static const char *own_name(const struct driver *d)
{
    return d->run.o->batch ? d->run.o->batch->name : d->run.o->folder->id;
}

/* Choose the checkpoint folder and store its path in d->run.checkpoint_dir, without making it.
 * With checkpoint.dir it is a subfolder, linked from the job's folder: jobs that share
 * checkpoint.dir never use, replace or delete each other's checkpoints.  Otherwise it is in the
 * job's folder, on a single node only.  Return 0, also if there is no such folder (the path stays
 * NULL) or the link cannot be made (the user gets a message); -ENOMEM.
 */
static int open_checkpoint_dir(struct driver *d, struct eddis_error *err)
{
    const char *dir = d->run.o->job->checkpoint.dir;
    const struct job_folder *folder = d->run.o->folder;
    cleanup_free char *own = folder ? file_join(folder->path, "checkpoints") : NULL;

    if (!dir && (!folder || d->run.n_agents > 1))
        return 0; /* a local folder cannot hold the checkpoints of several nodes */
    if (dir)
        d->run.checkpoint_dir = folder ? file_join(dir, "%s", own_name(d)) : strdup(dir);
    else
        d->run.checkpoint_dir = own ? strdup(own) : NULL;
    if (!d->run.checkpoint_dir || (folder && !own))
        return eddis_fail(err, -ENOMEM, "no memory for the driver");
    if (dir && own && symlink(d->run.checkpoint_dir, own) < 0 && errno != EEXIST)
        job_run_sayf(&d->run, JOB_EVENT_SAY, -1, -1,
                     "cannot make the link '%s' (%s); to resume the job, name the folder '%s'", own,
                     strerror(errno), d->run.checkpoint_dir);
    return 0;
}

/* Return for how long the nodes wait for GPUs; 0: not at all.  A run that only shows something
 * waits if the command line says so.
 */
static int64_t gpus_ns(const struct driver_options *o)
{
    bool shows = o->plan_only || o->profile_only;

    if (o->check_only || (shows && job_origin(o->job, "timeouts.gpus").kind != JOB_FLAG))
        return 0;
    return o->job->timeouts.gpus_ns;
}

/* Allocate the agents, d->run.agent, initialise the state machine with the job's settings, and set
 * how the metrics count steps.  No agent is started.  Return 0 or -ENOMEM.
 */
static int open_state(struct driver *d, struct eddis_error *err)
{
    const struct job *job = d->run.o->job;
    const struct state_options so = {
        .n_agents = d->run.n_agents,
        .launch_ns = job->timeouts.launch_ns,
        .gpus_ns = gpus_ns(d->run.o),
        .check_only = d->run.o->check_only,
        .share = job->checkpoint.dir != NULL,
        .unsaved = !d->run.checkpoint_dir,
        .resumes = strcmp(job->checkpoint.resume, "auto") != 0,
        .restarts = job->restarts,
        .node_losses = job->node_losses,
        .restarts_asked = job_origin(job, "restarts").kind != JOB_DEFAULT,
        .furthest = job->progress.pattern != NULL,
        .lease_ns = job->timeouts.lease_ns,
        .node_lost_ns = job->timeouts.node_lost_ns,
        .hang_ns = job->timeouts.hang_ns,
        .first_step_ns = job->timeouts.first_step_ns,
        .grace_ns = job->timeouts.grace_ns,
        .checkpoint_ns = job->timeouts.checkpoint_ns,
        .job_ns = job->timeouts.job_ns,
    };
    int rc;

    d->run.metrics.printed = job->progress.pattern != NULL;
    d->run.metrics.all_steps = job->progress.steps;
    d->run.agent = calloc((size_t)d->run.n_agents, sizeof *d->run.agent);
    if (!d->run.agent)
        return eddis_fail(err, -ENOMEM, "no memory for %d agents", d->run.n_agents);
    for (int i = 0; i < d->run.n_agents; i++)
        d->run.agent[i].orders.first = 1;
    rc = state_init(&d->run.state, &so, d->run.begun_ns, err);
    for (size_t i = 0; rc == 0 && i < job->n_hosts; i++)
        (void)snprintf(d->run.state.agent[i].host, sizeof d->run.state.agent[i].host, "%s",
                       job->host[i].host);
    return rc;
}

/* Start d->run.records, the thread that writes the job's files, and d->run.looks, the thread that
 * reads other files.  Return 0 or a negative error, after which the first one may run.
 */
static int open_threads(struct driver *d, struct eddis_error *err)
{
    int rc = file_thread_start(&d->run.records, err);

    d->run.journal.files = d->run.records;
    return rc < 0 ? rc : file_thread_start(&d->run.reader, err);
}

/* Open everything that the job needs, and last start the agents.  Return 0 or a negative error; the
 * caller closes what was opened in both cases.  It may block on file systems: nobody waits for the
 * driver yet.
 */
static int open_all(struct driver *d, struct eddis_error *err)
{
    int rc;

    rc = open_threads(d, err);
    if (rc < 0)
        return rc;
    raise_descriptor_limit(d);
    (void)prctl(PR_SET_DUMPABLE, 0); /* no core file, which would contain the tokens */
    d->run.data_path = agent_config_data_path(d->run.o->job);
    rc = planning_init(&d->planning, err);
    if (rc == 0)
        rc = open_checkpoint_dir(d, err);
    if (rc == 0)
        rc = open_state(d, err);
    if (rc == 0)
        rc = open_log_dir(d, err);
    if (rc == 0)
        rc = logs_open(&d->logs, &d->run, err);
    if (rc == 0)
        rc = open_signals(d, err);
    if (rc == 0)
        rc = open_listeners(d, err);
    if (rc == 0)
        rc = write_driver_file(d, err);
    if (rc == 0)
        journal_reserve(&d->run.journal);
    if (rc == 0)
        rc = slurm_query_open(&d->slurm, err);
    if (rc == 0)
        rc = registration_open(&d->registration, err);
    return rc;
}

/* ---- closing ---- */

/* Close the HTTP servers and end what is left of the agents.  Afterwards no request is answered any
 * more, and no process of the job runs, except those that have been reported as left.
 */
static void close_agents(struct driver *d)
{
    logs_close(&d->logs);
    if (d->request_queue)
        request_queue_shut(d->request_queue);
    for (int i = 0; d->run.agent && i < d->run.n_agents; i++)
        orders_fini(&d->run.agent[i].orders);
    job_report_fill_refused(&d->job_report);
    listeners_close(&d->listeners);
    request_queue_close(d->request_queue);
    if (d->registration.starter)
        registration_clean(&d->registration, d->signals);
}

/* Stop the file threads and free everything of the driver. */
static void free_driver(struct driver *d)
{
    file_thread_stop(d->run.records);
    file_thread_stop(d->run.reader);
    slurm_query_close(&d->slurm);
    logs_fini(&d->logs);
    if (d->signals >= 0)
        (void)close(d->signals);
    registration_close(&d->registration);
    metrics_fini(&d->run.metrics);
    planning_fini(&d->planning);
    journal_fini(&d->run.journal);
    state_fini(&d->run.state);
    job_status_fini(&d->run.status);
    free(d->run.data_path);
    free(d->run.log_dir);
    free(d->run.checkpoint_dir);
    network_choice_fini(&d->network);
    for (int i = 0; d->run.agent && i < d->run.n_agents; i++)
        free(d->run.agent[i].known);
    free(d->run.agent);
}

/* Give each module of the driver its pointers to the job and to state of other modules. */
static void join(struct driver *d)
{
    struct job_run *run = &d->run;

    d->registration.run = run;
    d->slurm.run = run;
    d->registration.listeners = &d->listeners;
    d->registration.log_marker = d->logs.marker;
    d->network.run = run;
    planning_join(&d->planning, run, &d->network.used);
    d->launch_orders =
        (struct launch_orders){ run, &d->planning.published.plans, &d->network.used };
    d->job_report = (struct job_report){ .run = run,
                                         .plans = &d->planning.published.plans,
                                         .listeners = &d->listeners,
                                         .waiting = d->registration.waiting };
}

int driver_run(const struct driver_options *o, struct job_status *ret, struct eddis_error *err)
{
    struct driver d = { .run.o = o,
                        .run.n_agents = o->job->n_hosts ? (int)o->job->n_hosts : 1,
                        .signals = -1,
                        .run.journal.folder = o->folder,
                        .run.begun_ns = clock_now_ns() };
    int rc;

    join(&d);
    job_report_begin(&d.job_report);
    rc = open_all(&d, err);
    if (rc < 0 && d.run.state.agent) {
        driver_take_signals(&d); /* a Ctrl-C may have ended what was being started, too */
        state_fail(&d.run.state, "start", 3, err ? err->text : "the job could not start",
                   d.run.begun_ns);
        dispatch_actions(&d);
        rc = 0;
    } else if (rc == 0) {
        driver_loop(&d);
        slurm_query_settle(&d.slurm);
    }
    close_agents(&d);
    if (rc == 0) {
        summary_report(&d.job_report, d.signals);
        if (o->check_only)
            check_report(&d.run);
        rc = d.run.state.exit_code;
        *ret = d.run.status;
        job_status_init(&d.run.status); /* handed over */
    }
    free_driver(&d);
    return rc;
}
