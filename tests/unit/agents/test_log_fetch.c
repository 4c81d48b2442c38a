/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_fetch.c - tests of agents/driver/logs/log_fetch.h */
#include "agents/driver/logs/log_fetch.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct log_fetch *f;

static void begin(void)
{
    f = log_fetch_new(scratch);
}

static void end(void)
{
    log_fetch_free(f);
    log_fetch_free(NULL);
    f = NULL;
}

static int piece(int agent, int rank, int64_t offset, const char *text)
{
    const struct log_chunk p = { .rank = rank, .offset = offset, .text = (char *)(uintptr_t)text };
    struct eddis_error err = { 0 };
    struct log_fetch_write w = { 0 };

    if (log_fetch_chunk(f, agent, &p, &w, &err) == 0 && log_fetch_write(&w, &err) < 0)
        log_fetch_failed(f, agent, &err);
    free(w.path);
    return err.code;
}

static char host[][256] = { "a", "b", "../c" };

static void want(int agent, int rank, int64_t generation)
{
    const struct log_fetch_log l = { agent, rank, generation };

    ck_assert_int_eq(log_fetch_add(f, &l, NULL), 0);
}

/* Ask an agent for its next log, which must be this, and get it in one piece. */
static void fetch(int agent, int rank, int64_t generation, const char *text, bool whole)
{
    struct log_fetch_log l;

    ck_assert(log_fetch_next(f, agent, &l) && l.rank == rank && l.generation == generation);
    ck_assert_int_eq(piece(agent, rank, 0, text), 0);
    log_fetch_done(f, agent, rank, (int64_t)strlen(text), whole);
}

/* Rank 0 was on a, then on b; rank 1 on b alone. */
START_TEST(generations)
{
    struct log_fetch_log l;

    want(0, 0, 1);
    want(1, 1, 1);
    want(1, 0, 2);
    want(1, 0, 2); /* once is enough */
    want(2, PROTOCOL_LOG_AGENT, 0);
    want(0, PROTOCOL_LOG_MPIRUN, 0);
    ck_assert(log_fetch_next(f, 1, &l) && l.rank == 1);
    ck_assert(!log_fetch_next(f, 1, &l)); /* one at a time */
    ck_assert_int_eq(piece(1, 1, 0, "one"), 0);
    ck_assert_int_eq(piece(1, 1, 3, "+\n"), 0);
    log_fetch_done(f, 1, 1, 5, true);
    fetch(1, 0, 2, "second\n", true);
    fetch(0, 0, 1, "first\n", true);
    ck_assert(log_fetch_next(f, 0, &l) && l.rank == PROTOCOL_LOG_MPIRUN);
    log_fetch_done(f, 0, PROTOCOL_LOG_MPIRUN, -1, true); /* there is none */
    ck_assert(!log_fetch_is_done(f));
    fetch(2, PROTOCOL_LOG_AGENT, 0, "agent\n", true);
    ck_assert(log_fetch_is_done(f));
    ck_assert_int_eq(log_fetch_finish(f, host, NULL), 0);
    scratch_expect("rank-0000.log",
                   "[eddis: start 1, on a]\nfirst\n[eddis: start 2, on b]\nsecond\n");
    scratch_expect("rank-0001.log", "one+\n");
    scratch_expect("agent-2.log", "agent\n"); /* no name for a file */
    ck_assert_ptr_null(scratch_content("mpirun-a.log"));
    ck_assert_ptr_null(scratch_content(".fetched-0"));
}
END_TEST

