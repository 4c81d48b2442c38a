/* SPDX-License-Identifier: Apache-2.0 */
/* test_network.c - tests of lib/model/network.h */
#include "lib/model/network.h"

#include "lib/model/network_check_json.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

#define S(literal) ((char[]){ literal })

static int parse(const char *text, struct network **ret, struct eddis_error *err)
{
    return network_parse(text, strlen(text), "network", ret, err);
}

START_TEST(there_and_back)
{
    struct network_link link[] = { { 0, 1, 1e-4, 1.25e8 }, { 1, 0, 0.25, 1e7 }, { 2, 1, 0, 2e7 } };
    char *host[] = { S("c00"), S("c01"), S("c\\\"02") };
    struct network n = { .network = "10.1.0.0/24",
                         .n_nodes = 3,
                         .host = host,
                         .allreduce_s = 1e-3,
                         .link = link,
                         .n_links = 3,
                         .failed_from = -1,
                         .failed_to = -1 };
    cleanup_free char *text = network_text(&n), *again = NULL;
    struct network *got;

    ck_assert_ptr_null(strchr(text, '\n'));
    ck_assert_int_eq(parse(text, &got, NULL), 0);
    ck_assert_str_eq(got->network, "10.1.0.0/24");
    ck_assert_str_eq(got->host[2], host[2]);
    ck_assert_int_eq(got->n_links, 3);
    ck_assert_mem_eq(got->link, link, sizeof link);
    ck_assert_ptr_eq(network_slowest(got), &got->link[1]);
    again = network_text(got);
    ck_assert_str_eq(text, again);
    network_free(got);
}
END_TEST

START_TEST(with_failure)
{
    struct network n = {
        .n_nodes = 4, .allreduce_s = NAN, .failed_from = 1, .failed_to = 3, .failed = "connecting"
    };
    cleanup_free char *text = network_text(&n);
    struct network *got;

    ck_assert_int_eq(parse(text, &got, NULL), 0);
    ck_assert(got->failed_from == 1 && got->failed_to == 3 && !got->host &&
              isnan(got->allreduce_s));
    ck_assert_str_eq(got->failed, "connecting");
    ck_assert_ptr_null(network_slowest(got));
    network_free(got);
}
END_TEST

#define HEAD "{\"network\":\"\",\"nodes\":2,\"failed\":\"\",\"failed_from\":-1,"

static const char *const bad_rows[] = {
    "",
    "{}",
    "[]",
    "null",
    HEAD,
    HEAD "\"failed_to\":-1,\"hosts\":[]}",
    HEAD "\"failed_to\":2,\"hosts\":[],\"links\":[]}",
    HEAD "\"failed_to\":-1,\"hosts\":[\"a\"],\"links\":[]}",
    HEAD "\"failed_to\":-1,\"hosts\":[1,2],\"links\":[]}",
    HEAD "\"failed_to\":-1,\"hosts\":[],\"links\":[{}]}",
    HEAD "\"failed_to\":-1,\"hosts\":[],\"links\":[{\"from\":0,\"to\":0,\"latency_s\":1,\"bytes_"
         "per_s\":1}]}",
    HEAD "\"failed_to\":-1,\"hosts\":[],\"links\":[{\"from\":0,\"to\":2,\"latency_s\":1,\"bytes_"
         "per_s\":1}]}",
    HEAD "\"failed_to\":-1,\"hosts\":[],\"links\":[{\"from\":0,\"to\":1,\"latency_s\":-1,\"bytes_"
         "per_s\":1}]}",
    HEAD "\"failed_to\":-1,\"hosts\":[],\"links\":[{\"from\":0,\"to\":1,\"latency_s\":1,\"bytes_"
         "per_s\":1e300}]}",
    HEAD "\"failed_to\":-1,\"hosts\":[],\"links\":[],\"allreduce_s\":\"soon\"}",
};

START_TEST(refused)
{
    struct eddis_error err = { 0 };
    struct network *got;

    ck_assert_int_eq(parse(bad_rows[_i], &got, &err), -EINVAL);
    ck_assert_int_ne(err.text[0], '\0');
}
END_TEST

/* Four nodes, both ways: one link measured in a bad moment, or one node whose links are slow. */
START_TEST(wire)
{
    struct network_link link[12];
    struct network n = { .n_nodes = 4, .link = link };
    double latency_s, bytes_per_s;

    ck_assert_int_eq(network_wire(&n, &latency_s, &bytes_per_s), -ENODATA);
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            if (from != to)
                link[n.n_links++] = (struct network_link){ from, to, 1e-4, 1e8 };
    link[5].bytes_per_s = 1e6;
    link[5].latency_s = 0.1;
    ck_assert_int_eq(network_wire(&n, &latency_s, &bytes_per_s), 0);
    ck_assert_double_eq(latency_s, 1e-4);
    ck_assert_double_eq(bytes_per_s, 1e8);
    for (int i = 0; i < n.n_links; i++)
        if (link[i].from == 2 || link[i].to == 2)
            link[i].bytes_per_s = 2e7;
    ck_assert_int_eq(network_wire(&n, &latency_s, &bytes_per_s), 0);
    ck_assert_double_eq(bytes_per_s, 2e7);
}
END_TEST

/* What ranks have found of it, from agent to driver. */
START_TEST(found_there_and_back)
{
    const struct network_check was = { 1, 0, 3, 7, 1.25e8, 2.4e7, 2.5e7 };
    struct network_check got = { 0 };
    struct eddis_error err = { 0 };
    char *text = network_check_text(&was);

    ck_assert_int_eq(network_check_parse(text, strlen(text), &got, &err), 0);
    ck_assert_mem_eq(&got, &was, sizeof was);
    free(text);
    ck_assert_int_eq(network_check_parse("{\"known\": true}", 15, &got, &err), -EINVAL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, found_there_and_back);
    tcase_add_test(tc, wire);
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, with_failure);
    tcase_add_loop_test(tc, refused, 0, sizeof bad_rows / sizeof *bad_rows);
}

SUITE_MAIN("network", add_tests)
