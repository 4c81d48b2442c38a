/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - splits a text that is too long for one report into the texts of several events
 *
 * Each part is sent with the number of bytes of the text that follow it. From this number the
 * receiver knows when the text is complete, and detects a part that belongs to another text.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_PARTS_H
#define EDDIS_AGENTS_PROTOCOL_PARTS_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#include <stdint.h>

/* Maximum bytes of one part. As JSON a part may be six times as long. */
enum { PARTS_BYTES = 64 << 10 };

/* Copy the next part of the text at *at, and move *at to the end of this part. Return the part,
 * which the caller frees, and store in *ret_left the number of bytes that follow it. Return NULL
 * without memory.
 */
char *parts_cut(const char **at, int64_t *ret_left);

/* A text that is being received. */
struct parts {
    struct strbuf text;
    int64_t left; /* number of bytes not received yet; 0: the next part begins a new text */
};

/* Append a part to p->text. If the part does not continue this text, discard the text and begin a
 * new one with the part. left: number of bytes that follow the part. Return 1 if the text is now
 * complete, 0 if parts are missing, -EMSGSIZE if the text exceeds JSON_MAX_BYTES, or -ENOMEM.
 */
int parts_take(struct parts *p, const char *part, int64_t left, struct eddis_error *err);

/* Free the text received so far. */
void parts_fini(struct parts *p);

#endif
