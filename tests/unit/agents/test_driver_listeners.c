/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_listeners.c - the driver's listeners: what a request is let in as, how orders are
 * handed out, what readers get
 */
#include "agents/driver/core/journal.h"
#include "agents/driver/core/orders.h"
#include "agents/driver/nodes/listeners.h"
#include "agents/driver/nodes/request_queue.h"
#include "agents/job/prometheus.h"

#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/http/client.h"
#include "suite.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Whose token a request carries. */
enum who { AGENT_1, GUEST, READER, OWNER, N_WHO };

static struct fixture {
    struct request_queue *b;
    struct listeners d;
    struct http_client *c[N_WHO];
} f;

static void connect_to(enum who who, const char *url, const char *pin, struct http_tokens *tokens,
                       int number)
{
    char token[HTTP_TOKEN_CHARS + 1];
    const struct http_client_options o = { .base = &url, .n_bases = 1, .token = token, .pin = pin };

    http_tokens_text(tokens, number, token);
    http_client_close(f.c[who]);
    ck_assert_int_eq(http_client_open(&o, &f.c[who], NULL), 0);
}

static int open_on(const char (*address)[LISTENERS_ADDRESS], int n, struct eddis_error *err)
{
    struct listeners_options o = {
        .n_agents = 2, .n_secrets = 1, .address = address, .n_addresses = n
    };

    f = (struct fixture){ 0 };
    ck_assert_int_eq(request_queue_open(2, &f.b, NULL), 0);
    o.request_queue = f.b;
    return listeners_open(&f.d, &o, err);
}

static void begin(void)
{
    static const char address[][LISTENERS_ADDRESS] = { "127.0.0.1" };
    struct eddis_error err = { 0 };

    ck_assert_msg(open_on(address, 1, &err) == 0, "%s", err.text);
    connect_to(AGENT_1, f.d.url[0], f.d.pin, f.d.agent_tokens, 1);
    connect_to(GUEST, f.d.url[0], f.d.pin, f.d.agent_tokens, 2);
    connect_to(READER, f.d.people_url, NULL, f.d.person_tokens, REQUEST_READER);
    connect_to(OWNER, f.d.people_url, NULL, f.d.person_tokens, REQUEST_OWNER);
}

static void finish(void)
{
    request_queue_shut(f.b);
    for (int i = 0; i < N_WHO; i++)
        http_client_close(f.c[i]);
    listeners_close(&f.d);
    request_queue_close(f.b);
}

struct answer {
    int status;
    char body[512];
    bool over;
};

static void on_done(void *ctx, int status, const char *body, size_t n,
                    const struct eddis_error *err)
{
    struct answer *a = ctx;

    a->status = status;
    a->over = true;
    (void)snprintf(a->body, sizeof a->body, "%.*s", (int)n, body);
}

/* Start a request and wait until it is answered or has come into the inbox. */
static struct request_item *ask(enum who who, const char *path, const char *body, struct answer *a)
{
    struct pollfd p = { .fd = request_queue_fd(f.b), .events = POLLIN };
    struct request_item *i = NULL;

    *a = (struct answer){ 0 };
    ck_assert_int_eq(http_client_start(f.c[who], path, body, 30 * CLOCK_S, on_done, a, NULL), 0);
    while (!a->over && !i) {
        (void)http_client_wait(f.c[who], &p, 1, CLOCK_NEVER, NULL);
        i = request_queue_take(f.b);
    }
    return i;
}

static void wait_answer(enum who who, struct answer *a)
{
    while (!a->over)
        (void)http_client_wait(f.c[who], NULL, 0, CLOCK_NEVER, NULL);
}

#define NONCE "0123456789abcdef0123456789abcdef"
#define JOIN  "{\"node\":\"n1\",\"nonce\":\"" NONCE "\"}"
#define REPORT(agent)                                                                              \
    "{\"agent\":" agent ",\"sequence\":1,\"event\":[],\"worker\":[],\"output\":[],\"piece\":[]}"
