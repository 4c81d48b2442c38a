/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv.c - CSV files good and bad, plain and gzipped, held in memory and read in blocks. */
#include "cmd/train/data/csv_row.h"
#include "cmd/train/data/csv_store.h"
#include "cmd/train/data/dataset.h"
#include "files.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers and rows ------------------------------------------------------------------------ */

static const struct {
    const char *text;
    enum csv_kind kind;
    double value; /* 0: too large */
} number_rows[] = {
    { "0", CSV_DIGITS, 0 },
    { "255,", CSV_DIGITS, 255 },
    { "-1.5", CSV_NUMBER, -1.5 },
    { "+2", CSV_NUMBER, 2 },
    { " 7 ,", CSV_DIGITS, 7 },
    { ".5", CSV_NUMBER, 0.5 },
    { "5.", CSV_NUMBER, 5 },
    { "1e3", CSV_NUMBER, 1000 },
    { "1.25E-2", CSV_NUMBER, 0.0125 },
    { "0.1", CSV_NUMBER, 0.1 },
    { "123456789012345", CSV_DIGITS, 123456789012345.0 },
    { "1234567890123456789", CSV_NUMBER, 1234567890123456789.0 },
    { "0.12345678901234567890", CSV_NUMBER, 0.12345678901234567890 },
    { "\"1\"", CSV_DIGITS, 1 },
    { "3.4e38", CSV_NUMBER, 3.4e38 },
    { "1e39", CSV_NUMBER, 0 },
    { "1e999", CSV_NUMBER, 0 },
    { "99999999999999999999999999999999999999999", CSV_NUMBER, 0 },
    { "12x", CSV_TEXT, 12 },
    { "1-2", CSV_TEXT, 1 },
    { "", CSV_EMPTY, 0 },
    { ",", CSV_EMPTY, 0 },
    { "-", CSV_TEXT, 0 },
    { ".", CSV_TEXT, 0 },
    { "nan", CSV_TEXT, 0 },
    { "inf", CSV_TEXT, 0 },
    { "-inf", CSV_TEXT, 0 },
    { "0x10", CSV_TEXT, 0 },
    { "-0X1p3", CSV_TEXT, 0 },
};

START_TEST(number)
{
    double v = 0;

    ck_assert_int_eq(csv_field_kind(number_rows[_i].text, ',', &v), number_rows[_i].kind);
    ck_assert(v == number_rows[_i].value);
}
END_TEST

static struct dataset *d, *blocks; /* the one that is tested, and the same read in blocks */
static struct eddis_error err;
static float x[8];
static int32_t label[3];

static void set_up(void)
{
    d = blocks = NULL;
    err = (struct eddis_error){ 0 };
}

static void tear_down(void)
{
    dataset_close(d);
    dataset_close(blocks);
}

/* The bytes are refused with a sentence that contains this. */
static void check_refused(const void *bytes, size_t n, const struct dataset_options *o,
                          const char *words)
{
    refuse_bytes(bytes, n, o, &err);
    ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
}

/* Open these bytes in the place of the data set. */
static void open_as(const char *text, const struct dataset_options *o)
{
    dataset_close(d);
    d = open_bytes(text, strlen(text), false, o);
}

/* Read samples into x and label. */
static int read_samples(const int64_t *index, int64_t n, float factor)
{
    return dataset_read(d, index, n, factor, x, label, &err);
}

