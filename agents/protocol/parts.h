/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - splits a text that is too long for one report into the texts of several events
 *
 * Each part is sent with the number of bytes that follow it.  From this number the receiver knows
 * when the text is complete, and notices a part that does not belong to the text it has begun.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_PARTS_H
#define EDDIS_AGENTS_PROTOCOL_PARTS_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#include <stdint.h>

/* Most bytes of one part.  As JSON it may be six times as long. */
enum { PARTS_BYTES = 64 << 10 };

/* Copy the next part of the text at *at and move *at behind it.  Return the part, which the caller
 * frees, and the number of bytes that follow in *ret_left.  Return NULL without memory.
 */
char *parts_cut(const char **at, int64_t *ret_left);

/* A text that is being received. */
struct parts {
    struct strbuf text;
    int64_t left; /* bytes still to come; 0: the next part begins a new text */
};

/* Append a part, or start a new text with it if it does not continue the present one.  Return 1 if
 * parts.text is now complete, 0 if more is to come, -EMSGSIZE if the text exceeds JSON_MAX_BYTES,
 * -ENOMEM.
 */
int parts_take(struct parts *p, const char *part, int64_t left, struct eddis_error *err);

/* Free the text received so far. */
void parts_fini(struct parts *p);

#endif
