/* SPDX-License-Identifier: Apache-2.0 */
/* job_node.c - the tree of a job file, and sentences about its places */
#include "job_node.h"

#include "lib/base/decimal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int job_wrong(const struct job_reader *r, int line, int column, struct eddis_error *err,
              const char *fmt, ...)
{
    char text[sizeof err->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (r->flag)
        return eddis_fail(err, -EINVAL, "%s: %s", r->flag, text);
    return eddis_fail(err, -EINVAL, "%s:%d:%d: %s", r->file, line, column, text);
}

int job_no_memory(struct eddis_error *err)
{
    return eddis_fail(err, -ENOMEM, "no memory for the job");
}

void job_node_free(struct job_node *n)
{
    while (n) {
        struct job_node *next = n->next;

        job_node_free(n->first);
        free(n->text);
        free(n->key);
        free(n);
        n = next;
    }
}

bool job_node_is_null(const struct job_node *n)
{
    static const char *const words[] = { "", "~", "null", "Null", "NULL" };

    if (n->kind != JOB_SCALAR || n->quoted)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(n->text, words[i]) == 0)
            return true;
    return false;
}

void job_node_words(const struct job_node *n, char *ret, size_t size)
{
    size_t len;
    double number;

    if (n->kind != JOB_SCALAR) {
        snprintf(ret, size, "%s", n->kind == JOB_LIST ? "a list" : "a map");
        return;
    }
    if (job_node_is_null(n)) {
        snprintf(ret, size, "empty");
        return;
    }
    len = strlen(n->text);
    if (len > 40)
        for (len = 40; len && ((unsigned char)n->text[len] & 0xc0) == 0x80;)
            len--;
    snprintf(ret, size, "\"%.*s%s\"%s", (int)len, n->text, n->text[len] ? "..." : "",
             n->quoted && decimal_number(n->text, &number) ? " in quotes" : "");
}

/* ---- scalars as text ---- */

/* Check whether every YAML reader takes the unquoted scalar as text. */
static bool is_plain(const char *s)
{
    static const char *const taken[] = {
        "null", "true", "false", "yes", "no", "on", "off", "y", "n"
    };
    size_t dashes = strspn(s, "-");

    for (const char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("/._-+=", *c))
            return false;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcasecmp(s, taken[i]) == 0)
            return false;
    if (dashes)
        return dashes < 3 && isalpha((unsigned char)s[dashes]);
    return isalpha((unsigned char)*s) || *s == '/' || *s == '_' || strncmp(s, "./", 2) == 0;
}

/* Append the UTF-8 character at s, escaped if libyaml would reject or fold it (controls, other line
 * ends, byte order marks).  Return its length in bytes.
 */
static size_t add_character(struct strbuf *b, const char *s)
{
    const unsigned char *u = (const unsigned char *)s;

    if (*u == '"' || *u == '\\') {
        strbuf_addf(b, "\\%c", *u);
        return 1;
    }
    if (*u < 0x20 || *u == 0x7f) {
        strbuf_addf(b, "\\x%02X", *u);
        return 1;
    }
    if (*u < 0x80) {
        strbuf_add_bytes(b, s, 1);
        return 1;
    }
    if (*u < 0xe0) {
        strbuf_addf(b, "\\u%04X", (*u & 0x1fu) << 6 | (u[1] & 0x3fu));
        return 2;
    }
    if (*u < 0xf0) {
        unsigned c = (*u & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);

        if (c == 0x2028 || c == 0x2029 || c == 0xfeff || c >= 0xfffe)
            strbuf_addf(b, "\\u%04X", c);
        else
            strbuf_add_bytes(b, s, 3);
        return 3;
    }
    strbuf_add_bytes(b, s, 4);
    return 4;
}

void job_scalar_add(struct strbuf *b, const char *s)
{
    if (is_plain(s)) {
        strbuf_add(b, s);
        return;
    }
    strbuf_add(b, "\"");
    while (*s)
        s += add_character(b, s);
    strbuf_add(b, "\"");
}
