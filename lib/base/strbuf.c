/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.c - a string that grows by doubling and records a failed allocation */
#include "strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make room for `more` further bytes and a final 0.  If there is no memory or an earlier append has
 * failed, set b->failed and return false.
 */
static bool reserve(struct strbuf *b, size_t more)
{
    size_t want, cap;
    char *text;

    if (b->failed || more > (size_t)-1 / 4 - b->len)
        goto fail;
    want = b->len + more + 1;
    if (want <= b->cap)
        return true;
    for (cap = b->cap ? b->cap : 64; cap < want; cap *= 2)
        ;
    text = realloc(b->text, cap);
    if (!text)
        goto fail;
    b->text = text;
    b->cap = cap;
    return true;
fail:
    b->failed = true;
    return false;
}

void strbuf_add_bytes(struct strbuf *b, const void *p, size_t n)
{
    if (!reserve(b, n))
        return;
    if (n)
        memcpy(b->text + b->len, p, n);
    b->len += n;
    b->text[b->len] = '\0';
}

void strbuf_add(struct strbuf *b, const char *s)
{
    strbuf_add_bytes(b, s, strlen(s));
}

void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) {
        b->failed = true;
        return;
    }
    if (!reserve(b, (size_t)n))
        return;
    vsnprintf(b->text + b->len, (size_t)n + 1, fmt, ap);
    b->len += (size_t)n;
}

void strbuf_add_quoted(struct strbuf *b, const char *s)
{
    strbuf_add(b, "'");
    for (; *s; s++)
        if (*s == '\'')
            strbuf_add(b, "'\\''");
        else
            strbuf_add_bytes(b, s, 1);
    strbuf_add(b, "'");
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(b, fmt, ap);
    va_end(ap);
}

void strbuf_drop(struct strbuf *b, size_t n)
{
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->text, b->text + n, b->len + 1);
}

const char *strbuf_text(const struct strbuf *b)
{
    return b->text ? b->text : "";
}

char *strbuf_steal(struct strbuf *b)
{
    char *text;

    strbuf_add_bytes(b, "", 0);
    text = b->failed ? NULL : b->text;
    if (b->failed)
        free(b->text);
    *b = (struct strbuf){ 0 };
    return text;
}

void strbuf_clear(struct strbuf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->text)
        b->text[0] = '\0';
}

void strbuf_fini(struct strbuf *b)
{
    free(b->text);
    *b = (struct strbuf){ 0 };
}
