/* SPDX-License-Identifier: Apache-2.0 */
/* log_fetch.h - log files from their nodes into the job's folder
 *
 * A list of logs, each of one rank in one generation on one agent's node, in the order of
 * generations.  Of an agent one is on its way at a time; its pieces must come without a gap and
 * from the beginning, and go into a file of their own.  In the end a rank's files become
 * rank-0003.log, each behind a line that names generation and node when there are several.
 */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_LOG_FETCH_H
#define EDDIS_AGENTS_DRIVER_LOGS_LOG_FETCH_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of one log, a little more than agents send. */
enum { FETCH_MOST = 24 << 20 };

struct fetch_log {
    int agent, rank; /* as order.log_rank */
    int64_t generation;
};

struct fetch_write {
    char *path;       /* owned: the log may be gone before it is written */
    const char *text; /* of the piece, borrowed */
    bool first;
};

struct fetch;

/* dir must be there.  Returns NULL without memory. */
struct fetch *fetch_new(const char *dir);
void fetch_free(struct fetch *f); /* accepts NULL */

/* Remove the files that were not made logs. */
void fetch_remove(struct fetch *f);

/* Add a log unless it is there already. */
int fetch_add(struct fetch *f, const struct fetch_log *l, struct eddis_error *err);

/* Begin with the agent's next log: true, and *ret is to be ordered; false: there is none, or one is
 * under way.
 */
bool fetch_next(struct fetch *f, int agent, struct fetch_log *ret);

/* Take a piece that came, which is then to be written; the caller frees ret->path.  -EINVAL: nobody
 * has asked for it.
 */
int fetch_piece(struct fetch *f, int agent, const struct log_piece *p, struct fetch_write *ret,
                struct eddis_error *err);

/* Write a piece that was taken, which needs nothing but this: on any thread, the pieces of a log in
 * their order.
 */
int fetch_write(const struct fetch_write *w, struct eddis_error *err);

/* Give up the agent's log under way: a piece of it could not be written. */
void fetch_failed(struct fetch *f, int agent, const struct eddis_error *why);

/* End the agent's log under way, which has `end` bytes (negative: the agent has no such log).  Not
 * whole: the agent has left something out, and written into the log where.
 */
void fetch_done(struct fetch *f, int agent, int rank, int64_t end, bool whole);

/* Expect nothing more from this agent (-1: from any). */
void fetch_give_up(struct fetch *f, int agent);

/* Whether nothing is under way or left to fetch. */
bool fetch_over(const struct fetch *f);

/* Make the ranks' files; host(ctx, agent) borrows a node's name.  A file that is not whole says so
 * at its end.  Returns how many logs of ranks are missing or not whole; err, when something could
 * not be written, says why.
 */
int fetch_finish(struct fetch *f, const char *(*host)(const void *ctx, int agent), const void *ctx,
                 struct eddis_error *err);

/* After fetch_finish: step *at, 0 at first, to the next log that is missing; false: no more. */
bool fetch_missing(const struct fetch *f, int *at, struct fetch_log *ret);

#endif
