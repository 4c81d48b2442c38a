/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_memory.c - every allocation of the job's reader fails once
 *
 * The linker sends our own calls here (--wrap); libyaml keeps the real ones.
 */
#include "lib/job/job_read.h"
#include "lib/job/job_text.h"
#include "lib/model/job.h"

#include "suite.h"
#include "tests/unit/allocations.h"

#include <errno.h>
#include <string.h>

WRAP_MALLOC
WRAP_CALLOC
WRAP_REALLOC
WRAP_STRDUP
WRAP_STRNDUP

static const char text[] =
    "command: python3 train.py\n"
    "workdir: sub\n"
    "mpi: {args: [a, b], mca: {btl: self}}\n"
    "profile: {emulate: [{rate: 1, a_ms: 1, c_ms: 1}, {rate: 2}]}\n"
    "checkpoint: {dir: x, resume: y}\n"
    "setup: [s]\n"
    "nodes: [a, {host: \"b[1-3]\", devices: [1], address: 10.0.0.1, eddis: /e,\n"
    "        emulate: [{rate: 1, a_ms: 1, c_ms: 1}, {rate: 2}],\n"
    "        ssh: {user: u, identity: i, command: s}}]\n"
    "env_pass: [A]\n"
    "env: {B: b, A: a}\n";

START_TEST(parsing)
{
    struct job *job = NULL;
    long n;

    for (n = 1; !job; n++) {
        struct eddis_error err = { 0 };
        int rc;

        countdown = n;
        rc = job_parse(text, sizeof text - 1, "train.yaml", "/home/ada/digits", &job, &err);
        ck_assert_msg(rc == (job ? 0 : -ENOMEM), "allocation %ld: %d %s", n, rc, err.text);
    }
    countdown = 0;
    ck_assert_int_gt(n, 50);
    job_free(job);
}
END_TEST

START_TEST(writing)
{
    struct job *job = NULL;
    char *written = NULL, *whole;

    ck_assert_int_eq(job_parse(text, sizeof text - 1, "train.yaml", "/w", &job, NULL), 0);
    whole = job_text(job);
    for (long n = 1; !written; n++) {
        countdown = n;
        written = job_text(job);
    }
    countdown = 0;
    ck_assert_str_eq(written, whole);
    free(whole);
    free(written);
    job_free(job);
}
END_TEST

START_TEST(setting)
{
    static const struct {
        const char *key, *value;
    } rows[] = {
        { "workdir", "/y" },  { "sync.mode", "sync" }, { "mpi.args", "[c]" }, { "name", "b" },
        { "command", "a b" }, { "env", "{A: b}" },     { "nodes", "a:2,a" },
    };
    struct job *job = NULL;

    ck_assert_int_eq(job_parse(text, sizeof text - 1, "train.yaml", "/w", &job, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char before[100], after[100];
        int rc = -ENOMEM;

        job_value_text(job, rows[i].key, before, sizeof before);
        for (long n = 1; rc < 0; n++) {
            countdown = n;
            rc = job_set(job, rows[i].key, rows[i].value, "--flag", NULL);
            countdown = 0;
            ck_assert(rc == 0 || rc == -ENOMEM);
            job_value_text(job, rows[i].key, after, sizeof after);
            if (rc < 0)
                ck_assert_str_eq(before, after);
        }
        ck_assert_str_ne(before, after);
    }
    job_free(job);
}
END_TEST

START_TEST(from_command)
{
    const char *const words[] = { "a", "b", NULL };
    struct job *job = NULL;

    for (long n = 1; !job; n++) {
        countdown = n;
        ck_assert_int_eq(job_from_command(words, "/w", &job, NULL), job ? 0 : -ENOMEM);
    }
    countdown = 0;
    for (int i = 0; i < 3; i++)
        ck_assert_pstr_eq(job->command[i], words[i]);
    job_free(job);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, parsing);
    tcase_add_test(tc, writing);
    tcase_add_test(tc, setting);
    tcase_add_test(tc, from_command);
}

SUITE_MAIN("job_memory", add_tests)
