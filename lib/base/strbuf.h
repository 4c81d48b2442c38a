/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.h - a string that grows
 *
 * Zero-initialised is empty and valid.  An append that finds no memory sets `failed` and appends
 * nothing from then on, so a long text is built without a check on each line and tested once:
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

struct strbuf {
    char *text; /* NULL while empty; otherwise text[len] is 0 */
    size_t len;
    size_t cap;
    bool failed;
};

void strbuf_add(struct strbuf *b, const char *s);
void strbuf_add_bytes(struct strbuf *b, const void *p, size_t n);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Borrows the text, "" when empty; valid until the next change. */
const char *strbuf_text(const struct strbuf *b);

/* Returns the text, never NULL for an empty buffer, or NULL after a failed append; b is empty
 * afterwards.
 */
char *strbuf_steal(struct strbuf *b);

/* Empty it but keep the memory. */
void strbuf_clear(struct strbuf *b);

/* Free the memory; b is empty and valid afterwards. */
void strbuf_fini(struct strbuf *b);

#endif
