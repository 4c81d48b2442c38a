/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - serve requests with libmicrohttpd; each is checked before its body is read */
#include "server.h"

#include "connections.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/ip.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "unauthenticated.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Number of threads; default limit of authenticated connections; size of a request's path; backlog
 * of a Unix socket.  The threads use poll, not epoll: if the number of ready connections is a
 * multiple of 128, the epoll thread of libmicrohttpd 0.9.75 sleeps until a time-out although there
 * is work.
 */
enum { SERVER_THREADS = 2, SERVER_CONNECTIONS = 4096, SERVER_PATH = 512, SERVER_BACKLOG = 256 };

enum { SERVER_TOO_LARGE = 413 }; /* libmicrohttpd has renamed its constant */

/* The priority string of GnuTLS: TLS 1.3 only. */
static const char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";

/* A server. */
struct http_server {
    struct MHD_Daemon *daemon;
    struct connections *connections;
    struct http_server_options o;
    int64_t deadline_ns, unauthenticated_ns, refusal_ns;  /* of the options, or their defaults */
    int port;                                             /* 0: Unix socket */
    char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* path of the Unix socket; "": none */
    pthread_mutex_t counting;                             /* protects `refusals` */
    struct http_rejections refusals;                      /* numbers of rejected requests by peer */
    atomic_llong refused;     /* refusals.total, for readers without the lock */
    pthread_mutex_t handling; /* serialises calls of the handler */
};

/* A request and its reply.  It has two owners: libmicrohttpd, until the request is completed, and
 * the handler, until its reply.
 */
struct http_exchange {
    struct http_server *s;
    struct MHD_Connection *connection;
    pthread_mutex_t lock; /* protects the members below once the handler has been called */
    int owners;
    int who;
    struct strbuf body;
    bool handled, answered, suspended;
    int status;                    /* HTTP status of the reply */
    struct MHD_Response *response; /* reply, which libmicrohttpd's thread queues; NULL: none */
};

/* Borrow the server's record of a connection; NULL: it has none. */
static struct guest *guest_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return i ? i->socket_context : NULL;
}

/* Borrow the address of the connection's peer; NULL: unknown. */
static const struct sockaddr *peer_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    return i ? i->client_addr : NULL;
}

/* Set the connection's deadline to ns from now. */
static void connection_allow(struct http_server *s, struct MHD_Connection *c, int64_t ns)
{
    connections_allow(s->connections, guest_of(c), ns);
}

/* Add a connection that has started to the server's connections, with its record in
 * *socket_context, and set its TCP options; or remove a connection that has ended.  Callback of
 * libmicrohttpd (MHD_OPTION_NOTIFY_CONNECTION), on the server's threads.
 */
static void connection_changed(void *ctx, struct MHD_Connection *c, void **socket_context,
                               enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = ctx;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

        if (!*s->path)
            http_socket_tune(fd, &s->o.tcp);
        *socket_context = connections_begin(s->connections, fd, peer_of(c));
    } else {
        connections_end(s->connections, *socket_context);
        *socket_context = NULL;
    }
}

/* Return a new exchange whose only owner is libmicrohttpd; NULL without memory. */
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

/* End the caller's ownership of the exchange, and free the exchange if it was the last owner.  Call
 * with the exchange's lock held; it is released.
 */
static void exchange_leave(struct http_exchange *x)
{
    bool last = --x->owners == 0;

    pthread_mutex_unlock(&x->lock);
    if (!last)
        return;
    if (x->response)
        MHD_destroy_response(x->response);
    pthread_mutex_destroy(&x->lock);
    strbuf_fini(&x->body);
    free(x);
}

/* Return a response whose body is a copy of text, of this Content-Type.  text NULL: an empty body.
 * NULL without memory.
 */
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
    x->response = r; /* NULL without memory: the connection is then closed */
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

/* Queue a reply that rejects a request without a call of the handler, and let the connection be
 * closed after it.  Return the result for libmicrohttpd, MHD_NO on failure.
 */
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

/* Return the number of the request's token; on a Unix socket, for this user and root without a
 * token, local_who of the options.  -1: the request is not authenticated.
 */
static int authenticate(const struct http_server *s, struct MHD_Connection *c)
{
    const char *h = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);

    if (*s->path && !connections_is_local(guest_of(c)))
        return -1; /* another user, whose data may have been read, but who gets no answer */
    if (!h && *s->path)
        return s->o.local_who;
    if (!h || strncmp(h, "Bearer ", 7) != 0)
        return -1;
    return http_tokens_who(s->o.tokens, h + 7);
}

