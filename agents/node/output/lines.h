/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - splits a stream of bytes into lines
 *
 * The lines do not depend on how the stream is divided into calls.  Text after a carriage return
 * replaces the line before it, as on a terminal, so that a progress bar leaves its last state.  A
 * line that is too long is cut between two UTF-8 characters and ends in LINES_CUT.
 *
 * A zeroed struct lines is an empty stream.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LINES_H
#define EDDIS_AGENTS_NODE_OUTPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { LINES_MAX = 4000 }; /* maximum bytes of a line, including LINES_CUT */

#define LINES_CUT " [...]"

struct lines {
    char text[LINES_MAX];
    size_t n;
    bool cut;      /* the line was longer than text */
    bool returned; /* the last byte was a carriage return */
    bool flushed;  /* the beginning of this line was passed on by lines_flush */
    bool news;     /* `text` has changed since the last call of lines_news */
};

/* Type of a function called with a line of n bytes, without the newline; the line may contain any
 * other byte
 */
typedef void (*lines_fn)(void *ctx, const char *line, size_t n);

/* Append n bytes of the stream, and pass to fn each line that ends in these bytes. */
void lines_feed(struct lines *l, const char *data, size_t n, lines_fn fn, void *ctx);

/* Check whether the stream ends with a line that is not complete. */
bool lines_begun(const struct lines *l);

/* Borrow the incomplete last line in *ret, until the next call. Return its length in bytes, or 0 if
 * it has not changed since the last call.
 */
size_t lines_news(struct lines *l, const char **ret);

/* Pass the incomplete last line to fn as if it were complete; later bytes begin a new line. */
void lines_flush(struct lines *l, lines_fn fn, void *ctx);

#endif
