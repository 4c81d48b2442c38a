/* SPDX-License-Identifier: Apache-2.0 */
/* session_log.h - what an agent says on standard error before the driver hears it over HTTP
 *
 * Its session, through which the driver reads that, may be lost at any time and is of no use once
 * the agent has registered: then standard output and error become its log.  Only why it ends when
 * it has lost the driver is said there once more.
 */
#ifndef EDDIS_AGENTS_NODE_SESSION_LOG_H
#define EDDIS_AGENTS_NODE_SESSION_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct session_log {
    int64_t next_ns; /* not to be repeated before */
    bool over;
    int fd; /* the session's standard error, once over; 0: none */
};

/* Say "eddis-agent 0.1.0 started". */
void session_log_begin(void);

/* Say "eddis-agent: <sentence>", at most once a second. */
void session_log_say(struct session_log *e, int64_t now_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Send whatever is still written to log_fd, for the driver hears the agent now. */
void session_log_end(struct session_log *e, int log_fd);

/* Say "eddis-agent: <sentence>" in the session after all, if it takes it at once. */
void session_log_last(struct session_log *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
