/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c - many agents in one process, to measure how a driver handles them
 *
 *     bench-agents SOCKET   be an agent for each configuration that bench-login sends to SOCKET
 *
 * Each agent speaks the real protocol, with a long poll and a report each heartbeat.  Its node has
 * the devices that the configuration emulates, and its ranks are only numbers: they start when the
 * first node is ordered to start, do a step every step_ns, and end when they are ordered to.  Every
 * network is equally fast.  When an agent has registered, the program prints "registered N".  It
 * ends at the end of its standard input.
 */
#include "agents/protocol/protocol.h"

#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/http/client.h"
#include "lib/model/network.h"
#include "lib/model/profile.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, STACK_BYTES = 256 << 10, MAX_EVENTS = 2 * BOARD_MAX_LOCAL + 8, STARTS = 16 };

static const int64_t patience_ns = 60 * CLOCK_S, step_ns = CLOCK_S / 10, look_ns = CLOCK_S / 10;

struct agent {
    int session; /* connection to bench-login, closed when the agent has left */
    struct agent_config *agent_config;
    struct http_client *http;
    bool registered, asking, reporting, over;
    struct eddis_error failed;      /* code 0: not failed */
    int64_t after;                  /* number of the last order */
    int64_t sequence, beat_ns;      /* number of the last report; time of the next heartbeat */
    struct event event[MAX_EVENTS]; /* [n_events] to be reported; the first n_sent are being sent */
    int n_events, n_sent;
    char *owned; /* text of one of them */
    /* the generation */
    int64_t generation; /* -1: none */
    int first_rank, n_local, n_ranks;
    int64_t batch;           /* of each of its workers, about */
    int64_t started_ns;      /* 0: not started */
    struct progress *worker; /* [n_local] */
};

static atomic_int registered;
static atomic_llong
    starts[STARTS]; /* start time of generation g in starts[g % STARTS], ns; 0: none */

/* Print an agent's error to standard error. */
static void say(const struct agent *a, const char *what, const struct eddis_error *err)
{
    fprintf(stderr, "bench-agents: agent %d: %s: %s\n",
            a->agent_config ? a->agent_config->agent : -1, what, err->text);
}

/* ---- reports ---- */

/* Queue an event of this type; return it, for more members to be set.  If the queue is full the
 * last event is replaced.
 */
static struct event *tell(struct agent *a, enum event_type type, int rank)
{
    static char nothing[] = "";
    struct event *e = &a->event[a->n_events < MAX_EVENTS ? a->n_events++ : MAX_EVENTS - 1];

    *e = (struct event){ .type = type,
                         .generation = a->generation < 0 ? 0 : a->generation,
                         .rank = rank,
                         .pid = rank < 0 ? 0 : 1000 + rank,
                         .step = -1,
                         .text = nothing,
                         .last_lines = nothing };
    return e;
}

/* Queue an event with this text, which the agent then owns. */
static void send_text(struct agent *a, enum event_type type, int rank, char *text)
{
    free(a->owned);
    a->owned = text;
    tell(a, type, rank)->text = text;
}

/* Report the profile of the emulated node. */
static void profile(struct agent *a)
{
    cleanup_free struct node_profile *p = calloc(1, sizeof *p);
    const struct agent_config *b = a->agent_config;

    if (!p)
        exit(1);
    (void)snprintf(p->host, sizeof p->host, "%s", b->host);
    (void)strcpy(p->eddis_version, EDDIS_VERSION);
    p->probe_version = PROFILE_PROBE_VERSION;
    p->measured_s = clock_wall_ns() / CLOCK_S;
    p->sockets = p->n_numa = 1;
    p->cores = p->threads = b->n_emulate;
    p->cpu_quota = p->load = NAN;
    for (int i = 0; i < b->n_emulate; i++) {
        struct device *d = &p->device[p->n_devices++];

        *d = (struct device){ .kind = DEVICE_EMULATED,
                              .index = i,
                              .numa = -1,
                              .rate = b->emulate[i].rate,
                              .fixed_s = b->emulate[i].fixed_s,
                              .sample_s = b->emulate[i].sample_s };
        (void)snprintf(d->id, sizeof d->id, "emulated:%d", i);
        (void)snprintf(d->name, sizeof d->name, "emulated %.2f", d->rate);
    }
    send_text(a, EVENT_PROFILE, -1, profile_text(p));
}

