/* SPDX-License-Identifier: Apache-2.0 */
/* note.c - append sentences to a profile's note */
#include "note.h"

#include "lib/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void note_add(struct node_profile *p, const char *fmt, ...)
{
    size_t at = strlen(p->note);
    va_list ap;

    if (at > 0 && at + 3 < sizeof p->note)
        at += (size_t)snprintf(p->note + at, sizeof p->note - at, "; ");
    va_start(ap, fmt);
    (void)vsnprintf(p->note + at, sizeof p->note - at, fmt, ap);
    va_end(ap);
    text_strip_control(p->note);
}
