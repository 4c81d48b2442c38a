/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lines.c - any bytes as what a worker prints: lines that do not depend on where it was cut
 *
 * The first byte is the size of the pieces in which the rest comes; 0: all at once.  What is given
 * out before its line has ended is looked at in a second pass, since it does depend on the pieces.
 */
#include "target.h"

#include "agents/node/output/lines.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void broken(const char *what)
{
    fprintf(stderr, "fuzz_lines: %s\n", what);
    abort();
}

/* What every later user of a line relies on. */
static void check(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    if (n > LINES_MAX)
        broken("a line is too long");
    if (memchr(line, '\n', n) || memchr(line, '\r', n))
        broken("a line holds the end of another, or what was taken back");
}

/* Each behind its length, so that any byte may be in it. */
static void note(void *ctx, const char *line, size_t n)
{
    check(NULL, line, n);
    strbuf_addf(ctx, "%zu:", n);
    strbuf_add_bytes(ctx, line, n);
}

static struct lines *new_lines(void)
{
    struct lines *l = calloc(1, sizeof *l);

    if (!l)
        abort();
    return l;
}

static void feed(const char *text, size_t n, size_t piece, struct strbuf *ret)
{
    cleanup_free struct lines *l = new_lines();

    for (size_t at = 0; at < n; at += piece)
        lines_feed(l, text + at, n - at < piece ? n - at : piece, note, ret);
    lines_flush(l, note, ret);
    if (lines_begun(l))
        broken("something is left after a flush");
}

static void feed_and_flush(const char *text, size_t n, size_t piece)
{
    cleanup_free struct lines *l = new_lines();

    for (size_t at = 0; at < n; at += piece) {
        lines_feed(l, text + at, n - at < piece ? n - at : piece, check, NULL);
        lines_flush(l, check, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct strbuf whole = { 0 }, pieces = { 0 };
    const char *text = (const char *)data + 1;
    size_t piece;

    if (n < 2)
        return 0;
    n--;
    piece = data[0] ? data[0] : n;
    feed(text, n, n, &whole);
    feed(text, n, piece, &pieces);
    feed_and_flush(text, n, piece);
    if (whole.failed || pieces.failed)
        abort();
    if (whole.len != pieces.len || memcmp(strbuf_text(&whole), strbuf_text(&pieces), whole.len))
        broken("the lines depend on where the text was cut");
    strbuf_fini(&whole);
    strbuf_fini(&pieces);
    return 0;
}
