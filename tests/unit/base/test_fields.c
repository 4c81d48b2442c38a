/* SPDX-License-Identifier: Apache-2.0 */
/* test_fields.c - tests of lib/base/fields.h: structs in structs, arrays and alternatives
 *
 * The linker sends calloc and strdup here (--wrap), to let one of them fail.
 */
#include "lib/base/fields.h"

#include "lib/base/cleanup.h"
#include "suite.h"
#include "tests/unit/allocations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

WRAP_CALLOC
WRAP_STRDUP

struct point {
    int x, y;
};

struct named {
    char name[8];
    char *text;
};

enum shape { DOT, LINE, NOTHING };

struct drawing {
    struct point origin, size, corner[2];
    int64_t scaled; /* 0: no `scale` */
    struct point scale;
    struct point *hidden;
    struct named label[3], slot[3], *layer;
    int n_labels, n_layers;
    uint16_t order[4];
    int n_order, *group, n_groups;
    enum shape shape;
    int dot_px, line_px;
    char **line_words;
};

static const struct field point_fields[] = {
    FIELD(struct point, x, INT, 0, 9),
    FIELD(struct point, y, INT, 0, 9),
};

/* Refuse the point (9, 9). */
static int check_point(const void *point, struct eddis_error *err)
{
    const struct point *p = point;

    return p->x + p->y < 18 ? 0 : eddis_fail(err, -EINVAL, "too far");
}

static const struct fields point_table = FIELDS(struct point, point_fields, .check = check_point);
static const struct fields open_table =
    FIELDS(struct point, point_fields, .open = true, .name = "the hidden point");

static const struct field named_fields[] = {
    FIELD(struct named, name, TEXT, 0, 0),
    FIELD(struct named, text, BYTES, 0, 0),
};
static const struct fields label_table = FIELDS(struct named, named_fields, .name = "label");
static const struct fields named_table = FIELDS(struct named, named_fields);

static const char *const shape_names[] = { "dot", "line", "nothing" };
static const struct field dot_fields[] = { FIELD(struct drawing, dot_px, INT, 1, 9) };
static const struct field line_fields[] = {
    FIELD(struct drawing, line_px, INT, 1, 9),
    FIELD(struct drawing, line_words, LIST, 0, 0),
};
static const struct fields shape_tables[] = {
    [DOT] = FIELDS(struct drawing, dot_fields),
    [LINE] = FIELDS(struct drawing, line_fields),
    [NOTHING] = { .n = 0 },
};

static const struct field drawing_fields[] = {
    FIELD_STRUCT("origin", struct drawing, origin, point_table),
    FIELD_INLINE("size_", struct drawing, size, point_table),
    FIELD_ALL("corner", struct drawing, corner, point_table),
    FIELD_STRUCT_IF("scale", struct drawing, scale, scaled, point_table),
    FIELD_POINTER("hidden", struct drawing, hidden, open_table),
    FIELD_ARRAY("label", struct drawing, label, n_labels, label_table),
    FIELD_SLOTS("slot", struct drawing, slot, named_table),
    FIELD_OWNED("layer", struct drawing, layer, n_layers, 4, named_table),
    FIELD_NUMBERS(struct drawing, order, ARRAY, "order", n_order, 4, "order # is no number"),
    FIELD_NUMBERS(struct drawing, group, OWNED, "group", n_groups, 4, "group # is no number"),
    FIELD_ROW(struct drawing, shape, ENUM, .max = 3, .names = shape_names,
              .wrong = "no shape is called '#'"),
    FIELD_UNION(struct drawing, shape, shape_tables),
};
static const struct fields drawing_table = FIELDS(struct drawing, drawing_fields);

static const char full[] =
    "{\"corner\":[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4}],\"group\":[2,2147483647],"
    "\"hidden\":{\"x\":5,\"y\":6},\"label\":[{\"name\":\"a\",\"text\":\"t\"},"
    "{\"name\":\"b\",\"text\":{\"hex\":\"ff\"}}],\"layer\":[{\"name\":\"c\",\"text\":\"u\"}],"
    "\"line_px\":2,\"line_words\":[\"v\",\"w\"],\"order\":[3,65535,0],"
    "\"origin\":{\"x\":7,\"y\":8},\"scale\":{\"x\":0,\"y\":1},\"shape\":\"line\","
    "\"size_x\":2,\"size_y\":3,\"slot\":[{\"name\":\"d\",\"text\":\"\"}]}";

