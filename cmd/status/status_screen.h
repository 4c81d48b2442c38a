/* SPDX-License-Identifier: Apache-2.0 */
/* status_screen.h - the terminal's second screen, given back whatever happens
 *
 * One screen a process.  It is given back by screen_leave and, should the program crash meanwhile,
 * by the handlers of the deadly signals.
 */
#ifndef EDDIS_CMD_STATUS_STATUS_SCREEN_H
#define EDDIS_CMD_STATUS_STATUS_SCREEN_H

#include "lib/base/error.h"

#include <stdbool.h>

/* Show the second screen on standard output, hide the cursor, and let keys arrive one by one and
 * unseen when standard input is a terminal too.
 */
void screen_enter(void);

/* Back to what was before; does nothing when screen_enter was not called. */
void screen_leave(void);

/* The window's size; 80 by 24 when it cannot be asked. */
void screen_size(int *ret_rows, int *ret_columns);

#endif