/* What nobody has asked for, with holes, or too much of it, is refused. */
START_TEST(hostile)
{
    struct log_fetch_log l;
    cleanup_free char *much = malloc(1 << 20), *text = NULL;
    int rc = 0;

    want(0, 3, 1);
    ck_assert_int_eq(piece(0, 3, 0, "too soon"), -EINVAL);
    ck_assert(log_fetch_next(f, 0, &l));
    ck_assert_int_eq(piece(1, 3, 0, "another's"), -EINVAL);
    ck_assert_int_eq(piece(0, 2, 0, "another rank"), -EINVAL);
    ck_assert_int_eq(piece(0, 3, 1, "a hole"), -EINVAL);
    ck_assert_int_eq(piece(0, 3, -1, "before"), -EINVAL);
    ck_assert_int_eq(piece(0, 3, INT64_MAX, "far"), -EINVAL);
    ck_assert_int_eq(piece(0, 3, 0, "good"), 0);
    ck_assert_int_eq(piece(0, 3, 0, "again"), -EINVAL);
    memset(much, 'x', (1 << 20) - 1);
    much[(1 << 20) - 1] = '\0';
    for (int64_t at = 4; rc == 0; at += (1 << 20) - 1) {
        ck_assert_int_le(at, LOG_FETCH_MOST);
        rc = piece(0, 3, at, much);
    }
    log_fetch_done(f, 0, 2, 4, true); /* not the one under way */
    ck_assert(!log_fetch_is_done(f));
    log_fetch_done(f, 0, 3, 4, true); /* fewer than came */
    ck_assert_int_eq(log_fetch_finish(f, host, NULL), 1);
    text = scratch_content("rank-0003.log");
    ck_assert_ptr_nonnull(strstr(text, "the rest of this log is on a"));
}
END_TEST

/* Of a long log the agent has left out the middle, and said so there. */
START_TEST(cut)
{
    struct log_fetch_log l;
    int at = 0;

    want(0, 0, 1);
    want(1, PROTOCOL_LOG_AGENT, 0);
    fetch(0, 0, 1, "begin [...] end\n", false);
    fetch(1, PROTOCOL_LOG_AGENT, 0, "agent\n", false); /* of no concern to people */
    ck_assert_int_eq(log_fetch_finish(f, host, NULL), 1);
    ck_assert(log_fetch_missing(f, &at, &l) && l.agent == 0 && l.rank == 0);
    ck_assert(!log_fetch_missing(f, &at, &l));
    scratch_expect("rank-0000.log", "begin [...] end\n");
}
END_TEST

/* No room, as a limit emulates it: what came whole is kept, and what did not says so. */
START_TEST(no_room)
{
    cleanup_free char *first = NULL, *part = NULL;
    struct eddis_error err = { 0 };
    struct log_fetch_log l;
    char text[201];
    int at = 0;

    (void)signal(SIGXFSZ, SIG_IGN);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    want(0, 0, 1);
    want(1, 0, 2);
    want(1, 1, 1);
    fetch(0, 0, 1, text, true);
    fetch(1, 0, 2, text, true);
    ck_assert(log_fetch_next(f, 1, &l) && l.rank == 1);
    ck_assert_int_eq(piece(1, 1, 0, text), 0);
    scratch_limit_files(300);
    ck_assert_int_lt(piece(1, 1, 200, text), 0);
    ck_assert(log_fetch_is_done(f));
    err = (struct eddis_error){ 0 };
    scratch_limit_files(240);
    ck_assert_int_eq(log_fetch_finish(f, host, &err), 1);
    scratch_limit_files(RLIM_INFINITY);
    ck_assert_ptr_nonnull(strstr(err.text, "File too large"));
    ck_assert(log_fetch_missing(f, &at, &l) && l.agent == 1 && l.rank == 1);
    ck_assert(!log_fetch_missing(f, &at, &l));
    first = scratch_content("rank-0000.log");
    part = scratch_content("rank-0001.log");
    ck_assert_str_eq(first + strlen(first) - 200, text);
    scratch_expect("rank-0000.g2.log", text);
    ck_assert_str_eq(strchr(part, '\n'), "\n[eddis: the rest of this log is on b]\n");
}
END_TEST

/* A node that is gone, and a folder that cannot be written. */
START_TEST(given_up)
{
    struct log_fetch_log l;

    want(0, 0, 1);
    want(1, 1, 1);
    ck_assert(log_fetch_next(f, 0, &l));
    log_fetch_give_up(f, 0);
    ck_assert(!log_fetch_is_done(f));
    ck_assert_int_eq(piece(0, 0, 0, "late"), -EINVAL);
    ck_assert(log_fetch_next(f, 1, &l));
    ck_assert_int_eq(file_remove_tree(scratch, NULL), 0);
    ck_assert_int_lt(piece(1, 1, 0, "nowhere"), 0);
    ck_assert(log_fetch_is_done(f));
    ck_assert_int_eq(log_fetch_finish(f, host, NULL), 2);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, generations);
    tcase_add_test(tc, hostile);
    tcase_add_test(tc, cut);
    tcase_add_test(tc, given_up);
    tcase_add_test(tc, no_room);
}

SUITE_MAIN("fetch", add_tests)
