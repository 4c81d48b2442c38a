/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe.c - the program as the agent runs it: EDDIS_PROBE in the environment is its path. */
#include "fake_root.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/model/profile.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Run it with these words; returns its exit code and what it wrote. */
static int probe(const struct fake_root *r, const char *const *words, char **ret_out,
                 char **ret_err)
{
    static const struct spawn_rung end[] = { { 0, 60 * CLOCK_S }, { SIGKILL, CLOCK_S } };
    const char *argv[16] = { getenv("EDDIS_PROBE") };
    char *out = file_join(r->path, "out"), *err = file_join(r->path, "err");
    struct spawn s = { .argv = argv, .in = -1 };
    int status;
    pid_t pid;

    for (int i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    s.out = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    s.err = open(err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    setenv("XDG_CACHE_HOME", r->path, 1);
    ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
    ck_assert_int_eq(spawn_stop(pid, end, 2, &status, NULL), 0);
    close(s.out);
    close(s.err);
    ck_assert_int_eq(file_read(out, 1 << 20, ret_out, NULL, NULL), 0);
    ck_assert_int_eq(file_read(err, 1 << 20, ret_err, NULL, NULL), 0);
    free(out);
    free(err);
    return spawn_exit_code(status);
}

static void measured(const struct fake_root *r, const char *const *words, struct node_profile *ret)
{
    struct eddis_error e = { 0 };
    char *out, *err;
    int code = probe(r, words, &out, &err);

    ck_assert_msg(code == 0, "%d: %s", code, err);
    ck_assert_msg(profile_parse(out, strlen(out), "output", ret, &e) == 0, "%s", e.text);
    free(out);
    free(err);
}

START_TEST(prints)
{
    static const char *const first[] = { "--emulate", "1:0.002:0.0001", "--emulate=0.5:0:1e-4",
                                         NULL };
    static const char *const second[] = { "--cache-seconds", "100", NULL };
    static const char *const third[] = { "--cache-seconds", "0", NULL };
    struct node_profile p;
    struct fake_root r;

    fake_root_init(&r);
    measured(&r, first, &p);
    ck_assert_int_eq(p.n_devices, 2);
    ck_assert(p.device[1].kind == DEVICE_EMULATED && p.device[1].rate == 0.5);
    ck_assert(!p.cached);
    measured(&r, second, &p);
    ck_assert(!p.cached && p.device[0].kind == DEVICE_CPU);
    measured(&r, second, &p);
    ck_assert(p.cached && p.device[0].kind == DEVICE_CPU);
    measured(&r, first, &p);
    ck_assert(!p.cached && p.n_devices == 2);
    measured(&r, third, &p);
    ck_assert(!p.cached);
    fake_root_fini(&r);
}
END_TEST

static const struct {
    const char *words[4], *says;
} refused_rows[] = {
    { { "--emulate", "1:2" }, "RATE:A_S:C_S" },
    { { "--emulate", "1:2:3:4" }, "RATE:A_S:C_S" },
    { { "--emulate", "" }, "RATE:A_S:C_S" },
    { { "--emulate", "0:0:1", "--cache-seconds=9" }, "rate" },
    { { "--emulate" }, "--emulate" },
    { { "--cache-seconds", "-1" }, "seconds" },
    { { "--cache-seconds", "9e9" }, "seconds" },
    { { "--emulated", "1:2:3" }, "--emulate" },
    { { "word" }, "word" },
};

START_TEST(refused)
{
    struct fake_root r;
    char *out, *err;

    fake_root_init(&r);
    ck_assert_int_eq(probe(&r, refused_rows[_i].words, &out, &err), 2);
    ck_assert_str_eq(out, "");
    ck_assert_msg(strstr(err, refused_rows[_i].says) != NULL, "%s", err);
    free(out);
    free(err);
    fake_root_fini(&r);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, prints);
    tcase_add_loop_test(tc, refused, 0, sizeof refused_rows / sizeof *refused_rows);
}

SUITE_MAIN("probe", add_tests)
