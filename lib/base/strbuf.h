/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.h - a string that grows
 *
 * A zero-initialised buffer is empty and valid.  An append without memory sets `failed`, and later
 * appends do nothing.  So a long text is built without a check after each line and tested once:
 *
 *     struct strbuf b = { 0 };
 *     strbuf_addf(&b, "%d ranks", n);
 *     strbuf_add(&b, "\n");
 *     text = strbuf_steal(&b);          // NULL when any append failed
 */
#ifndef EDDIS_BASE_STRBUF_H
#define EDDIS_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing string */
struct strbuf {
    char *text; /* NULL while empty; otherwise text[len] is 0 */
    size_t len;
    size_t cap;
    bool failed;
};

/* Append a string. */
void strbuf_add(struct strbuf *b, const char *s);

/* Append n bytes. */
void strbuf_add_bytes(struct strbuf *b, const void *p, size_t n);

/* Append text in single quotes, as one word of a shell: sh, csh and fish read them alike. */
void strbuf_add_quoted(struct strbuf *b, const char *s);

/* Append formatted text.  Without memory set b->failed. */
void strbuf_addf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append formatted text with the arguments ap. */
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Remove the first n bytes, which are there. */
void strbuf_drop(struct strbuf *b, size_t n);

/* Borrow the text, "" if empty; valid until the next change. */
const char *strbuf_text(const struct strbuf *b);

/* Return the text for the caller to free, and empty the buffer.  An empty buffer gives ""; NULL: an
 * append failed.
 */
char *strbuf_steal(struct strbuf *b);

/* Empty the buffer but keep its memory. */
void strbuf_clear(struct strbuf *b);

/* Free the memory; b is then empty and valid. */
void strbuf_fini(struct strbuf *b);

/* Release a local strbuf at the end of its scope (cleanup.h). */
#define cleanup_strbuf __attribute__((cleanup(strbuf_fini)))

#endif
