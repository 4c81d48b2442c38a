/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - writing to people without ever waiting for them
 *
 * Who reads may be slow, stopped (Ctrl-S, `less`) or gone (`head`), and a job must not stand still
 * for that.  So what is written goes into a buffer of bounded size, which a thread of its own
 * empties into the descriptor.  A reader who is gone is no error: all is taken and nothing written.
 */
#ifndef EDDIS_CMD_RUN_VIEW_SCREEN_H
#define EDDIS_CMD_RUN_VIEW_SCREEN_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCREEN_BYTES = 512 << 10 };

struct screen;

/* The descriptor stays the caller's and must outlive the screen.  Signals that the caller has not
 * blocked yet are, in the new thread, all the same.
 */
int screen_open(int fd, struct screen **ret, struct eddis_error *err);

/* Append n bytes, all or nothing.  false: there is no room, and nothing was taken. */
bool screen_write(struct screen *s, const char *text, size_t n);

/* As screen_write, for what people must see: it has as much room again. */
bool screen_say(struct screen *s, const char *text, size_t n);

/* Wait until all is written, at most until the deadline.  Returns 0, -ETIMEDOUT, or why it could
 * not be written; a reader who is gone is success.
 */
int screen_flush(struct screen *s, int64_t deadline_ns, struct eddis_error *err);

/* Ends the thread, also while it is stuck in a write.  Accepts NULL. */
void screen_close(struct screen *s);

#endif