/* ---- whole files ----------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int64_t n, width;
    int32_t classes;
    double min, max;
} good_rows[] = {
    { "1,2,0\n3,4,1\n", 2, 2, 2, 1, 4 },
    { "1,2,0\n3,4,1", 2, 2, 2, 1, 4 },
    { "1,2,0\r\n3,4,1\r\n", 2, 2, 2, 1, 4 },
    { "\n1,2,0\n\n\n3,4,1\n\n", 2, 2, 2, 1, 4 },
    { "a,b,label\n1,2,0\n", 1, 2, 1, 1, 2 },
    { "\xEF\xBB\xBF"
      "1,2,0\n",
      1, 2, 1, 1, 2 },
    { " 1 , -2.5 , 7 \n", 1, 2, 8, -2.5, 1 },
    { "1,65535\n", 1, 1, 65536, 1, 1 },
    { "1e-3,2.0\n", 1, 1, 3, 0.001f, 0.001f },
    { "\"1\",\"-2.5\", \"7\" \n", 1, 2, 8, -2.5, 1 },
    { "\"a, \"\"b\"\"\",\"x\",label\n\"1\",2,0\n", 1, 2, 1, 1, 2 },
};

START_TEST(good_file)
{
    const struct dataset_info *info;

    d = open_text(good_rows[_i].text, false, 0);
    info = dataset_info(d);
    ck_assert_int_eq(info->n_samples, good_rows[_i].n);
    ck_assert_int_eq(info->n_features, good_rows[_i].width);
    ck_assert_int_eq(info->n_classes, good_rows[_i].classes);
    ck_assert(info->min == good_rows[_i].min && info->max == good_rows[_i].max);
    ck_assert(info->in_memory);
}
END_TEST

static const struct {
    const char *text, *sentence;
} bad_rows[] = {
    { "", "is empty" },
    { "\n\n", "has no row" },
    { "a,b,c\n", "has no row" },
    { "1,2,0\n3,1\n", ":2: the row has 2 columns, the first has 3" },
    { "1,2,0\n3,1,2,0\n", ":2: the row has 4 columns, the first has 3" },
    { "1,2,0\n3,x,0\n", ":2: column 2 is not a number: 'x'" },
    { "1,2,0\n3,,0\n", ":2: column 2 is not a number: ''" },
    { "1,2,0\n3,4,\n", ":2: column 3 is not a number: ''" },
    { "1,2,0\n\n3,1 2,0\n", ":3: column 2 is not a number: '1 2'" },
    { "1,2,0\n3,nan,0\n", ":2: column 2 is not a number: 'nan'" },
    { "1,2,0\n3,1e99,0\n", ":2: column 2 is too large: '1e99'" },
    { "1,2,-1\n", ":1: column 3 is not a label" },
    { "1,2,1.5\n", ":1: column 3 is not a label" },
    { "1,2,65536\n", ":1: column 3 is not a label" },
    { "1\n2\n", ":1: a row has one column" },
    { "a,b,c\nd,e,f\n", ":2: column 1 is not a number: 'd'" },
    { "1 2 0\n", ":1: a row has one column" },
    { "1|2|0\n3|4|1\n", ":1: a row has one column" },
    { "1;2;0\n3;4,5;0\n3.5;4;1\n", ":3: the numbers up to here mix decimal commas and decimal" },
    { "1.000,5;2;0\n2.000,5;2;1\n", ":1: column 1 is not a number: '1.000,5'" },
    { "1,5;2;0,5\n", ":1: column 3 is not a label" },
    { "1,2,0,\n3,4,1,\n", ":1: column 4 is not a number: ''" },
    { "1,2,0\r3,4,1\r", ":1: a carriage return is within the line" },
    { "\xFF\xFE"
      "1,2,0\n",
      ":1: the text is UTF-16" },
    { "x,y,label\n1,2,0\n3,,1\n", ":3: column 2 is not a number: ''" },
    { "1,x,0\n2,3,1\n", ":1: column 2 is not a number: 'x'" },
    { "1,2,0\n3,\"4,1\n", ":2: column 2 is not a number: '\"4,1'" },
    { "1,2,0\n3,\"4\"5,1\n", ":2: column 2 is not a number: '\"4\"5'" },
    { "\"1,2,0\n3,4,1\n", ":1: a quote is not closed on this line" },
    { "a,\"b,c\n3,4,1\n", ":1: a quote is not closed on this line" },
    { "1,2,0\n3,\"\",1\n", ":2: column 2 is not a number: '\"\"'" },
    { "1,2,0\n3,\"4,5\",1\n", ":2: column 2 is not a number: '\"4,5\"'" },
};

START_TEST(bad_file)
{
    check_refused(bad_rows[_i].text, strlen(bad_rows[_i].text), NULL, bad_rows[_i].sentence);
}
END_TEST

START_TEST(binary_file)
{
    static const char idx[] = "\0\0\10\3\0\0\0\1\0\0\0\1\0\0\0\1\7";

    check_refused(idx, sizeof idx - 1, NULL, "binary");
}
END_TEST

START_TEST(no_file)
{
    struct dataset_options o = { .path = "/nonexistent/x.csv" };
    char folder[] = "/tmp/eddis-test-XXXXXX", fifo[64];

    ck_assert_int_eq(dataset_open(&o, &d, &err), -ENOENT);
    o.path = "/tmp";
    ck_assert_int_eq(dataset_open(&o, &d, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "not a regular file"));
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(fifo, sizeof fifo, "%s/x.csv", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    o.path = fifo; /* it does not wait until somebody writes */
    ck_assert_int_eq(dataset_open(&o, &d, NULL), -EINVAL);
    ck_assert_int_eq(unlink(fifo), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(label_in_front)
{
    struct dataset_options o = { .label_first = true };

    open_as("3,10,20\n1,30,40\n", &o);
    ck_assert_int_eq(read_samples((int64_t[]){ 1, 0 }, 2, 0.5f), 0);
    ck_assert(x[0] == 15 && x[1] == 20 && x[2] == 5 && x[3] == 10);
    ck_assert(label[0] == 1 && label[1] == 3);
    ck_assert_int_eq(read_samples((int64_t[]){ 2 }, 1, 1), -ERANGE);
    ck_assert_int_eq(read_samples((int64_t[]){ -1 }, 1, 1), -ERANGE);
}
END_TEST

/* ---- memory and blocks ----------------------------------------------------------------------- */

/* Rows of bytes, or of any numbers, with blank lines strewn in. */
static char *random_text(int64_t rows, int64_t width, bool bytes, uint64_t seed)
{
    size_t cap = (size_t)(rows * (width + 1) * 16) + 1;
    char *text = malloc(cap);
    size_t at = 0;

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < width; k++)
            at +=
                (size_t)(bytes ? snprintf(text + at, cap - at, "%d,", (int)random_below(&seed, 256))
                               : snprintf(text + at, cap - at, "%.4f,", random_unit(&seed)));
        at += (size_t)snprintf(text + at, cap - at, "%d\n", (int)random_below(&seed, 10));
        if (random_below(&seed, 5) == 0)
            at += (size_t)snprintf(text + at, cap - at, i % 2 ? "\n" : "\r\n");
    }
    return text;
}

