/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - tests of cmd/shared/table.h */
#include "cmd/shared/table.h"

#include "suite.h"

static const struct table_column columns[] = { { "name", false },
                                               { "n", true },
                                               { "note", false } };

static void check_text(const struct table *t, int indent, const char *want)
{
    struct strbuf text = { 0 };

    table_print(t, indent, &text);
    ck_assert_str_eq(strbuf_text(&text), want);
    strbuf_fini(&text);
}

START_TEST(aligned)
{
    struct table t = { .column = columns, .n_columns = 3 };

    table_add(&t, "a");
    table_add(&t, "%d", 1000);
    table_add(&t, "x");
    table_add(&t, "\xc3\xa9\xc3\xa9\xc3\xa9t\xc3\xa9"); /* five characters in nine bytes */
    table_add(&t, "%d", 7);
    table_add(&t, "%s", "");
    check_text(&t, 2,
               "  name      n  note\n"
               "  a      1000  x\n"
               "  \xc3\xa9\xc3\xa9\xc3\xa9t\xc3\xa9     7\n");
    table_fini(&t);
}
END_TEST

START_TEST(fitted)
{
    static const char *const drop[] = { "n", "name" };
    struct table t = { .column = columns, .n_columns = 3 };

    table_add(&t, "abc");
    table_add(&t, "%d", 1000);
    table_add(&t, "x");
    table_fit(&t, 1, 17, drop, 2);
    check_text(&t, 1, " name     n  note\n abc   1000  x\n");
    table_fit(&t, 1, 16, drop, 2);
    check_text(&t, 1, " name  note\n abc   x\n");
    table_fit(&t, 1, 2, drop, 2);
    check_text(&t, 1, " note\n x\n");
    table_fini(&t);
}
END_TEST

START_TEST(foreign)
{
    struct table t = { .column = columns, .n_columns = 1 };

    table_add(&t, "%s", "a\033[2J\nb");
    check_text(&t, 0, "name\na?[2J?b\n");
    table_fini(&t);
}
END_TEST

START_TEST(empty_and_long)
{
    struct table t = { .column = columns, .n_columns = 3 };

    check_text(&t, 0, "name  n  note\n");
    for (int i = 0; i < 3000; i++)
        table_add(&t, "%d", i);
    ck_assert_uint_eq(t.cell.n, 3000);
    ck_assert(!t.cell.failed);
    table_fini(&t);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, aligned);
    tcase_add_test(tc, fitted);
    tcase_add_test(tc, foreign);
    tcase_add_test(tc, empty_and_long);
}

SUITE_MAIN("table", add_tests)