#define HELLO(agent)                                                                               \
    "{\"protocol\":2,\"agent\":" agent ",\"pid\":1,\"host\":\"a\",\"eddis_version\":\"0\","        \
    "\"mpi_version\":\"\",\"machine\":\"6f0c1e5e-2f0b\",\"mpi_guarded\":false,"                    \
    "\"mpi_v4_only\":false,\"shared_logs\":false,\"log_dir\":\"\",\"address\":[]}"

static const struct {
    enum who who;
    const char *path, *body; /* NULL: GET */
    int status;              /* 0: it gets in, as `type` */
    enum request_type type;
} rows[] = {
    { AGENT_1, "/v1/agents/1/orders?after=0", NULL, 0, REQUEST_POLL },
    { AGENT_1, "/v1/agents/1/orders?after=12", NULL, 0, REQUEST_POLL },
    { AGENT_1, "/v1/agents/1/reports", REPORT("1"), 0, REQUEST_REPORT },
    { READER, "/v1/job", NULL, 0, REQUEST_JOB },
    { READER, "/v1/events?after=3", NULL, 0, REQUEST_EVENTS },
    { READER, "/metrics", NULL, 0, REQUEST_METRICS },
    { OWNER, "/v1/job", NULL, 0, REQUEST_JOB },
    { OWNER, "/v1/job/stop", "", 0, REQUEST_STOP },
    { GUEST, "/v1/join", JOIN, 0, REQUEST_JOIN },
    /* who is to join does nothing else */
    { GUEST, "/v1/join", NULL, 403, 0 },
    { GUEST, "/v1/join", "{\"node\":\"n1\",\"nonce\":\"x\"}", 400, 0 },
    { GUEST, "/v1/join", "{\"node\":\"\",\"nonce\":\"" NONCE "\"}", 400, 0 },
    { GUEST, "/v1/agents/2/orders?after=0", NULL, 403, 0 },
    { GUEST, "/v1/agents/1/orders?after=0", NULL, 403, 0 },
    { GUEST, "/v1/agents", "{}", 403, 0 },
    { GUEST, "/v1/job", NULL, 403, 0 },
    { AGENT_1, "/v1/join", JOIN, 404, 0 },
    /* not each other's rooms */
    { AGENT_1, "/v1/job", NULL, 404, 0 },
    { AGENT_1, "/v1/job/stop", "", 404, 0 },
    { READER, "/v1/agents/1/orders?after=0", NULL, 404, 0 },
    { READER, "/v1/agents/1/reports", "{}", 405, 0 },
    { READER, "/v1/job", "{}", 405, 0 },
    { READER, "/v1/job/stop", "", 403, 0 },
    { READER, "/v1/job/stop", NULL, 404, 0 },
    { OWNER, "/v1/job", "{}", 405, 0 },
    { OWNER, "/v1/agents", "{}", 405, 0 },
    { OWNER, "/v1/job/stop/", "", 405, 0 },
    /* another agent's business, there or not */
    { AGENT_1, "/v1/agents/0/orders?after=0", NULL, 403, 0 },
    { AGENT_1, "/v1/agents/2/orders?after=0", NULL, 403, 0 },
    { AGENT_1, "/v1/agents/0/reports", REPORT("0"), 403, 0 },
    { AGENT_1, "/v1/agents/0/reports", "[[[[", 403, 0 }, /* and not looked at */
    { AGENT_1, "/v1/agents/1/reports", REPORT("0"), 403, 0 },
    { AGENT_1, "/v1/agents", HELLO("0"), 403, 0 },
    { AGENT_1, "/v1/agents", HELLO("1"), 0, REQUEST_HELLO },
    /* no such number or method */
    { AGENT_1, "/v1/agents/-1/orders?after=0", NULL, 404, 0 },
    { AGENT_1, "/v1/agents/1x/orders?after=0", NULL, 404, 0 },
    { AGENT_1, "/v1/agents/99999999999999999999/orders?after=0", NULL, 404, 0 },
    { AGENT_1, "/v1/agents//orders?after=0", NULL, 404, 0 },
    { AGENT_1, "/v1/agents/1", NULL, 404, 0 },
    { AGENT_1, "/v1/agents/1/orders", NULL, 400, 0 },
    { AGENT_1, "/v1/agents/1/orders?after=", NULL, 400, 0 },
    { AGENT_1, "/v1/agents/1/orders?after=-1", NULL, 400, 0 },
    { AGENT_1, "/v1/agents/1/orders?after=9999999999999999999", NULL, 400, 0 },
    { AGENT_1, "/v1/agents/1/orders?after=0", "{}", 404, 0 },
    { READER, "/v1/events?after=x", NULL, 400, 0 },
    { READER, "/", NULL, 404, 0 },
    /* JSON of the protocol */
    { AGENT_1, "/v1/agents/1/reports", "{}", 400, 0 },
    { AGENT_1, "/v1/agents/1/reports", "[[[[", 400, 0 },
    { AGENT_1, "/v1/agents/1/reports", "", 400, 0 },
    { AGENT_1, "/v1/agents", "{\"agent\":0}", 400, 0 },
};

