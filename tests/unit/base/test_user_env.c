/* SPDX-License-Identifier: Apache-2.0 */
/* test_user_env.c - tests of lib/base/user_env.h */
#include "lib/base/user_env.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"
#include "suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *variable;
    bool steers;
} rows[] = {
    { "SSLKEYLOGFILE=/tmp/k", true },
    { "SSL_CERT_FILE=/x", true },
    { "GNUTLS_SYSTEM_PRIORITY_FILE=/x", true },
    { "CURL_CA_BUNDLE=", true },
    { "OPENSSL_CONF=/x", true },
    { "OPENSSL_MODULES=/x", true },
    { "GIO_EXTRA_MODULES=/x", true },
    { "https_proxy=http://a", true },
    { "NO_PROXY=*", true },
    { "All_Proxy=socks5://a", true },
    { "LD_PRELOAD=/x.so", false },
    { "LD_LIBRARY_PATH=/x", false },
    { "LOADEDMODULES=gcc", false },
    { "PROXY=a", false },
    { "NOTE=a_proxy=b", false },
    { "EDDIS_HIDDEN_https_proxy=a", false },
    { "https_proxy", false },
    { "", false },
};

START_TEST(names)
{
    ck_assert_msg(user_env_steers(rows[_i].variable) == rows[_i].steers, "%s", rows[_i].variable);
}
END_TEST

/* What another program sees. */
static char *seen(void)
{
    static const char *const argv[] = { "env", NULL };
    char *text = NULL;
    int ends[2], status;
    struct spawn s = { .argv = argv, .in = -1, .err = -1 };
    static const struct spawn_rung wait[] = { { 0, INT64_C(60000000000) } };
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    s.out = ends[1];
    ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
    close(ends[1]);
    ck_assert_int_eq(file_read_fd(ends[0], "env", 1 << 20, &text, NULL, NULL), 0);
    close(ends[0]);
    ck_assert_int_eq(spawn_stop(pid, wait, 1, &status, NULL), 0);
    ck_assert_int_eq(status, 0);
    return text;
}

/* Run by another name it does not begin anew, which is the other way. */
START_TEST(hidden_and_given_back)
{
    char name[] = "no-such-name", *argv[] = { name, NULL };
    struct strlist all = { 0 };
    cleanup_free char *text = NULL;

    ck_assert_int_eq(clearenv(), 0);
    ck_assert_int_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
    ck_assert_int_eq(setenv("https_proxy", "http://a=b", 1), 0);
    ck_assert_int_eq(setenv("SSLKEYLOGFILE", "/k", 1), 0);
    program_invocation_short_name = argv[0];
    user_env_hide(argv);
    ck_assert_ptr_null(getenv("https_proxy"));
    ck_assert_ptr_null(getenv("SSLKEYLOGFILE"));
    ck_assert_str_eq(getenv("PATH"), "/usr/bin:/bin");
    ck_assert_str_eq(user_env_get("https_proxy"), "http://a=b");
    ck_assert_str_eq(user_env_get("PATH"), "/usr/bin:/bin");
    ck_assert_ptr_null(user_env_get("http_proxy"));
    user_env_add(&all);
    ck_assert_uint_eq(all.n, 3);
    ck_assert_str_eq(strlist_value(all.item, "SSLKEYLOGFILE"), "/k");
    strlist_fini(&all);
    text = seen();
    ck_assert_str_eq(text, "PATH=/usr/bin:/bin\nhttps_proxy=http://a=b\nSSLKEYLOGFILE=/k\n");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, names, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, hidden_and_given_back);
}

SUITE_MAIN("user_env", add_tests)
