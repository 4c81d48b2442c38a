/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c - many agents in one process, to see how a driver takes them
 *
 *     bench-agents SOCKET   be an agent for each brief that bench-login hands over at SOCKET
 *
 * Each agent registers and polls for orders as real ones do, over the real protocol, but does
 * nothing: it answers the orders that end a job.  As each is registered the program says
 * "registered N" on standard output.  It ends with its standard input.
 */
#include "agents/protocol/protocol.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/http/client.h"

#include <errno.h>
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

enum { BACKLOG = 1024, STACK_BYTES = 256 << 10 };

static const int64_t patience_ns = 60 * CLOCK_S;

struct agent {
    int session; /* of the login, closed when the agent has left */
    struct brief *brief;
    struct http_client *http;
    int64_t sequence;
    bool registered;
};

static atomic_int registered;

static void say(const struct agent *a, const char *what, const struct eddis_error *err)
{
    fprintf(stderr, "bench-agents: agent %d: %s: %s\n", a->brief ? a->brief->agent : -1, what,
            err->text);
}

/* ---- one agent, in a thread ---- */

static int post(struct agent *a, const char *path, char *text, struct eddis_error *err)
{
    cleanup_free char *json = text, *body = NULL;
    size_t n;
    int status =
        json ? http_client_call(a->http, path, json, patience_ns, &body, &n, err) : -ENOMEM;

    if (status == 200 || status < 0)
        return status < 0 ? status : 0;
    return eddis_fail(err, -EPROTO, "the driver answered %d", status);
}

static int enroll(struct agent *a, struct eddis_error *err)
{
    struct hello h = { .protocol = PROTOCOL_VERSION,
                       .agent = a->brief->agent,
                       .pid = (int)getpid(),
                       .eddis_version = EDDIS_VERSION,
                       .mpi_version = "simulated" };

    (void)snprintf(h.host, sizeof h.host, "%s", a->brief->host);
    return post(a, "/v1/agents", hello_text(&h), err);
}

static int report(struct agent *a, enum event_type type, int64_t generation,
                  struct eddis_error *err)
{
    char nothing[] = "";
    struct event e = { .type = type, .generation = generation, .rank = -1, .step = -1 };
    struct report r = {
        .agent = a->brief->agent, .sequence = ++a->sequence, .event = &e, .n_events = 1
    };
    char path[64];

    e.text = e.last_lines = nothing;
    (void)snprintf(path, sizeof path, "/v1/agents/%d/reports", a->brief->agent);
    return post(a, path, report_text(&r), err);
}

/* Poll for the order after `after`; returns its number and answers it, sets *ret_over at the last.
 */
static int64_t next_order(struct agent *a, int64_t after, bool *ret_over, struct eddis_error *err)
{
    cleanup_free char *body = NULL;
    struct order *o = NULL;
    char path[64];
    size_t n;
    int64_t number;
    int rc;

    (void)snprintf(path, sizeof path, "/v1/agents/%d/orders?after=%lld", a->brief->agent,
                   (long long)after);
    rc = http_client_call(a->http, path, NULL, patience_ns, &body, &n, err);
    if (rc != 200)
        return rc < 0 ? rc : eddis_fail(err, -EPROTO, "no order, the driver answered %d", rc);
    if ((rc = order_parse(body, n, &o, err)) < 0)
        return rc;
    if (o->type == ORDER_STOP)
        rc = report(a, EVENT_STOPPED, o->generation, err);
    if (o->type == ORDER_BYE) {
        rc = report(a, EVENT_LEFT, o->generation, err);
        *ret_over = true;
    }
    number = o->type == ORDER_NONE ? after : o->number;
    order_free(o);
    return rc < 0 ? rc : number;
}

static int open_http(struct agent *a, struct eddis_error *err)
{
    struct http_client_options o = { .base = (const char *const *)a->brief->url,
                                     .token = a->brief->token,
                                     .pin = a->brief->pin };

    while (a->brief->url[o.n_bases])
        o.n_bases++;
    return http_client_open(&o, &a->http, err);
}

static int live(struct agent *a, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    bool over = false;
    int64_t number = 0;
    size_t n;
    int now, rc = file_read_fd(a->session, "a brief", JSON_MAX_BYTES, &text, &n, err);

    if (rc < 0 || (rc = brief_parse(text, n, &a->brief, err)) < 0 || (rc = open_http(a, err)) < 0 ||
        (rc = enroll(a, err)) < 0)
        return rc;
    a->registered = true;
    now = atomic_fetch_add(&registered, 1) + 1;
    printf("registered %d\n", now);
    while (!over && number >= 0)
        number = next_order(a, number, &over, err);
    return number < 0 ? (int)number : 0;
}

static void *run_agent(void *arg)
{
    struct agent *a = arg;
    struct eddis_error err = { 0 };

    if (live(a, &err) < 0 && !a->registered) /* later the driver may go before all have left */
        say(a, "is over", &err);
    http_client_close(a->http);
    brief_free(a->brief);
    (void)close(a->session);
    free(a);
    return NULL;
}

/* ---- all of them ---- */

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