/* Both give the same samples, for random batches with repeats. */
static void compare(struct dataset *a, struct dataset *b, int batches, uint64_t seed)
{
    const struct dataset_info *info = dataset_info(a);
    int64_t index[32];
    size_t bytes = 32 * (size_t)info->n_features * sizeof(float);
    float *of_a = malloc(bytes), *of_b = malloc(bytes);
    int32_t p[32], q[32];

    ck_assert_int_eq(info->n_samples, dataset_info(b)->n_samples);
    ck_assert(info->max == dataset_info(b)->max && info->min == dataset_info(b)->min);
    for (int k = 0; k < batches; k++) {
        int64_t n = (int64_t)random_below(&seed, 33);

        for (int64_t i = 0; i < n; i++)
            index[i] = (int64_t)random_below(&seed, (uint64_t)info->n_samples);
        ck_assert_int_eq(dataset_read(a, index, n, 0.25f, of_a, p, NULL), 0);
        ck_assert_int_eq(dataset_read(b, index, n, 0.25f, of_b, q, NULL), 0);
        ck_assert_mem_eq(of_a, of_b, (size_t)(n * info->n_features) * sizeof *of_a);
        ck_assert_mem_eq(p, q, (size_t)n * sizeof *p);
    }
    free(of_a);
    free(of_b);
}

