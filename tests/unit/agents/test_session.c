/* SPDX-License-Identifier: Apache-2.0 */
/* test_session.c - what a session hears, tells and gives back, with shells in the place of keepers
 */
#include "agents/driver/start/session.h"
#include "lib/base/clock.h"
#include "tests/unit/suite.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static struct session s;

static void setup(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    session_init(&s);
}

static void teardown(void)
{
    session_fini(&s);
}

static void begin(const char *script, const char *input, bool logs_in)
{
    const char *const argv[] = { "/bin/sh", "-c", script, NULL };

    ck_assert_int_eq(session_renew(&s, input, NULL), 0);
    ck_assert_int_eq(session_begin(&s, argv, NULL, logs_in, NULL), 0);
    ck_assert_int_ge(s.pidfd, 0);
    s.awaited = true;
}

/* Let it run to its end; returns its exit code. */
static int finish(int *ret_status)
{
    int64_t end_ns = clock_now_ns() + 20 * CLOCK_S;
    int code = -1;

    while ((code = session_reap(&s, true, ret_status)) < 0 && clock_now_ns() < end_ns) {
        struct pollfd fd[] = { { .fd = s.pidfd, .events = POLLIN },
                               { .fd = s.from, .events = POLLIN } };

        (void)poll(fd, 2, 100);
        session_read(&s);
        if (s.version[0])
            session_write(&s);
    }
    session_forget(&s);
    return code;
}

START_TEST(answers_and_is_told)
{
    char last[SESSION_LINE];
    int status;

    begin("echo welcome >&2; echo eddis-keeper " EDDIS_VERSION " >&2; read word; "
          "echo \"eddis-agent: got $word\" >&2; printf 'the last\\r\\n' >&2; exit 3",
          "a secret\n", true);
    ck_assert_int_eq(finish(&status), 3);
    ck_assert(WIFEXITED(status));
    ck_assert_str_eq(s.version, EDDIS_VERSION);
    ck_assert_str_eq(s.words, "got a secret");
    ck_assert_str_eq(s.said, "welcome\nthe last\n");
    ck_assert(s.input_sent && !s.awaited);
    ck_assert_ptr_null(s.input);
    session_last_line(&s, last);
    ck_assert_str_eq(last, "the last");
}
END_TEST

START_TEST(of_another_version)
{
    int status;

    begin("echo eddis-keeper 0.0.1 >&2; echo eddis-keeper 0.0.2 >&2", "a secret\n", true);
    ck_assert_int_eq(finish(&status), 0);
    ck_assert_str_eq(s.version, "0.0.1");
    ck_assert_str_eq(s.words, "");
    ck_assert_str_eq(s.said, "eddis-keeper 0.0.2\n"); /* only the first words count */
}
END_TEST

/* Nobody answers: what is said is the login's, and the end of a long text is kept. */
START_TEST(is_no_keeper)
{
    char last[SESSION_LINE];
    int status;

    begin("i=0; while [ $i -lt 400 ]; do echo line $i >&2; i=$((i+1)); done; "
          "printf 'no end' >&2; exit 255",
          "a secret\n", true);
    ck_assert_int_eq(finish(&status), 255);
    ck_assert_str_eq(s.version, "");
    ck_assert(!s.input_sent && s.awaited);
    ck_assert_ptr_nonnull(s.input);
    ck_assert_int_lt(strlen(s.said), sizeof s.said);
    ck_assert_ptr_nonnull(strstr(s.said, "line 399\n"));
    session_last_line(&s, last);
    ck_assert_str_eq(last, "no end");
}
END_TEST

START_TEST(killed)
{
    int status;

    begin("sleep 60 & sleep 60", NULL, false);
    session_kill(&s);
    ck_assert_int_eq(finish(&status), 128 + SIGKILL);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(s.pid, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, answers_and_is_told);
    tcase_add_test(tc, of_another_version);
    tcase_add_test(tc, is_no_keeper);
    tcase_add_test(tc, killed);
}

SUITE_MAIN("session", add_tests)