START_TEST(request)
{
    struct answer a;
    struct request_item *i;

    i = ask(rows[_i].who, rows[_i].path, rows[_i].body, &a);
    if (rows[_i].status) {
        ck_assert_ptr_null(i);
        ck_assert_int_eq(a.status, rows[_i].status);
        ck_assert_ptr_nonnull(strstr(a.body, "{\"error\":"));
    } else {
        ck_assert_ptr_nonnull(i);
        ck_assert_int_eq(i->type, rows[_i].type);
        http_reply(i->x, 200, "{}");
        request_item_free(i);
        wait_answer(rows[_i].who, &a);
        ck_assert_int_eq(a.status, 200);
    }
}
END_TEST

/* What comes when the job is over is told so, also what was waiting. */
START_TEST(shut)
{
    struct answer a, b;
    struct request_item *i;

    i = ask(READER, "/v1/job", NULL, &a);
    http_reply(i->x, 200, "{}");
    request_item_free(i);
    wait_answer(READER, &a);
    request_queue_shut(f.b);
    ck_assert_ptr_null(ask(READER, "/v1/job", NULL, &b));
    ck_assert_int_eq(b.status, 503);
}
END_TEST

static void poll_orders(struct orders *o, int64_t after, int64_t deadline_ns, struct answer *a)
{
    char path[64];
    struct request_item *i;

    (void)snprintf(path, sizeof path, "/v1/agents/1/orders?after=%d", (int)after);
    i = ask(AGENT_1, path, NULL, a);
    ck_assert_ptr_nonnull(i);
    orders_poll(o, i->after, i->x, deadline_ns);
    request_item_free(i);
}

/* Take an answer, which must hold this. */
static void expect_order(struct answer *a, const char *part)
{
    wait_answer(AGENT_1, a);
    ck_assert_msg(strstr(a->body, part), "%d %s", a->status, a->body);
}

/* Ask for what comes behind an order, which must be this and there already; NULL: it is refused. */
static void expect_next(struct orders *o, int64_t after, const char *part)
{
    struct answer a;

    poll_orders(o, after, CLOCK_NEVER, &a);
    expect_order(&a, part ? part : "");
    ck_assert_int_eq(a.status, part ? 200 : 409);
}

START_TEST(orders)
{
    struct orders o = { .first = 1 };
    struct order profile = { .type = ORDER_PROFILE }, bye = { .type = ORDER_BYE };
    struct answer a, b;

    poll_orders(&o, 0, 100, &a); /* nothing yet */
    orders_tick(&o, 99);
    ck_assert_ptr_nonnull(o.poll);
    orders_tick(&o, 100);
    expect_order(&a, "none");

    poll_orders(&o, 0, CLOCK_NEVER, &a); /* comes while it waits */
    ck_assert_int_eq(orders_add(&o, &profile, NULL), 0);
    ck_assert_int_eq(orders_add(&o, &bye, NULL), 0);
    expect_order(&a, "\"number\":1,");

    expect_next(&o, 0, "\"number\":1,"); /* the answer was lost: the same again */
    expect_next(&o, 1, "\"number\":2,");

    expect_next(&o, 0, NULL); /* forgotten: 1 was confirmed */
    expect_next(&o, 3, NULL); /* never given */

    poll_orders(&o, 2, CLOCK_NEVER, &a); /* a second poll ends the first */
    poll_orders(&o, 2, CLOCK_NEVER, &b);
    expect_order(&a, "none");
    orders_fini(&o);
    expect_order(&b, "none");
}
END_TEST

