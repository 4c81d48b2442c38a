/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - a small HTTP/JSON server on one address or Unix socket, over libmicrohttpd
 *
 * With a key it uses TLS 1.3 only.  Without one it uses plain HTTP, only on a loopback address or a
 * Unix socket.  So TLS cannot be left out by mistake.
 *
 * Every request is authenticated before its content is processed: "Authorization: Bearer <token>"
 * must contain one of the server's tokens, and the handler gets that token's number.  A request
 * without a valid token gets a short 401 after a delay, is counted by address, and its connection
 * is closed.  An unauthenticated connection (unauthenticated.h) has a short time limit and may be
 * closed in favour of a newer one.  So connections of registered agents are never in danger.
 * Limits apply before memory is allocated: 8 KB of header, HTTP_MAX_BODY of body, the number of
 * connections, and a deadline for each connection, including its TLS handshake.
 *
 * On a Unix socket the kernel identifies the peer: this user and root need no token, others are
 * disconnected.
 *
 * The handler runs in the server's threads, one call at a time (under a lock of the server).  It
 * answers with http_reply before it returns, or keeps the exchange and answers later from any
 * thread (long poll).
 */
#ifndef EDDIS_HTTP_SERVER_H
#define EDDIS_HTTP_SERVER_H

#include "key.h"
#include "lib/base/error.h"
#include "rejections.h"
#include "socket.h"
#include "tokens.h"

#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_MAX_BODY = 1 << 20,
    HTTP_MAX_HEADER = 8 << 10,
};

struct http_server;
struct http_exchange; /* one request and its reply */

/* A request as the handler sees it */
struct http_request {
    const char *method; /* "GET", "POST" */
    const char *path;   /* "/v1/agents/0/orders", checked to be printable ASCII */
    int who;            /* number of the request's token */
    const char *body;   /* body_n bytes, followed by a 0; valid until the handler returns */
    size_t body_n;
    const char *after; /* value of the query argument "after"; NULL: absent */
    const char *peer;  /* the client's address, for messages */
};

/* Options of a server; the struct is copied */
struct http_server_options {
    const char *address;        /* "127.0.0.1", "fd00::7"; the port is chosen by the kernel */
    const char *path;           /* Unix socket to create instead of `address`; NULL: none */
    int local_who;              /* `who` of peers on the Unix socket that have no token */
    const struct http_key *key; /* borrowed until http_server_start returns; NULL: plain HTTP */
    struct http_tokens *tokens; /* borrowed until http_server_stop */
    void (*handle)(void *ctx, const struct http_request *q, struct http_exchange *x);
    void *ctx;
    int max_connections; /* most authenticated connections; 0: 4096 */
    int unauthenticated; /* most unauthenticated connections; 0: STRANGERS, the maximum */
    /* Time limit to receive a request, and to send its reply; a connection may be idle three times
     * as long.  0: 10 s
     */
    int64_t deadline_ns;
    int64_t unauthenticated_ns; /* time limit to authenticate, at most deadline_ns; 0: 3 s */
    int64_t refusal_ns;         /* delay before a 401; 0: 1 s */
    struct http_tcp tcp;
};

/* Start a server, which listens from then on, and return it in *ret. */
int http_server_start(const struct http_server_options *o, struct http_server **ret,
                      struct eddis_error *err);

/* Return the port on which the server listens; 0 on a Unix socket. */
int http_server_port(const struct http_server *s);

/* Borrow the path of a server's Unix socket until the server stops; "": the server has none.  s may
 * be NULL.
 */
const char *http_server_path(const struct http_server *s);

/* Return the number of requests rejected for a wrong or missing token.  Any thread may call this.
 */
int64_t http_server_refused(const struct http_server *s);

/* Copy the numbers of rejected requests by peer to *ret.  Any thread may call this. */
void http_server_rejections(struct http_server *s, struct http_rejections *ret);

/* Answer with a status and a JSON text (copied; NULL: an empty body), and free x.  Call it exactly
 * once for each exchange, whatever happened to the connection.
 */
void http_reply(struct http_exchange *x, int status, const char *json);

/* Answer as http_reply does, with a text of another type: "text/plain; version=0.0.4". */
void http_reply_text(struct http_exchange *x, int status, const char *type, const char *text);

/* Answer as http_reply does, with {"error": <sentence>}. */
void http_reply_error(struct http_exchange *x, int status, const char *sentence);

/* Stop the server, remove its Unix socket and free it.  All exchanges must have been answered.
 * Accepts NULL.
 */
void http_server_stop(struct http_server *s);

#endif