/* Write the address of the connection's peer to ret [size], for people: "this machine" for a Unix
 * socket, "unknown" for another kind of address.
 */
static void peer_text(struct MHD_Connection *c, char *ret, size_t size)
{
    const struct sockaddr *peer = peer_of(c);
    char text[IP_CHARS];
    struct ip a;

    if (peer && peer->sa_family == AF_UNIX)
        (void)snprintf(ret, size, "this machine");
    else
        (void)snprintf(ret, size, "%s", ip_of_socket(peer, &a) ? ip_text(&a, text) : "unknown");
}

/* Count a rejected request of the connection's peer in the server's numbers. */
static void count_refusal(struct http_server *s, struct MHD_Connection *c)
{
    char peer[HTTP_PEER_CHARS];

    peer_text(c, peer, sizeof peer);
    pthread_mutex_lock(&s->counting);
    http_rejections_add(&s->refusals, peer, 1);
    atomic_store(&s->refused, s->refusals.total);
    pthread_mutex_unlock(&s->counting);
}

/* Check whether a request's path is not empty, shorter than SERVER_PATH, and printable ASCII
 * without spaces.
 */
static bool path_is_plain(const char *path)
{
    size_t n = 0;

    for (; path[n]; n++)
        if (path[n] <= 0x20 || path[n] >= 0x7f)
            return false;
    return n > 0 && n < SERVER_PATH;
}

/* Authenticate a request and check its headers and path.  Return 0 with the token's number in
 * *ret_who, or the HTTP status with which to reject the request.
 */
