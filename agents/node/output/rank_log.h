/* SPDX-License-Identifier: Apache-2.0 */
/* rank_log.h - keeps a rank's output in files of bounded size
 *
 * The first half of the allowed bytes is written to a file such as rank-0003.log, later bytes to
 * rank-0003.tail.log. When rank-0003.tail.log has a quarter of the allowed bytes, it is renamed to
 * rank-0003.tail-1.log, and the previous file of this name is dropped. So the beginning and the end
 * of a long output are kept, dropped bytes are counted, and no file is ever rewritten in part.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_RANK_LOG_H
#define EDDIS_AGENTS_NODE_OUTPUT_RANK_LOG_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_log;

/* Open the log of a rank in dir for `generation`, in *ret, which the caller closes with
 * rank_log_close; later generations append to the files. max_bytes: limit of all files together.
 * Return 0 or a negative errno.
 */
int rank_log_open(const char *dir, int rank, int64_t generation, int64_t max_bytes,
                  struct rank_log **ret, struct eddis_error *err);

/* Write n bytes to the log. If they cannot be written (disk full), drop and count them: the program
 * continues. The next write tries again, and writes to the log how many bytes are missing.
 */
void rank_log_write(struct rank_log *l, const char *data, size_t n);

/* Write the last lines, or unless tail a traceback (see last_words.h), to ret [size]: at most
 * max_lines, each cut to line_bytes, without control characters, with a newline.  Of a line with
 * carriage returns it is the last state.
 */
void rank_log_last_lines(const struct rank_log *l, bool tail, int max_lines, size_t line_bytes,
                         char *ret, size_t size);

/* Check whether the end of the log reports that a collective operation failed because of another
 * rank.
 */
bool rank_log_blames_another(const struct rank_log *l);

/* Return the number of bytes that were dropped. */
int64_t rank_log_dropped(const struct rank_log *l);

/* Return the reason why bytes could not be written, as a negative errno; 0: bytes were dropped only
 * because of the size limit.
 */
int rank_log_error(const struct rank_log *l);

/* Write to the log how many bytes were dropped, and close the log. Accepts NULL. */
void rank_log_close(struct rank_log *l);

#endif
