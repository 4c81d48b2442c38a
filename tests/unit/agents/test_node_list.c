/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_list.c - tests of agents/job/node_list.h */
#include "agents/job/node_list.h"
#include "lib/base/cleanup.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MARK    "0123456789abcdef0123456789abcdef"
#define NEXT    "0123456789abcdef01234567f0000000"
#define OTHERS  "fedcba9876543210fedcba9876543210"
#define TEXT(s) ((char *)(uintptr_t)(s))

START_TEST(round_trip)
{
    char *command[] = { TEXT("ssh"), TEXT("-F"), TEXT("/a b/\"c\""), NULL };
    struct job_ssh ssh = { TEXT("ml"), 2222, TEXT("/k"), command };
    struct job_host a = { .host = TEXT("a"), .eddis = TEXT("/opt/eddis") };
    struct job_host b = { .host = TEXT("b") };
    struct node_list *j = NULL;
    cleanup_free char *one = node_list_line("job-1", &a, &ssh, MARK);
    cleanup_free char *two = node_list_line("job-1", &b, &(struct job_ssh){ 0 }, MARK);
    cleanup_free char *three = node_list_line("job-1", &a, &ssh, OTHERS);
    cleanup_free char *four = node_list_line("job-1", &a, &ssh, NEXT);
    cleanup_free char *text = NULL;
    int n = asprintf(&text, "%s\n%s\n%s\n%s\n{\"half\": ", one, two, three, four);

    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(node_list_parse(text, (size_t)n, "nodes", &j, NULL), 0);
    ck_assert_str_eq(j->job_id, "job-1");
    ck_assert_uint_eq(j->n, 2);
    ck_assert_str_eq(j->node[0].host.host, "a");
    ck_assert_str_eq(j->node[0].host.eddis, "/opt/eddis");
    ck_assert_str_eq(j->node[0].host.ssh.user, "ml");
    ck_assert_str_eq(j->node[0].host.ssh.identity, "/k");
    ck_assert_int_eq(j->node[0].host.ssh.port, 2222);
    for (int i = 0; i < 4; i++)
        ck_assert_pstr_eq(j->node[0].host.ssh.command[i], command[i]);
    ck_assert_uint_eq(j->node[0].n_marks, 2);
    ck_assert_str_eq(j->node[0].mark[0], NEXT); /* the newest start of a node is enough */
    ck_assert_str_eq(j->node[0].mark[1], OTHERS);
    ck_assert_ptr_null(j->node[0].mark[2]);
    ck_assert_ptr_null(j->node[1].host.eddis);
    ck_assert_ptr_null(j->node[1].host.ssh.command);
    node_list_free(j);
}
END_TEST

#define LINE(host, mark, ssh)                                                                      \
    "{\"mark\": \"" mark "\", \"host\": " host ", \"job\": \"j\", \"ssh\": " ssh "}\n"

static const struct {
    const char *text, *says;
} bad[] = {
    { "", "names no node" },
    { "{}", "names no node" },
    { "\n", "nodes:1" },
    { "[]\n", "nodes:1" },
    { "{}\n", "nodes:1" },
    { LINE("\"a\"", MARK, "{}") "x\n", "nodes:2" },
    { LINE("\"\"", MARK, "{}"), "host" },
    { LINE("1", MARK, "{}"), "host" },
    { LINE("\"a\"", "0123", "{}"), "mark" },
    { LINE("\"a\"", "../../../../../../../etc/passwd/", "{}"), "mark" },
    { LINE("\"a\"", MARK "0", "{}"), "mark" },
    { LINE("\"a\"", MARK, "[]"), "ssh" },
    { LINE("\"a\"", MARK, "{\"port\": 0}"), "port" },
    { LINE("\"a\"", MARK, "{\"port\": 70000}"), "port" },
    { LINE("\"a\"", MARK, "{\"user\": 1}"), "user" },
    { LINE("\"a\"", MARK, "{\"command\": [1]}"), "command" },
    { LINE("\"a\"", MARK, "{\"command\": \"ssh\"}"), "command" },
};

START_TEST(refused)
{
    struct node_list *j = NULL;
    struct eddis_error err = { 0 };
    cleanup_free char *text = strdup(bad[_i].text);

    ck_assert_int_lt(node_list_parse(text, strlen(text), "nodes", &j, &err), 0);
    ck_assert_msg(strstr(err.text, bad[_i].says), "%s", err.text);
    ck_assert_ptr_null(j);
}
END_TEST

/* Every beginning of a good file is read or refused, and neither frees twice nor leaks. */
START_TEST(truncated)
{
    static const char good[] =
        LINE("\"a\"", MARK, "{\"user\": \"u\", \"command\": [\"x\"]}") LINE("\"b\"", OTHERS, "{}");

    for (size_t n = 0; n < sizeof good; n++) {
        cleanup_free char *text = strndup(good, n);
        struct node_list *j = NULL;

        if (node_list_parse(text, strlen(text), "nodes", &j, NULL) == 0)
            ck_assert_uint_eq(j->n, n == sizeof good - 1 ? 2 : 1);
        node_list_free(j);
    }
}
END_TEST

START_TEST(nul)
{
    char text[] = LINE("\"a\"", MARK, "{}");
    struct node_list *j = NULL;

    text[5] = '\0';
    ck_assert_int_eq(node_list_parse(text, sizeof text - 1, "nodes", &j, NULL), -EINVAL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, round_trip);
    tcase_add_loop_test(tc, refused, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tc, truncated);
    tcase_add_test(tc, nul);
}

SUITE_MAIN("node_list", add_tests)
