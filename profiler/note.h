/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - the sentence of a profile that says what could not be measured */
#ifndef EDDIS_PROFILER_NOTE_H
#define EDDIS_PROFILER_NOTE_H

#include "lib/model/profile.h"

/* Append to p->note after "; ".  What does not fit is cut. */
void note_add(struct node_profile *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Remove a sentence from p->note; nothing happens when it is not there. */
void note_remove(struct node_profile *p, const char *sentence);

#endif