static const char little[] =
    "{\"corner\":[{\"x\":0,\"y\":0},{\"x\":0,\"y\":0}],\"group\":[],\"hidden\":null,\"label\":[],"
    "\"layer\":[],\"order\":[],\"origin\":{\"x\":0,\"y\":0},\"shape\":\"nothing\","
    "\"size_x\":0,\"size_y\":0,\"slot\":[]}";

START_TEST(there_and_back)
{
    struct drawing d, none = { .shape = NOTHING };
    cleanup_free char *text = NULL, *other = NULL;

    ck_assert_int_eq(fields_parse(&drawing_table, full, sizeof full - 1, "d", &d, NULL), 0);
    ck_assert(d.origin.y == 8 && d.size.x == 2 && d.corner[1].x == 3 && d.hidden->y == 6);
    ck_assert(d.n_labels == 2 && d.n_layers == 1 && d.n_order == 3 && d.n_groups == 2);
    ck_assert(d.order[1] == 65535 && d.group[1] == INT32_MAX && d.line_px == 2 && !d.dot_px);
    ck_assert_str_eq(d.label[1].text, "\xff");
    ck_assert_str_eq(d.layer[0].name, "c");
    ck_assert_str_eq(d.line_words[1], "w");
    d.scaled = 1;
    text = fields_text(&drawing_table, &d);
    ck_assert_str_eq(text, full);
    fields_free(&drawing_table, &d);
    ck_assert(!d.hidden && !d.label[0].text && !d.layer && !d.group && !d.line_words);
    fields_free(&drawing_table, &d);

    other = fields_text(&drawing_table, &none);
    ck_assert_str_eq(other, little);
    ck_assert_int_eq(fields_parse(&drawing_table, little, sizeof little - 1, "d", &d, NULL), 0);
    ck_assert(!d.hidden && !d.layer && !d.group);
}
END_TEST

/* One change to `full`, and the message about it; NULL: none */
static const struct {
    const char *from, *to, *message;
} wrong_rows[] = {
    { "\"hidden\":{\"x\":5", "\"hidden\":{\"new\":1,\"x\":5", NULL },
    { "\"scale\":{\"x\":0,\"y\":1},", "", NULL },
    { "\"origin\":{\"x\":7,\"y\":8},", "", "d: member \"origin\" is missing" },
    { "{\"x\":7,\"y\":8}", "[]", "d: member \"origin\" is not an object" },
    { "\"x\":7,", "", "d: member \"x\" is missing" },
    { "\"x\":7,", "\"x\":7,\"z\":1,", "d: there are 3 members, but only 2 are known" },
    { "\"x\":7,\"y\":8", "\"x\":9,\"y\":9", "d: too far" },
    { "\"size_x\":2,\"size_y\":3", "\"size_x\":9,\"size_y\":9", "d: too far" },
    { "\"size_y\":3", "\"size_y\":10", "d: member \"size_y\" is not a whole number from 0 to 9" },
    { "\"scale\":{", "\"scale\":null,\"s\":{", "d: member \"scale\" is not an object" },
    { "\"hidden\":{\"x\":5", "\"hidden\":{\"x\":\"5\"",
      "d: the hidden point: member \"x\" is not a whole number from 0 to 9" },
    { "\"hidden\":{\"x\":5,\"y\":6}", "\"hidden\":1", "d: the hidden point is not a JSON object" },
    { ",{\"x\":3,\"y\":4}]", "]", "d: there are 1 rows instead of 2" },
    { "[{\"x\":1,", "[{},{\"x\":1,", "d: member \"corner\" is not a list of at most 2 items" },
    { "\"name\":\"b\"", "\"name\":7", "d: label 1: member \"name\" is not a string" },
    { "\"name\":\"b\"", "\"nom\":\"b\"", "d: label 1: member \"name\" is missing" },
    { "{\"name\":\"c\",\"text\":\"u\"}", "7", "d: member \"name\" is missing" },
    { "\"layer\":[", "\"layer\":[7,7,7,7,",
      "d: member \"layer\" is not a list of at most 4 items" },
    { "65535", "65536", "d: order 1 is no number" },
    { "2147483647", "2147483648", "d: group 1 is no number" },
    { "[3,", "[\"3\",", "d: order 0 is no number" },
    { "\"order\":[3", "\"order\":[0,0,3", "d: member \"order\" is not a list of at most 4 items" },
    { "\"line\"", "\"circle\"", "d: no shape is called 'circle'" },
    { "\"line\"", "\"dot\"", "d: member \"dot_px\" is missing" },
    { "\"line\"", "\"nothing\"", "d: there are 14 members, but only 12 are known" },
    { "\"line_px\":2", "\"line_px\":0", "d: member \"line_px\" is not a whole number from 1 to 9" },
    { "\"w\"", "5", "d: item 1 of \"line_words\" is not a string" },
};

