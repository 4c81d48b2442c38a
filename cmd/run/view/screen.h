/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - writes to a reader without ever waiting for it
 *
 * A reader may be slow, stopped (Ctrl-S, `less`) or gone (`head`), and a job must not stand still
 * for that. So output goes into a buffer of bounded size, which a thread of its own writes to the
 * descriptor. A reader that is gone is no error: the output is accepted and dropped.
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

/* Open a screen and start its thread. fd stays the caller's and must outlive the screen. The new
 * thread blocks all signals.
 */
int screen_open(int fd, struct screen **ret, struct eddis_error *err);

/* Append n bytes, all or none. Return false if there is no room. */
bool screen_write(struct screen *s, const char *text, size_t n);

/* Append n bytes that the user must see: as screen_write, with twice the room. */
bool screen_say(struct screen *s, const char *text, size_t n);

/* Wait until everything is written, until deadline_ns (monotonic) at most. Return 0, -ETIMEDOUT, or
 * the error of the first failed write; a reader that is gone is no error.
 */
int screen_flush(struct screen *s, int64_t deadline_ns, struct eddis_error *err);

/* End the thread, even if it is stuck in a write, and free the screen. Pending output is lost.
 * Accepts NULL.
 */
void screen_close(struct screen *s);

#endif
