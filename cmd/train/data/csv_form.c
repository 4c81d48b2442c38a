/* SPDX-License-Identifier: Apache-2.0 */
/* csv_form.c - detects separator, column names and row numbers of a CSV file */
#include "csv_form.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Most rows that are counted; offset in bytes after which no further row is. */
enum { LOOK_ROWS = 100, LOOK_BYTES = 4 << 20 };

static const char separators[] = { ';', '\t', ',' };

enum { N_SEPARATORS = sizeof separators };

/* Counts of the kinds of fields of one or more columns, without the first line. */
struct column {
    int64_t n_empty, n_digits, n_numbers, n_text; /* n_numbers: numbers that are no CSV_DIGITS */
};

/* Statistics of the rows after the table's first line, split at one separator. */
struct cut {
    char separator;
    int64_t n_fields; /* number of fields of the first counted row */
    bool even;        /* all counted rows have n_fields fields */
    int64_t rows;
    /* others: all columns but the first and the last, so including the second */
    struct column first, second, last, others;
    bool counted;         /* the first column increases by 1 in each row */
    int64_t from, latest; /* first and last value of the first column */
};

/* Statistics of the table's first line, split at the separator of the rows. */
struct names {
    int64_t n_fields, n_numbers, n_text;
    /* All numbers in the line are CSV_DIGITS, each one more than the number before. */
    bool counts_up;
    int64_t from; /* first number in the line */
    bool first_empty, label_text;
    char first[24]; /* first field of the line, without quotes; "" if that is longer */
};

/* Return v as a row number; -2 if v is too large: no row has the number -2, and -1, which would
 * follow it, is none either.
 */
static int64_t row_number(double v)
{
    return fabs(v) < 0x1p53 ? (int64_t)v : -2;
}

/* Count a field of this kind in a column. */
static void add(struct column *c, enum csv_kind kind)
{
    c->n_empty += kind == CSV_EMPTY;
    c->n_digits += kind == CSV_DIGITS;
    c->n_numbers += kind == CSV_NUMBER;
    c->n_text += kind == CSV_TEXT;
}

/* Count the first field of a row in c->first; v is its number.  Update c->counted: whether the
 * column has increased by 1 in each row so far.
 */
static void add_first(struct cut *c, enum csv_kind kind, double v)
{
    add(&c->first, kind);
    if (c->rows == 0) {
        c->counted = kind == CSV_DIGITS;
        c->from = row_number(v);
    } else {
        c->counted = c->counted && kind == CSV_DIGITS && row_number(v) == c->latest + 1;
    }
    c->latest = row_number(v);
}

/* Split the row s at c->separator and add its fields to the statistics. */
static void add_row(struct cut *c, const char *s)
{
    for (int64_t i = 0;; i++) {
        const char *end = csv_field_end(s, c->separator);
        double v = 0;
        enum csv_kind kind = csv_field_kind(s, c->separator, &v);

        if (i == 0)
            add_first(c, kind, v);
        else
            add(*end ? &c->others : &c->last, kind);
        if (i == 1)
            add(&c->second, kind);
        if (!*end) {
            c->even = c->rows == 0 || (c->even && i + 1 == c->n_fields);
            c->n_fields = c->rows ? c->n_fields : i + 1;
            break;
        }
        s = end + 1;
    }
    c->rows++;
}

/* Return how many fields of all counted rows are text. */
static int64_t n_text(const struct cut *c)
{
    return c->first.n_text + c->others.n_text + c->last.n_text;
}

/* Check whether a's separator is better than b's: first, its rows have equal width, several fields
 * and no text among the features; then, if both have, fewer fields are text; then it gives more
 * fields.
 */
static bool is_better(const struct cut *a, const struct cut *b)
{
    bool a_fits = a->even && a->n_fields > 1 && !a->others.n_text;
    bool b_fits = b->even && b->n_fields > 1 && !b->others.n_text;

    if (a_fits != b_fits)
        return a_fits;
    if (a_fits && n_text(a) != n_text(b))
        return n_text(a) < n_text(b);
    return a->n_fields > b->n_fields;
}

/* ---- reading ---- */

void csv_form_skip_mark(struct input_line *line)
{
    if (line->number == 1 && strncmp(line->text, "\xEF\xBB\xBF", 3) == 0) {
        line->text += 3;
        line->n -= 3;
        line->offset += 3;
    }
}

/* Check whether the line is "sep=;", by which Excel names the separator.  If so, store the
 * separator in *ret.
 */
static bool names_separator(const char *s, char *ret)
{
    if (strncasecmp(s, "sep=", 4) != 0 || !s[4] || s[5] || !memchr(separators, s[4], N_SEPARATORS))
        return false;
    *ret = s[4];
    return true;
}

/* Read the first lines of the file.  Store the table's first line in *ret_line, which the caller
 * frees, and its number in f->first; add the rows after it to the statistics in cut; set f->recurs,
 * and f->format.separator if the file names it.  Return 0 or a negative error.
 */
