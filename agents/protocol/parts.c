/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - splits a long text into parts and joins them again */
#include "parts.h"

#include "lib/base/json.h"

#include <errno.h>
#include <string.h>

enum { CHARACTER_REST = 3 }; /* most bytes that follow the first byte of a UTF-8 character */

/* Return the length of the next part of s, which has `all` bytes: at most PARTS_BYTES.  A UTF-8
 * character that does not fit as a whole goes into the next part, since a part of a character is
 * not valid text.
 */
static size_t part_bytes(const char *s, size_t all)
{
    int back = 0;

    if (all <= PARTS_BYTES)
        return all;
    while (back < CHARACTER_REST && (s[PARTS_BYTES - back] & 0xc0) == 0x80)
        back++;
    return (size_t)(PARTS_BYTES - back);
}

char *parts_cut(const char **at, int64_t *ret_left)
{
    size_t all = strlen(*at), n = part_bytes(*at, all);
    char *part = strndup(*at, n);

    if (!part)
        return NULL;
    *at += n;
    *ret_left = (int64_t)(all - n);
    return part;
}

int parts_take(struct parts *p, const char *part, int64_t left, struct eddis_error *err)
{
    int64_t n = (int64_t)strlen(part);

    left = left < 0 ? 0 : left;
    if (!p->left || p->left - n != left)
        strbuf_clear(&p->text);
    p->left = 0;
    if (left > JSON_MAX_BYTES - n - (int64_t)p->text.len)
        return eddis_fail(err, -EMSGSIZE, "it is longer than %d MiB", JSON_MAX_BYTES >> 20);
    strbuf_add(&p->text, part);
    if (p->text.failed)
        return eddis_fail(err, -ENOMEM, "no memory for a long text");
    p->left = left;
    return left == 0;
}

void parts_fini(struct parts *p)
{
    strbuf_fini(&p->text);
    p->left = 0;
}
