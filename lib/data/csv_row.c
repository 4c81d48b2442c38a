/* SPDX-License-Identifier: Apache-2.0 */
/* csv_row.c - reads the numbers and the label of a line, rounded as strtod would */
#include "csv_row.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

/* At most 15 digits and a power of ten up to 1e15 are exact as doubles, so that one division
 * rounds as strtod does, at a tenth of its time.  Returns false when strtod must do it.
 */
static bool fast_number(const char **s, double *ret)
{
    static const double ten[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    const char *p = *s;
    bool negative = *p == '-';
    int64_t digits = 0;
    int n = 0, fraction = 0;

    if (*p == '-' || *p == '+')
        p++;
    for (; is_digit(*p) && n < 16; p++, n++)
        digits = 10 * digits + (*p - '0');
    if (*p == '.')
        for (p++; is_digit(*p) && n < 16; p++, n++, fraction++)
            digits = 10 * digits + (*p - '0');
    if (n == 0 || n > 15 || is_digit(*p) || *p == 'e' || *p == 'E')
        return false;
    *ret = (negative ? -1.0 : 1.0) * ((double)digits / ten[fraction]);
    *s = p;
    return true;
}

int csv_number(const char **s, double *ret)
{
    const char *p = skip_blanks(*s);
    double v;

    if (!fast_number(&p, &v)) {
        const char *first = p + (*p == '-' || *p == '+');
        char *end;

        /* strtod also takes "inf", "nan" and hexadecimal. */
        if (!is_digit(*first) && *first != '.')
            return -EINVAL;
        if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X'))
            return -EINVAL;
        v = strtod(p, &end);
        if (end == p)
            return -EINVAL;
        p = end;
    }
    if (!(fabs(v) <= (double)FLT_MAX))
        return -ERANGE;
    *ret = v;
    *s = skip_blanks(p);
    return 0;
}

/* A number that may stand in quotes. */
static int field_number(const char **s, double *ret)
{
    const char *p = skip_blanks(*s);
    int rc;

    if (*p != '"')
        return csv_number(s, ret);
    p++;
    rc = csv_number(&p, ret);
    if (rc < 0)
        return rc;
    if (*p != '"')
        return -EINVAL;
    *s = skip_blanks(p + 1);
    return 0;
}

/* The end of the field that begins at s: a comma outside of quotes, or the end of the line.  A
 * quote in a quoted field is written twice, which closes it and opens it again.
 */
static const char *field_end(const char *s)
{
    bool quoted = false;

    for (; *s && (quoted || *s != ','); s++)
        quoted ^= *s == '"';
    return s;
}

int64_t csv_row_fields(const char *s)
{
    int64_t n = 1;

    for (s = field_end(s); *s; s = field_end(s + 1))
        n++;
    return n;
}

bool csv_row_quotes_close(const char *s)
{
    bool open = false;

    for (; *s; s++)
        open ^= *s == '"';
    return !open;
}

bool csv_row_is_header(const char *s)
{
    for (;;) {
        double v;

        if (field_number(&s, &v) != -EINVAL)
            return false;
        s = field_end(s);
        if (!*s)
            return true;
        s++;
    }
}

/* The sentence shows the field itself, at most 24 bytes of it. */
static int bad_field(const char *s, int64_t column, const char *what, struct eddis_error *err)
{
    int n = (int)(field_end(s) - s);

    return eddis_fail(err, -EINVAL, "column %lld is %s: '%.*s'", (long long)column, what,
                      n < 24 ? n : 24, s);
}

static int to_label(double v, int32_t *ret)
{
    if (!(v >= 0 && v <= CSV_MAX_LABEL) || v != floor(v))
        return -EINVAL;
    *ret = (int32_t)v;
    return 0;
}

int csv_row_parse(const char *s, int64_t n_fields, bool label_first, float *ret_x,
                  int32_t *ret_label, struct eddis_error *err)
{
    int64_t label_at = label_first ? 0 : n_fields - 1;

    for (int64_t i = 0; i < n_fields; i++) {
        const char *field = s;
        double v = 0;
        int rc = field_number(&s, &v);

        if (rc == -ERANGE)
            return bad_field(field, i + 1, "too large", err);
        if (rc < 0 || (*s != ',' && *s != 0))
            return bad_field(field, i + 1, "not a number", err);
        if ((*s == 0) != (i == n_fields - 1))
            return eddis_fail(err, -EINVAL, "the row has %lld columns, the first has %lld",
                              (long long)(i + csv_row_fields(s)), (long long)n_fields);
        s++;
        if (i != label_at)
            *ret_x++ = (float)v;
        else if (to_label(v, ret_label) < 0)
            return bad_field(field, i + 1, "not a label, a whole number from 0 to 65535", err);
    }
    return 0;
}
