/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - a data set in a CSV file: checked and counted in one pass, then kept or read in blocks
 */
#include "csv_form.h"
#include "csv_labels.h"
#include "csv_row.h"
#include "csv_store.h"
#include "dataset_impl.h"
#include "input.h"
#include "lib/base/cleanup.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

/* An open CSV data set. */
struct csv {
    struct dataset base;
    char *path;
    struct csv_form form;
    bool has_row;             /* the first row was read, and memory for rows is allocated */
    struct csv_labels labels; /* text labels */
    int32_t first_label;      /* label of the first row, until labels are sorted */
    int64_t n_first;          /* number of rows with the label first_label */
    float *low, *high;        /* [n_features] smallest and largest value of each feature */
    struct csv_store store;   /* all rows, or empty if they need more than the limit */
    struct csv_index index;   /* offsets of the rows in the text */
    int64_t text_bytes;       /* length of the text, up to the last line read */
    int fd;                   /* descriptor of the unpacked text, if the store is empty; else -1 */

    pthread_mutex_t lock; /* guards the members below, for reading in blocks */
    char *block;
    size_t block_cap;
    struct csv_row row;
};

static const struct dataset_ops csv_ops;

/* Return the CSV data set whose first member is d. */
static struct csv *csv(struct dataset *d)
{
    assert(d->ops == &csv_ops);
    return (struct csv *)d;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Check the number of columns, set the number of features, and allocate memory for one row and for
 * the features' ranges; to be called at the first row.  Return 0, -EINVAL or -ENOMEM.
 */
static int first_row(struct csv *c, struct eddis_error *err)
{
    int64_t n = c->form.format.n_fields, n_features = csv_row_features(&c->form.format);

    if (n_features < 1)
        return eddis_fail(
            err, -EINVAL,
            "a row has %s; it needs features and a label, separated by commas, semicolons or tabs",
            n == 1 ? "one column" : "no feature");
    if (n - 1 > DATASET_MAX_FEATURES)
        return eddis_fail(err, -EINVAL, "a row has %lld columns; at most %d are possible",
                          (long long)n, DATASET_MAX_FEATURES);
    c->base.info.n_features = c->store.width = n_features;
    c->has_row = true;
    c->row.x = malloc((size_t)n_features * sizeof *c->row.x);
    c->low = malloc((size_t)n_features * sizeof *c->low);
    c->high = malloc((size_t)n_features * sizeof *c->high);
    return c->row.x && c->low && c->high ? 0 : eddis_fail(err, -ENOMEM, "out of memory");
}

/* Extend the range of each feature (c->low, c->high) by its value in the parsed row, c->row. */
static void take_range(struct csv *c)
{
    bool first = c->base.info.n_samples == 0;

    for (int64_t i = 0; i < c->base.info.n_features; i++) {
        float v = c->row.x[i];

        c->low[i] = first || v < c->low[i] ? v : c->low[i];
        c->high[i] = first || v > c->high[i] ? v : c->high[i];
    }
}

/* Store the number of the parsed row's text label in c->row.label.  Count the rows that have the
 * first row's label, in c->n_first.  Return 0; -EINVAL: the label is not allowed; or -ENOMEM.
 */
static int take_label(struct csv *c, struct eddis_error *err)
{
    int rc = 0;

    if (c->form.format.label_is_text)
        rc = csv_labels_take(&c->labels, c->row.name, &c->row.label, err);
    if (rc < 0)
        return rc;
    if (c->base.info.n_samples == 0)
        c->first_label = c->row.label;
    c->n_first += c->row.label == c->first_label;
    return 0;
}

/* Parse one row and add it to the statistics, the index and, if *holding, the store.  If the store
 * has no room, empty it and set *holding to false.  Return 0 or a negative error.
 */
static int take_row(struct csv *c, const struct input_line *line, bool *holding,
                    struct eddis_error *err)
{
    struct dataset_info *info = &c->base.info;
    int32_t label;
    int rc = csv_row_parse(line->text, &c->form.format, &c->row, err);

