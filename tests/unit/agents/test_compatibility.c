/* SPDX-License-Identifier: Apache-2.0 */
/* test_compatibility.c - tests of agents/driver/nodes/compatibility.h */
#include "agents/driver/nodes/compatibility.h"

#include "suite.h"

#include <errno.h>
#include <string.h>

static const struct {
    struct versions a, b;
    const char *sentence; /* NULL: they agree */
} rows[] = {
    { { "c01", 2, "0.1.0", "Open MPI 4.1.4" }, { "c02", 2, "0.1.0", "Open MPI 4.1.4" }, NULL },
    { { "c01", 2, "0.2.0", "" },
      { "login1", 2, "0.1.0", "" },
      "c01 has eddis 0.2.0 and login1 has eddis 0.1.0; install one version on both" },
    { { "c01", 2, "0.1.0", "Open MPI 4.1.4" },
      { "c02", 2, "0.1.0", "Open MPI 5.0.2" },
      "c01 has Open MPI 4.1.4 and c02 has Open MPI 5.0.2; install one version on both" },
    { { "c01", 2, "0.1.0", "Open MPI 4.1.4" },
      { "c02", 2, "0.1.0", "Open MPI 4.1.5" },
      "c01 has Open MPI 4.1.4 and c02 has Open MPI 4.1.5; install one version on both" },
    { { "c01", 3, "0.1.0", "" },
      { "c02", 2, "0.1.0", "" },
      "c01 has eddis with protocol 3 and c02 has eddis with protocol 2; install one version on "
      "both" },
    /* the one that explains the others comes first */
    { { "c01", 3, "0.2.0", "Open MPI 4.1.4" },
      { "c02", 2, "0.1.0", "Open MPI 5.0.2" },
      "c01 has eddis 0.2.0 and c02 has eddis 0.1.0; install one version on both" },
    /* what is unknown is no reason */
    { { "c01", 2, "0.1.0", "" }, { "c02", 2, "0.1.0", "Open MPI 4.1.4" }, NULL },
    { { "c01", 0, "", "" }, { "c02", 2, "0.1.0", "Open MPI 4.1.4" }, NULL },
    /* a node does not write on the terminal */
    { { "c\033[31m", 2, "0.1.0\007", "" },
      { "c02", 2, "0.1.0", "" },
      "c?[31m has eddis 0.1.0? and c02 has eddis 0.1.0; install one version on both" },
};

START_TEST(row)
{
    struct eddis_error err = { 0 };
    int rc = compatibility_check(&rows[_i].a, &rows[_i].b, &err);

    ck_assert_int_eq(rc, rows[_i].sentence ? -EPROTO : 0);
    ck_assert_str_eq(err.text, rows[_i].sentence ? rows[_i].sentence : "");
    ck_assert_int_eq(compatibility_check(&rows[_i].b, &rows[_i].a, NULL), rc);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, row, 0, sizeof rows / sizeof *rows);
}

SUITE_MAIN("versions", add_tests)
