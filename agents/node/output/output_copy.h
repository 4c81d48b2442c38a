/* SPDX-License-Identifier: Apache-2.0 */
/* output_copy.h - copies a rank's output for the screen, at a limited rate
 *
 *     bytes -> lines.h -> pending lines -> messages, as many as the bucket has tokens for
 *
 * An incomplete line, such as a progress bar, a question or dots, is sent several times a second
 * while it changes, with "\r\n" after it. On the screen the next text of the rank, and at last the
 * complete line, replaces it.
 *
 * A program may print faster than users can read or a network can carry. Then the oldest pending
 * lines are dropped and counted, so that the newest lines and a program's last output are always
 * shown. This module uses neither sockets nor a clock.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_OUTPUT_COPY_H
#define EDDIS_AGENTS_NODE_OUTPUT_OUTPUT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OUTPUT_COPY_MESSAGE = 8000 }; /* maximum bytes of one message, including the terminating 0 */

struct output_copy;

/* Type of a function that sends text: complete lines, each with its newline, or an incomplete line
 * with "\r\n" after it. dropped: number of lines that are missing directly before. The function
 * must not block, and returns false if it cannot send now
 */
typedef bool (*output_copy_fn)(void *ctx, const char *text, int64_t dropped);

/* Return a copier that sends at most bytes_per_s on average, and at most the bytes of four seconds
 * together, by send(ctx, ...). The caller frees it with output_copy_free. NULL: no memory.
 */
struct output_copy *output_copy_new(int64_t bytes_per_s, output_copy_fn send, void *ctx);
/* Free a copier. Accepts NULL. */
void output_copy_free(struct output_copy *c);

/* Add n bytes of output, and send as many lines as the rate allows. */
void output_copy_feed(struct output_copy *c, const char *data, size_t n, int64_t now_ns);

/* Send the pending lines that the rate allows. To be called at output_copy_next_ns. */
void output_copy_tick(struct output_copy *c, int64_t now_ns);
/* Return the time at which pending lines can be sent; CLOCK_NEVER: none is pending. */
int64_t output_copy_next_ns(const struct output_copy *c);

/* Send all pending lines, without regard to the rate, because the program has ended. Return false
 * if a line could not be sent.
 */
bool output_copy_end(struct output_copy *c, int64_t now_ns);

#endif
