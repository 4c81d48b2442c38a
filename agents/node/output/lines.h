/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - splits a stream of bytes into lines
 *
 * The lines do not depend on how the stream is divided into calls.  Text after a carriage return
 * replaces the line before it, as on a terminal, so that a progress bar leaves its last state.  A
 * line that is too long is cut between two UTF-8 characters and ends in LINES_CUT.
 *
 * A struct lines of zeros is empty and valid.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LINES_H
#define EDDIS_AGENTS_NODE_OUTPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { LINES_MAX = 4000 }; /* bytes of a line, LINES_CUT included */

#define LINES_CUT " [...]"

struct lines {
    char text[LINES_MAX];
    size_t n;
    bool cut;      /* the line was longer than text */
    bool returned; /* the last byte was a carriage return */
    bool flushed;  /* the start of this line was passed by lines_flush */
    bool news;     /* text has changed since the last lines_news */
};

/* Called with a line of n bytes without its newline; it may contain any other byte. */
typedef void (*lines_fn)(void *ctx, const char *line, size_t n);

/* Append n bytes of the stream, and pass each line that ends in them to fn. */
void lines_feed(struct lines *l, const char *data, size_t n, lines_fn fn, void *ctx);

/* Check whether there is a line that has not ended. */
bool lines_begun(const struct lines *l);

/* Borrow the unfinished line until the next call.  Return its bytes; 0: unchanged since the last
 * call.
 */
size_t lines_news(struct lines *l, const char **ret);

/* Pass an unfinished line to fn as if it had ended; what follows is a new line. */
void lines_flush(struct lines *l, lines_fn fn, void *ctx);

#endif
