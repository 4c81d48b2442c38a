/* SPDX-License-Identifier: Apache-2.0 */
/* status_screen.h - the terminal's alternate screen, which is left even if the program crashes
 *
 * A process has at most one alternate screen. The screen is left by screen_leave, or by the
 * handlers of fatal signals if the program crashes.
 */
#ifndef EDDIS_CMD_STATUS_STATUS_SCREEN_H
#define EDDIS_CMD_STATUS_STATUS_SCREEN_H

/* Show the alternate screen on standard output, and hide the cursor. If standard input is a
 * terminal, too, switch it to reading keys one by one without echo.
 */
void screen_enter(void);

/* Leave the alternate screen and restore the terminal; do nothing if screen_enter was not called.
 */
void screen_leave(void);

/* Store the size of the terminal's window in *ret_rows and *ret_columns; 24 and 80 if it is
 * unknown.
 */
void screen_size(int *ret_rows, int *ret_columns);

#endif
