/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - whole lines out of a stream of bytes
 *
 * The stream may come in pieces of any size: the lines do not depend on where it was cut.  A
 * carriage return takes back what stands before it in its line, as a terminal shows it, so that
 * of a progress bar its last state is left.  A line that is too long is cut, between two
 * characters of UTF-8, and ends in LINES_CUT.
 *
 * Zero-initialised is empty and valid.
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
    bool cut;      /* more came than text holds */
    bool returned; /* the last byte was a carriage return */
    bool flushed;  /* the beginning of this line was given out by lines_flush */
    bool news;     /* it has changed since lines_news was last asked */
};

/* Called with a line of n bytes without its newline; any byte but a newline may be in it. */
typedef void (*lines_fn)(void *ctx, const char *line, size_t n);

/* Take n bytes of the stream, and give out the lines that end in them. */
void lines_feed(struct lines *l, const char *data, size_t n, lines_fn fn, void *ctx);

/* Whether a line has begun that has not ended. */
bool lines_begun(const struct lines *l);

/* Borrow the line that has begun, as far as it has come, until the next call; returns its bytes, or
 * 0 when it is as it was at the last call.
 */
size_t lines_news(struct lines *l, const char **ret);

/* Give out a line that has begun as if it had ended; what follows will be another. */
void lines_flush(struct lines *l, lines_fn fn, void *ctx);

#endif
