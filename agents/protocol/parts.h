/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - a text that is too long for one report, sent as the texts of several events
 *
 * Each part comes with the number of bytes that are to follow, by which the receiver knows when the
 * text is whole, and that a part is not of the text it has begun.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_PARTS_H
#define EDDIS_AGENTS_PROTOCOL_PARTS_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#include <stdint.h>

/* Of a part; as JSON it may be six times as long. */
enum { PARTS_BYTES = 64 << 10 };

/* Cut the next part from *at, which moves behind it.  Returns the part, for the caller to free, and
 * in *ret_left what is to follow; NULL: no memory.
 */
char *parts_cut(const char **at, int64_t *ret_left);

struct parts {
    struct strbuf text;
    int64_t left; /* bytes that are to follow; 0: a new text begins with what comes next */
};

/* Append a part, or begin anew with it when it does not follow.  Returns 1: parts.text is whole; 0:
 * more is to come; -EMSGSIZE: it gets longer than JSON_MAX_BYTES; -ENOMEM.
 */
int parts_take(struct parts *p, const char *part, int64_t left, struct eddis_error *err);

void parts_fini(struct parts *p);

#endif
