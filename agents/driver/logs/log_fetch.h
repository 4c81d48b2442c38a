/* SPDX-License-Identifier: Apache-2.0 */
/* log_fetch.h - fetch log files from the nodes into the job's log folder
 *
 * A list of logs in the order of generations.  Each is the log of one rank in one generation on the
 * node of one agent.  Only one log per agent is transferred at a time.  Its chunks must arrive in
 * order and without gaps, from the first byte, and are written to a temporary file.  At the end the
 * files of a rank become rank-0003.log; if there are several, a line before each names its
 * generation and node.
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

/* A chunk to be written, made by log_fetch_chunk. */
struct log_fetch_write {
    char *path;       /* file to write to; owned, because the log may be freed before it is
                       * written */
    const char *text; /* contents, borrowed from the chunk */
    bool first;       /* replace an old file of this name */
};

struct log_fetch;

/* Make an empty list of logs to fetch into dir, which must exist.  Return NULL without memory. */
struct log_fetch *log_fetch_new(const char *dir);

/* Free the list of logs to fetch, but keep their files.  Accepts NULL. */
void log_fetch_free(struct log_fetch *f);

/* Delete the temporary files of logs that log_fetch_finish has not moved. */
void log_fetch_remove(struct log_fetch *f);

/* Add a log to the list of logs to fetch, unless it is there already. */
int log_fetch_add(struct log_fetch *f, const struct log_fetch_log *l, struct eddis_error *err);

/* Begin to fetch the agent's next log.  Return true if the caller must order *ret from the agent;
 * false if no log is left or one is being transferred.
 */
bool log_fetch_next(struct log_fetch *f, int agent, struct log_fetch_log *ret);

/* Accept a chunk of the agent's current log and return in *ret how to write it (log_fetch_write).
 * The caller frees ret->path.  Return -EINVAL if the chunk was not requested or does not continue
 * the log.
 */
int log_fetch_chunk(struct log_fetch *f, int agent, const struct log_chunk *p,
                    struct log_fetch_write *ret, struct eddis_error *err);

/* Write an accepted chunk to its file.  May be called on any thread, with the chunks of a log in
 * order.
 */
int log_fetch_write(const struct log_fetch_write *w, struct eddis_error *err);

/* Give up the agent's current log because a chunk of it could not be written.  Keep the first such
 * error for log_fetch_finish.
 */
void log_fetch_failed(struct log_fetch *f, int agent, const struct eddis_error *why);

/* End the agent's current log, which has `end` bytes (negative: the agent has no such log).  If it
 * is not whole, the agent left out the middle and marked the gap in the log.
 */
void log_fetch_done(struct log_fetch *f, int agent, int rank, int64_t end, bool whole);

/* Give up all unfinished logs of this agent; -1: of all agents. */
void log_fetch_give_up(struct log_fetch *f, int agent);

/* Check whether no log is being fetched or left to fetch. */
bool log_fetch_is_done(const struct log_fetch *f);

/* Move or append the fetched files to their final names.  host[agent] is the name of a node.  A
 * truncated file gets a last line that says so.  Return how many logs of ranks are missing or
 * incomplete; if something could not be written, err gets the first reason.
 */
int log_fetch_finish(struct log_fetch *f, char (*host)[256], struct eddis_error *err);

/* After log_fetch_finish: find the next missing log from position *at (0 at first) and advance *at.
 * Return false if there are no more.
 */
bool log_fetch_missing(const struct log_fetch *f, int *at, struct log_fetch_log *ret);

#endif
