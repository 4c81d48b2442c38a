/* SPDX-License-Identifier: Apache-2.0 */
/* status_screen.h - the terminal's alternate screen, which is left whatever happens
 *
 * There is one for each process. It is left by screen_leave, or by the handlers of fatal signals if
 * the program crashes.
 */
#ifndef EDDIS_CMD_STATUS_STATUS_SCREEN_H
#define EDDIS_CMD_STATUS_STATUS_SCREEN_H

/* Show the alternate screen on standard output and hide the cursor. If standard input is a terminal
 * too, keys are read one by one and not echoed.
 */
void screen_enter(void);

/* Leave the alternate screen and restore the terminal; do nothing if screen_enter was not called.
 */
void screen_leave(void);

/* Write the size of the terminal's window; 24 rows of 80 columns if unknown. */
void screen_size(int *ret_rows, int *ret_columns);

#endif
