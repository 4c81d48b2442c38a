/* SPDX-License-Identifier: Apache-2.0 */
/* test_bind.c - tests of lib/topo/topo.h */
#include "lib/topo/topo.h"

#include "suite.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static const char *const bad[] = {
    "",      "x",         "0-",  "-",   "-1", "0,x", "0 1", "0;1", "0-99999999999",
    "16384", "9000-9001", "1e1", "0\n",
};

START_TEST(refused)
{
    struct eddis_error err = { 0 };
    cpu_set_t before, after;

    sched_getaffinity(0, sizeof before, &before);
    ck_assert_int_eq(topo_bind(bad[_i], &err), -EINVAL);
    ck_assert_str_ne(err.text, "");
    sched_getaffinity(0, sizeof after, &after);
    ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

START_TEST(binds)
{
    char list[64], now[256];
    struct eddis_error err = { 0 };

    ck_assert_int_eq(topo_allowed(now, sizeof now, &err), 0);
    ck_assert_msg(topo_bind(now, &err) == 0, "%s", err.text);
    snprintf(list, sizeof list, "%d", sched_getcpu());
    ck_assert_msg(topo_bind(list, &err) == 0, "%s", err.text);
    ck_assert_int_eq(topo_allowed(now, sizeof now, &err), 0);
    ck_assert_str_eq(now, list);
    /* cores that are not there are left out while one is */
    strcat(list, ",8000-8003");
    ck_assert_msg(topo_bind(list, &err) == 0, "%s", err.text);
}
END_TEST

START_TEST(no_room)
{
    char tiny[2];

    ck_assert_int_eq(topo_allowed(tiny, sizeof tiny, NULL), -ENOSPC);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, binds);
    tcase_add_test(tc, no_room);
}

SUITE_MAIN("bind", add_tests)
