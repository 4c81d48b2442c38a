/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission.c - agents that are invited together, each with its own request over TLS */
#include "agents/driver/nodes/admission.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strlist.h"
#include "lib/http/client.h"
#include "lib/job/job_read.h"
#include "suite.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define NONCE_A "0123456789abcdef0123456789abcdef"
#define NONCE_B "fedcba9876543210fedcba9876543210"

enum { AGENTS = 3, GROUP = 0, ALONE = -1 };

static struct fixture {
    struct job *job;
    struct slurm_allocation *slurm;
    struct driver_options o;
    struct job_run run;
    struct request_queue *request_queue;
    struct listeners listeners;
    struct admission admission;
    struct invitation *invited[2 * AGENTS]; /* all that were */
    int n_invited;
} f;

struct answer {
    int status;
    char *body;
    bool over;
    int heard; /* what admission_hear has returned */
    struct eddis_error err;
};

static const char *variable(void *ctx, const char *name)
{
    return strlist_value(ctx, name);
}

static void setup(void)
{
    static const char yaml[] = "command: [a]\nnodes: [n0, n1, n2]\ncheckpoint: {every: 0}\n";
    static const char *const set[] = { "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[0-2]", NULL };
    static const char address[][LISTENERS_ADDRESS] = { "127.0.0.1" };
    static struct run_agent agent[AGENTS];
    static char no_folder[] = "";
    struct listeners_options o = { .n_agents = AGENTS, .address = address, .n_addresses = 1 };

    f = (struct fixture){ .run.n_agents = AGENTS };
    ck_assert_int_eq(job_parse(yaml, sizeof yaml - 1, "y", "/w", &f.job, NULL), 0);
    ck_assert_int_eq(slurm_allocation_read(variable, (void *)(uintptr_t)set, &f.slurm, NULL), 1);
    f.o = (struct driver_options){ .job = f.job, .slurm = f.slurm };
    f.run.o = &f.o;
    f.run.agent = agent;
    f.run.log_dir = no_folder;
    for (int i = 0; i < AGENTS; i++)
        ck_assert_int_eq(node_identity_make(&agent[i].identity, NULL), 0);
    ck_assert_int_eq(request_queue_open(AGENTS, &f.request_queue, NULL), 0);
    o.request_queue = f.request_queue;
    o.n_secrets = admission_secrets(&f.run);
    ck_assert_int_eq(o.n_secrets, AGENTS + 1);
    ck_assert_int_eq(listeners_open(&f.listeners, &o, NULL), 0);
    f.admission = (struct admission){ .run = &f.run, .listeners = &f.listeners, .log_marker = "x" };
    ck_assert_int_eq(admission_open(&f.admission, NULL), 0);
}

static void teardown(void)
{
    request_queue_shut(f.request_queue);
    listeners_close(&f.listeners);
    request_queue_close(f.request_queue);
    admission_close(&f.admission);
    while (f.n_invited > 0)
        invitation_free(f.invited[--f.n_invited]);
    slurm_allocation_free(f.slurm);
    job_free(f.job);
}

static struct invitation *invite(int agent, int group)
{
    struct invitation *i = NULL;
    cleanup_free char *text = NULL;

    ck_assert_int_eq(
        admission_invite(&f.admission, agent, group, clock_now_ns() + 60 * CLOCK_S, &text, NULL),
        0);
    ck_assert_int_eq(invitation_parse(text, strlen(text), &i, NULL), 0);
    return f.invited[f.n_invited++] = i;
}

static void on_done(void *ctx, int status, const char *body, size_t n,
                    const struct eddis_error *err)
{
    struct answer *a = ctx;

    a->status = status;
    a->over = true;
    a->body = strndup(body ? body : "", n);
}

/* Ask with this invitation, and let the driver's side answer. */
static struct answer ask(const struct invitation *i, const char *name, const char *nonce)
{
    const struct http_client_options o = {
        .base = (const char *const *)i->url, .n_bases = 1, .token = i->secret, .pin = i->pin
    };
    struct pollfd p = { .fd = request_queue_fd(f.request_queue), .events = POLLIN };
    struct http_client *c = NULL;
    struct request_item *item;
    struct join j = { 0 };
    struct answer a = { 0 };
    cleanup_free char *json = NULL;

    (void)snprintf(j.node, sizeof j.node, "%s", name);
    (void)snprintf(j.nonce, sizeof j.nonce, "%s", nonce);
    json = join_text(&j);
    ck_assert_int_eq(http_client_open(&o, &c, NULL), 0);
    ck_assert_int_eq(http_client_start(c, "/v1/join", json, 60 * CLOCK_S, on_done, &a, NULL), 0);
    while (!a.over) {
        (void)http_client_wait(c, &p, 1, CLOCK_NEVER, NULL);
        while ((item = request_queue_take(f.request_queue))) {
            ck_assert_int_eq(item->type, REQUEST_JOIN);
            a.heard = admission_hear(&f.admission, item, &a.err);
            request_item_free(item);
        }
    }
    http_client_close(c);
    return a;
}