START_TEST(blocks_equal_memory)
{
    char *text = random_text(300, 1 + _i * 3, _i & 1, (uint64_t)_i);

    d = open_text(text, false, 0);
    for (int gzip = 0; gzip < 2; gzip++) {
        dataset_close(blocks);
        blocks = open_text(text, gzip, 100);
        ck_assert(!dataset_info(blocks)->in_memory);
        compare(d, blocks, 20, 77);
    }
    free(text);
}
END_TEST

/* Values turn from bytes to floats in the middle, with what came before unchanged. */
START_TEST(late_fraction)
{
    open_as("7,200,1\n8,100,2\n0.5,-3,0\n", NULL);
    ck_assert_int_eq(read_samples((int64_t[]){ 0, 1, 2 }, 3, 1), 0);
    ck_assert(x[0] == 7 && x[1] == 200 && x[2] == 8 && x[3] == 100 && x[4] == 0.5f && x[5] == -3);
    ck_assert(label[0] == 1 && label[1] == 2 && label[2] == 0);
}
END_TEST

START_TEST(index_is_bounded)
{
    struct csv_index lines = { 0 };

    for (int64_t row = 0; row < 5 * CSV_INDEX_MAX + 3; row++)
        if (csv_index_add(&lines, 7 * row, NULL) != 0) /* an assertion is a system call */
            ck_abort_msg("row %d", (int)row);
    ck_assert_int_le(lines.n, CSV_INDEX_MAX);
    ck_assert_int_eq(lines.stride, 8);
    for (int64_t i = 0; i < lines.n; i++)
        if (lines.offset[i] != 7 * 8 * i)
            ck_abort_msg("offset %d is %lld", (int)i, (long long)lines.offset[i]);
    ck_assert_int_gt((lines.n + 1) * lines.stride, lines.rows - 1);
    csv_index_fini(&lines);
}
END_TEST

/* Its 570 KB are read by 256 KB. */
START_TEST(line_longer_than_the_buffer)
{
    enum { COLUMNS = 160000 };
    char *text = random_text(3, COLUMNS, true, 4);

    d = open_text(text, true, 0);
    blocks = open_text(text, false, 1);
    ck_assert_int_eq(dataset_info(d)->n_features, COLUMNS);
    compare(d, blocks, 2, 1);
    free(text);
}
END_TEST

/* ---- gzip ------------------------------------------------------------------------------------ */

START_TEST(damaged_gzip)
{
    char *text = random_text(200, 20, true, 6);
    size_t n;
    char *gz = gzipped(text, strlen(text), &n);

    for (size_t cut = 12; cut < n; cut += 1 + n / 40) {
        refuse_bytes(gz, cut, NULL, &err);
        ck_assert_msg(strstr(err.text, "truncated") || strstr(err.text, "damaged"), "%s", err.text);
    }
    gz[n / 2] = (char)(gz[n / 2] ^ 0x55);
    refuse_bytes(gz, n, NULL, &err);
    free(gz);
    free(text);
}
END_TEST

START_TEST(changed_file)
{
    char *path = write_file("1,2,0\n3,4,1\n5,6,1\n", 18);
    struct dataset_options o = { .path = path, .memory_bytes = 1 };

    ck_assert_int_eq(dataset_open(&o, &d, NULL), 0);
    ck_assert_int_eq(truncate(path, 9), 0);
    ck_assert_int_eq(read_samples((int64_t[]){ 0, 2 }, 2, 1), -EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "became shorter"));
    remove_file(path);
}
END_TEST

/* ---- the ways in which programs write a table ------------------------------------------------ */