    if (rc == 0)
        rc = take_label(c, err);
    if (rc == 0 && c->row.has_comma && c->row.has_point)
        rc = eddis_fail(
            err, -EINVAL,
            "the numbers up to here mix decimal commas and decimal points; use only one of them");
    if (rc == 0)
        rc = csv_index_add(&c->index, line->offset, err);
    if (rc < 0)
        return rc;
    take_range(c);
    label = c->row.label;
    info->n_classes = label + 1 > info->n_classes ? label + 1 : info->n_classes;
    info->n_samples++;
    if (!*holding)
        return 0;
    rc = csv_store_add(&c->store, c->row.x, label, err);
    if (rc == 0) {
        *holding = false;
        csv_store_fini(&c->store);
    }
    return rc < 0 ? rc : 0;
}

/* Check that a line is text that can be parsed: no UTF-16, no binary data, no stray carriage
 * return, and on the first line no open quote.  Return 0 or -EINVAL.
 */
static int check_text(const struct input_line *line, struct eddis_error *err)
{
    const char *s = line->text;

    if (line->number == 1 && line->n > 1 &&
        (memcmp(s, "\xFF\xFE", 2) == 0 || memcmp(s, "\xFE\xFF", 2) == 0))
        return eddis_fail(err, -EINVAL, "the text is UTF-16; save the file as UTF-8");
    if (memchr(s, 0, line->n))
        return eddis_fail(err, -EINVAL,
                          "binary data, so this is not a CSV file; for IDX images, name their "
                          "labels with --labels");
    if (memchr(s, '\r', line->n))
        return eddis_fail(err, -EINVAL,
                          "a carriage return is within the line; end lines with newlines");
    /* an open quote could let the line be taken for column names */
    if (line->number == 1 && !csv_row_quotes_close(s))
        return eddis_fail(err, -EINVAL,
                          "a quote is not closed on this line; each row must be on one line");
    return 0;
}

/* Check a line and, if it is a row, add it to the data set (take_row).  Return 0; 1 if the first
 * column was to count the rows but does not from this row on; or a negative error.
 */
static int take_line(struct csv *c, struct input_line *line, bool *holding, struct eddis_error *err)
{
    int rc;

    csv_form_skip_mark(line);
    c->text_bytes = line->offset + (int64_t)line->n;
    rc = check_text(line, err);
    if (rc < 0 || line->n == 0 || line->number < c->form.first || line->number == c->form.header)
        return rc;
    if (!c->has_row)
        rc = first_row(c, err);
    if (rc == 0 && !csv_form_counts_on(&c->form, line->text, c->base.info.n_samples))
        return 1;
    return rc < 0 ? rc : take_row(c, line, holding, err);
}

/* Read the whole file once.  Return 0; 1 if the first column was to count the rows but does not; or
 * a negative error that names the line.  *holding: whether the store has all rows.
 */
static int scan(struct csv *c, struct input *in, bool *holding, struct eddis_error *err)
{
    struct input_line line;
    int rc;

    *holding = true;
    while ((rc = input_line(in, &line, err)) == 1) {
        rc = take_line(c, &line, holding, err);
        if (rc > 0)
            return rc;
        if (rc < 0)
            return eddis_fail_prefix(err, rc, "%s:%lld", c->path, (long long)line.number);
    }
    if (rc == 0 && c->base.info.n_samples == 0)
        return eddis_fail(err, -EINVAL, "'%s' has no row of numbers", c->path);
    return rc;
}

/* Return -EINVAL if the first row may be a line of column names: its text label is in no other row,
 * the file has at least CSV_COUNTED rows, and the header was to be detected.  Otherwise return 0.
 */
static int check_first(const struct csv *c, const struct dataset_options *o,
                       struct eddis_error *err)
{
    if (o->header != DATASET_AUTO || c->form.header || !c->form.format.label_is_text ||
        c->labels.fixed || c->n_first != 1 || c->base.info.n_samples < CSV_COUNTED)
        return 0;
    for (int32_t i = 0; i < c->labels.n; i++)
        if (c->labels.id[i] == c->first_label)
            return eddis_fail(err, -EINVAL,
                              "%s:%lld: no other row has the label '%s', so this may be a line of "
                              "column names; write --header yes or --header no",
                              c->path, (long long)c->form.first, c->labels.name[i]);
    return 0;
}

/* Set the data set's properties after all rows were read; if labels are text, change their numbers
 * to indices in sorted order.  Return 0 or a negative error of check_first or for lack of memory.
 */
static int sum_up(struct csv *c, const struct dataset_options *o, struct eddis_error *err)
{
    struct dataset_info *info = &c->base.info;
    int rc = check_first(c, o, err);

    info->min = (double)c->low[0];
    info->max = (double)c->high[0];
    for (int64_t i = 1; i < info->n_features; i++) {
        info->min = (double)c->low[i] < info->min ? (double)c->low[i] : info->min;
        info->max = (double)c->high[i] > info->max ? (double)c->high[i] : info->max;
    }
    info->column_min = c->low;
    info->column_max = c->high;
    info->row_numbers = c->form.format.row_numbers;
    info->header_note = c->form.header_note;
    info->row_note = c->form.row_note;
    if (rc < 0 || !c->form.format.label_is_text)
        return rc;
    info->n_classes = c->labels.n;
    info->class_names = (const char *const *)c->labels.name;
    return csv_labels_sort(&c->labels, c->store.labels, c->store.labels ? c->store.n : 0, err);
}

/* Discard all rows, labels and statistics, so that the file can be read from its beginning. */
static void begin_again(struct csv *c)
{
    c->base.info = (struct dataset_info){ 0 };
    csv_labels_fini(&c->labels);
    free(c->low);
    free(c->high);
    c->low = c->high = NULL;
    c->n_first = 0;
    csv_store_fini(&c->store);
    csv_index_fini(&c->index);
    free(c->row.x);
    c->row = (struct csv_row){ 0 };
    c->has_row = false;
}

/* Detect the file's format, read all of it and set the data set's properties.  If its first column
 * was to count the rows but does not, read it once again with that column as a feature.  *ret_gzip:
 * whether the file is gzipped.  Return 0 or a negative error.
 */
static int read_all(struct csv *c, const struct dataset_options *o, bool *ret_gzip,
                    struct eddis_error *err)
{
    struct dataset_options kept = *o;
    int rc = 1;

