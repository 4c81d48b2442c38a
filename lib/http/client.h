/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - HTTP/JSON requests over libcurl, for a program with one thread and one loop
 *
 * Requests run side by side in the background of http_client_wait, which is the program's
 * poll(2): it waits for them and for the caller's own descriptors together.
 *
 * A server may have several addresses, of which not all can be reached from everywhere.  A request
 * tries them in turn until one takes a connection; once one has answered, that one and then one of
 * the others, so that an interruption of the network is not made longer by addresses that lead
 * nowhere.  It is sent once at most.  There are two connections at most, so that a long poll and
 * one other request go on at a time.
 *
 * What was not answered has its connection closed, and until one is answered every request makes a
 * new one: a connection that has lost packets sends them again at growing intervals, and is silent
 * long after the network is back.
 *
 * With a pin the client speaks TLS 1.3 with a server that holds the key of that pin and with nobody
 * else; names and dates of the certificate are not looked at.  Without a pin it speaks plain HTTP,
 * and to loopback addresses only.
 */
#ifndef EDDIS_HTTP_CLIENT_H
#define EDDIS_HTTP_CLIENT_H

#include "lib/base/error.h"
#include "socket.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;

enum { HTTP_MAX_BASES = 16 };

struct http_client_options {
    const char *const *base; /* [n_bases] "https://10.1.0.7:41233", "https://[fd00::7]:41233" */
    int n_bases;
    const char *token;  /* sent as bearer, kept in memory only */
    const char *pin;    /* of the server's key, see key.h; NULL: plain HTTP */
    const char *path;   /* of a Unix socket at which all of base are, for plain HTTP; NULL: none */
    int64_t connect_ns; /* for an address to take a connection, TLS included; 0: 3 s */
    struct http_tcp tcp;
};

/* Make a client; the options are copied. */
int http_client_open(const struct http_client_options *o, struct http_client **ret,
                     struct eddis_error *err);

/* Called from inside http_client_wait when the answer is there.  status is the HTTP status, or 0
 * when there was none: err says why then.  body (body_n bytes and a 0) is valid during the call.
 */
typedef void (*http_done_fn)(void *ctx, int status, const char *body, size_t body_n,
                             const struct eddis_error *err);

/* Start a request; json NULL makes it a GET, else a POST.  done is called exactly once, also when
 * the client is closed (status 0).
 */
int http_client_start(struct http_client *c, const char *path, const char *json, int64_t timeout_ns,
                      http_done_fn done, void *ctx, struct eddis_error *err);

/* Wait until a request is answered, one of fds [n] is ready (its revents are set) or the deadline
 * has passed; runs the done functions.  Returns the number of ready fds.
 */
int http_client_wait(struct http_client *c, struct pollfd *fds, int n, int64_t deadline_ns,
                     struct eddis_error *err);

/* Send one request and wait for its answer.  Returns the status; *ret_body: the body, which the
 * caller frees.
 */
int http_client_call(struct http_client *c, const char *path, const char *json, int64_t timeout_ns,
                     char **ret_body, size_t *ret_n, struct eddis_error *err);

/* Connect one more socket, at which nothing is asked, to the address that answered last, for as
 * long as the system of the server's machine acknowledges: it does for a server that is stopped,
 * too. Returns the socket, which the caller closes and which need not be connected yet; it fails
 * (POLLERR) with ETIMEDOUT or the like once that machine is silent as long as tcp of the options
 * says.
 */
int http_client_hold(const struct http_client *c, struct eddis_error *err);

/* End requests under way and free c.  Accepts NULL. */
void http_client_close(struct http_client *c);

#endif
