/* SPDX-License-Identifier: Apache-2.0 */
/* host_range.c - expand the ranges in a host name, "v100-[1-4,7]" */
#include "host_range.h"

#include "lib/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* limits of the brackets in a pattern and of the digits in a number */
#define MAX_BRACKETS 8
#define MAX_DIGITS   9
/* size of an expanded name, and the characters outside the brackets that surely fit into it */
enum { NAME_SIZE = 512, MAX_LITERAL = NAME_SIZE - MAX_BRACKETS * (MAX_DIGITS + 1) - 1 };

/* The pattern, split at its brackets: literal 0, choice 0, literal 1, ..., the last literal.  The
 * texts are borrowed from the pattern.
 */
struct parts {
    const char *literal[MAX_BRACKETS + 1], *choice[MAX_BRACKETS];
    size_t literal_n[MAX_BRACKETS + 1], choice_n[MAX_BRACKETS]; /* their lengths */
    size_t brackets; /* number of brackets, and so of choices */
};

/* The state of one expansion. */
struct expansion {
    struct parts p;
    host_range_fn *fn; /* the caller's callback */
    void *ctx;
    size_t names;         /* number of names so far */
    char name[NAME_SIZE]; /* the present name, built from left to right */
};

/* The numbers from lo to hi, printed with at least `width` digits. */
struct span {
    long lo, hi;
    int width;
};

/* Return -EINVAL with the message `what`, followed by an example of a range. */
static int shape(struct eddis_error *err, const char *what)
{
    return eddis_fail(err, -EINVAL, "%s; write a range like v100-[1-4,7]", what);
}

/* Split a pattern of n bytes at its brackets into *p.  Return 0 or -EINVAL: brackets do not match,
 * there are too many, or the name would be too long.
 */
static int cut(const char *s, size_t n, struct parts *p, struct eddis_error *err)
{
    const char *end = s + n;
    size_t length = 0;

    for (p->brackets = 0;; p->brackets++) {
        const char *open = memchr(s, '[', (size_t)(end - s)), *close;

        p->literal[p->brackets] = s;
        p->literal_n[p->brackets] = (size_t)((open ? open : end) - s);
        length += p->literal_n[p->brackets];
        if (memchr(s, ']', p->literal_n[p->brackets]))
            return shape(err, "a \"]\" without \"[\"");
        if (length > MAX_LITERAL)
            return eddis_fail(err, -EINVAL,
                              "a name of more than %d characters outside its brackets; shorten it",
                              MAX_LITERAL);
        if (!open)
            return 0;
        close = memchr(open, ']', (size_t)(end - open));
        if (!close)
            return shape(err, "a \"[\" without \"]\"");
        if (p->brackets == MAX_BRACKETS)
            return shape(err, "more than " TEXT_OF(MAX_BRACKETS) " brackets in one name");
        p->choice[p->brackets] = open + 1;
        p->choice_n[p->brackets] = (size_t)(close - open - 1);
        s = close + 1;
    }
}

/* Read a decimal number at *s, which ends at `end`, and advance *s.  Store its value and its number
 * of digits.  Return false if there is no digit or more than MAX_DIGITS.
 */
static bool read_number(const char **s, const char *end, long *ret, int *digits)
{
    char text[MAX_DIGITS + 1];
    int n = 0;

    while (*s < end && isdigit((unsigned char)**s) && n < MAX_DIGITS)
        text[n++] = *(*s)++;
    text[n] = '\0';
    *digits = n;
    *ret = strtol(text, NULL, 10);
    return n > 0 && (*s == end || !isdigit((unsigned char)**s));
}

/* Read the next number or range of a choice at *s into *ret, and advance *s to the comma after it
 * or to `end`.  Return 0 or -EINVAL: there is no valid number or range.
 */
static int read_span(const char **s, const char *end, struct span *ret, struct eddis_error *err)
{
    const char *first = *s;
    int digits, last;

    if (!read_number(s, end, &ret->lo, &digits))
        return shape(
            err, "no number, or one of more than " TEXT_OF(MAX_DIGITS) " digits, between brackets");
    ret->hi = ret->lo;
    last = digits;
    if (*s < end && **s == '-') {
        const char *hi = ++*s;

        if (!read_number(s, end, &ret->hi, &last))
            return shape(err, "a range that lacks its last number");
        if (ret->hi < ret->lo)
            return eddis_fail(err, -EINVAL,
                              "the range [%.*s] runs backwards; write the lower number first",
                              (int)(*s - first), first);
        if (*hi == '0' && last != digits)
            return eddis_fail(err, -EINVAL,
                              "the ends of [%.*s] have different numbers of digits; write both "
                              "with the same number of digits",
                              (int)(*s - first), first);
    }
    ret->width = *first == '0' ? digits : 0;
    if (*s < end && **s != ',')
        return shape(err, "something other than numbers, '-' and ',' between brackets");
    return 0;
}

static int expand(struct expansion *x, size_t bracket, size_t at, struct eddis_error *err);

/* For each number of the span, write it after the first `at` bytes of the name and expand the rest
 * of the pattern, from literal bracket + 1 on.  Return 0, the callback's result or a failure.
 */
static int expand_span(struct expansion *x, const struct span *span, size_t bracket, size_t at,
                       struct eddis_error *err)
{
    int rc = 0;

    for (long v = span->lo; v <= span->hi && rc >= 0; v++) {
        int n = snprintf(x->name + at, sizeof x->name - at, "%0*ld", span->width, v);

        rc = expand(x, bracket + 1, at + (size_t)n, err);
    }
    return rc;
}

/* Write literal `bracket` after the first `at` bytes of the name.  If a choice follows it, expand
 * that for each of its numbers; otherwise the name is complete: pass it to the callback.  Return
 * the last result of the callback, -EINVAL or -E2BIG; a negative result ends the expansion.
 */
static int expand(struct expansion *x, size_t bracket, size_t at, struct eddis_error *err)
{
    const char *s, *end;
    int rc = 0;

    memcpy(x->name + at, x->p.literal[bracket], x->p.literal_n[bracket]);
    at += x->p.literal_n[bracket];
    if (bracket == x->p.brackets) {
        x->name[at] = '\0';
        if (x->names++ == HOST_RANGE_MAX)
            return eddis_fail(err, -E2BIG, "more than %d hosts; write fewer", HOST_RANGE_MAX);
        return x->fn(x->ctx, x->name, err);
    }
    s = x->p.choice[bracket];
    end = s + x->p.choice_n[bracket];
    do {
        struct span span;

        rc = read_span(&s, end, &span, err);
        if (rc == 0)
            rc = expand_span(x, &span, bracket, at, err);
    } while (rc >= 0 && s < end && (s++, true));
    return rc;
}

int host_range_expand(const char *pattern, size_t n, host_range_fn *fn, void *ctx,
                      struct eddis_error *err)
{
    struct expansion x = { .fn = fn, .ctx = ctx };
    int rc = cut(pattern, n, &x.p, err);

    return rc < 0 ? rc : expand(&x, 0, 0, err);
}
