/* SPDX-License-Identifier: Apache-2.0 */
/* log_answer.h - the answer to a request for a part of a rank's log
 *
 * GET /v1/logs/<rank>?after=<offset> returns the log from that offset on.  Without `after` it
 * returns the end of the log.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_LOG_ANSWER_H
#define EDDIS_AGENTS_PROTOCOL_LOG_ANSWER_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { LOG_ANSWER_MOST = 256 << 10 }; /* maximum bytes of text in one answer */

/* A part of a rank's log. */
struct log_answer {
    int rank;
    int64_t offset, end; /* positions in the log (log_files.h) at which the text begins and ends */
    char *text;          /* owned; zero bytes of the file are replaced by '?' */
};

/* Return the answer as JSON, which the caller frees; NULL without memory. */
char *log_answer_text(const struct log_answer *a);

/* Parse n bytes of JSON into *ret, whose text the caller frees.  Return 0 or a negative errno; *ret
 * is written only on success.
 */
int log_answer_parse(const char *text, size_t n, struct log_answer *ret, struct eddis_error *err);

/* Read at most LOG_ANSWER_MOST bytes of the log of rank a->rank in the folder dir from a->offset
 * on, which means the same as in log_files_from, and set a->offset, a->end and a->text, which the
 * caller frees. Return 0 or a negative errno; -ENOENT: there is no log.
 */
int log_answer_read(const char *dir, struct log_answer *a, struct eddis_error *err);

#endif
