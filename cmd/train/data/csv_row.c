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

/* A tab may be a separator, and is no blank then. */
static const char *skip_blanks(const char *s, char separator)
{
    while (*s == ' ' || (*s == '\t' && separator != '\t'))
        s++;
    return s;
}

static bool is_point(const char *p, char separator)
{
    return *p == '.' || (*p == ',' && separator != ',' && is_digit(p[1]));
}

/* At most 15 digits and a power of ten up to 1e15 are exact as doubles, so that one division
 * rounds as strtod does, at a tenth of its time.  Returns false when strtod must do it.
 */
static bool fast_number(const char **s, char separator, double *ret)
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
    if (is_point(p, separator))
        for (p++; is_digit(*p) && n < 16; p++, n++, fraction++)
            digits = 10 * digits + (*p - '0');
    if (n == 0 || n > 15 || is_digit(*p) || *p == 'e' || *p == 'E')
        return false;
    *ret = (negative ? -1.0 : 1.0) * ((double)digits / ten[fraction]);
    *s = p;
    return true;
}

/* As strtod, with a comma for the point.  Returns NULL where there is no number, or one that is
 * longer than anybody writes.
 */
static const char *slow_number(const char *s, char separator, double *ret)
{
    char copy[512], *end;
    size_t n = strspn(s, "0123456789.,+-eE");
    const char *comma = memchr(s, ',', n);

    if (!comma || !is_point(comma, separator)) {
        *ret = strtod(s, &end);
        return end == s ? NULL : s + (end - s);
    }
    if (n >= sizeof copy)
        return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    copy[comma - s] = '.';
    *ret = strtod(copy, &end);
    return end == copy ? NULL : s + (end - copy);
}

static int number(const char **s, char separator, double *ret)
{
    const char *p = skip_blanks(*s, separator);
    double v;

    if (!fast_number(&p, separator, &v)) {
        const char *first = p + (*p == '-' || *p == '+');

        /* strtod also takes "inf", "nan" and hexadecimal. */
        if (!is_digit(*first) && !is_point(first, separator))
            return -EINVAL;
        if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X'))
            return -EINVAL;
        p = slow_number(p, separator, &v);
        if (!p)
            return -EINVAL;
    }
    if (!(fabs(v) <= (double)FLT_MAX))
        return -ERANGE;
    *ret = v;
    *s = skip_blanks(p, separator);
    return 0;
}

int csv_number(const char **s, double *ret)
{
    return number(s, ',', ret);
}

/* A number that may stand in quotes. */
static int field_number(const char **s, char separator, double *ret)
{
    const char *p = skip_blanks(*s, separator);
    int rc;

    if (*p != '"')
        return number(s, separator, ret);
    p++;
    rc = number(&p, separator, ret);
    if (rc < 0)
        return rc;
    if (*p != '"')
        return -EINVAL;
    *s = skip_blanks(p + 1, separator);
    return 0;
}

/* A quote in a quoted field is written twice, which closes it and opens it again. */
const char *csv_field_end(const char *s, char separator)
{
    bool quoted = false;

    for (; *s && (quoted || *s != separator); s++)
        quoted ^= *s == '"';
    return s;
}

int64_t csv_row_fields(const char *s, char separator)
{
    int64_t n = 1;

    for (s = csv_field_end(s, separator); *s; s = csv_field_end(s + 1, separator))
        n++;
    return n;
}

int64_t csv_row_features(const struct csv_format *f)
{
    return f->n_fields - 1 - f->row_numbers;
}

bool csv_row_quotes_close(const char *s)
{
    bool open = false;

    for (; *s; s++)
        open ^= *s == '"';
    return !open;
}

enum csv_kind csv_field_kind(const char *s, char separator, double *ret)
{
    const char *end = csv_field_end(s, separator), *p = s;
    size_t n;
    int rc = field_number(&p, separator, ret);

    if (rc == 0 && p == end) {
        s = skip_blanks(s, separator);
        s += *s == '"';
        n = strspn(s, "0123456789");
        s += n;
        return n <= 15 && (s == end || *s == ' ' || *s == '\t' || *s == '"') ? CSV_DIGITS
                                                                             : CSV_NUMBER;
    }
    if (rc == -ERANGE)
        return CSV_NUMBER;
    s = skip_blanks(s, separator);
    return s == end || (s[0] == '"' && s[1] == '"' && skip_blanks(s + 2, separator) == end)
               ? CSV_EMPTY
               : CSV_TEXT;
}