/* Return the text of a network measurement with one link from each node to the next; tests for
 * other links exist elsewhere.  The caller frees it.
 */
static char *network(int n)
{
    cleanup_free struct network_link *link = calloc((size_t)n, sizeof *link);
    struct network net = { .n_nodes = n,
                           .allreduce_s = 1e-3,
                           .link = link,
                           .n_links = n - 1,
                           .failed_from = -1,
                           .failed_to = -1 };

    for (int i = 0; link && i + 1 < n; i++)
        link[i] = (struct network_link){ i, i + 1, 5e-5, 1e9 };
    return link ? network_text(&net) : NULL;
}

/* If the generation has been started, report the start of the ranks; in the network probe, also its
 * result and the ranks' end.
 */
static void start_ranks(struct agent *a)
{
    int64_t at_ns = a->generation < 0 ? 0 : atomic_load(&starts[a->generation % STARTS]);

    if (a->started_ns || !at_ns)
        return;
    a->started_ns = at_ns;
    for (int i = 0; i < a->n_local; i++)
        tell(a, EVENT_RANK_STARTED, a->first_rank + i);
    if (a->generation > 0)
        return;
    if (a->first_rank == 0)
        send_text(a, EVENT_NETWORK, 0, network(a->n_ranks));
    for (int i = 0; i < a->n_local; i++)
        tell(a, EVENT_RANK_EXIT, a->first_rank + i);
    if (a->first_rank == 0)
        tell(a, EVENT_MPIRUN_EXIT, -1);
}

/* Return a spread whose values are all s. */
static struct step_spread spread(double s)
{
    return (struct step_spread){ s, s, s, s };
}

/* Return step-time measurements whose text is as long as that of a worker that never has two equal
 * steps.
 */
static struct step_metrics metrics(const struct progress *p)
{
    double s = (double)step_ns / CLOCK_S * (1 + 1e-3 / (double)(p->steps_done + 1));

    if (p->steps_done < STEP_WINDOW_CHANGE)
        return (struct step_metrics){ .plan = 0 };
    return (struct step_metrics){ .plan = p->step_plan,
                                  .since = 1,
                                  .steps = p->steps_done,
                                  .points = p->steps_done,
                                  .count = p->samples_done / p->steps_done + 1,
                                  .work = (double)p->samples_done / (double)p->steps_done + 1,
                                  .own = spread(s / 2),
                                  .compute = spread(s / 2),
                                  .exposed = spread(s / 4),
                                  .total = spread(s) };
}

/* Update the progress of all workers to the number of steps that they have done by now. */
static void count_steps(struct agent *a, int64_t now_ns)
{
    int64_t done = (now_ns - a->started_ns) / step_ns;

    for (int i = 0; i < a->n_local; i++) {
        struct progress *p = &a->worker[i];
        int64_t more = done - p->steps_done;
        const struct board_times one = { 0, step_ns / 2, step_ns / 4, step_ns / 4, step_ns };

        p->rank = a->first_rank + i;
        p->pid = 1000 + p->rank;
        p->phase = 2;
        p->waits_for = -1;
        p->steps_total = p->steps_in_epoch = 1000000;
        p->epochs = p->plan_version = p->step_plan = 1;
        p->steps_done = p->steps_here = done;
        p->samples_done = done * a->batch;
        p->recent_steps = more;
        p->recent_samples = more * a->batch;
        p->loss = 1.0 / (double)(done + 1);
        p->sum = (struct board_times){ 0, done * one.compute_ns, done * one.exposed_ns,
                                       done * one.wait_ns, done * one.total_ns };
        p->recent = (struct board_times){ 0, more * one.compute_ns, more * one.exposed_ns,
                                          more * one.wait_ns, more * one.total_ns };
        p->metrics = metrics(p);
        p->page_age_ns = p->phase_age_ns = (now_ns - a->started_ns) % step_ns;
    }
}

/* Handle the answer to a report: drop the events that were sent.  A callback of http_client_start.
 */
static void on_reported(void *ctx, int status, const char *body, size_t n,
                        const struct eddis_error *why)
{
    struct agent *a = ctx;

    (void)body;
    (void)n;
    a->reporting = false;
    if (status != 200) {
        a->failed = *why;
        if (status)
            eddis_fail(&a->failed, -EPROTO, "a report was answered with %d", status);
        return;
    }
    for (int i = 0; i < a->n_sent; i++)
        a->over = a->over || a->event[i].type == EVENT_LEFT;
    a->n_events -= a->n_sent;
    memmove(a->event, a->event + a->n_sent, (size_t)a->n_events * sizeof *a->event);
}