/* Files, what their first row is, how many follow, and what is said. */
static const struct {
    const char *text;
    int64_t n, width;
    float first;
    int32_t label, classes;
    const char *header_note, *row_note;
} way_rows[] = {
    /* pandas: names that are numbers; row numbers with and without a name; semicolons */
    { "0,1,2\n0.1,0.2,0\n0.1,0.9,1\n", 2, 2, 0.1f, 0, 2, "column names", "" },
    { ",0,1,2\n0,5,7,1\n1,6,8,0\n", 2, 2, 5, 1, 2, "column names", "no name" },
    { ",0,1,label\n0,5,7,1\n1,6,8,0\n", 2, 2, 5, 1, 2, "column names", "no name" },
    { "label,0,1,2\n1,5,7,1\n0,6,8,0\n", 2, 3, 1, 1, 2, "column names", "" },
    { ",a,b,label\n0,5,7,1\n1,6,8,0\n", 2, 2, 5, 1, 2, "", "no name" },
    { "Unnamed: 0,a,label\n7,5,1\n3,6,0\n", 2, 1, 5, 1, 2, "", "Unnamed: 0" },
    { "Id,a,label\n7,5,1\n3,6,0\n", 2, 1, 5, 1, 2, "", "Id" },
    { "Id,a,label\n7.5,5,1\n3,6,0\n", 2, 2, 7.5f, 1, 2, "", "" },
    { "h;w;label\n1,5;2,25;0\n5,5;6,25;1\n", 2, 2, 1.5f, 0, 2, "", "" },
    /* R: a name less, names of rows in quotes */
    { "\"a\",\"label\"\n\"1\",5,1\n\"x, y\",6,0\n", 2, 1, 5, 1, 2, "", "row numbers" },
    { "\"\",\"a\",\"label\"\n\"1\",5,1\n\"2\",6,0\n", 2, 1, 5, 1, 2, "", "no name" },
    /* spreadsheets */
    { "sep=;\nh;label\n1,5;1\n2,5;0\n", 2, 1, 1.5f, 1, 2, "", "" },
    { "\xEF\xBB\xBFh\tw\tlabel\r\n1,5\t2\t1\r\n2,5\t3\t0\r\n", 2, 2, 1.5f, 1, 2, "", "" },
    { "1;2;0\n", 1, 2, 1, 0, 1, "", "" },
    { "1,\t2,\t0\n3,\t4,\t1\n", 2, 2, 1, 0, 2, "", "" },
    { "-,5;1\n", 1, 1, -0.5f, 1, 2, "", "" },
    { "-1,5e1;2;1\n", 1, 2, -15, 1, 2, "", "" },
    { "1x1,1x2,y\n5,6,1\n", 1, 2, 5, 1, 2, "", "" },
    { "1990,1991,y\n5,6,1\n2,3,0\n", 2, 2, 5, 1, 2, "column names", "" },
    /* rows that might pass for names */
    { "0,1,2\n1,2,1\n0,1,2\n1,2,1\n", 4, 2, 0, 2, 3, "", "" },
    { "0,1\n1,0\n", 2, 1, 0, 1, 2, "", "" },
    { "1,2,3\n4,5,6\n", 2, 2, 1, 3, 7, "", "" },
    { "1,2,3\n4.5,5,6\n", 1, 2, 4.5f, 6, 7, "column names", "" },
    /* rows that count themselves, and some that do so at first */
    { "1,5,0\n2,5,0\n3,5,0\n4,5,0\n5,5,0\n6,5,0\n7,5,0\n8,5,0\n9,5,0\n10,5,0\n", 10, 1, 5, 0, 1, "",
      "numbers the rows" },
    { "1,5,0\n2,5,0\n3,5,0\n4,5,0\n5,5,0\n6,5,0\n7,5,0\n8,5,0\n9,5,0\n", 9, 2, 1, 0, 1, "", "" },
    { "2,5,0\n3,5,0\n4,5,0\n5,5,0\n6,5,0\n7,5,0\n8,5,0\n9,5,0\n10,5,0\n11,5,0\n", 10, 2, 2, 0, 1,
      "", "" },
};

