/* SPDX-License-Identifier: Apache-2.0 */
/* rank_log.h - a rank's output in files of bounded size
 *
 * The first half of the allowance goes to rank-0003.log.  What comes after goes to
 * rank-0003.tail.log; when that holds a quarter it becomes rank-0003.tail-1.log, whose former
 * content is dropped.  So the beginning and the end of a long output are kept, what was dropped
 * is counted, and at no moment is a file half rewritten.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_RANK_LOG_H
#define EDDIS_AGENTS_NODE_OUTPUT_RANK_LOG_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_log;

/* Open the log of a rank in dir for `generation`; later generations append to the files. */
int rank_log_open(const char *dir, int rank, int64_t generation, int64_t max_bytes,
                  struct rank_log **ret, struct eddis_error *err);

/* Write n bytes.  A file that cannot be written (disk full) drops and counts: the program whose
 * output it is goes on.
 */
void rank_log_write(struct rank_log *l, const char *data, size_t n);

/* Write the last lines (at most max_lines, each cut to line_bytes) to ret [size], each ended by a
 * newline and free of control characters.  Of a line that was drawn anew with carriage returns it
 * is the last state.  Of a traceback it is that, see last_words.h.
 */
void rank_log_last_lines(const struct rank_log *l, int max_lines, size_t line_bytes, char *ret,
                         size_t size);

/* The same without regard to tracebacks. */
void rank_log_tail(const struct rank_log *l, int max_lines, size_t line_bytes, char *ret,
                   size_t size);

/* Whether the last output says that a collective operation failed because of another rank. */
bool rank_log_blames_another(const struct rank_log *l);

/* Return how many bytes were dropped. */
int64_t rank_log_dropped(const struct rank_log *l);

/* Return why bytes could not be written, a negative errno; 0: those dropped were too many. */
int rank_log_error(const struct rank_log *l);

/* Note in the log what was dropped, and close it.  Accepts NULL. */
void rank_log_close(struct rank_log *l);

#endif