/* Send a report with all queued events and the workers' progress. */
static int report(struct agent *a, int64_t now_ns, struct eddis_error *err)
{
    bool trains = a->generation > 0 && a->started_ns;
    struct report r = { .agent = a->agent_config->agent,
                        .sequence = ++a->sequence,
                        .event = a->event,
                        .n_events = a->n_events,
                        .worker = a->worker,
                        .n_workers = trains ? a->n_local : 0 };
    cleanup_free char *text = NULL;
    char path[64];

    if (trains)
        count_steps(a, now_ns);
    a->n_sent = a->n_events;
    a->reporting = true;
    a->beat_ns = now_ns + a->agent_config->heartbeat_ns;
    (void)snprintf(path, sizeof path, "/v1/agents/%d/reports", a->agent_config->agent);
    text = report_text(&r);
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for a report");
    return http_client_start(a->http, path, text, patience_ns, on_reported, a, err);
}

/* ---- orders ---- */

/* Carry out ORDER_PREPARE: take over ranks and batch, and report it as prepared. */
static void prepare(struct agent *a, const struct order *o)
{
    a->generation = o->generation;
    a->first_rank = o->rank[0].rank;
    a->n_local = o->n_local;
    a->n_ranks = o->n_ranks;
    a->batch = o->rank[0].batch;
    a->started_ns = 0;
    free(a->worker);
    a->worker = calloc((size_t)o->n_local, sizeof *a->worker);
    if (!a->worker)
        exit(1);
    tell(a, EVENT_PREPARED, -1);
}

/* Carry out an order: report the events by which a real agent would answer it. */
static void carry_out(struct agent *a, const struct order *o)
{
    switch (o->type) {
    case ORDER_PROFILE:
        profile(a);
        break;
    case ORDER_PREPARE:
        prepare(a, o);
        break;
    case ORDER_CHECK:
        tell(a, EVENT_CHECKED, -1);
        break;
    case ORDER_START:
        atomic_store(&starts[o->generation % STARTS], clock_now_ns());
        break;
    case ORDER_STOP:
        for (int i = 0; a->started_ns && a->generation > 0 && i < a->n_local; i++) {
            struct event *e = tell(a, EVENT_RANK_EXIT, a->first_rank + i);

            e->signal = 15;
            e->code = -1;
            e->by_us = true;
        }
        tell(a, EVENT_STOPPED, -1)->generation = o->generation;
        a->generation = -1;
        a->started_ns = 0;
        break;
    case ORDER_BYE:
        tell(a, EVENT_LEFT, -1);
        break;
    default:
        break;
    }
}

/* Handle the answer to a poll for orders.  A callback of http_client_start. */
static void on_order(void *ctx, int status, const char *body, size_t n,
                     const struct eddis_error *why)
{
    struct agent *a = ctx;
    struct order *o = NULL;

    a->asking = false;
    if (status != 200) {
        a->failed = *why;
        if (status)
            eddis_fail(&a->failed, -EPROTO, "no order, the driver answered %d", status);
        return;
    }
    if (order_parse(body, n, &o, &a->failed) < 0)
        return;
    if (o->type != ORDER_NONE)
        a->after = o->number;
    carry_out(a, o);
    order_free(o);
}

/* Send the next poll for orders. */
static int ask(struct agent *a, struct eddis_error *err)
{
    char path[64];

    a->asking = true;
    (void)snprintf(path, sizeof path, "/v1/agents/%d/orders?after=%lld", a->agent_config->agent,
                   (long long)a->after);
    return http_client_start(a->http, path, NULL, patience_ns, on_order, a, err);
}

/* ---- one agent, in a thread ---- */