START_TEST(ways)
{
    struct dataset_options o = { .path = NULL };

    open_as(way_rows[_i].text, &o);
    ck_assert_int_eq(dataset_info(d)->n_samples, way_rows[_i].n);
    ck_assert_int_eq(dataset_info(d)->n_features, way_rows[_i].width);
    ck_assert_int_eq(dataset_info(d)->n_classes, way_rows[_i].classes);
    ck_assert_int_eq(dataset_info(d)->row_numbers, way_rows[_i].row_note[0] != 0);
    ck_assert_int_eq(!way_rows[_i].header_note[0], !dataset_info(d)->header_note[0]);
    ck_assert_int_eq(!way_rows[_i].row_note[0], !dataset_info(d)->row_note[0]);
    ck_assert_ptr_nonnull(strstr(dataset_info(d)->header_note, way_rows[_i].header_note));
    ck_assert_ptr_nonnull(strstr(dataset_info(d)->row_note, way_rows[_i].row_note));
    ck_assert_int_eq(read_samples((int64_t[]){ 0 }, 1, 1), 0);
    ck_assert(x[0] == way_rows[_i].first);
    ck_assert_int_eq(label[0], way_rows[_i].label);
}
END_TEST

/* What the caller says is not decided by the file. */
START_TEST(said)
{
    struct dataset_options o = { .header = DATASET_NO };

    open_as("0,1,2\n5,6,1\n", &o);
    ck_assert_int_eq(dataset_info(d)->n_samples, 2);
    o = (struct dataset_options){ .row_numbers = DATASET_NO };
    open_as(",0,1,2\n0,5,7,1\n1,6,8,0\n", &o);
    ck_assert_int_eq(dataset_info(d)->n_features, 3);
    o = (struct dataset_options){ .row_numbers = DATASET_YES, .header = DATASET_YES };
    open_as("1,2,3\n4,5,6\n", &o);
    ck_assert_int_eq(dataset_info(d)->n_features, 1);
    ck_assert_int_eq(dataset_info(d)->n_samples, 1);
    ck_assert_str_eq(dataset_info(d)->row_note, "");
    o = (struct dataset_options){ .row_numbers = DATASET_YES };
    check_refused("1,2\n3,4\n", 8, &o, "a row has no feature");
}
END_TEST

/* ---- labels of text -------------------------------------------------------------------------- */

static const struct {
    const char *text, *names; /* names: in their order */
    int32_t first;            /* label of the first row */
} text_rows[] = {
    { "a,b,kind\n1,2,rose\n3,4,aster\n5,6,rose\n", "aster|rose|", 1 },
    { "1,2,rose\n3,4,aster\n", "aster|rose|", 1 },
    { "1,2, \"rose, red\" \n3,4,\"a \"\"b\"\"\"\n", "a \"b\"|rose, red|", 1 },
    { "1;2,5;rose\n3;4;aster\n", "aster|rose|", 1 },
    { "1,2,x;y\n3,4,x;z\n", "x;y|x;z|", 0 },
    { "0,1,2,kind\n5,6,7,b\n8,9,7,a\n", "a|b|", 1 },
    { "Id,a,Kind\n1,5,\xc3\xa9\n2,6,z\n", "z|\xc3\xa9|", 1 },
    { "1,b\n", "b|", 0 },
    { "1,True\n2,False\n", "False|True|", 1 },
};

START_TEST(text_labels)
{
    const struct dataset_info *info;
    struct strbuf b = { 0 };

    d = open_text(text_rows[_i].text, false, 0);
    blocks = open_text(text_rows[_i].text, true, 1);
    info = dataset_info(d);
    for (int32_t i = 0; i < info->n_classes; i++)
        strbuf_addf(&b, "%s|", info->class_names[i]);
    ck_assert_str_eq(strbuf_text(&b), text_rows[_i].names);
    ck_assert_int_eq(read_samples((int64_t[]){ 0 }, 1, 1), 0);
    ck_assert_int_eq(label[0], text_rows[_i].first);
    compare(d, blocks, 5, 3);
    strbuf_fini(&b);
}
END_TEST

