/* SPDX-License-Identifier: Apache-2.0 */
/* log_send.h - sends logs of this node to the driver
 *
 * Requests are served one after another. A rank's log of one generation consists of up to three
 * files (log_files.h), which are sent as one text, in chunks in reports. Of a text longer than
 * LOG_SEND_MOST, only the beginning and the end are sent, with a line between them that names the
 * file. Zero bytes are replaced by '?'.
 *
 * log_send_close removes files that have arrived completely at the driver.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LOG_SEND_H
#define EDDIS_AGENTS_NODE_OUTPUT_LOG_SEND_H

#include "agents/protocol/log_files.h"
#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOG_SEND_MOST = 20 << 20, LOG_SEND_PIECE = 64 << 10, LOG_SEND_REQUESTS = 256 };

/* A request to send a log. */
struct log_request {
    int rank;
    int64_t order; /* number of the driver's order */
    int64_t generation;
    int64_t offset; /* as log_offset in struct order */
    /* paths of the files in order, taken over by log_send_add_take; NULL: fewer files */
    char *paths[LOG_FILES];
    bool remove; /* remove the files after they have arrived completely */
};

/* The result of a request. */
struct log_sent {
    int rank;
    int64_t order; /* as in struct log_request */
    int64_t generation;
    int64_t end;    /* length of the whole text in bytes; -1: it could not be read */
    char text[512]; /* sentence for the user; "": none */
};

struct log_send;

/* Return a sender without requests, which the caller frees with log_send_close; NULL: no memory. */
struct log_send *log_send_new(void);

/* Remove the files that have arrived, and free s.  Accept NULL. */
void log_send_close(struct log_send *s);

/* Queue a request, and take over its paths, also if an error is returned. Return 0; -EBUSY: too
 * many requests are pending; or another negative errno.
 */
int log_send_add_take(struct log_send *s, const struct log_request *w, struct eddis_error *err);

/* Check whether there is something to send. */
bool log_send_busy(const struct log_send *s);

/* Store the next chunk in *ret; the caller frees its text. Return 1, or 0 if no chunk is ready. */
int log_send_next(struct log_send *s, struct log_chunk *ret);

/* Record that the chunks that log_send_next has returned since the last call have arrived at the
 * driver (refused: that the driver rejected them).
 */
void log_send_arrived(struct log_send *s, bool refused);

/* Store the result of the next finished request in *ret. Return 1, or 0 if no request has finished.
 */
int log_send_done(struct log_send *s, struct log_sent *ret);

#endif