/* Register with the driver. */
static int enroll(struct agent *a, struct eddis_error *err)
{
    /* without .machine: each agent counts as a machine of its own */
    struct hello h = { .protocol = PROTOCOL_VERSION,
                       .agent = a->agent_config->agent,
                       .pid = (int)getpid(),
                       .eddis_version = EDDIS_VERSION,
                       .mpi_version = "simulated",
                       .address = { { .interface = "eth0", .prefix = 8 } },
                       .n_addresses = 1 };
    cleanup_free char *json = NULL, *body = NULL;
    size_t n;
    int status;

    (void)snprintf(h.host, sizeof h.host, "%s", a->agent_config->host);
    (void)snprintf(h.address[0].address, sizeof h.address[0].address, "10.%d.%d.1",
                   100 + h.agent / 256 % 100, h.agent % 256);
    json = hello_text(&h);
    status =
        json ? http_client_call(a->http, "/v1/agents", json, patience_ns, &body, &n, err) : -ENOMEM;
    if (status == 200 || status < 0)
        return status < 0 ? status : 0;
    return eddis_fail(err, -EPROTO, "the driver answered %d", status);
}

/* Make the HTTP client for the driver of the configuration. */
static int open_http(struct agent *a, struct eddis_error *err)
{
    struct http_client_options o = { .base = (const char *const *)a->agent_config->url,
                                     .token = a->agent_config->token,
                                     .pin = a->agent_config->pin };

    while (a->agent_config->url[o.n_bases])
        o.n_bases++;
    return http_client_open(&o, &a->http, err);
}

/* Keep a poll and a report going until the last report has been answered.  Return 0 or a negative
 * errno.
 */
static int serve(struct agent *a, struct eddis_error *err)
{
    int rc = 0;

    while (rc >= 0 && !a->over && !a->failed.code) {
        int64_t now_ns = clock_now_ns(), next_ns = a->beat_ns;

        start_ranks(a);
        if (!a->asking)
            rc = ask(a, err);
        if (rc >= 0 && !a->reporting && (a->n_events || now_ns >= a->beat_ns))
            rc = report(a, now_ns, err);
        if (a->generation >= 0 && !a->started_ns)
            next_ns = timing_least_ns(next_ns, now_ns + look_ns);
        if (a->reporting)
            next_ns = now_ns + look_ns;
        if (rc >= 0)
            rc = http_client_wait(a->http, NULL, 0, next_ns, err);
    }
    return a->failed.code ? eddis_fail(err, a->failed.code, "%s", a->failed.text) : rc;
}

/* Read the configuration, register, and serve until the agent has left. */
static int live(struct agent *a, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read_fd(a->session, "a brief", JSON_MAX_BYTES, &text, &n, err);

    if (rc < 0 || (rc = agent_config_parse(text, n, &a->agent_config, err)) < 0 ||
        (rc = open_http(a, err)) < 0 || (rc = enroll(a, err)) < 0)
        return rc;
    a->registered = true;
    a->beat_ns = clock_now_ns() + a->agent_config->heartbeat_ns;
    a->generation = -1;
    printf("registered %d\n", atomic_fetch_add(&registered, 1) + 1);
    return serve(a, err);
}

/* Run one agent, and free it; the thread's function. */
static void *run_agent(void *arg)
{
    struct agent *a = arg;
    struct eddis_error err = { 0 };

    if (live(a, &err) < 0 && !a->registered) /* later, the driver may end before all have left */
        say(a, "is over", &err);
    http_client_close(a->http);
    agent_config_free(a->agent_config);
    (void)close(a->session);
    free(a->owned);
    free(a->worker);
    free(a);
    return NULL;
}

/* ---- all of them ---- */

/* Return a socket that listens at path; exit on failure. */
static int listen_at(const char *path)
{
    struct sockaddr_un u = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(u.sun_path, sizeof u.sun_path, "%s", path);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&u, sizeof u) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    perror("bench-agents: socket");
    exit(1);
}

/* Start a thread with an agent for this connection. */
static void begin_agent(int session)
{
    struct agent *a = calloc(1, sizeof *a);
    pthread_attr_t attributes;
    pthread_t thread;

    if (!a)
        exit(1);
    a->session = session;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, run_agent, a)) {
        fputs("bench-agents: no more threads\n", stderr);
        exit(1);
    }
    (void)pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    struct rlimit files;
    int fd;

    if (argc != 2) {
        fputs("usage: bench-agents SOCKET\n", stderr);
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    fd = listen_at(argv[1]);
    puts("listening");
    for (;;) {
        struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
                               { .fd = STDIN_FILENO, .events = POLLIN } };

        if (poll(p, 2, -1) < 0 || p[1].revents)
            return 0;
        if (p[0].revents) {
            int session = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

            if (session >= 0)
                begin_agent(session);
        }
    }
}
