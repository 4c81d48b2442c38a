/* SPDX-License-Identifier: Apache-2.0 */
/* output_copy.h - the copy of a rank's output that goes to the screen
 *
 *     bytes -> lines.h -> waiting lines -> messages, as many as the bucket has tokens for
 *
 * A line that has begun and not ended, as a progress bar that is drawn anew, a question or dots, is
 * sent as far as it has come, several times a second while it changes: its last byte is a carriage
 * return then.  What comes of the rank next takes its place, the whole line in the end.
 *
 * A program may print faster than anybody can read, or than a link can carry: then lines are left
 * out, the oldest of those that wait, and counted.  So the newest are always there, and what a
 * program says last is seen.  Neither socket nor clock is known here.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_OUTPUT_COPY_H
#define EDDIS_AGENTS_NODE_OUTPUT_OUTPUT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OUTPUT_COPY_MESSAGE = 8000 }; /* bytes of one message, its 0 included */

struct output_copy;

/* Hand over whole lines, each ended by a newline, as a string, before which `dropped` lines are
 * missing; or one that has not ended, with "\r\n" behind it.  Must not block.  false: not now.
 */
typedef bool (*output_copy_fn)(void *ctx, const char *text, int64_t dropped);

/* Make a copy of at most bytes_per_s on average, and of four seconds' worth at once.  Returns NULL
 * without memory.
 */
struct output_copy *output_copy_new(int64_t bytes_per_s, output_copy_fn send, void *ctx);
void output_copy_free(struct output_copy *c); /* accepts NULL */

/* Take n bytes of output, and send at once what may be. */
void output_copy_feed(struct output_copy *c, const char *data, size_t n, int64_t now_ns);

/* Send what is due: to be called at output_copy_next_ns, which is CLOCK_NEVER when nothing waits.
 */
void output_copy_tick(struct output_copy *c, int64_t now_ns);
int64_t output_copy_next_ns(const struct output_copy *c);

/* Send all that waits, whatever the bucket holds, for the program has ended.  Returns false when
 * something waits still, because it could not be handed over.
 */
bool output_copy_end(struct output_copy *c, int64_t now_ns);

#endif
