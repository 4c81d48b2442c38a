/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - splits a stream of bytes into lines */
#include "lines.h"

#include <string.h>

enum { ROOM = LINES_MAX - (sizeof LINES_CUT - 1) };

/* Pass the collected line to fn, with LINES_CUT at its end if it was cut, and empty the line. */
static void give(struct lines *l, lines_fn fn, void *ctx)
{
    if (l->cut) {
        l->n = ROOM;
        while (l->n > ROOM - 4 && (l->text[l->n] & 0xc0) == 0x80)
            l->n--;
        memcpy(l->text + l->n, LINES_CUT, sizeof LINES_CUT - 1);
        l->n += sizeof LINES_CUT - 1;
    }
    fn(ctx, l->text, l->n);
    l->n = 0;
    l->cut = l->returned = l->news = false;
}

/* Handle a newline: pass the line to fn, unless lines_flush has passed all of it already. */
static void end_line(struct lines *l, lines_fn fn, void *ctx)
{
    if (l->n == 0 && l->flushed) /* lines_flush has passed all of the line */
        l->returned = false;
    else
        give(l, fn, ctx);
    l->flushed = false;
}

/* Append n bytes without line ends to the line; if the last byte was a carriage return, they
 * replace the line.  Drop bytes beyond LINES_MAX.
 */
static void append(struct lines *l, const char *data, size_t n)
{
    size_t room = LINES_MAX - l->n;

    if (l->returned) {
        l->n = 0;
        l->cut = l->returned = false;
        room = LINES_MAX;
    }
    l->cut = l->cut || n > room;
    n = n > room ? room : n;
    memcpy(l->text + l->n, data, n);
    l->n += n;
    l->news = true;
}

/* Append n bytes of one line, which contain no newline, and handle their carriage returns. */
static void feed_line(struct lines *l, const char *data, size_t n)
{
    while (n > 0) {
        const char *back = memchr(data, '\r', n);
        size_t plain = back ? (size_t)(back - data) : n;

        if (plain)
            append(l, data, plain);
        if (back)
            l->returned = true;
        plain += !!back;
        data += plain;
        n -= plain;
    }
}

void lines_feed(struct lines *l, const char *data, size_t n, lines_fn fn, void *ctx)
{
    while (n > 0) {
        const char *end = memchr(data, '\n', n);
        size_t most = end ? (size_t)(end - data) : n;

        feed_line(l, data, most);
        if (end)
            end_line(l, fn, ctx);
        most += !!end;
        data += most;
        n -= most;
    }
}

bool lines_begun(const struct lines *l)
{
    return l->n > 0;
}

size_t lines_news(struct lines *l, const char **ret)
{
    bool news = l->news;

    *ret = l->text;
    l->news = false;
    return news ? l->n : 0;
}

void lines_flush(struct lines *l, lines_fn fn, void *ctx)
{
    if (!lines_begun(l))
        return;
    give(l, fn, ctx);
    l->flushed = true;
}
