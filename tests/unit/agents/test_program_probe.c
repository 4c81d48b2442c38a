/* SPDX-License-Identifier: Apache-2.0 */
/* test_program_probe.c - tests of agents/node/program_probe.h */
#include "agents/node/program_probe.h"

#include "agents/node/rank_file.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_program_probe.XXXXXX";
static char path[64];

static void set_up(void)
{
    strcpy(strrchr(folder, '.'), ".XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/ranks", folder);
}

static void tear_down(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

/* Run a probe of this program behind this line of setup, NULL for none, to its end. ends: it ends
 * before it is looked at; else look after 3 MiB of output. Return the code of program_probe_finish.
 */
static int probe(char *line, char *program, bool ends, char **ret, struct eddis_error *err)
{
    static char empty[] = "", root[] = "/";
    char *setup[] = { line, NULL }, *command[] = { program, NULL }, *none[] = { NULL };
    struct rank_spec rank = { .env = none };
    const struct rank_file f = { .agent_pid = getpid(),
                                 .log_max_bytes = 1,
                                 .show_bytes_per_s = 1,
                                 .setup = setup,
                                 .command = command,
                                 .workdir = root,
                                 .log_dir = empty,
                                 .socket = empty,
                                 .run_dir = empty,
                                 .shm_dir = empty,
                                 .step_pattern = empty,
                                 .env = none,
                                 .user_env = none,
                                 .rank = &rank,
                                 .n = 1 };
    struct program_probe p = { .pid = 0 };
    int status = 0;
    struct stat st;

    ck_assert_int_eq(rank_file_write(path, &f, NULL), 0);
    ck_assert_int_eq(program_probe_start(&p, path, 0, 600 * CLOCK_S, err), 0);
    while (!ends && fstat(p.out, &st) == 0 && st.st_size < 3 << 20)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    if (!ends)
        program_probe_look(&p, clock_now_ns());
    ck_assert_int_eq(waitpid(p.pid, &status, 0), p.pid);
    return program_probe_finish(&p, status, ret, err);
}

static const struct {
    const char *setup, *program;
    const char *said; /* part of the message; NULL: the probe succeeds */
} rows[] = {
    { "echo loading", "true", NULL },
    { "printf 'a\\0b\\n'", "true", NULL },
    { "printf 'a\\0b\\n'", "python3", NULL },
    { "printf 'a\\0b\\n'; exit 4", "true", "setup failed with code 4" },
    { "yes", "true", "printed more than 1 MiB" },
    { "yes | head -c 1500000", "true", "printed more than 1 MiB" },
    { "yes | head -c 3000000", "python3", "printed more than 1 MiB" },
};

/* Whatever setup prints, the versions are found behind it; too much is said in one sentence. */
START_TEST(takes_any_output)
{
    cleanup_free char *line = strdup(rows[_i].setup), *program = strdup(rows[_i].program);
    cleanup_free char *text = NULL;
    struct eddis_error err = { 0 };
    int rc = probe(line, program, strcmp(line, "yes") != 0, &text, &err);

    if (!rows[_i].said) {
        ck_assert_msg(rc == 0, "%s", err.text);
        ck_assert_int_eq(strstr(text, "\"python\":") != NULL, rows[_i].program[0] == 'p');
        return;
    }
    ck_assert_int_lt(rc, 0);
    ck_assert_msg(strstr(err.text, rows[_i].said) != NULL, "%s", err.text);
}
END_TEST

static const struct {
    const char *line; /* first line of the script */
    bool python;      /* it names a Python */
    const char *said; /* part of the message; NULL: the probe succeeds */
} scripts[] = {
    { "#!/usr/bin/env python3", true, NULL },
    { "#! /usr/bin/env -S python3 -u ", true, NULL },
    { "#!/bin/sh", false, NULL },
    { "#!/bin/sh /usr/bin/python3", false, NULL },
    { "#!/usr/bin/python3 -m json.tool", false,
      NULL }, /* what would run the program is not asked */
    { "#!/usr/bin/env -S python3 -u run.py", false, NULL },
    { "#!/usr/bin/env -S bash -c \"exec python train.py\"", false, NULL },
    { "import os", false, NULL },
    { "#!/nowhere/bin/python3", true, "no program '/nowhere/bin/python3', which the first line" },
    { "#!/usr/bin/env python99", true, "failed with code 127" },
};

/* The interpreter that a script names itself is asked for its versions; the script is not run. */
START_TEST(takes_interpreters)
{
    cleanup_free char *program = NULL, *text = NULL;
    struct eddis_error err = { 0 };
    FILE *file;
    int rc;

    ck_assert_int_gt(asprintf(&program, "%s/train.py", folder), 0);
    ck_assert_ptr_nonnull(file = fopen(program, "w"));
    fprintf(file, "%s\nexit(7)\n", scripts[_i].line);
    (void)fclose(file);
    ck_assert_int_eq(chmod(program, 0755), 0);
    rc = probe(NULL, program, true, &text, &err);
    (void)unlink(program);
    if (!scripts[_i].said) {
        ck_assert_msg(rc == 0, "%s", err.text);
        ck_assert_int_eq(strstr(text, "\"python\":") != NULL, scripts[_i].python);
        return;
    }
    ck_assert_int_lt(rc, 0);
    ck_assert_msg(strstr(err.text, scripts[_i].said) != NULL, "%s", err.text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, takes_any_output, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, takes_interpreters, 0, sizeof scripts / sizeof *scripts);
}

SUITE_MAIN("program probe", add_tests)