    for (int i = 0; i < 2 && rc == 1; i++) {
        struct input *in = NULL;

        begin_again(c);
        if (o->class_names)
            rc = csv_labels_fix(&c->labels, o->class_names, o->n_class_names, err);
        if (rc >= 0)
            rc = input_open(c->path, &in, err);
        if (rc == 0)
            rc = csv_form_find(in, &kept, &c->form, err);
        input_close(in);
        in = NULL;
        if (rc == 0)
            rc = input_open(c->path, &in, err);
        if (rc == 0)
            rc = scan(c, in, &c->base.info.in_memory, err);
        if (rc >= 0)
            *ret_gzip = input_is_gzip(in);
        input_close(in);
        kept.row_numbers = DATASET_NO;
    }
    return rc < 0 ? rc : sum_up(c, o, err);
}

int csv_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err)
{
    struct csv *c = calloc(1, sizeof *c);
    bool gzip = false;
    int rc;

    if (!c)
        return eddis_fail(err, -ENOMEM, "out of memory");
    c->base.ops = &csv_ops;
    c->fd = -1;
    c->store.limit = o->memory_bytes;
    (void)pthread_mutex_init(&c->lock, NULL);
    c->path = strdup(o->path);
    rc = c->path ? read_all(c, o, &gzip, err) : eddis_fail(err, -ENOMEM, "out of memory");
    if (rc == 0 && !c->base.info.in_memory)
        rc = input_open_text(c->path, gzip, o->temporary_folder, &c->fd, err);
    if (rc < 0) {
        dataset_close(&c->base);
        return rc;
    }
    *ret = &c->base;
    return 0;
}

/* ---- reading in blocks ------------------------------------------------------------------- */

/* A sample to be read: its row in the file and its index in the result. */
struct wanted {
    int64_t row, slot;
};

/* Compare two wanted samples by row, for qsort. */
static int by_row(const void *a, const void *b)
{
    int64_t x = ((const struct wanted *)a)->row, y = ((const struct wanted *)b)->row;

    return (x > y) - (x < y);
}

/* Read block b, the text of the `stride` rows from b * stride on, into c->block, ended with a 0.
 * Return 0 or a negative error.
 */
static int load_block(struct csv *c, int64_t b, struct eddis_error *err)
{
    int64_t first = c->index.offset[b];
    int64_t end = b + 1 < c->index.n ? c->index.offset[b + 1] : c->text_bytes;
    size_t n = (size_t)(end - first);
    int rc;

    if (n + 1 > c->block_cap) {
        char *grown = realloc(c->block, n + 1);

        if (!grown)
            return eddis_fail(err, -ENOMEM, "out of memory");
        c->block = grown;
        c->block_cap = n + 1;
    }
    rc = input_pread(c->fd, c->path, c->block, n, first, err);
    c->block[rc < 0 ? 0 : n] = 0;
    return rc;
}

