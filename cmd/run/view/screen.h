/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - writes output without ever waiting for its reader
 *
 * A reader may be slow, stopped (Ctrl-S, `less`) or gone (`head`), and this must not delay a job.
 * So output goes into a buffer of bounded size, which a separate thread writes to the descriptor. A
 * reader that is gone is no error: the output is accepted and dropped.
 */
#ifndef EDDIS_CMD_RUN_VIEW_SCREEN_H
#define EDDIS_CMD_RUN_VIEW_SCREEN_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are buffered for screen_write. */
enum { SCREEN_BYTES = 512 << 10 };

struct screen;

/* Open a screen on fd in *ret, and start its thread, which blocks all signals. The caller keeps fd,
 * and must not close it before the screen. Return 0 or a negative errno.
 */
int screen_open(int fd, struct screen **ret, struct eddis_error *err);

/* Append n bytes to the buffer. If they do not fit, append none and return false. */
bool screen_write(struct screen *s, const char *text, size_t n);

/* Append n bytes that the user must see: as screen_write, but with twice the space in the buffer.
 * Return false if they do not fit.
 */
bool screen_say(struct screen *s, const char *text, size_t n);

/* Wait until all output is written, but at most until deadline_ns (monotonic). Return 0,
 * -ETIMEDOUT, or the error of the first failed write; a reader that is gone is no error.
 */
int screen_flush(struct screen *s, int64_t deadline_ns, struct eddis_error *err);

/* End the thread, even if it is stuck in a write, and free the screen. Pending output is lost.
 * Accepts NULL.
 */
void screen_close(struct screen *s);

#endif
