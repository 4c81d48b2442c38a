/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - HTTP/JSON requests over libcurl, for a program with one thread and one loop
 *
 * Requests run side by side in the background of http_client_wait, which is the program's
 * poll(2): it waits for them and for the caller's own descriptors together.
 */
#ifndef EDDIS_HTTP_CLIENT_H
#define EDDIS_HTTP_CLIENT_H

#include "lib/base/error.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;

/* base is "http://127.0.0.1:41233"; token is sent as bearer and kept in memory only. */
int http_client_open(const char *base, const char *token, struct http_client **ret,
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

/* One request, waiting for its answer; returns the status and, in *ret_body, the body that the
 * caller frees.
 */
int http_client_call(struct http_client *c, const char *path, const char *json, int64_t timeout_ns,
                     char **ret_body, size_t *ret_n, struct eddis_error *err);

/* Ends requests under way.  Accepts NULL. */
void http_client_close(struct http_client *c);

#endif