static int look(struct input *in, struct csv_form *f, char **ret_line, struct cut cut[N_SEPARATORS],
                struct eddis_error *err)
{
    struct input_line line;
    int64_t rows = 0;
    int rc;

    while (rows < LOOK_ROWS && (rc = input_line(in, &line, err)) == 1) {
        csv_form_skip_mark(&line);
        if (line.number == 1 && names_separator(line.text, &f->format.separator))
            continue;
        if (line.n == 0)
            continue;
        if (!*ret_line) {
            f->first = line.number;
            *ret_line = strdup(line.text);
            if (!*ret_line)
                return eddis_fail(err, -ENOMEM, "out of memory");
            continue;
        }
        for (int i = 0; i < N_SEPARATORS; i++)
            add_row(&cut[i], line.text);
        f->recurs = f->recurs || strcmp(line.text, *ret_line) == 0;
        rows++;
        if (line.offset > LOOK_BYTES)
            break;
    }
    return rows < LOOK_ROWS && rc < 0 ? rc : 0;
}

/* ---- the line of column names ---- */

/* Copy the field [s, end) without surrounding quotes to ret [size]; "" if it does not fit. */
static void copy_name(const char *s, const char *end, char *ret, size_t size)
{
    size_t n = (size_t)(end - s);

    if (n >= 2 && *s == '"' && end[-1] == '"') {
        s++;
        n -= 2;
    }
    ret[0] = 0;
    if (n >= size)
        return;
    memcpy(ret, s, n);
    ret[n] = 0;
}

/* Return the statistics of the table's first line s.  label_first: the label is its first field
 * (after an empty one), else its last.
 */
static struct names cut_names(const char *s, char separator, bool label_first)
{
    struct names n = { .counts_up = true };

    for (int64_t i = 0;; i++) {
        const char *end = csv_field_end(s, separator);
        double v = 0;
        enum csv_kind kind = csv_field_kind(s, separator, &v);
        bool number = kind == CSV_DIGITS || kind == CSV_NUMBER;

        if (i == 0) {
            copy_name(s, end, n.first, sizeof n.first);
            n.first_empty = kind == CSV_EMPTY;
        }
        if (number && n.n_numbers == 0)
            n.from = row_number(v);
        if (number)
            n.counts_up =
                n.counts_up && kind == CSV_DIGITS && row_number(v) == n.from + n.n_numbers;
        n.n_numbers += number;
        n.n_text += kind == CSV_TEXT;
        if (label_first ? i == n.first_empty : !*end)
            n.label_text = kind == CSV_TEXT;
        n.n_fields = i + 1;
        if (!*end)
            return n;
        s = end + 1;
    }
}

/* Check whether some features have a sign, a fraction or an exponent. */
static bool has_fractions(const struct cut *c)
{
    return c->first.n_numbers || c->others.n_numbers;
}

/* Check whether the table's first line has column names although some of them are numbers.  label:
 * statistics of the column of labels.
 */
static bool is_numbered(const struct names *n, const struct cut *c, const struct column *label)
{
    bool labels_are_numbers = label->n_digits + label->n_numbers > 0 && !label->n_text;

    if (n->label_text && labels_are_numbers)
        return true;
    if (n->first_empty && n->counts_up && (n->from == 0 || n->n_text > 0) && c->rows > 0 &&
        !c->first.n_empty && n->n_fields == c->n_fields)
        return true;
    if (!n->counts_up || c->rows == 0)
        return false;
    return (n->from == 0 && n->n_numbers > 2) || (n->n_numbers > 1 && has_fractions(c));
}

/* Check whether the table's first line has column names.  label: statistics of the column of
 * labels.
 */
static bool is_header(const struct names *n, const struct cut *c, const struct column *label)
{
    if (n->n_fields == 1) /* no known separator is in it */
        return false;
    if (n->n_numbers == 0)
        return true;
    if (n->n_text > 0 && c->even && c->rows > 0 && n->n_fields == c->n_fields - 1)
        return true;
    return is_numbered(n, c, label);
}

/* ---- row numbers ---- */