static const struct {
    const char *text, *sentence;
} bad_text_rows[] = {
    { "1,2,rose\n3,4,\n", ":2: column 3 is not a label: ''" },
    { "1,2,rose\n3,4,NA\n", ":2: column 3 is not a label: 'NA'" },
    { "a,b,c\n1,2,rose\n3,4,1\n", ":2: column 3 is not a number: 'rose'" },
    { "1,2,\xe9t\xe9\n", ":1: label '?t?' is not plain text in UTF-8" },
    { "1,2,a\033[2Jb\n", "is not plain text" },
    { "3,4,1\n1,2,rose\n", ":2: column 3 is not a number: 'rose'" },
    { "9,4,kind\n1,2,b\n1,2,b\n1,2,b\n1,2,b\n1,2,b\n1,2,b\n1,2,b\n1,2,b\n1,2,b\n",
      ":1: no other row has the label 'kind'" },
};

START_TEST(bad_text_labels)
{
    check_refused(bad_text_rows[_i].text, strlen(bad_text_rows[_i].text), NULL,
                  bad_text_rows[_i].sentence);
}
END_TEST

/* A number behind the rows that are looked at first, and more labels than there may be. */
START_TEST(late_labels)
{
    struct strbuf b = { 0 };

    for (int i = 0; i < 200; i++)
        strbuf_addf(&b, "0.5,%c\n", i % 2 ? 'a' : 'b');
    strbuf_add(&b, "0.5,7\n");
    check_refused(strbuf_text(&b), b.len, NULL,
                  ":201: column 2 is a number, where other labels are text");
    strbuf_fini(&b);
    for (int i = 0; i < 5000; i++)
        strbuf_addf(&b, "0.5,n%d\n", i);
    check_refused(strbuf_text(&b), b.len, NULL, ":4097: label 'n4096' is the 4097th");
    strbuf_fini(&b);
}
END_TEST

/* Another file's labels are taken as they are, and no others. */
START_TEST(given_labels)
{
    static const char *const names[] = { "aster", "lily", "rose" };
    struct dataset_options o = { .class_names = names, .n_class_names = 3 };

    open_as("1,rose\n2,aster\n", &o);
    ck_assert_int_eq(dataset_info(d)->n_classes, 3);
    ck_assert_int_eq(read_samples((int64_t[]){ 0, 1 }, 2, 1), 0);
    ck_assert(label[0] == 2 && label[1] == 0);
    check_refused("1,rose\n2,tulip\n", 15, &o, ":2: label 'tulip' is not one of the labels");
}
END_TEST

START_TEST(factors)
{
    const float factor[] = { 0.125f, 0.5f };

    open_as("-8,2,0\n4,1,1\n", NULL);
    ck_assert(dataset_info(d)->column_min[0] == -8 && dataset_info(d)->column_max[0] == 4);
    ck_assert(dataset_info(d)->column_min[1] == 1 && dataset_info(d)->column_max[1] == 2);
    dataset_set_factors(d, factor);
    ck_assert_int_eq(read_samples((int64_t[]){ 0 }, 1, 1), 0);
    ck_assert(x[0] == -1 && x[1] == 1);
}
END_TEST

