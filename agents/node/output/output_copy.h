/* SPDX-License-Identifier: Apache-2.0 */
/* output_copy.h - copies a rank's output for the screen, at a limited rate
 *
 *     bytes -> lines.h -> pending lines -> messages, as many as the bucket has tokens for
 *
 * An unfinished line, such as a progress bar, a question or dots, is sent several times a second
 * while it changes, with "\r\n" after it.  The rank's next text replaces it, and in the end the
 * whole line does.
 *
 * A program may print faster than anyone can read or a network can carry.  Then the oldest pending
 * lines are dropped and counted, so that the newest lines and a program's last output are always
 * shown.  This module uses neither sockets nor a clock.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_OUTPUT_COPY_H
#define EDDIS_AGENTS_NODE_OUTPUT_OUTPUT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OUTPUT_COPY_MESSAGE = 8000 }; /* bytes of one message, terminating 0 included */

struct output_copy;

/* Send whole lines, each with its newline, as a string; `dropped` lines are missing before them.
 * Or send an unfinished line with "\r\n" after it.  Must not block.  Return false if it cannot be
 * sent now.
 */
typedef bool (*output_copy_fn)(void *ctx, const char *text, int64_t dropped);

/* Make a copy that passes at most bytes_per_s on average, and four seconds' worth at once.  Return
 * NULL without memory.
 */
struct output_copy *output_copy_new(int64_t bytes_per_s, output_copy_fn send, void *ctx);
/* Free a copy; accept NULL. */
void output_copy_free(struct output_copy *c);

/* Add n bytes of output, and send at once what the rate allows. */
void output_copy_feed(struct output_copy *c, const char *data, size_t n, int64_t now_ns);

/* Send what is due; call it at output_copy_next_ns. */
void output_copy_tick(struct output_copy *c, int64_t now_ns);
/* Return when something is due; CLOCK_NEVER: nothing is pending. */
int64_t output_copy_next_ns(const struct output_copy *c);

/* Send all pending lines, whatever the rate, because the program has ended.  Return false if
 * something could not be sent.
 */
bool output_copy_end(struct output_copy *c, int64_t now_ns);

#endif
