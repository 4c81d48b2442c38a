/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_readers.c - tests of agents/driver/logs/log_readers.h and logs.h: each part of a log
 * that a node sends goes to who has asked for it
 */
#include "agents/driver/logs/log_readers.h"
#include "agents/driver/logs/logs.h"

#include "agents/protocol/log_answer.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers, which the linker sends here ---- */

enum { PEOPLE = 4 };

static char person[PEOPLE];           /* their addresses stand for HTTP exchanges */
static int status[PEOPLE];            /* 0: not answered yet */
static struct log_answer got[PEOPLE]; /* with status 200 */

static struct http_exchange *exchange(int number)
{
    return (struct http_exchange *)(void *)&person[number];
}

void __wrap_http_reply(struct http_exchange *x, int code, const char *text);
void __wrap_http_reply_error(struct http_exchange *x, int code, const char *text);

void __wrap_http_reply(struct http_exchange *x, int code, const char *text)
{
    int i = (int)((char *)x - person);

    ck_assert(i >= 0 && i < PEOPLE && status[i] == 0);
    ck_assert_int_eq(log_answer_parse(text, strlen(text), &got[i], NULL), 0);
    status[i] = code;
}

void __wrap_http_reply_error(struct http_exchange *x, int code, const char *text)
{
    (void)text;
    ck_assert_int_eq(status[(char *)x - person], 0);
    status[(char *)x - person] = code;
}

/* ---- a job with one agent and ranks 0 and 1 ---- */

static struct run_agent agent;
static struct state_rank rank[2];
static struct job_run run;
static struct logs logs;

static void set_up(void)
{
    static char none[] = "";

    memset(status, 0, sizeof status);
    agent = (struct run_agent){ .orders = { .first = 1 } };
    run = (struct job_run){ .agent = &agent, .n_agents = 1, .log_dir = none };
    run.state.rank = rank;
    run.state.n_ranks = 2;
    run.state.generation = 1;
    logs = (struct logs){ .run = NULL };
    ck_assert_int_eq(logs_open(&logs, &run, NULL), 0);
}

static void tear_down(void)
{
    logs_fini(&logs);
    orders_fini(&agent.orders);
    for (int i = 0; i < PEOPLE; i++) {
        free(got[i].text);
        got[i].text = NULL;
    }
}

/* Let a person ask for the log of rank 1 from this offset on.  Return the number of the order. */
static int64_t ask(int number, int64_t after)
{
    const struct request_item i = { .rank = 1, .after = after, .x = exchange(number) };

    logs_look(&logs, &i, 0);
    ck_assert_int_eq(status[number], 0);
    return agent.orders.first + agent.orders.n - 1;
}

/* Let the agent send a chunk.  Return the result of logs_chunks. */
static int sends(int64_t order, int64_t offset, const char *text)
{
    struct log_chunk p = {
        .rank = 1, .order = order, .offset = offset, .text = (char *)(uintptr_t)text
    };
    struct report r = { .piece = &p, .n_pieces = 1 };
    struct request_item i = { .report = &r };

    return logs_chunks(&logs, &i, NULL);
}

static void ends(int64_t order, int64_t end)
{
    struct event e = { .type = EVENT_LOGS, .rank = 1, .order = order, .log_end = end };
    char none[] = "";

    e.text = none;
    (void)logs_ops.on_event(&logs, 0, &e, 0);
}

static void has(int number, int64_t offset, const char *text)
{
    ck_assert_int_eq(status[number], 200);
    ck_assert_str_eq(got[number].text, text);
    ck_assert_int_eq(got[number].rank, 1);
    ck_assert_int_eq(got[number].offset, offset);
    ck_assert_int_eq(got[number].end, offset + (int64_t)strlen(text));
}

/* What a request that was refused has ordered is not the answer to a later one, nor is what another
 * person has ordered.
 */
START_TEST(people)
{
    int64_t late = ask(0, 0), one = 0, other = 0;

    log_readers_tick(logs.log_readers, 3600 * CLOCK_S);
    ck_assert_int_eq(status[0], 504);
    one = ask(1, 40);
    other = ask(2, 0);
    ck_assert(late < one && one < other);
    ck_assert_int_eq(sends(late, 0, "all of it, "), 0);
    ck_assert_int_eq(sends(late, 11, "as asked before\n"), 0);
    ends(late, 27);
    ck_assert(status[1] == 0 && status[2] == 0);
    ck_assert_int_eq(sends(one, 40, "new\n"), 0);
    ends(one, 44);
    has(1, 40, "new\n");
    ck_assert_int_eq(status[2], 0);
    ck_assert_int_eq(sends(other, 20, "from here\n"), 0);
    ck_assert_int_eq(sends(other, 30, "to there\n"), 0);
    ends(other, 39);
    has(2, 20, "from here\nto there\n");
}
END_TEST

/* A person reads the log that is fetched meanwhile for the job's folder. */
START_TEST(fetched_meanwhile)
{
    struct log_fetch_log l = { 0, 1, 1 };
    int64_t late = ask(0, 0), one;

    log_readers_tick(logs.log_readers, 3600 * CLOCK_S);
    one = ask(1, 0);
    ck_assert_int_eq(log_fetch_add(logs.log_fetch, &l, NULL), 0);
    ck_assert(log_fetch_next(logs.log_fetch, 0, &l));
    log_fetch_ordered(logs.log_fetch, 0, one + 1);
    logs.end_ns = CLOCK_NEVER;
    ck_assert_int_eq(sends(one, 0, "words\n"), 0);
    ck_assert_int_eq(sends(late, 0, "words\n"), -EINVAL);
    ends(late, 6);
    ck_assert_int_eq(status[1], 0);
    ends(one, 6);
    has(1, 0, "words\n");
    ck_assert(!log_fetch_is_done(logs.log_fetch));
    ck_assert(log_fetch_done(logs.log_fetch, 0, one + 1, 0, true));
}
END_TEST

/* What follows a chunk for which there is no room has none, either. */
START_TEST(no_room)
{
    enum { MOST = LOG_ANSWER_MOST };
    char *text = malloc(MOST + 1);
    int64_t one = ask(0, 1);

    memset(text, 'x', MOST);
    text[MOST] = '\0';
    ck_assert_int_eq(sends(one, 1, "first"), 0);
    ck_assert_int_eq(sends(one, 6, text), 0);
    ck_assert_int_eq(sends(one, 6 + MOST, "last"), 0);
    ends(one, 10 + MOST);
    has(0, 1, "first");
    free(text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, people);
    tcase_add_test(tc, fetched_meanwhile);
    tcase_add_test(tc, no_room);
}

SUITE_MAIN("log_readers", add_tests)