START_TEST(wrong)
{
    const char *at = strstr(full, wrong_rows[_i].from), *message = wrong_rows[_i].message;
    struct eddis_error err = { 0 };
    struct drawing d = { .scaled = 0 };
    char text[2 * sizeof full];
    int rc;

    ck_assert_ptr_nonnull(at);
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - full), full, wrong_rows[_i].to,
                   at + strlen(wrong_rows[_i].from));
    rc = fields_parse(&drawing_table, text, strlen(text), "d", &d, &err);
    fields_free(&drawing_table, &d);
    ck_assert_int_eq(rc, message ? -EINVAL : 0);
    ck_assert_str_eq(err.text, message ? message : "");
}
END_TEST

START_TEST(no_memory)
{
    struct eddis_error err = { 0 };
    struct drawing d;
    int rc = -ENOMEM;
    long n = 0;

    while (rc < 0) {
        memset(&d, 0, sizeof d);
        countdown = ++n;
        rc = fields_parse(&drawing_table, full, sizeof full - 1, "d", &d, &err);
        countdown = 0;
        if (n == 1)
            ck_assert_str_eq(err.text, "no memory for the d");
        if (n == 2)
            ck_assert_str_eq(err.text, "d: no memory for \"hidden\"");
        fields_free(&drawing_table, &d);
    }
    ck_assert_int_gt(n, 8);
}
END_TEST

START_TEST(keys)
{
    size_t n = drawing_table.n;

    ck_assert(fields_have(drawing_fields, n, "origin") && fields_have(drawing_fields, n, "size_y"));
    ck_assert(!fields_have(drawing_fields, n, "x") && !fields_have(drawing_fields, n, "size_"));
}
END_TEST

struct path {
    struct point at[2];
    int n;
};
static const struct field path_fields[] = {
    FIELD_ARRAY_IF("at", struct path, at, n, point_table),
};
static const struct fields path_table = FIELDS(struct path, path_fields);

/* A list that may be absent is so if it is empty. */
START_TEST(absent_list)
{
    static const char *const texts[] = { "{}", "{\"at\":[{\"x\":1,\"y\":2}]}" };
    static const char many[] = "{\"at\":[{\"x\":1,\"y\":2},{\"x\":1,\"y\":2},{\"x\":1,\"y\":2}]}";
    struct path l = { .n = 2 };

    for (int n = 0; n < 2; n++) {
        char *text;

        ck_assert_int_eq(fields_parse(&path_table, texts[n], strlen(texts[n]), "l", &l, NULL), 0);
        ck_assert_int_eq(l.n, n);
        text = fields_text(&path_table, &l);
        ck_assert_str_eq(text, texts[n]);
        free(text);
    }
    ck_assert_int_eq(l.at[0].y, 2);
    ck_assert_int_eq(fields_parse(&path_table, many, sizeof many - 1, "l", &l, NULL), -EINVAL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, absent_list);
    tcase_add_loop_test(tc, wrong, 0, sizeof wrong_rows / sizeof *wrong_rows);
    tcase_add_test(tc, no_memory);
    tcase_add_test(tc, keys);
}

SUITE_MAIN("fields", add_tests)