static int check_headers(struct http_server *s, struct MHD_Connection *c, const char *path,
                         int *ret_who)
{
    const char *length =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int who = authenticate(s, c);

    if (who < 0)
        return MHD_HTTP_UNAUTHORIZED;
    *ret_who = who;
    if (MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return MHD_HTTP_LENGTH_REQUIRED;
    if (length && (strlen(length) > 9 || strtoul(length, NULL, 10) > HTTP_MAX_BODY))
        return SERVER_TOO_LARGE;
    return path_is_plain(path) ? 0 : MHD_HTTP_BAD_REQUEST;
}

/* Reject a request with this status of check_headers and a JSON text with the reason.  Return the
 * result for libmicrohttpd, MHD_NO on failure.
 */
static enum MHD_Result refuse_headers(struct MHD_Connection *c, int status)
{
    char text[64];

    switch (status) {
    case MHD_HTTP_UNAUTHORIZED:
        return refuse(c, status, "{\"error\":\"not authorised\"}");
    case MHD_HTTP_LENGTH_REQUIRED:
        return refuse(c, status, "{\"error\":\"a body needs a Content-Length\"}");
    case SERVER_TOO_LARGE:
        (void)snprintf(text, sizeof text, "{\"error\":\"the body is longer than %d MiB\"}",
                       HTTP_MAX_BODY >> 20);
        return refuse(c, status, text);
    default:
        return refuse(c, status, "{\"error\":\"the path is not plain\"}");
    }
}

/* Append data [n] to the request's body, followed by a 0.  Return false, with the body unchanged,
 * if it would be longer than HTTP_MAX_BODY, or without memory.
 */
static bool take_body(struct http_exchange *x, const char *data, size_t n)
{
    if (n > HTTP_MAX_BODY - x->body.len)
        return false;
    strbuf_add_bytes(&x->body, data, n);
    return !x->body.failed;
}

/* Make the handler the second owner of the exchange, and call it with the request.  If the handler
 * has not replied when it returns, suspend the connection until the reply.
 */
static void hand_over(struct http_exchange *x, const char *method, const char *path)
{
    struct http_server *s = x->s;
    char peer[HTTP_PEER_CHARS];
    const struct http_request q = {
        .method = method,
        .path = path,
        .who = x->who,
        .body = strbuf_text(&x->body),
        .body_n = x->body.len,
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

/* If the handler has replied, queue the reply in libmicrohttpd.  Return MHD_NO, which closes the
 * connection, if the reply cannot be sent; else MHD_YES.
 */
static enum MHD_Result pass_answer(struct http_exchange *x)
{
    enum MHD_Result rc = MHD_YES;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&x->lock);

    if (x->answered) {
        connection_allow(x->s, x->connection, x->s->deadline_ns);
        rc = x->response ? MHD_queue_response(x->connection, (unsigned)x->status, x->response)
                         : MHD_NO;
    }
    return rc;
}

/* Resume the suspended connection ctx; the wake callback of connections_wait. */
static void resume(void *ctx)
{
    MHD_resume_connection(ctx);
}

/* If the connection has been suspended by this function before, return false.  Otherwise count a
 * request that is not authenticated, suspend its connection for refusal_ns, and return true.
 */
static bool wait_for_refusal(struct http_server *s, struct MHD_Connection *c)
{
    struct guest *g = guest_of(c);

    if (connections_has_waited(g))
        return false;
    count_refusal(s, c);
    MHD_suspend_connection(c);
    return connections_wait(s->connections, g, s->refusal_ns, resume, c);
}

/* Process the next part of a request: its headers in the first call, then parts of its body, at its
 * end the call of the handler, and later the reply.  libmicrohttpd's MHD_AccessHandlerCallback, on
 * the server's threads; *state is the exchange.  Return MHD_YES, or MHD_NO to close the connection.
 */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *http, const char *data,
                                  size_t *data_n, void **state)
{
    struct http_server *s = ctx;
    struct http_exchange *x = *state;

    if (!x) {
        int who = 0, status = check_headers(s, c, url, &who);

        if (status == MHD_HTTP_UNAUTHORIZED && wait_for_refusal(s, c))
            return MHD_YES;
        connection_allow(s, c, s->unauthenticated_ns);
        if (status)
            return refuse_headers(c, status);
        connections_know(s->connections, guest_of(c));
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

/* End libmicrohttpd's ownership of the exchange of a completed request, and set the deadline until
 * which the connection may be idle.  Callback of libmicrohttpd (MHD_OPTION_NOTIFY_COMPLETED), on
 * the server's threads.
 */
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

/* Ignore a message of libmicrohttpd, which is about a broken connection of one peer. */
static void on_log(void *ctx, const char *fmt, va_list ap)
{
}

/* Free a server whose libmicrohttpd is not running. */
static void free_server(struct http_server *s)
{
    connections_close(s->connections);
    pthread_mutex_destroy(&s->handling);
    pthread_mutex_destroy(&s->counting);
    free(s);
}

/* Return ns, or otherwise_ns if it is 0. */
static int64_t or_else(int64_t ns, int64_t otherwise_ns)
{
    return ns ? ns : otherwise_ns;
}

/* Copy the options o to s, with defaults for the limits that are 0. */
static void take_limits(struct http_server *s, const struct http_server_options *o)
{
    s->o = *o;
    s->o.key = NULL; /* borrowed only until the start */
    if (s->o.unauthenticated <= 0 || s->o.unauthenticated > STRANGERS)
        s->o.unauthenticated = STRANGERS;
    s->deadline_ns = or_else(o->deadline_ns, 10 * CLOCK_S);
    s->refusal_ns = or_else(o->refusal_ns, CLOCK_S);
    s->unauthenticated_ns = or_else(o->unauthenticated_ns, 3 * CLOCK_S);
    if (s->unauthenticated_ns > s->deadline_ns)
        s->unauthenticated_ns = s->deadline_ns;
}

/* Convert the address of the options to a socket address with port 0 in *ret.  Return 0; -EINVAL:
 * it is no address, or the unspecified one; -EPERM: not a loopback address, and there is no key;
 * -ENOTSUP: libmicrohttpd lacks TLS or IPv6.
 */
static int take_address(const struct http_server_options *o, struct sockaddr_storage *ret,
                        struct eddis_error *err)
{
    struct ip a;

    if (!ip_parse(o->address, &a))
        return eddis_fail(err, -EINVAL, "'%s' is not an address to listen on", o->address);
    if (ip_is_unspecified(&a))
        return eddis_fail(err, -EINVAL, "refusing to listen on all addresses; name one");
    if (!o->key && !http_address_is_loopback(o->address))
        return eddis_fail(err, -EPERM, "refusing plain HTTP on %s, which is not a loopback address",
                          o->address);
    if (o->key && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return eddis_fail(err, -ENOTSUP, "this libmicrohttpd was built without TLS");
    if (!ip_is_v4(&a) && MHD_is_feature_supported(MHD_FEATURE_IPv6) != MHD_YES)
        return eddis_fail(err, -ENOTSUP, "this libmicrohttpd was built without IPv6");
    (void)ip_to_socket(&a, 0, ret);
    return 0;
}

/* Create a Unix socket of mode 0600 at `path`, listen on it, and set s->path.  Return its
 * descriptor or a negative errno value.
 */
static int make_socket(struct http_server *s, const char *path, struct eddis_error *err)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd, rc;

    if (strlen(path) >= sizeof a.sun_path)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%s' is too long for a socket", path);
    memcpy(a.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    rc = fd < 0 || fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ? -errno
                                                                                         : 0;
    if (rc == 0) {
        memcpy(s->path, path, strlen(path) + 1);
        rc = listen(fd, SERVER_BACKLOG) < 0 ? -errno : 0;
    }
    if (rc == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return eddis_fail_errno(err, rc, "cannot listen on '%s'", path);
}

/* Start libmicrohttpd on the listening socket fd, or on `address` if fd is -1, with TLS if key is
 * not NULL.  Set s->daemon and s->port.  Return 0 or a negative errno value.
 */
static int listen_on(struct http_server *s, const struct sockaddr_storage *address, int fd,
                     const struct http_key *key, struct eddis_error *err)
{
    const struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    const struct MHD_OptionItem where[] = {
        { fd < 0 ? MHD_OPTION_SOCK_ADDR : MHD_OPTION_LISTEN_SOCKET, fd < 0 ? 0 : fd,
          fd < 0 ? (void *)(uintptr_t)address : NULL },
        { MHD_OPTION_END, 0, NULL },
    };
    const struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_KEY, 0, key ? (void *)(uintptr_t)http_key_private(key) : NULL },
        { MHD_OPTION_HTTPS_MEM_CERT, 0, key ? (void *)(uintptr_t)http_key_certificate(key) : NULL },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)tls_priorities },
        { MHD_OPTION_END, 0, NULL },
    };
    const union MHD_DaemonInfo *i;
    int max = (s->o.max_connections ? s->o.max_connections : SERVER_CONNECTIONS) +
              2 * s->o.unauthenticated;

    s->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (key ? MHD_USE_TLS : 0) | (fd < 0 && address->ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s, MHD_OPTION_ARRAY,
        where, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)SERVER_THREADS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MAX_HEADER, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)max, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
        connection_changed, s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, key ? tls : none,
        MHD_OPTION_END);
    if (!s->daemon)
        return eddis_fail_errno(err, -(errno ? errno : EIO), "cannot listen on %s",
                                fd < 0 ? s->o.address : s->path);
    i = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = i ? i->port : 0;
    return 0;
}

