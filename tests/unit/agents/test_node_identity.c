/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_identity.c - tests of agents/protocol/node_identity.h */
#include "agents/protocol/node_identity.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <string.h>

static const char digits[] = "0123456789abcdef00112233445566ff";

START_TEST(names)
{
    struct node_identity id;

    ck_assert(node_identity_read(digits, &id));
    ck_assert_str_eq(id.mark, digits);
    ck_assert_str_eq(id.cgroup, "eddis-0123456789abcdef00112233445566ff");
    ck_assert(node_identity_is_cgroup(id.cgroup));
    ck_assert(!node_identity_is_cgroup("eddis-0123456789abcdef"));
    ck_assert(!node_identity_is_cgroup(id.mark));
}
END_TEST

static const char *const bad_rows[] = {
    "",
    "0123456789abcdef00112233445566f",
    "0123456789abcdef00112233445566fff",
    "0123456789ABCDEF00112233445566FF",
    "eddis-0123456789abcdef00112233445",
};

START_TEST(refused)
{
    struct node_identity id = { .mark = "kept" };

    ck_assert(!node_identity_read(bad_rows[_i], &id));
    ck_assert(!node_identity_is_mark(bad_rows[_i]));
    ck_assert(!node_identity_is_cgroup(bad_rows[_i]));
    ck_assert_str_eq(id.mark, "kept");
}
END_TEST

START_TEST(unlike)
{
    struct node_identity a, b;

    ck_assert_int_eq(node_identity_make(&a, NULL), 0);
    ck_assert_int_eq(node_identity_make(&b, NULL), 0);
    ck_assert(node_identity_is_mark(a.mark));
    ck_assert_str_ne(a.mark, b.mark);
}
END_TEST

/* Nodes that are started together make their identities of one and their names. */
START_TEST(of_names)
{
    struct node_identity all, a, b, again;

    ck_assert(node_identity_read("0123456789ab00000000000000000002", &all));
    a = b = all;
    node_identity_name(&a, "n0");
    node_identity_name(&b, "n1");
    ck_assert(node_identity_is_mark(a.mark));
    ck_assert(strncmp(a.mark, all.mark, 12) == 0);
    ck_assert_str_eq(a.mark + NODE_IDENTITY_NODE, "00000002");
    ck_assert_str_ne(a.mark, b.mark);
    ck_assert_str_eq(a.cgroup + strlen("eddis-"), a.mark);
    again = b;
    node_identity_name(&again, "n0");
    ck_assert_str_eq(again.mark, a.mark);
    node_identity_unname(&again);
    ck_assert_str_eq(again.mark, all.mark);
    ck_assert_int_eq(node_identity_next(&a, NULL), 0);
    node_identity_unname(&a);
    ck_assert_str_eq(a.mark, "0123456789ab00000000000000000003");
}
END_TEST

START_TEST(starts)
{
    struct node_identity first, id, before;

    ck_assert_int_eq(node_identity_make(&first, NULL), 0);
    ck_assert_str_eq(first.mark + NODE_IDENTITY_NODE, "00000001");
    ck_assert(!node_identity_before(&first, &before));
    id = first;
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(node_identity_next(&id, NULL), 0);
    ck_assert_str_eq(id.mark + NODE_IDENTITY_NODE, "00000011");
    ck_assert_int_eq(strncmp(id.mark, first.mark, NODE_IDENTITY_NODE), 0);
    ck_assert(node_identity_before(&id, &before));
    ck_assert_str_eq(before.mark + NODE_IDENTITY_NODE, "00000010");
    ck_assert_str_eq(before.cgroup + strlen("eddis-"), before.mark);
    ck_assert(node_identity_read("0123456789abcdef00112233ffffffff", &id));
    ck_assert_int_eq(node_identity_next(&id, NULL), -ERANGE);
}
END_TEST

#define NODE "0123456789abcdef00112233"

static const struct {
    const char *text;
    bool covered;
} covered_rows[] = {
    { NODE "00000001", true },
    { NODE "0000000f", true },
    { NODE "00000010", true },
    { NODE "00000011", false },
    { NODE "f0000000", false },
    { "0123456789abcdef0011223400000001", false }, /* another node's */
    { NODE "0000001", false },
    { NODE "00000001 ", false },
    { "", false },
};

START_TEST(covered)
{
    struct node_identity id;

    ck_assert(node_identity_read(NODE "00000010", &id));
    ck_assert_int_eq(node_identity_covers(&id, 1, covered_rows[_i].text), covered_rows[_i].covered);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, names);
    tcase_add_loop_test(tc, refused, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, unlike);
    tcase_add_test(tc, of_names);
    tcase_add_test(tc, starts);
    tcase_add_loop_test(tc, covered, 0, sizeof covered_rows / sizeof *covered_rows);
}

SUITE_MAIN("node_identity", add_tests)
