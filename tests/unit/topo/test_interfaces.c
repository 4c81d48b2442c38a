/* SPDX-License-Identifier: Apache-2.0 */
/* test_interfaces.c - tests of lib/topo/interfaces.h */
#include "lib/topo/interfaces.h"

#include "suite.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

START_TEST(this_machine)
{
    struct interface list[256], few[1];
    int n = interfaces_list(list, 256, NULL);
    bool loopback = false;

    ck_assert_int_ge(n, 0);
    for (int i = 0; i < n; i++) {
        unsigned char bytes[16];
        int six = strchr(list[i].address, ':') != NULL;

        ck_assert_int_eq(inet_pton(six ? AF_INET6 : AF_INET, list[i].address, bytes), 1);
        ck_assert_uint_ne(if_nametoindex(list[i].name), 0);
        ck_assert_int_ge(list[i].prefix, 0);
        ck_assert_int_le(list[i].prefix, six ? 128 : 32);
        ck_assert_int_ge(list[i].speed_mbit, 0);
        if (strcmp(list[i].address, "127.0.0.1") == 0) {
            ck_assert(list[i].loopback && !list[i].is_virtual);
            ck_assert_int_eq(list[i].prefix, 8);
            loopback = true;
        }
    }
    if (!loopback)
        puts("SKIP this_machine: 127.0.0.1 is not there");
    ck_assert_int_eq(interfaces_list(few, 1, NULL), n < 1 ? n : 1);
    ck_assert_int_eq(interfaces_list(few, 0, NULL), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, this_machine);
}

SUITE_MAIN("interfaces", add_tests)