/* Unlink the Unix socket, if the server has one. */
static void remove_socket(const struct http_server *s)
{
    if (*s->path)
        (void)unlink(s->path);
}

int http_server_start(const struct http_server_options *o, struct http_server **ret,
                      struct eddis_error *err)
{
    struct http_server *s = calloc(1, sizeof *s);
    struct sockaddr_storage address;
    int rc, fd = -1;

    if (!s)
        return eddis_fail(err, -ENOMEM, "no memory for a server");
    pthread_mutex_init(&s->handling, NULL);
    pthread_mutex_init(&s->counting, NULL);
    take_limits(s, o);
    rc = o->path ? fd = make_socket(s, o->path, err) : take_address(o, &address, err);
    if (rc >= 0)
        rc = connections_open(
            &(struct connections_options){ .unauthenticated_ns = s->unauthenticated_ns,
                                           .local_ns = s->deadline_ns,
                                           .unauthenticated = s->o.unauthenticated,
                                           .local = o->path != NULL },
            &s->connections, err);
    if (rc == 0)
        rc = listen_on(s, &address, fd, o->key, err);
    if (rc < 0) {
        if (fd >= 0)
            (void)close(fd);
        remove_socket(s);
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

const char *http_server_path(const struct http_server *s)
{
    return s ? s->path : "";
}

int64_t http_server_refused(const struct http_server *s)
{
    return atomic_load(&((struct http_server *)(uintptr_t)s)->refused);
}

void http_server_rejections(struct http_server *s, struct http_rejections *ret)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->counting);

    *ret = s->refusals;
}

void http_server_stop(struct http_server *s)
{
    if (!s)
        return;
    remove_socket(s);
    connections_wake(s->connections); /* libmicrohttpd must not stop with suspended connections */
    MHD_stop_daemon(s->daemon);
    free_server(s);
}
