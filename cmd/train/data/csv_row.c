/* SPDX-License-Identifier: Apache-2.0 */
/* csv_row.c - parses the numbers and the label of a line */
#include "csv_row.h"

#include "lib/base/text.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Check whether c is a decimal digit. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Return a pointer to the first character from s on that is no blank, which may be the final 0.  A
 * tab that is the separator is no blank.
 */
static const char *skip_blanks(const char *s, char separator)
{
    while (*s == ' ' || (*s == '\t' && separator != '\t'))
        s++;
    return s;
}

/* Check whether the character at p is a decimal point, or a comma that replaces it. */
static bool is_point(const char *p, char separator)
{
    return *p == '.' || (*p == ',' && separator != ',' && is_digit(p[1]));
}

/* Parse a number at s by strtod, also with a decimal comma.  Return its end, or NULL if there is no
 * number or one with a comma is longer than 511 characters.
 */
static const char *decimal(const char *s, char separator, double *ret)
{
    size_t n = separator == ',' ? 0 : strspn(s, "0123456789.,+-eE");
    const char *comma = memchr(s, ',', n);
    char copy[512], *end;

    if (!comma || !is_point(comma, separator)) {
        *ret = strtod(s, &end);
        return end == s ? NULL : end;
    }
    if (n >= sizeof copy)
        return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    copy[comma - s] = '.';
    *ret = strtod(copy, &end);
    return end == copy ? NULL : s + (end - copy);
}

/* Parse a number at *s into *ret and advance *s past it and the blanks that follow.  Return 0;
 * -EINVAL: no number; -ERANGE: not finite as a float.
 */
static int number(const char **s, char separator, double *ret)
{
    const char *p = skip_blanks(*s, separator), *first = p + (*p == '-' || *p == '+');
    double v;

    /* strtod also takes "inf", "nan" and hexadecimal. */
    if (!is_digit(*first) && !is_point(first, separator))
        return -EINVAL;
    if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X'))
        return -EINVAL;
    p = decimal(p, separator, &v);
    if (!p)
        return -EINVAL;
    if (!(fabs(v) <= (double)FLT_MAX))
        return -ERANGE;
    *ret = v;
    *s = skip_blanks(p, separator);
    return 0;
}

/* Parse a number at *s that may be quoted into *ret, and advance *s past it and the blanks that
 * follow.  Return 0; -EINVAL: no number; -ERANGE: not finite as a float.  On failure *s stays where
 * it is.
 */
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

/* Return a pointer to the end of the field at s: a separator outside of quotes, or the final 0.  A
 * quote inside a quoted field is doubled, which closes the field and opens it again.
 */
const char *csv_field_end(const char *s, char separator)
{
    bool quoted = false;

    for (; *s && (quoted || *s != separator); s++)
        quoted ^= *s == '"';
    return s;
}

/* Return the number of fields of a line: separators outside of quotes + 1. */
static int64_t count_fields(const char *s, char separator)
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

/* Set err, which names the column (from 1), says what its field is, and shows at most 24 bytes of
 * the field, which is at s.  Return -EINVAL.
 */
static int bad_field(const char *s, const struct csv_format *f, int64_t column, const char *what,
                     struct eddis_error *err)
{
    int n = (int)(csv_field_end(s, f->separator) - s);

    return eddis_fail(err, -EINVAL, "column %lld is %s: '%.*s'", (long long)column, what,
                      n < 24 ? n : 24, s);
}

/* Convert a number to a label in *ret.  Return 0; -EINVAL: v is not a whole number from 0 to
 * CSV_MAX_LABEL.
 */
static int to_label(double v, int32_t *ret)
{
    if (!(v >= 0 && v <= CSV_MAX_LABEL) || v != floor(v))
        return -EINVAL;
    *ret = (int32_t)v;
    return 0;
}

/* Set err because a row has the wrong number of columns. s: the end of a field; before: how many
 * fields precede that field.  Return -EINVAL.
 */
static int bad_width(const char *s, const struct csv_format *f, int64_t before,
                     struct eddis_error *err)
{
    return eddis_fail(err, -EINVAL, "the row has %lld columns, the first has %lld",
                      (long long)(before + count_fields(s, f->separator)), (long long)f->n_fields);
}

/* Parse the number in field i (from 0) at *s, which must fill the field, into *ret, and advance *s
 * to the field's end.  Return 0 or -EINVAL; err names the column.
 */
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

/* Check whether the text is one that programs write for a missing value. */
static bool is_missing(const char *text)
{
    static const char *const words[] = { "", "NA", "N/A", "nan", "NaN", "null", "NULL", "?" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Copy the field [s, end) without surrounding blanks and quotes to ret; doubled quotes become
 * single ones.  Return 0; -ENOSPC: it is too long.
 */
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

/* Parse the text label in field i (from 0) at *s into row->name and advance *s to the field's end.
 * Return 0; -EINVAL: it is missing, too long, or a number.
 */
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
        return bad_field(field, f, i + 1, "not a label", err);
    kind = csv_field_kind(field, f->separator, &v);
    return kind == CSV_DIGITS || kind == CSV_NUMBER
               ? bad_field(field, f, i + 1, "a number, where other labels are text", err)
               : 0;
}

/* Set row->has_comma and row->has_point if the number, n bytes at s, has a comma or a point. */
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
            return bad_field(field, f, i + 1,
                             "not a label, a whole number from 0 to " TEXT_OF(CSV_MAX_LABEL), err);
    }
    return 0;
}
