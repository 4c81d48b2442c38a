/* SPDX-License-Identifier: Apache-2.0 */
/* log_answer.h - a part of a rank's log for somebody who looks at it
 *
 * The answer to GET /v1/logs/<rank>?after=<offset>: without `after` the end of the log, with it
 * what has come since.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_LOG_ANSWER_H
#define EDDIS_AGENTS_PROTOCOL_LOG_ANSWER_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { LOG_ANSWER_MOST = 256 << 10 }; /* bytes of text */

struct log_answer {
    int rank;
    int64_t offset, end; /* of the text in the log */
    char *text;          /* owned; zero bytes are '?' */
};

char *log_answer_text(const struct log_answer *a); /* JSON; NULL without memory */
int log_answer_parse(const char *text, size_t n, struct log_answer *ret, struct eddis_error *err);

/* Read from a->offset (negative: so many bytes before the end) of a file, at most LOG_ANSWER_MOST
 * bytes, and set offset, end and text.  An offset behind the end is the end.
 */
int log_answer_read(const char *path, struct log_answer *a, struct eddis_error *err);

#endif
