/* SPDX-License-Identifier: Apache-2.0 */
/* log_send.h - logs of this node on their way to the driver
 *
 * One wish after the other: of a rank's log in one generation its beginning, the tail before the
 * last and the tail (rank_log.h), as one text, in pieces that reports carry.  Of a text longer than
 * LOG_SEND_MOST the beginning and the end are sent, and between them a line that says where all of
 * it is.  Pieces hold no zero bytes, which become '?'.
 *
 * Files of which all has arrived are removed by log_send_close.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LOG_SEND_H
#define EDDIS_AGENTS_NODE_OUTPUT_LOG_SEND_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOG_SEND_MOST = 20 << 20, LOG_SEND_PIECE = 64 << 10, LOG_SEND_WISHES = 256 };

struct log_wish {
    int rank;
    int64_t generation;
    int64_t offset; /* as order.log_offset */
    char *paths[3]; /* in their order, NULL: fewer; taken */
    bool remove;    /* the files, when all of them has arrived */
};

/* What became of a wish. */
struct log_sent {
    int rank;
    int64_t generation;
    int64_t end;    /* bytes of the whole text; -1: it could not be read */
    char text[512]; /* what people should know; "" */
};

struct log_send;

struct log_send *log_send_new(void); /* NULL without memory */

/* Remove the files that have arrived.  Returns how many of those to be removed were kept.  Accepts
 * NULL.
 */
int log_send_close(struct log_send *s);

/* Queue a wish, and take its paths.  -EBUSY: too many wishes wait; the paths are taken also then.
 */
int log_send_add_take(struct log_send *s, const struct log_wish *w, struct eddis_error *err);

/* Whether there is something to be sent. */
bool log_send_busy(const struct log_send *s);

/* Take the next piece, whose text the caller frees.  Returns 1, or 0 when none is ready. */
int log_send_next(struct log_send *s, struct log_piece *ret);

/* Note that the pieces taken since the last call have arrived, or were refused. */
void log_send_arrived(struct log_send *s, bool refused);

/* Take a wish that is done.  Returns 1, or 0 when none is. */
int log_send_done(struct log_send *s, struct log_sent *ret);

#endif
