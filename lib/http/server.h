/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - a small HTTP/JSON server on one address or Unix socket, over libmicrohttpd
 *
 * With a key it speaks TLS 1.3 and nothing older.  Without one it speaks plain HTTP, and then it
 * listens on a loopback address, or a Unix socket, or not at all, so that nobody can leave TLS out
 * by mistake.
 *
 * Every request is authenticated before anything of it is looked at: "Authorization: Bearer
 * <token>" must be one of the tokens given at start, and the handler learns whose.  Who has none
 * gets a short 401, but not at once, is counted by his address, and his connection is closed.  A
 * connection that has shown no token is a stranger's (strangers.h): it has a short time, and may
 * have to go for the next one; so those of agents that have registered are never in danger.  Limits
 * come before allocation: header 8 KB, body HTTP_MAX_BODY, connections, and a deadline for each
 * connection, its TLS handshake included.
 *
 * At a Unix socket the kernel tells who the peer is: this user and root need no token, others are
 * shown out.
 *
 * The handler runs on the server's own threads, one call at a time (the server holds a lock
 * around it).  It answers at once with http_reply, or keeps the exchange and answers later from
 * any thread: that is a long poll.
 */
#ifndef EDDIS_HTTP_SERVER_H
#define EDDIS_HTTP_SERVER_H

#include "key.h"
#include "lib/base/error.h"
#include "refusals.h"
#include "socket.h"
#include "tokens.h"

#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_MAX_BODY = 1 << 20,
    HTTP_MAX_HEADER = 8 << 10,
};

struct http_server;
struct http_exchange; /* one request and its answer to come */

struct http_request {
    const char *method; /* "GET", "POST" */
    const char *path;   /* "/v1/agents/0/orders", checked to be printable ASCII */
    int who;            /* number of the token that it came with */
    const char *body;   /* body_n bytes, followed by a 0; valid until the handler returns */
    size_t body_n;
    const char *after; /* value of the query argument "after", NULL without */
    const char *peer;  /* the client's address, for messages */
};

struct http_server_options {
    const char *address;        /* "127.0.0.1", "fd00::7"; the port is chosen by the kernel */
    const char *path;           /* of a Unix socket instead, which must not exist; or NULL */
    int local_who;              /* number of its peers without a token */
    const struct http_key *key; /* needed until the start is done; NULL: plain HTTP */
    struct http_tokens *tokens; /* borrowed until the stop */
    void (*handle)(void *ctx, const struct http_request *q, struct http_exchange *x);
    void *ctx;
    int max_connections; /* with a token; 0: 4096 */
    int strangers; /* connections without one (strangers.h); 0: STRANGERS, which is the most */
    int64_t deadline_ns; /* for a request to come in whole and for its answer to be taken; a
                          * connection may be idle three times as long.  0: 10 s */
    int64_t stranger_ns; /* until a token was shown; 0: 3 s, at most deadline_ns */
    int64_t refusal_ns;  /* until who has shown a wrong one is told so; 0: 1 s */
    struct http_tcp tcp;
};

/* Start listening; returns a server.  http_server_port tells the port. */
int http_server_start(const struct http_server_options *o, struct http_server **ret,
                      struct eddis_error *err);
int http_server_port(const struct http_server *s);

/* Borrow the path of a server's Unix socket until it stops; s may be NULL, "": it has none. */
const char *http_server_path(const struct http_server *s);

/* Tell of requests refused so far for a wrong or missing token: how many, and from whom.  Any
 * thread.
 */
int64_t http_server_refused(const struct http_server *s);
void http_server_refusals(struct http_server *s, struct http_refusals *ret);

/* Answer with a status and a JSON text (copied; NULL: an empty body).  Frees x, once, whatever
 * happened to the connection meanwhile.
 */
void http_reply(struct http_exchange *x, int status, const char *json);

/* As http_reply with a text of another type, "text/plain; version=0.0.4". */
void http_reply_text(struct http_exchange *x, int status, const char *type, const char *text);

/* As http_reply with {"error": <sentence>}. */
void http_reply_error(struct http_exchange *x, int status, const char *sentence);

/* Stop listening, remove the Unix socket and free everything.  Every kept exchange must have been
 * answered.  Accepts NULL.
 */
void http_server_stop(struct http_server *s);

#endif