static void expect(const struct invitation *i, const char *name, const char *nonce, int status)
{
    struct answer a = ask(i, name, nonce);

    ck_assert_int_eq(a.status, status);
    free(a.body);
}

START_TEST(each_gets_its_own)
{
    struct invitation *i[AGENTS];
    struct answer a, again;
    struct agent_config *b;

    for (int k = 0; k < AGENTS; k++)
        i[k] = invite(k, GROUP);
    for (int k = 0; k < AGENTS; k++) {
        ck_assert_str_eq(i[k]->secret, i[0]->secret);
        a = ask(i[k], f.job->host[k].host, NONCE_A);
        ck_assert_int_eq(a.status, 200);
        ck_assert_int_eq(agent_config_parse(a.body, strlen(a.body), &b, NULL), 0);
        ck_assert_int_eq(b->agent, k);
        ck_assert_str_eq(b->mark, f.run.agent[k].identity.mark);
        ck_assert_int_eq(http_tokens_who(f.listeners.agent_tokens, b->token), k);
        agent_config_free(b);
        again = ask(i[k], f.job->host[k].host, NONCE_A); /* the answer was lost */
        ck_assert_int_eq(again.status, 200);
        ck_assert_str_eq(again.body, a.body);
        free(a.body);
        free(again.body);
    }
}
END_TEST

START_TEST(two_for_one_name)
{
    struct invitation *i = invite(0, GROUP);
    struct answer a;

    expect(i, "n0", NONCE_A, 200);
    a = ask(i, "n0", NONCE_B);
    ck_assert_int_eq(a.status, 409);
    ck_assert_int_eq(a.heard, -EACCES);
    ck_assert_str_eq(a.err.text,
                     "two agents claim to be node n0, one from 127.0.0.1 and one from 127.0.0.1, "
                     "and one of them is not ours: somebody else has the secret of this start");
    free(a.body);
}
END_TEST

START_TEST(names_of_the_start_only)
{
    struct invitation *all = invite(0, GROUP), *one = invite(1, ALONE);

    expect(all, "n7", NONCE_A, 403);
    expect(all, "n2", NONCE_A, 403); /* of the job, and not of this start */
    expect(all, "n1", NONCE_A, 403);
    expect(one, "n0", NONCE_A, 403);
    expect(one, "n1", NONCE_A, 200);
    expect(all, "n0", NONCE_A, 200);
}
END_TEST

/* As any wrong token: refused, late, and counted. */
START_TEST(dead_when_all_are_there)
{
    struct invitation *i = invite(0, GROUP);

    (void)invite(1, GROUP);
    expect(i, "n0", NONCE_A, 200);
    expect(i, "n1", NONCE_A, 200);
    admission_registered(&f.admission, 0);
    expect(i, "n0", NONCE_B, 403); /* its seat is gone */
    expect(i, "n1", NONCE_A, 200);
    admission_registered(&f.admission, 1);
    ck_assert_int_eq(listeners_refused(&f.listeners), 0);
    expect(i, "n1", NONCE_A, 401);
    ck_assert_int_eq(listeners_refused(&f.listeners), 1);
}
END_TEST

START_TEST(dead_in_time)
{
    struct invitation *group = invite(0, GROUP), *alone = invite(1, ALONE);

    admission_tick(&f.admission, clock_now_ns());
    expect(group, "n0", NONCE_A, 200);
    admission_shut(&f.admission); /* a rank is about to start */
    expect(group, "n0", NONCE_A, 401);
    expect(alone, "n1", NONCE_A, 200); /* it has no part in that */
    admission_tick(&f.admission, clock_now_ns() + 61 * CLOCK_S);
    expect(alone, "n1", NONCE_A, 401);
}
END_TEST

START_TEST(started_again)
{
    struct invitation *first = invite(0, ALONE), *second;

    expect(first, "n0", NONCE_A, 200);
    second = invite(0, ALONE);
    expect(first, "n0", NONCE_A, 401);
    expect(second, "n0", NONCE_B, 200);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, each_gets_its_own);
    tcase_add_test(tc, two_for_one_name);
    tcase_add_test(tc, names_of_the_start_only);
    tcase_add_test(tc, dead_when_all_are_there);
    tcase_add_test(tc, dead_in_time);
    tcase_add_test(tc, started_again);
}

SUITE_MAIN("admission", add_tests)
