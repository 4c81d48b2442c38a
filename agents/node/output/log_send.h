/* SPDX-License-Identifier: Apache-2.0 */
/* log_send.h - sends logs of this node to the driver
 *
 * Requests are served one after the other.  A rank's log in one generation is its beginning, the
 * older end and the end (rank_log.h), sent as one text in the chunks of reports.  Of a text longer
 * than LOG_SEND_MOST, the beginning and the end are sent, with a line between them that names the
 * file.  Zero bytes become '?'.
 *
 * log_send_close removes files that have arrived completely.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LOG_SEND_H
#define EDDIS_AGENTS_NODE_OUTPUT_LOG_SEND_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOG_SEND_MOST = 20 << 20, LOG_SEND_PIECE = 64 << 10, LOG_SEND_WISHES = 256 };

/* A request to send a log. */
struct log_wish {
    int rank;
    int64_t generation;
    int64_t offset; /* as log_offset in struct order */
    char *paths[3]; /* in order, NULL: fewer; taken over */
    bool remove;    /* remove the files once they have arrived completely */
};

/* The result of a request. */
struct log_sent {
    int rank;
    int64_t generation;
    int64_t end;    /* bytes of the whole text; -1: it could not be read */
    char text[512]; /* sentence for the user; "": none */
};

struct log_send;

/* Return a sender without requests; NULL: no memory. */
struct log_send *log_send_new(void);

/* Remove the files that have arrived, and free s.  Accept NULL. */
void log_send_close(struct log_send *s);

/* Queue a request and take over its paths, even after an error. -EBUSY: too many requests are
 * pending.
 */
int log_send_add_take(struct log_send *s, const struct log_wish *w, struct eddis_error *err);

/* Check whether there is something to send. */
bool log_send_busy(const struct log_send *s);

/* Take the next chunk; the caller frees its text.  Return 1, or 0 if none is ready. */
int log_send_next(struct log_send *s, struct log_chunk *ret);

/* Record that the chunks taken since the last call have arrived, or were rejected. */
void log_send_arrived(struct log_send *s, bool refused);

/* Take the result of a finished request.  Return 1, or 0 if there is none. */
int log_send_done(struct log_send *s, struct log_sent *ret);

#endif
