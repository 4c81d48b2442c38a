/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - close descriptors that this process inherited, such as the lock of a script or a
 * pipe of the terminal program.  A process that keeps such a descriptor open may block its owner.
 *
 * eddis opens all its own descriptors close-on-exec, so a descriptor without this flag is
 * inherited.
 */
#ifndef EDDIS_BASE_DESCRIPTORS_H
#define EDDIS_BASE_DESCRIPTORS_H

/* Close every descriptor above 2 that is not close-on-exec.  Call it before the first thread is
 * started.
 */
void descriptors_close_inherited(void);

/* Mark every descriptor above 2 close-on-exec.  May be called between fork and exec in a
 * multi-threaded process.
 */
void descriptors_end_at_exec(void);

#endif
