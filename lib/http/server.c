/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - serves requests with libmicrohttpd, each checked before its body is read */
#include "server.h"

#include "deadline.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

/* Not epoll alone: with exactly a multiple of 128 ready connections its internal thread sleeps a
 * whole time-out with work pending (libmicrohttpd 0.9.75).
 */
enum { SERVER_THREADS = 2, SERVER_CONNECTIONS = 4096, SERVER_PATH = 512 };

enum { SERVER_TOO_LARGE = 413 }; /* libmicrohttpd has renamed its constant */

static const char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";

struct http_server {
    struct MHD_Daemon *daemon;
    struct deadlines *deadlines;
    struct http_server_options o;
    int64_t deadline_ns;
    int port;
    pthread_mutex_t counting; /* of `refusals` */
    struct http_refusals refusals;
    atomic_llong refused;     /* their total, for those who ask often */
    pthread_mutex_t handling; /* one call of the handler at a time */
};

/* Two owners: libmicrohttpd, until the request is completed, and the handler, until the reply. */
struct http_exchange {
    struct http_server *s;
    struct MHD_Connection *connection;
    pthread_mutex_t lock; /* of what follows */
    int owners;
    int who;
    char *body;
    size_t body_n, body_cap;
    bool handled, answered, suspended;
    int status;
    struct MHD_Response *response; /* queued by libmicrohttpd's thread */
};

static struct deadline *connection_deadline(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return i ? i->socket_context : NULL;
}

/* From now on this connection has ns to get on. */
static void connection_allow(struct http_server *s, struct MHD_Connection *c, int64_t ns)
{
    struct deadline *d = connection_deadline(c);

    if (d)
        deadline_set(s->deadlines, d, clock_after_ns(clock_now_ns(), ns));
}

static void connection_changed(void *ctx, struct MHD_Connection *c, void **socket_context,
                               enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = ctx;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *i =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

        http_socket_tune(i->connect_fd, &s->o.tcp);
        *socket_context = deadline_add(s->deadlines, i->connect_fd,
                                       clock_after_ns(clock_now_ns(), s->deadline_ns));
    } else if (*socket_context) {
        deadline_remove(s->deadlines, *socket_context);
        *socket_context = NULL;
    }
}

static struct http_exchange *exchange_new(struct http_server *s, struct MHD_Connection *c)
{
    struct http_exchange *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->s = s;
    x->connection = c;
    x->owners = 1;
    pthread_mutex_init(&x->lock, NULL);
    return x;
}

/* Called with the lock held, which it releases. */
static void exchange_leave(struct http_exchange *x)
{
    bool last = --x->owners == 0;

    pthread_mutex_unlock(&x->lock);
    if (!last)
        return;
    if (x->response)
        MHD_destroy_response(x->response);
    pthread_mutex_destroy(&x->lock);
    free(x->body);
    free(x);
}

static struct MHD_Response *make_response(const char *type, const char *text)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        text ? strlen(text) : 0, (void *)(uintptr_t)(text ? text : ""), MHD_RESPMEM_MUST_COPY);

    if (r && text)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return r;
}

void http_reply_text(struct http_exchange *x, int status, const char *type, const char *text)
{
    struct MHD_Response *r = make_response(type, text);

    pthread_mutex_lock(&x->lock);
    x->response = r; /* without memory: NULL, and the connection is closed */
    x->status = status;
    x->answered = true;
    if (x->suspended)
        MHD_resume_connection(x->connection);
    exchange_leave(x);
}

void http_reply(struct http_exchange *x, int status, const char *json)
{
    http_reply_text(x, status, "application/json", json);
}

void http_reply_error(struct http_exchange *x, int status, const char *sentence)
{
    cleanup_json json_t *j = json_pack("{s:s}", "error", sentence);
    cleanup_free char *text = j ? json_text(j, false) : NULL;

    http_reply(x, status, text);
}

/* Refuse before the handler is asked; the connection is closed behind it. */
static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *json)
{
    struct MHD_Response *r = make_response("application/json", json);
    enum MHD_Result rc;

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    rc = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return rc;
}

/* Whose token the request carries; -1: nobody's. */
static int authenticate(const struct http_server *s, struct MHD_Connection *c)
{
    const char *h = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);

    if (!h || strncmp(h, "Bearer ", 7) != 0)
        return -1;
    return http_tokens_who(s->o.tokens, h + 7);
}

