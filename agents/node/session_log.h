/* SPDX-License-Identifier: Apache-2.0 */
/* session_log.h - messages on standard error before the agent reaches the driver over HTTP
 *
 * The driver reads these messages through the agent's session (ssh). The session may be lost at any
 * time, and is not needed after the agent has registered: then standard output and error are
 * redirected to the agent's log. Only if the agent ends because the driver is lost, it writes the
 * reason to the session once more.
 */
#ifndef EDDIS_AGENTS_NODE_SESSION_LOG_H
#define EDDIS_AGENTS_NODE_SESSION_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct session_log {
    int64_t next_ns; /* earliest time of the next message */
    bool over;
    int fd; /* standard error of the session, if `over` is set; 0: none */
};

/* Write "eddis-agent 0.1.0 started". */
void session_log_begin(void);

/* Write "eddis-agent: <sentence>", at most once a second; nothing after session_log_end. */
void session_log_say(struct session_log *e, int64_t now_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Redirect standard output and error to log_fd, because the driver now receives messages over HTTP.
 */
void session_log_end(struct session_log *e, int log_fd);

/* Write "eddis-agent: <sentence>" to the session after session_log_end, if that does not block. */
void session_log_last(struct session_log *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