/* Write a table of `rows` numbers in the way that the bits of `way` say. */
static char *write_way(const int *v, int64_t rows, int64_t width, unsigned way)
{
    const char *separator = (const char *[]){ ",", ";", "\t", ";" }[way % 4];
    char point = way % 4 == 3 ? ',' : '.';
    bool names = way & 4, numbers = way & 8, returns = way & 16, quoted = way & 32;
    struct strbuf b = { 0 };

    if (way & 64)
        strbuf_add(&b, "\xEF\xBB\xBF");
    for (int64_t k = -(int64_t)numbers; names && k <= width; k++) {
        if (k >= 0)
            strbuf_addf(&b, "c%d", (int)k);
        strbuf_add(&b, k < width ? separator : "\n");
    }
    for (int64_t i = 0; i < rows; i++) {
        if (numbers)
            strbuf_addf(&b, "%d%s", (int)i, separator);
        for (int64_t k = 0; k < width; k++)
            strbuf_addf(&b, quoted ? "\"%d%c%02d\"%s" : "%d%c%02d%s", v[i * width + k] / 100, point,
                        v[i * width + k] % 100, separator);
        strbuf_addf(&b, "%d%s", (int)i % 3, returns ? "\r\n" : "\n");
    }
    return strbuf_steal(&b);
}

/* However a table is written, from memory or in blocks, it is the same one. */
START_TEST(every_way)
{
    enum { ROWS = 150 };
    int64_t width = _i % 2 ? 3 : 2000;
    uint64_t seed = (uint64_t)_i;
    int *v = malloc((size_t)(ROWS * width) * sizeof *v);
    char *text;

    for (int64_t i = 0; i < ROWS * width; i++)
        v[i] = (int)random_below(&seed, 100000);
    text = write_way(v, ROWS, width, 0);
    d = open_text(text, false, 0);
    for (unsigned way = 1; way < 128; way += _i % 2 ? 1 : 31) {
        char *other = write_way(v, ROWS, width, way);

        dataset_close(blocks);
        blocks = open_text(other, false, way % 3 ? 0 : 100);
        ck_assert_int_eq(dataset_info(blocks)->n_features, width);
        compare(d, blocks, 2, way);
        free(other);
    }
    free(text);
    free(v);
}
END_TEST

/* Rows beyond those that were looked at at first stop counting themselves: they are numbers. */
START_TEST(stops_counting)
{
    for (int stop = 9; stop < 300; stop += 97) {
        struct strbuf b = { 0 };

        for (int i = 0; i < 300; i++)
            strbuf_addf(&b, "%d,5,%d\n", i == stop ? 7 : i, i % 2);
        dataset_close(d);
        d = open_text(strbuf_text(&b), false, stop % 2 ? 0 : 100);
        ck_assert_int_eq(dataset_info(d)->n_features, 2);
        ck_assert_int_eq(dataset_info(d)->n_samples, 300);
        ck_assert_str_eq(dataset_info(d)->row_note, "");
        ck_assert_int_eq(read_samples((int64_t[]){ 299 }, 1, 1), 0);
        ck_assert(x[0] == 299 && x[1] == 5 && label[0] == 1);
        strbuf_fini(&b);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, number, 0, sizeof number_rows / sizeof *number_rows);
    tcase_add_loop_test(tc, good_file, 0, sizeof good_rows / sizeof *good_rows);
    tcase_add_loop_test(tc, bad_file, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, binary_file);
    tcase_add_test(tc, no_file);
    tcase_add_test(tc, label_in_front);
    tcase_add_loop_test(tc, blocks_equal_memory, 0, 6);
    tcase_add_test(tc, late_fraction);
    tcase_add_test(tc, index_is_bounded);
    tcase_add_test(tc, line_longer_than_the_buffer);
    tcase_add_test(tc, damaged_gzip);
    tcase_add_test(tc, changed_file);
    tcase_add_loop_test(tc, ways, 0, sizeof way_rows / sizeof *way_rows);
    tcase_add_test(tc, said);
    tcase_add_loop_test(tc, text_labels, 0, sizeof text_rows / sizeof *text_rows);
    tcase_add_loop_test(tc, bad_text_labels, 0, sizeof bad_text_rows / sizeof *bad_text_rows);
    tcase_add_test(tc, late_labels);
    tcase_add_test(tc, given_labels);
    tcase_add_test(tc, factors);
    tcase_add_loop_test(tc, every_way, 0, 2);
    tcase_add_test(tc, stops_counting);
}

SUITE_MAIN("csv", add_tests)