static void peer_text(struct MHD_Connection *c, char *ret, size_t size)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr_in *a = i ? (const struct sockaddr_in *)i->client_addr : NULL;

    if (!a || a->sin_family != AF_INET || !inet_ntop(AF_INET, &a->sin_addr, ret, (unsigned)size))
        (void)snprintf(ret, size, "unknown");
}

static void count_refusal(struct http_server *s, struct MHD_Connection *c)
{
    char peer[HTTP_PEER_CHARS];

    peer_text(c, peer, sizeof peer);
    pthread_mutex_lock(&s->counting);
    http_refusals_add(&s->refusals, peer, 1);
    atomic_store(&s->refused, s->refusals.total);
    pthread_mutex_unlock(&s->counting);
}

static bool path_is_plain(const char *path)
{
    size_t n = 0;

    for (; path[n]; n++)
        if (path[n] <= 0x20 || path[n] >= 0x7f)
            return false;
    return n > 0 && n < SERVER_PATH;
}

/* The headers are there: who is it, and is what he announces acceptable?  0, or a status. */
static int check_headers(struct http_server *s, struct MHD_Connection *c, const char *path,
                         int *ret_who)
{
    const char *length =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int who = authenticate(s, c);

    if (who < 0) {
        count_refusal(s, c);
        return MHD_HTTP_UNAUTHORIZED;
    }
    *ret_who = who;
    if (MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return MHD_HTTP_LENGTH_REQUIRED;
    if (length && (strlen(length) > 9 || strtoul(length, NULL, 10) > HTTP_MAX_BODY))
        return SERVER_TOO_LARGE;
    return path_is_plain(path) ? 0 : MHD_HTTP_BAD_REQUEST;
}

static enum MHD_Result refuse_headers(struct MHD_Connection *c, int status)
{
    switch (status) {
    case MHD_HTTP_UNAUTHORIZED:
        return refuse(c, status, "{\"error\":\"not authorised\"}");
    case MHD_HTTP_LENGTH_REQUIRED:
        return refuse(c, status, "{\"error\":\"a body needs a Content-Length\"}");
    case SERVER_TOO_LARGE:
        return refuse(c, status, "{\"error\":\"the body is longer than 1 MiB\"}");
    default:
        return refuse(c, status, "{\"error\":\"the path is not plain\"}");
    }
}

static bool take_body(struct http_exchange *x, const char *data, size_t n)
{
    if (n > HTTP_MAX_BODY - x->body_n)
        return false;
    if (x->body_n + n >= x->body_cap) {
        size_t cap = x->body_cap ? 2 * x->body_cap : 4096;
        char *bigger;

        while (cap <= x->body_n + n)
            cap *= 2;
        bigger = realloc(x->body, cap);
        if (!bigger)
            return false;
        x->body = bigger;
        x->body_cap = cap;
    }
    memcpy(x->body + x->body_n, data, n);
    x->body_n += n;
    x->body[x->body_n] = '\0';
    return true;
}

/* Ask the handler; afterwards the answer is there or the connection sleeps. */
static void hand_over(struct http_exchange *x, const char *method, const char *path)
{
    struct http_server *s = x->s;
    char peer[HTTP_PEER_CHARS];
    const struct http_request q = {
        .method = method,
        .path = path,
        .who = x->who,
        .body = x->body ? x->body : "",
        .body_n = x->body_n,
        .after = MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, "after"),
        .peer = peer,
    };

    peer_text(x->connection, peer, sizeof peer);
    connection_allow(s, x->connection, CLOCK_NEVER);
    x->handled = true;
    x->owners = 2;
    pthread_mutex_lock(&s->handling);
    s->o.handle(s->o.ctx, &q, x);
    pthread_mutex_unlock(&s->handling);
    pthread_mutex_lock(&x->lock);
    if (!x->answered) {
        x->suspended = true;
        MHD_suspend_connection(x->connection);
    }
    pthread_mutex_unlock(&x->lock);
}

/* Give libmicrohttpd the answer when it is there. */
static enum MHD_Result pass_answer(struct http_exchange *x)
{
    enum MHD_Result rc = MHD_YES;