START_TEST(too_many_orders)
{
    struct orders o = { .first = 1 };
    struct order bye = { .type = ORDER_BYE };

    for (int i = 0; i < ORDERS_KEPT; i++)
        ck_assert_int_eq(orders_add(&o, &bye, NULL), 0);
    ck_assert_int_lt(orders_add(&o, &bye, NULL), 0);
    orders_fini(&o);
}
END_TEST

START_TEST(events)
{
    struct journal r = { 0 }; /* no folder: memory only */
    struct eddis_error err = { 0 };

    for (int i = 1; i <= JOURNAL_KEPT + 10; i++)
        journal_event(&r, JOB_EVENT_NOTE, i % 2 ? "a" : NULL, i % 3 - 1,
                      i == 7 ? "not \xff UTF-8" : "t\"x");
    for (int64_t after = 0; after < r.n_events + 5; after += 13) {
        char *text = journal_events_text(&r, after);
        cleanup_json json_t *j = NULL;
        json_t *list;
        int64_t first = after < 10 ? 11 : after + 1, n = r.n_events - first + 1;

        ck_assert_msg(json_parse(text, strlen(text), "events", &j, &err) == 0, "%s", err.text);
        free(text);
        ck_assert_int_eq(json_want_array(j, "events", JOURNAL_KEPT, &list, NULL), 0);
        ck_assert_int_eq((int64_t)json_array_size(list), n > 0 ? n : 0);
        if (n > 0)
            ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "n")),
                             first);
    }
    journal_fini(&r);
}
END_TEST

/* Check that the metrics of GPUs have this value of rank 1's, and none of rank 0's. */
static void check_gpu(const char *text, const char *name, const char *value)
{
    char line[128];

    (void)snprintf(line, sizeof line,
                   "\neddis_gpu_%s{job=\"a\\\"b\\\\c d\",rank=\"1\",node=\"\",gpu=\"GPU-1\"} %s\n",
                   name, value);
    ck_assert_msg(strstr(text, line), "%s in %s", line, text);
}

/* Check the metrics of worker 1 when its clock is not low, and when it has several GPUs. */
static void check_more_gpus(struct job_status *s)
{
    char *text;

    s->worker[1].gpu.slowed = GPU_SLOWED_NOT;
    text = prometheus_text(s, 3);
    check_gpu(text, "throttled", "0");
    ck_assert_ptr_null(strstr(text, "eddis_gpu_throttle_reason{"));
    free(text);
    s->worker[1].gpus[0] = s->worker[1].gpus[1] = s->worker[1].gpu; /* a worker of several */
    s->worker[1].n_gpus = 2;
    strcpy(s->worker[1].gpus[0].id, "GPU-0");
    s->worker[1].gpus[0].clock_mhz = 1410;
    text = prometheus_text(s, 3);
    check_gpu(text, "clock_hertz", "1005000000");
    ck_assert_ptr_nonnull(strstr(text, ",gpu=\"GPU-0\"} 1410000000\n"));
    free(text);
}

