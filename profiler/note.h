/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - a profile's note: why values could not be measured */
#ifndef EDDIS_PROFILER_NOTE_H
#define EDDIS_PROFILER_NOTE_H

#include "lib/model/profile.h"

/* Append a formatted sentence to p->note, after "; " if the note is not empty. Text that does not
 * fit is cut off.
 */
void note_add(struct node_profile *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