    pthread_mutex_lock(&x->lock);
    if (x->answered) {
        connection_allow(x->s, x->connection, x->s->deadline_ns);
        rc = x->response ? MHD_queue_response(x->connection, (unsigned)x->status, x->response)
                         : MHD_NO;
    }
    pthread_mutex_unlock(&x->lock);
    return rc;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *http, const char *data,
                                  size_t *data_n, void **state)
{
    struct http_server *s = ctx;
    struct http_exchange *x = *state;

    if (!x) {
        int who = 0, status = check_headers(s, c, url, &who);

        if (status)
            return refuse_headers(c, status);
        connection_allow(s, c, s->deadline_ns);
        *state = x = exchange_new(s, c);
        if (!x)
            return MHD_NO;
        x->who = who;
        return MHD_YES;
    }
    if (*data_n) {
        if (!take_body(x, data, *data_n))
            return MHD_NO;
        *data_n = 0;
        return MHD_YES;
    }
    if (!x->handled)
        hand_over(x, method, url);
    return pass_answer(x);
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode how)
{
    struct http_server *s = ctx;
    struct http_exchange *x = *state;

    if (!x)
        return;
    *state = NULL;
    connection_allow(s, c, 3 * s->deadline_ns);
    pthread_mutex_lock(&x->lock);
    exchange_leave(x);
}

/* What libmicrohttpd has to say is about single peers' broken connections. */
static void on_log(void *ctx, const char *fmt, va_list ap)
{
}

static void free_server(struct http_server *s)
{
    deadlines_stop(s->deadlines);
    pthread_mutex_destroy(&s->handling);
    pthread_mutex_destroy(&s->counting);
    free(s);
}

static int take_options(struct http_server *s, const struct http_server_options *o,
                        struct sockaddr_in *ret, struct eddis_error *err)
{
    *ret = (struct sockaddr_in){ .sin_family = AF_INET };
    if (inet_pton(AF_INET, o->address, &ret->sin_addr) != 1)
        return eddis_fail(err, -EINVAL, "'%s' is no IPv4 address to listen on", o->address);
    if (ret->sin_addr.s_addr == htonl(INADDR_ANY))
        return eddis_fail(err, -EINVAL, "will not listen on every address; name one");
    if (!o->key && !http_address_is_loopback(o->address))
        return eddis_fail(err, -EPERM,
                          "will not speak plain HTTP on %s, which is no loopback address",
                          o->address);
    if (o->key && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return eddis_fail(err, -ENOTSUP, "this libmicrohttpd was built without TLS");
    s->o = *o;
    s->o.key = NULL; /* ours until the start is done only */
    s->deadline_ns = o->deadline_ns ? o->deadline_ns : 10 * CLOCK_S;
    return 0;
}

static int listen_on(struct http_server *s, const struct sockaddr_in *address,
                     const struct http_key *key, struct eddis_error *err)
{
    const struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    const struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_KEY, 0, key ? (void *)(uintptr_t)http_key_private(key) : NULL },
        { MHD_OPTION_HTTPS_MEM_CERT, 0, key ? (void *)(uintptr_t)http_key_certificate(key) : NULL },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)tls_priorities },
        { MHD_OPTION_END, 0, NULL },
    };
    const union MHD_DaemonInfo *i;
    int max = s->o.max_connections ? s->o.max_connections : SERVER_CONNECTIONS;

    s->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (key ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s, MHD_OPTION_SOCK_ADDR,
        address, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)SERVER_THREADS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MAX_HEADER, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)max, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
        connection_changed, s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, key ? tls : none,
        MHD_OPTION_END);
    if (!s->daemon)
        return eddis_fail_errno(err, -(errno ? errno : EIO), "cannot listen on %s", s->o.address);
    i = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = i ? i->port : 0;
    return 0;
}

int http_server_start(const struct http_server_options *o, struct http_server **ret,
                      struct eddis_error *err)
{
    struct http_server *s = calloc(1, sizeof *s);
    struct sockaddr_in address;
    int rc;

    if (!s)
        return eddis_fail(err, -ENOMEM, "no memory for a server");
    pthread_mutex_init(&s->handling, NULL);
    pthread_mutex_init(&s->counting, NULL);
    rc = take_options(s, o, &address, err);
    if (rc == 0)
        rc = deadlines_start(&s->deadlines, err);
    if (rc == 0)
        rc = listen_on(s, &address, o->key, err);
    if (rc < 0) {
        free_server(s);
        return rc;
    }
    *ret = s;
    return 0;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

int64_t http_server_refused(const struct http_server *s)
{
    return atomic_load(&((struct http_server *)(uintptr_t)s)->refused);
}

void http_server_refusals(struct http_server *s, struct http_refusals *ret)
{
    pthread_mutex_lock(&s->counting);
    *ret = s->refusals;
    pthread_mutex_unlock(&s->counting);
}

void http_server_stop(struct http_server *s)
{
    if (!s)
        return;
    MHD_stop_daemon(s->daemon);
    free_server(s);
}
