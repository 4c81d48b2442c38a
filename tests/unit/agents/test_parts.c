/* SPDX-License-Identifier: Apache-2.0 */
/* test_parts.c - tests of agents/protocol/parts.h */
#include "agents/protocol/parts.h"

#include "agents/protocol/protocol.h"
#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/http/server.h"
#include "lib/model/network.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

/* What a job of so many nodes measures: every node with neighbours at distances of powers of two.
 */
static char *sample(int n_nodes)
{
    enum { DISTANCES = 12 };
    struct network n = { .n_nodes = n_nodes, .failed_from = -1, .failed_to = -1 };
    char *text;

    n.link = calloc((size_t)n_nodes * DISTANCES, sizeof *n.link);
    ck_assert_ptr_nonnull(n.link);
    for (int i = 0; i < n_nodes; i++)
        for (int d = 0; d < DISTANCES; d++)
            n.link[n.n_links++] =
                (struct network_link){ i, (i + (1 << d)) % n_nodes, 1e-4 / (3 + d), 1e9 / (3 + i) };
    text = network_text(&n);
    free(n.link);
    ck_assert_ptr_nonnull(text);
    return text;
}

/* Send one part as an agent does, in a report of its own, and take it as the driver does. */
static int send(struct parts *p, char *part, int64_t left)
{
    char nothing[] = "";
    struct event e = { .type = EVENT_NETWORK, .step = left, .text = part, .last_lines = nothing };
    struct report r = { .agent = 1, .sequence = 1, .event = &e, .n_events = 1 };
    cleanup_free char *body = report_text(&r);
    struct report *got;
    int rc;

    ck_assert_ptr_nonnull(body);
    ck_assert_uint_lt(strlen(body), HTTP_MAX_BODY);
    ck_assert_int_eq(report_parse(body, strlen(body), &got, NULL), 0);
    rc = parts_take(p, got->event[0].text, got->event[0].step, NULL);
    report_free(got);
    return rc;
}

static int send_all(struct parts *p, const char *text)
{
    int n = 0, rc = 0;

    for (const char *at = text; *at; n++) {
        int64_t left;
        cleanup_free char *part = parts_cut(&at, &left);

        ck_assert_int_eq(rc, 0);
        rc = send(p, part, left);
    }
    ck_assert_int_eq(rc, 1);
    return n;
}

START_TEST(larger_than_a_request)
{
    cleanup_free char *text = sample(2048), *small = sample(40);
    struct parts p = { 0 };

    ck_assert_uint_gt(strlen(text), HTTP_MAX_BODY);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_gt(send_all(&p, text), 16);
        ck_assert_str_eq(strbuf_text(&p.text), text);
        ck_assert_int_eq(send_all(&p, small), 1);
        ck_assert_str_eq(strbuf_text(&p.text), small);
    }
    parts_fini(&p);
}
END_TEST

/* Nothing but what is worst for JSON. */
START_TEST(fits_escaped)
{
    cleanup_free char *text = malloc(3 * PARTS_BYTES + 1);
    struct parts p = { 0 };

    memset(text, '\001', 3 * PARTS_BYTES);
    text[3 * PARTS_BYTES] = '\0';
    ck_assert_int_eq(send_all(&p, text), 3);
    parts_fini(&p);
}
END_TEST

/* Half a character is no text, and would arrive as something else. */
START_TEST(characters_stay_whole)
{
    static const char *const letter[] = { "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
    struct strbuf text = { 0 };
    struct parts p = { 0 };

    for (int i = 0; i < _i % 4; i++)
        strbuf_add(&text, "x");
    while (text.len < 2 * PARTS_BYTES)
        strbuf_add(&text, letter[_i / 4]);
    ck_assert_int_ge(send_all(&p, strbuf_text(&text)), 2);
    ck_assert_str_eq(strbuf_text(&p.text), strbuf_text(&text));
    strbuf_clear(&text);
    while (text.len < 2 * PARTS_BYTES)
        strbuf_add(&text, "\xa9");
    ck_assert_int_ge(send_all(&p, strbuf_text(&text)), 2);
    strbuf_fini(&text);
    parts_fini(&p);
}
END_TEST

/* The rest of one that was given up is no beginning of another. */
START_TEST(begun_anew)
{
    struct parts p = { 0 };

    ck_assert_int_eq(parts_take(&p, "{\"a\":", 10, NULL), 0);
    ck_assert_int_eq(parts_take(&p, "{\"b\"", 4, NULL), 0);
    ck_assert_int_eq(parts_take(&p, ": 1}", 0, NULL), 1);
    ck_assert_str_eq(strbuf_text(&p.text), "{\"b\": 1}");
    ck_assert_int_eq(parts_take(&p, "{}", -1, NULL), 1); /* without parts */
    ck_assert_str_eq(strbuf_text(&p.text), "{}");
    parts_fini(&p);
}
END_TEST

START_TEST(too_long)
{
    struct eddis_error err = { 0 };
    struct parts p = { 0 };

    ck_assert_int_eq(parts_take(&p, "x", JSON_MAX_BYTES, &err), -EMSGSIZE);
    ck_assert_str_eq(err.text, "it is longer than 16 MiB");
    ck_assert_int_eq(parts_take(&p, "x", INT64_MAX, NULL), -EMSGSIZE);
    ck_assert_int_eq(parts_take(&p, "{}", 0, NULL), 1);
    parts_fini(&p);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, larger_than_a_request);
    tcase_add_test(tc, fits_escaped);
    tcase_add_loop_test(tc, characters_stay_whole, 0, 12);
    tcase_add_test(tc, begun_anew);
    tcase_add_test(tc, too_long);
}

SUITE_MAIN("parts", add_tests)