START_TEST(prometheus)
{
    struct job_status s;
    char *text;

    job_status_init(&s);
    ck_assert_int_eq(job_status_resize(&s, 2, NULL), 0);
    (void)snprintf(s.job, sizeof s.job, "a\"b\\c\nd");
    s.samples = 1234567890123;
    s.worker[1].rank = 1;
    s.worker[1].step_ms = 12.5;
    s.stragglers = 4;
    (void)snprintf(s.worker[1].straggler, sizeof s.worker[1].straggler, "input");
    s.worker[0].straggler_times = 2; /* it is none any more */
    s.worker[1].straggler_times = 3.5;
    text = prometheus_text(&s, 3);
    ck_assert_ptr_nonnull(strstr(text, "eddis_stragglers_total{job=\"a\\\"b\\\\c d\"} 4\n"));
    ck_assert_ptr_nonnull(strstr(strstr(text, "# TYPE eddis_rank_straggler_times gauge\n"),
                                 "rank=\"1\",node=\"\"} 3.5\n"));
    ck_assert_ptr_nonnull(strstr(strstr(text, "# TYPE eddis_rank_straggler_times gauge\n"),
                                 "rank=\"0\",node=\"\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "eddis_samples_total{job=\"a\\\"b\\\\c d\"} 1234567890123\n"));
    ck_assert_ptr_nonnull(strstr(text, "rank=\"1\",node=\"\"} 0.0125\n"));
    ck_assert_ptr_nonnull(strstr(text, "eddis_refused_requests_total{job=\"a\\\"b\\\\c d\"} 3\n"));
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "eddis_gpu_")); /* no worker has one */
    free(text);
    job_status_fini(&s);
}
END_TEST

START_TEST(prometheus_gpus)
{
    struct job_status s;
    char *text;

    job_status_init(&s);
    ck_assert_int_eq(job_status_resize(&s, 2, NULL), 0);
    (void)snprintf(s.job, sizeof s.job, "a\"b\\c\nd");
    s.worker[1].rank = 1;
    s.worker[1].gpu = (struct gpu_state){ .reading = 1,
                                          .id = "GPU-1",
                                          .busy = NAN,
                                          .clock_mhz = 1005,
                                          .clock_most_mhz = 1410,
                                          .slowed = GPU_SLOWED_POWER,
                                          .watts = NAN,
                                          .watts_most = 400,
                                          .celsius = 86,
                                          .memory_used_bytes = 1 << 30,
                                          .memory_bytes = INT64_C(80000000000),
                                          .ecc_corrected = 7,
                                          .ecc_uncorrected = -1,
                                          .xids = 2,
                                          .others = -1,
                                          .pcie_gen = 3,
                                          .pcie_gen_most = 4,
                                          .pcie_width = 8,
                                          .nvlinks = 12 };
    text = prometheus_text(&s, 3);
    check_gpu(text, "clock_hertz", "1005000000");
    check_gpu(text, "max_clock_hertz", "1410000000");
    check_gpu(text, "throttled", "1");
    check_gpu(text, "power_cap_watts", "400");
    check_gpu(text, "memory_bytes", "80000000000");
    check_gpu(text, "ecc_corrected_total", "7");
    check_gpu(text, "pcie_generation", "3");
    check_gpu(text, "max_pcie_generation", "4");
    check_gpu(text, "pcie_width", "8");
    check_gpu(text, "nvlinks", "12");
    ck_assert_ptr_null(strstr(text, "eddis_gpu_max_pcie_width{"));
    ck_assert_ptr_nonnull(strstr(text,
                                 "\neddis_gpu_throttle_reason{job=\"a\\\"b\\\\c d\",rank=\"1\","
                                 "node=\"\",gpu=\"GPU-1\",reason=\"power cap\"} 1\n"));
    check_gpu(text, "temperature_celsius", "86");
    check_gpu(text, "xid_total", "2");
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "eddis_gpu_clock_hertz{job=\"a\\\"b\\\\c d\",rank=\"0\""));
    ck_assert_ptr_null(strstr(text, "eddis_gpu_ecc_uncorrected_total{"));
    ck_assert_ptr_null(strstr(text, "eddis_gpu_other_processes{"));
    free(text);
    check_more_gpus(&s);
    job_status_fini(&s);
}
END_TEST

/* Ask as who, but with the token of another listener. */
static void ask_wrongly(enum who who, const char *path)
{
    char *body = NULL;

    ck_assert_int_eq(http_client_call(f.c[who], path, NULL, 30 * CLOCK_S, &body, NULL, NULL), 401);
    ck_assert_str_eq(body, "{\"error\":\"not authorised\"}");
    free(body);
}

static void expect_refusals(const char *want)
{
    char text[256];

    listeners_refusals_text(&f.d, text, sizeof text);
    ck_assert_str_eq(text, want);
}

