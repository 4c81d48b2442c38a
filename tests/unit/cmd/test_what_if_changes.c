/* SPDX-License-Identifier: Apache-2.0 */
/* test_what_if_changes.c - tests of cmd/run/request/what_if_changes.h */
#include "cmd/run/request/what_if_changes.h"

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

/* Write changes as text: "-a +2xb c*0.5 net 1.25e+09 lat 5e-05 [batch.global=8]". */
static void describe(const struct what_if_changes *c, struct strbuf *b)
{
    for (int i = 0; i < c->n_nodes; i++) {
        const struct what_if_node *n = &c->node[i];

        if (n->kind == WHAT_IF_LEAVE)
            strbuf_addf(b, "-%s ", n->host);
        else if (n->kind == WHAT_IF_ADD)
            strbuf_addf(b, "+%dx%s ", n->copies, n->host);
        else
            strbuf_addf(b, "%s*%g ", n->host, n->rate);
    }
    if (c->bytes_per_s > 0)
        strbuf_addf(b, "net %g ", c->bytes_per_s);
    if (c->latency_s > 0)
        strbuf_addf(b, "lat %g ", c->latency_s);
    for (size_t i = 0; i < c->key.n; i++)
        strbuf_addf(b, "[%s] ", c->key.item[i]);
}

static const struct {
    const char *text, *want;
} good_rows[] = {
    { "", "" },
    { "  ", "" },
    { "-node3", "-node3 " },
    { "-node-3.rack", "-node-3.rack " },
    { "+node1", "+1xnode1 " },
    { "+2xnode1", "+2xnode1 " },
    { "+2node", "+1x2node " },
    { "+2x", "+1x2x " },
    { "+1x4x1", "+1x4x1 " },
    { "+x1", "+1xx1 " },
    { "node4.rate=0.5", "node4*0.5 " },
    { "10.1.0.3.rate=1e2", "10.1.0.3*100 " },
    { "a+1.rate=2", "a+1*2 " },
    { "network=10gbit", "net 1.25e+09 " },
    { "network=200Mbit", "net 2.5e+07 " },
    { "network=.5tbit", "net 6.25e+10 " },
    { "network=1kbit", "net 125 " },
    { "network=1gbit,network=8kbit", "net 1000 " },
    { "latency=50us", "lat 5e-05 " },
    { "latency=2ms", "lat 0.002 " },
    { "latency=1s", "lat 1 " },
    { "batch.global=1024", "[batch.global=1024] " },
    { "seed=", "[seed=] " },
    { "mpi.args=[a, b], -c", "-c [mpi.args=[a, b]] " },
    { "mpi.mca={a: 1, b: [2,3]}", "[mpi.mca={a: 1, b: [2,3]}] " },
    { " -a ,+3xb,\tb.rate=2 , network=1gbit, latency=1ns, seed=3",
      "-a +3xb b*2 net 1.25e+08 lat 1e-09 [seed=3] " },
};

START_TEST(good)
{
    cleanup_strbuf struct strbuf b = { 0 };
    struct what_if_changes c = { 0 };
    struct eddis_error err = { 0 };

    ck_assert_msg(what_if_changes_parse(good_rows[_i].text, &c, &err) == 0, "%s", err.text);
    describe(&c, &b);
    ck_assert_str_eq(strbuf_text(&b), good_rows[_i].want);
    ck_assert_int_eq(what_if_changes_are_none(&c), !good_rows[_i].want[0]);
    what_if_changes_fini(&c);
}
END_TEST

static const struct {
    const char *text, *says; /* what the error says besides */
} bad_rows[] = {
    { "node3", "\"node3\" is no change; write -node3, +node1" },
    { "=3", "\"=3\" is no change" },
    { ",", "\"\" is no change" },
    { "-a,", "\"\" is no change" },
    { "-a,,-b", "\"\" is no change" },
    { "-", "\"-\" names no node; write it as -node3" },
    { "+", "\"+\" names no node; write it as +node1" },
    { ".rate=2", "\".rate=2\" names no node; write it as node4.rate=0.5" },
    { "+0xa", "\"+0xa\": the number of copies is not from 1 to 65536" },
    { "+99999999999999999999xa", "the number of copies" },
    { "+65536xa,+b", "\"+b\": the number of copies is not from 1 to 0" },
    { "a.rate=0", "\"a.rate=0\": the rate is not a number from 1e-06 to 1e+06" },
    { "a.rate=-1", "the rate is not" },
    { "a.rate=nan", "the rate is not" },
    { "a.rate=inf", "the rate is not" },
    { "a.rate=1e400", "the rate is not" },
    { "a.rate=", "the rate is not" },
    { "a.rate=2x", "the rate is not" },
    { "network=0gbit", "\"network=0gbit\" is not a bandwidth above 0; write it as network=10gbit" },
    { "network=10", "is not a bandwidth" },
    { "network=-1gbit", "is not a bandwidth" },
    { "network=fast", "is not a bandwidth" },
    { "network=1e300gbit", "is not a bandwidth" },
    { "latency=0us", "\"latency=0us\" is not a time above 0; write it as latency=50us" },
    { "latency=1h", "is not a time" },
    { "latency=", "is not a time" },
    { "nodes=[a, b]", "\"nodes\" cannot be changed: write -NODE" },
    { "nodes.hosts=a", "\"nodes.hosts\" cannot be changed: write -NODE" },
    { "profile.emulate=[]", "\"profile.emulate\" cannot be changed" },
    { "command=true", "\"command\" cannot be changed" },
    { "-a,b\033", "\"b?\" is no change" },
};

START_TEST(bad)
{
    struct what_if_changes c = { .copies = 7 };
    struct eddis_error err = { 0 };

    ck_assert_int_eq(what_if_changes_parse(bad_rows[_i].text, &c, &err), -EINVAL);
    ck_assert_msg(strncmp(err.text, "--what-if: ", 11) == 0, "%s", err.text);
    ck_assert_msg(strstr(err.text, bad_rows[_i].says) != NULL, "%s", err.text);
    ck_assert_int_eq(c.copies, 7);
}
END_TEST

START_TEST(long_name)
{
    struct what_if_changes c = { 0 };
    struct eddis_error err = { 0 };
    char text[300] = "-";

    memset(text + 1, 'a', 256);
    ck_assert_int_eq(what_if_changes_parse(text, &c, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, "the name of the node is too long") != NULL, "%s", err.text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, good, 0, sizeof good_rows / sizeof *good_rows);
    tcase_add_loop_test(tc, bad, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, long_name);
}

SUITE_MAIN("what_if_changes", add_tests)
