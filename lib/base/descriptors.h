/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - open files that a process has from whoever started it: a lock of a script, the
 * pipe of a terminal's other program.  Who holds one that is not its own keeps its owner waiting.
 *
 * All of our own are opened close-on-exec, by which these are told apart.
 */
#ifndef EDDIS_BASE_DESCRIPTORS_H
#define EDDIS_BASE_DESCRIPTORS_H

/* Close all above 2 that are not close-on-exec, before there is another thread. */
void descriptors_close_inherited(void);

/* Have the next exec leave 0, 1 and 2 alone.  Also between fork and exec of a process with threads.
 */
void descriptors_end_at_exec(void);

#endif
