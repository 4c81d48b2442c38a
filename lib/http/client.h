/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - HTTP/JSON requests over libcurl, for a program with one thread and one loop
 *
 * Requests proceed inside http_client_wait, which is the program's poll(2): it waits for them and
 * for the caller's descriptors together.
 *
 * A server may have several addresses, and some cannot be reached from here.  A request tries
 * them in order until one accepts a connection.  Once an address has answered, a request tries this
 * address first and then one other.  So addresses that lead nowhere do not prolong an interruption
 * of the network.  A request is sent at most once.  There are at most two connections, for a long
 * poll and one other request.
 *
 * If a request is not answered, its connection is closed, and every request opens a new one until
 * one is answered.  Reason: after packet loss, TCP retransmits at growing intervals and stays
 * silent long after the network is back.
 *
 * With a pin the client uses TLS 1.3 and accepts only a server with the key of that pin; the
 * certificate's names and dates are ignored.  Without a pin it uses plain HTTP, only to loopback
 * addresses.
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

/* Options of a client; they are copied */
struct http_client_options {
    const char *const *base; /* [n_bases] "https://10.1.0.7:41233", "https://[fd00::7]:41233" */
    int n_bases;
    const char *token;   /* bearer token, kept in memory only */
    const char *pin;     /* pin of the server's key, see key.h; NULL: plain HTTP */
    const char *path;    /* Unix socket that serves all of `base` by plain HTTP; NULL: none */
    int64_t connect_ns;  /* time limit to connect to one address, including TLS; 0: 3 s */
    struct http_tcp tcp; /* when to abort a silent connection */
};

/* Make a client; the caller frees *ret by http_client_close.  Return 0 or a negative errno;
 * -EINVAL: an address is malformed; -EPERM: plain HTTP to an address that is not loopback.
 */
int http_client_open(const struct http_client_options *o, struct http_client **ret,
                     struct eddis_error *err);

/* Callback for a finished request, called in http_client_wait. status is the HTTP status; 0: no
 * answer, and err has the reason. body (body_n bytes and a 0) is valid during the call.
 */
typedef void (*http_done_fn)(void *ctx, int status, const char *body, size_t body_n,
                             const struct eddis_error *err);

/* Start a request: a GET if json is NULL, else a POST of json.  `done` is called exactly once, also
 * if the client is closed (status 0).  Return 0, or -ENOMEM, and then `done` is not called.
 */
int http_client_start(struct http_client *c, const char *path, const char *json, int64_t timeout_ns,
                      http_done_fn done, void *ctx, struct eddis_error *err);

/* Wait until a request has finished, one of fds [n] is ready (its revents are set) or the deadline
 * has passed.  Calls the done functions.  Return the number of ready fds.
 */
int http_client_wait(struct http_client *c, struct pollfd *fds, int n, int64_t deadline_ns,
                     struct eddis_error *err);

/* Send one request and wait for its answer.  Return the HTTP status, and the body in *ret_body,
 * which the caller frees. ret_n may be NULL.
 */
int http_client_call(struct http_client *c, const char *path, const char *json, int64_t timeout_ns,
                     char **ret_body, size_t *ret_n, struct eddis_error *err);

/* Open one more connection, without requests, to the address that has answered most recently.  It
 * shows whether that machine is alive: the machine's kernel acknowledges even if the server is
 * stopped.  Return the socket, perhaps not connected yet; the caller closes it.  It fails (POLLERR,
 * ETIMEDOUT or similar) if the machine is silent for the time in the options' tcp.
 */
int http_client_hold(const struct http_client *c, struct eddis_error *err);

/* Cancel all requests, calling their done functions, and free c.  Accepts NULL. */
void http_client_close(struct http_client *c);

#endif