/* The sentence shows the field itself, at most 24 bytes of it. */
static int bad_field(const char *s, const struct csv_format *f, int64_t column, const char *what,
                     struct eddis_error *err)
{
    int n = (int)(csv_field_end(s, f->separator) - s);

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

static int bad_width(const char *s, const struct csv_format *f, int64_t before,
                     struct eddis_error *err)
{
    return eddis_fail(err, -EINVAL, "the row has %lld columns, the first has %lld",
                      (long long)(before + csv_row_fields(s, f->separator)),
                      (long long)f->n_fields);
}

static int parse_number(const char **s, const struct csv_format *f, int64_t i, double *ret,
                        struct eddis_error *err)
{
    const char *field = *s;
    int rc = field_number(s, f->separator, ret);

    if (rc == -ERANGE)
        return bad_field(field, f, i + 1, "too large", err);
    if (rc < 0 || (**s != f->separator && **s != 0))
        return bad_field(field, f, i + 1, "not a number", err);
    return 0;
}

/* What programs write where there is no value. */
static bool is_missing(const char *text)
{
    static const char *const words[] = { "", "NA", "N/A", "nan", "NaN", "null", "NULL", "?" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Copy the field [s, end) without its quotes, those within it once.  -ENOSPC: it is too long. */
static int copy_text(const char *s, const char *end, char separator, char ret[CSV_NAME_BYTES])
{
    bool quoted;
    size_t n = 0;

    s = skip_blanks(s, separator);
    while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    quoted = end - s >= 2 && *s == '"' && end[-1] == '"';
    s += quoted;
    end -= quoted;
    for (; s < end; s++) {
        if (n == CSV_NAME_BYTES - 1)
            return -ENOSPC;
        ret[n++] = *s;
        s += quoted && *s == '"' && s + 1 < end;
    }
    ret[n] = 0;
    return 0;
}

static int parse_text(const char **s, const struct csv_format *f, int64_t i, struct csv_row *row,
                      struct eddis_error *err)
{
    const char *field = *s, *end = csv_field_end(field, f->separator);
    enum csv_kind kind;
    double v;

    *s = end;
    if (copy_text(field, end, f->separator, row->name) < 0)
        return bad_field(field, f, i + 1, "too long for a label", err);
    if (is_missing(row->name))
        return bad_field(field, f, i + 1, "no label", err);
    kind = csv_field_kind(field, f->separator, &v);
    return kind == CSV_DIGITS || kind == CSV_NUMBER
               ? bad_field(field, f, i + 1, "a number, where other labels are text", err)
               : 0;
}

/* What of the two stands in the number, where a comma may. */
static void note_points(const char *s, size_t n, struct csv_row *row)
{
    row->has_comma = row->has_comma || memchr(s, ',', n);
    row->has_point = row->has_point || memchr(s, '.', n);
}

int csv_row_parse(const char *s, const struct csv_format *f, struct csv_row *row,
                  struct eddis_error *err)
{
    int64_t label_at = f->label_first ? f->row_numbers : f->n_fields - 1;
    float *x = row->x;

    for (int64_t i = 0; i < f->n_fields; i++) {
        const char *field = s;
        bool skipped = i == 0 && f->row_numbers;
        bool text = i == label_at && f->label_is_text;
        double v = 0;
        int rc = 0;

        if (skipped)
            s = csv_field_end(s, f->separator);
        else
            rc = text ? parse_text(&s, f, i, row, err) : parse_number(&s, f, i, &v, err);
        if (rc < 0)
            return rc;
        if ((*s == 0) != (i == f->n_fields - 1))
            return bad_width(s, f, i, err);
        if (f->separator != ',' && !skipped && !text)
            note_points(field, (size_t)(s - field), row);
        s++;
        if (skipped)
            continue;
        if (i != label_at)
            *x++ = (float)v;
        else if (!text && to_label(v, &row->label) < 0)
            return bad_field(field, f, i + 1, "not a label, a whole number from 0 to 65535", err);
    }
    return 0;
}