/* Who knocks without a token is told of once, and counted. */
START_TEST(refusals)
{
    char peer[HTTP_PEER_CHARS] = "";

    ck_assert(!listeners_refusal(&f.d, peer, sizeof peer));
    expect_refusals("");
    connect_to(OWNER, f.d.people_url, NULL, f.d.agent_tokens, 1);
    ask_wrongly(OWNER, "/v1/job");
    ck_assert(listeners_refusal(&f.d, peer, sizeof peer));
    ck_assert_str_eq(peer, "127.0.0.1");
    ck_assert(!listeners_refusal(&f.d, peer, sizeof peer));
    expect_refusals("1 refused request from 127.0.0.1");
    connect_to(AGENT_1, f.d.url[0], f.d.pin, f.d.person_tokens, REQUEST_OWNER);
    ask_wrongly(AGENT_1, "/v1/agents/1/orders?after=0");
    ck_assert(!listeners_refusal(&f.d, peer, sizeof peer));
    expect_refusals("2 refused requests from 127.0.0.1");
    ck_assert_int_eq(listeners_refused(&f.d), 2);
    /* So is who comes to a node, who is said where that is heard. */
    ck_assert(listeners_refused_at_node(&f.d, "10.1.0.9", 2));
    ck_assert(!listeners_refused_at_node(&f.d, "10.1.0.9", 1));
    ck_assert(!listeners_refusal(&f.d, peer, sizeof peer));
    expect_refusals("2 refused requests from 127.0.0.1, 3 from 10.1.0.9");
    ck_assert_int_eq(listeners_refused(&f.d), 5);
    /* More than are told apart are told of no more, here and there. */
    for (int i = 0, n = 0; i < 3 * HTTP_REFUSAL_PEERS; i++, n = 0) {
        (void)snprintf(peer, sizeof peer, "10.2.0.%d", i);
        (void)listeners_refused_at_node(&f.d, peer, 1);
        while (listeners_refusal(&f.d, peer, sizeof peer))
            ck_assert_int_lt(++n, 2);
    }
    ck_assert(!listeners_refused_at_node(&f.d, "10.3.0.1", 1));
    ask_wrongly(OWNER, "/v1/job");
    ck_assert(!listeners_refusal(&f.d, peer, sizeof peer));
}
END_TEST

/* One that is not this machine's is left out while there is another. */
START_TEST(gone_address)
{
    static const char address[][LISTENERS_ADDRESS] = { "192.0.2.1", "127.0.0.1", "2001:db8::1" };
    struct eddis_error err = { 0 };

    finish();
    ck_assert_msg(open_on(address, 3, &err) == 0, "%s", err.text);
    ck_assert_int_eq(f.d.n_agent_listeners, 1);
    ck_assert_int_eq(strncmp(f.d.url[0], "https://127.0.0.1:", 18), 0);
    finish();
    ck_assert_int_lt(open_on(address + 2, 1, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot listen on 2001:db8::1"));
}
END_TEST

/* URLs have literals of IPv6 in brackets; the longest has room. */
START_TEST(urls)
{
    static const char longest[] = "https://[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535";
    static const char address[][LISTENERS_ADDRESS] = { "::1" };

    ck_assert_uint_lt(strlen(longest), LISTENERS_URL);
    finish();
    if (open_on(address, 1, NULL) == 0) { /* a machine with IPv6 */
        ck_assert_int_eq(strncmp(f.d.url[0], "https://[::1]:", 14), 0);
        connect_to(AGENT_1, f.d.url[0], f.d.pin, f.d.agent_tokens, 1);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, refusals);
    tcase_add_loop_test(tc, request, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, shut);
    tcase_add_test(tc, orders);
    tcase_add_test(tc, too_many_orders);
    tcase_add_test(tc, events);
    tcase_add_test(tc, prometheus);
    tcase_add_test(tc, prometheus_gpus);
    tcase_add_test(tc, gone_address);
    tcase_add_test(tc, urls);
}

SUITE_MAIN("driver_listeners", add_tests)
