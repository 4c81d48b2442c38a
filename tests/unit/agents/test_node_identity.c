/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_identity.c - the names of a start are those that other versions of eddis look for */
#include "agents/protocol/node_identity.h"
#include "tests/unit/suite.h"

#include <string.h>

static const char digits[] = "0123456789abcdef00112233445566ff";

START_TEST(names)
{
    struct node_identity id;

    ck_assert(node_identity_read(digits, &id));
    ck_assert_str_eq(id.digits, digits);
    ck_assert_str_eq(id.mark, digits);
    ck_assert_str_eq(id.revive_key, digits);
    ck_assert_str_eq(id.cleanup_key, digits);
    ck_assert_str_eq(id.run_folder, "eddis-0123456789abcdef");
    ck_assert_str_eq(id.shm_folder, "eddis-00112233445566ff");
    ck_assert_str_eq(id.cgroup, "eddis-0123456789abcdef00112233445566ff");
    ck_assert(node_identity_is_folder(id.run_folder) && node_identity_is_folder(id.shm_folder));
    ck_assert(node_identity_is_cgroup(id.cgroup));
    ck_assert(!node_identity_is_folder(id.cgroup) && !node_identity_is_cgroup(id.run_folder));
}
END_TEST

START_TEST(places)
{
    struct node_identity id;
    char run[NODE_IDENTITY_PATH], shm[NODE_IDENTITY_PATH];

    ck_assert(node_identity_read(digits, &id));
    node_identity_places(&id, "/no/such/folder", run, shm);
    ck_assert_str_eq(run, "/tmp/eddis-0123456789abcdef");
    ck_assert_ptr_nonnull(strstr(shm, "/eddis-00112233445566ff"));
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
    ck_assert(!node_identity_is_digits(bad_rows[_i]));
    ck_assert(!node_identity_is_folder(bad_rows[_i]) && !node_identity_is_cgroup(bad_rows[_i]));
    ck_assert_str_eq(id.mark, "kept");
}
END_TEST

START_TEST(unlike)
{
    struct node_identity a, b;

    ck_assert_int_eq(node_identity_make(&a, NULL), 0);
    ck_assert_int_eq(node_identity_make(&b, NULL), 0);
    ck_assert(node_identity_is_digits(a.digits));
    ck_assert_str_ne(a.digits, b.digits);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, names);
    tcase_add_test(tc, places);
    tcase_add_loop_test(tc, refused, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, unlike);
}

SUITE_MAIN("node_identity", add_tests)
