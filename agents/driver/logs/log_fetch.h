/* SPDX-License-Identifier: Apache-2.0 */
/* log_fetch.h - fetch log files from the nodes into the job's log folder
 *
 * The list of logs to fetch is in the order of generations. Each log is that of one rank in one
 * generation, on the node of one agent. Only one log per agent is transferred at a time. The chunks
 * of a log must arrive in order and without gaps, from the first byte on, and are written to a
 * temporary file. At the end the temporary files of a rank are joined to a file such as
 * rank-0003.log; if a rank has several, a line before each part names its generation and node.
 */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_LOG_FETCH_H
#define EDDIS_AGENTS_DRIVER_LOGS_LOG_FETCH_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stdint.h>

/* Maximum size of one log in bytes, a little more than agents send. */
enum { LOG_FETCH_MOST = 24 << 20 };

/* Identifies one log. */
struct log_fetch_log {
    int agent, rank; /* rank: see order.log_rank */
    int64_t generation;
};

/* A chunk to write, as filled in by log_fetch_chunk */
struct log_fetch_write {
    /* file to write to; owned, because the list of logs may be freed before the chunk is written */
    char *path;
    const char *text; /* text of the chunk, borrowed from it */
    bool first;       /* the chunk is the first of its log: replace an old file of this name */
};

struct log_fetch;

/* Return a new, empty list of logs to fetch into dir, which must exist; the caller frees it with
 * log_fetch_free. NULL: no memory.
 */
struct log_fetch *log_fetch_new(const char *dir);

/* Free the list of logs to fetch, but keep the temporary files. Accepts NULL. */
void log_fetch_free(struct log_fetch *f);

/* Delete the temporary files that log_fetch_finish has not moved. */
void log_fetch_remove(struct log_fetch *f);

/* Add a log to the list of logs to fetch, unless the list contains it. Return 0 or -ENOMEM. */
int log_fetch_add(struct log_fetch *f, const struct log_fetch_log *l, struct eddis_error *err);

/* Begin to fetch the agent's next log. Return true if the caller must order the log *ret from the
 * agent; false if no log of the agent is left to fetch, or one is being transferred.
 */
bool log_fetch_next(struct log_fetch *f, int agent, struct log_fetch_log *ret);

/* Record the number of the order for the log that log_fetch_next has returned. */
void log_fetch_ordered(struct log_fetch *f, int agent, int64_t order);

/* Accept a chunk of the log that the agent transfers now, and fill *ret for log_fetch_write; the
 * caller frees ret->path. Return 0, -EINVAL if the chunk was not requested, does not continue the
 * log or makes it too long, or -ENOMEM.
 */
int log_fetch_chunk(struct log_fetch *f, int agent, const struct log_chunk *p,
                    struct log_fetch_write *ret, struct eddis_error *err);

/* Write an accepted chunk to its file. Return 0 or a negative errno. The function may be called on
 * any thread, but with the chunks of each log in order.
 */
int log_fetch_write(const struct log_fetch_write *w, struct eddis_error *err);

/* Stop fetching the log that the agent transfers now, because a chunk could not be written for the
 * reason `why`. The first such reason is kept for log_fetch_finish.
 */
void log_fetch_failed(struct log_fetch *f, int agent, const struct eddis_error *why);

/* Record that the agent has sent the log of this order to the end, which is of `end` bytes
 * (negative: the agent has no such log). whole: false if the agent left out the middle, and marked
 * the gap in the log. Return false if the agent does not transfer the log of this order now.
 */
bool log_fetch_done(struct log_fetch *f, int agent, int64_t order, int64_t end, bool whole);

/* Stop fetching all unfinished logs of this agent; agent -1: of all agents. */
void log_fetch_give_up(struct log_fetch *f, int agent);

/* Check whether every log of the list was fetched or given up. */
bool log_fetch_is_done(const struct log_fetch *f);

/* Move or append the fetched files to their final names.  host[agent] is the name of a node.  A
 * truncated file gets a last line that says so.  Return how many logs of ranks are missing or
 * incomplete; if something could not be written, err gets the first reason.
 */
int log_fetch_finish(struct log_fetch *f, char (*host)[256], struct eddis_error *err);

/* To be called after log_fetch_finish: store in *ret the next missing log from position *at on (0
 * at the first call), advance *at, and return true. Return false if no further log is missing.
 */
bool log_fetch_missing(const struct log_fetch *f, int *at, struct log_fetch_log *ret);

#endif