/* Check whether the name is one that is common for a column of row numbers. */
static bool is_name_of_numbers(const char *name)
{
    static const char *const names[] = { "index",     "id",        "row_id",    "rownames",
                                         "row_names", "row.names", "row_number" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Check whether the first column is named as pandas and R name a column of row numbers: not at all,
 * so that its name is empty or missing in the line of names; "Unnamed: 0"; or by a common name, if
 * all its fields are whole numbers.
 */
static bool is_named_so(const struct names *n, const struct cut *c)
{
    if (n->n_fields == c->n_fields - 1 || n->first_empty || strcmp(n->first, "Unnamed: 0") == 0)
        return true;
    return is_name_of_numbers(n->first) && c->first.n_digits == c->rows;
}

/* Check whether the first column counts at least CSV_COUNTED rows, from 0 or 1 on; store that first
 * number in *ret_from.
 */
static bool is_counted(const struct csv_form *f, const struct names *n, const struct cut *c,
                       int64_t *ret_from)
{
    *ret_from = c->from;
    if (!c->counted)
        return false;
    if (!f->header) { /* the first line is a row too */
        if (n->n_numbers == 0 || n->from != c->from - 1)
            return false;
        *ret_from = n->from;
    }
    return (*ret_from == 0 || *ret_from == 1) && c->rows + !f->header >= CSV_COUNTED;
}

/* Decide whether the first column has row numbers, set f->format.row_numbers, f->counted and
 * f->count_from, and explain the decision in f->row_note.
 */
static void find_row_numbers(struct csv_form *f, const struct names *n, const struct cut *c)
{
    static const char remedy[] = "left out of the features; write --row-numbers no to include it";
    int64_t from = 0;

    if (f->format.n_fields < 3)
        return;
    if (f->header && c->rows > 0 && is_named_so(n, c)) {
        f->format.row_numbers = true;
        (void)snprintf(f->row_note, sizeof f->row_note,
                       "the first column%s%s%s seems to contain row numbers and is %s",
                       n->first[0] ? ", '" : ", which has no name,", n->first,
                       n->first[0] ? "'," : "", remedy);
    } else if (is_counted(f, n, c, &from)) {
        f->format.row_numbers = f->counted = true;
        f->count_from = from;
        (void)snprintf(f->row_note, sizeof f->row_note,
                       "the first column numbers the rows and is %s", remedy);
    }
}

/* ---- the decision ---- */

/* Check whether the labels are text: of the counted labels (and the first line's, if that is a
 * row), some are text and none is a number.
 */
static bool has_text_labels(const struct csv_form *f, const struct names *n, const struct cut *c)
{
    const struct column *label = !f->format.label_first  ? &c->last
                                 : f->format.row_numbers ? &c->second
                                                         : &c->first;

    if (c->rows == 0)
        return !f->header && n->label_text;
    return label->n_digits + label->n_numbers == 0 &&
           (f->header ? label->n_text > 0 : n->label_text);
}

/* Decide on column names, row numbers and the kind of labels from the table's first line and the
 * statistics c of the rows, unless o gives them.  Store that and its explanations in *f.
 */
static void decide(const char *line, const struct cut *c, const struct dataset_options *o,
                   struct csv_form *f)
{
    struct names n = cut_names(line, f->format.separator, o->label_first);
    const struct column *label = !o->label_first ? &c->last
                                 : n.first_empty ? &c->second
                                                 : &c->first;

    n.counts_up = n.counts_up && !f->recurs;
    if (o->header == DATASET_AUTO ? is_header(&n, c, label) : o->header == DATASET_YES)
        f->header = f->first;
    f->format.n_fields = f->header && c->rows > 0 ? c->n_fields : n.n_fields;
    if (f->header && n.n_numbers && o->header == DATASET_AUTO)
        (void)snprintf(f->header_note, sizeof f->header_note,
                       "the first line, '%.40s', is read as column names; write --header no to "
                       "read it as a row",
                       line);
    if (o->row_numbers == DATASET_AUTO)
        find_row_numbers(f, &n, c);
    else
        f->format.row_numbers = o->row_numbers == DATASET_YES;
    f->format.label_is_text = o->class_names || has_text_labels(f, &n, c);
}

/* Borrow the statistics of the separator `named`, which the file names itself; 0: of the best one.
 */
static const struct cut *choose(const struct cut cut[N_SEPARATORS], char named)
{
    const struct cut *best = &cut[N_SEPARATORS - 1];

    for (int i = N_SEPARATORS - 2; i >= 0; i--)
        if (!is_better(best, &cut[i]) && cut[i].n_fields > 1)
            best = &cut[i];
    for (int i = 0; named && i < N_SEPARATORS; i++)
        if (cut[i].separator == named)
            best = &cut[i];
    return best;
}

int csv_form_find(struct input *in, const struct dataset_options *o, struct csv_form *ret,
                  struct eddis_error *err)
{
    struct csv_form f = { .format = { .label_first = o->label_first } };
    struct cut cut[N_SEPARATORS], alone[N_SEPARATORS];
    const struct cut *best;
    cleanup_free char *line = NULL;
    int rc;

    for (int i = 0; i < N_SEPARATORS; i++)
        cut[i] = alone[i] = (struct cut){ .separator = separators[i] };
    rc = look(in, &f, &line, cut, err);
    if (rc < 0)
        return rc;
    best = choose(cut, f.format.separator);
    for (int i = 0; line && i < N_SEPARATORS; i++)
        add_row(&alone[i], line);
    if (best->rows == 0) /* the only line is the only row */
        f.format.separator = choose(alone, f.format.separator)->separator;
    else
        f.format.separator = best->separator;
    if (line)
        decide(line, best, o, &f);
    text_make_plain(f.header_note);
    *ret = f;
    return 0;
}

bool csv_form_counts_on(const struct csv_form *f, const char *line, int64_t k)
{
    double v = 0;

    return !f->counted || (csv_field_kind(line, f->format.separator, &v) == CSV_DIGITS &&
                           row_number(v) == f->count_from + k);
}