/* Return the next line in *s that is not blank, ended with a 0 in place, and advance *s to the text
 * after it.  NULL: there is none in the block.
 */
static char *next_line(char **s)
{
    while (**s) {
        char *line = *s;
        size_t n = strcspn(line, "\n");

        *s = line + n + (line[n] ? 1 : 0);
        line[n] = 0;
        if (n && line[n - 1] == '\r')
            line[--n] = 0;
        if (n)
            return line;
    }
    return NULL;
}

/* Read block b and parse the n wanted rows in it, which are sorted by row; write each one's
 * features and label to its slot of x and label.  Return 0; -EIO: the file has changed; or another
 * negative error.
 */
static int read_block(struct csv *c, int64_t b, const struct wanted *w, int64_t n, float *x,
                      int32_t *label, struct eddis_error *err)
{
    int64_t width = c->base.info.n_features, row = b * c->index.stride;
    struct csv_row parsed = { 0 };
    char *line, *rest;
    int rc = load_block(c, b, err);

    if (rc < 0)
        return rc;
    rest = c->block;
    line = next_line(&rest);
    for (int64_t i = 0; i < n; i++) {
        for (; row < w[i].row && line; row++)
            line = next_line(&rest);
        if (!line)
            return eddis_fail(err, -EIO, "'%s' changed while it was in use", c->path);
        parsed.x = x + w[i].slot * width;
        rc = csv_row_parse(line, &c->form.format, &parsed, err);
        if (rc == 0 && c->form.format.label_is_text)
            rc = csv_labels_take(&c->labels, parsed.name, &parsed.label, err);
        if (rc < 0 || parsed.label >= c->base.info.n_classes)
            return eddis_fail(err, -EIO, "'%s' changed while it was in use", c->path);
        label[w[i].slot] = parsed.label;
    }
    return 0;
}

/* Read the samples index [n] from the text, block by block, into x and label.  The caller holds
 * c->lock.  Return 0 or a negative error.
 */
static int read_blocks(struct csv *c, const int64_t *index, int64_t n, float *x, int32_t *label,
                       struct eddis_error *err)
{
    cleanup_free struct wanted *w = malloc((size_t)n * sizeof *w + 1);
    int rc = 0;

    if (!w)
        return eddis_fail(err, -ENOMEM, "out of memory");
    for (int64_t i = 0; i < n; i++)
        w[i] = (struct wanted){ index[i], i };
    qsort(w, (size_t)n, sizeof *w, by_row);
    for (int64_t i = 0, next; i < n && rc == 0; i = next) {
        int64_t b = w[i].row / c->index.stride;

        for (next = i + 1; next < n && w[next].row / c->index.stride == b;)
            next++;
        rc = read_block(c, b, w + i, next - i, x, label, err);
    }
    return rc;
}

/* Read n samples into x and label from the store or from the text.  Block while another thread
 * reads text.  Return 0 or a negative errno, after which x and label are undefined (the CSV
 * format's dataset_ops.read).
 */
static int csv_read(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                    int32_t *label, struct eddis_error *err)
{
    struct csv *c = csv(d);
    int64_t width = d->info.n_features;
    int rc;

    if (d->info.in_memory) {
        for (int64_t i = 0; i < n; i++) {
            csv_store_get(&c->store, index[i], scale, x + i * width);
            label[i] = c->store.labels[index[i]];
        }
        return 0;
    }
    (void)pthread_mutex_lock(&c->lock);
    rc = read_blocks(c, index, n, x, label, err);
    (void)pthread_mutex_unlock(&c->lock);
    for (int64_t i = 0; rc == 0 && i < n * width; i++)
        x[i] *= scale;
    return rc;
}

/* Close the data set and free it, also if it is half-built.  The CSV format's dataset_ops.close. */
static void csv_close(struct dataset *d)
{
    struct csv *c = csv(d);

    if (c->fd >= 0)
        (void)close(c->fd);
    begin_again(c);
    (void)pthread_mutex_destroy(&c->lock);
    free(c->block);
    free(c->path);
    free(c);
}

static const struct dataset_ops csv_ops = { .read = csv_read, .close = csv_close };
