/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_program.c - what each host of a job runs: the words, the lines and the variables */
#include "lib/job/host_program.h"

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/job/job_text.h"
#include "suite.h"

#include "tests/unit/jobs.h"

#define S(literal) ((char[]){ literal })

/* Return the strings with a '|' behind each. */
static char *joined(const struct strlist *l)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, "");
    for (size_t i = 0; i < l->n; i++)
        strbuf_addf(&b, "%s|", l->item[i]);
    return strbuf_steal(&b);
}

/* Check what host i (-1: none) runs with these variables of the caller. */
static void check(int i, const struct job_caller *caller, const char *command, const char *setup,
                  const char *variables)
{
    struct host_program p;
    cleanup_free char *words = NULL, *lines = NULL, *env = NULL;

    ck_assert_int_eq(host_program_make(job, i < 0 ? NULL : &job->host[i], caller, &p, &err), 0);
    words = joined(&p.command);
    lines = joined(&p.setup);
    env = joined(&p.env);
    ck_assert_str_eq(words, command);
    ck_assert_str_eq(lines, setup);
    ck_assert_str_eq(env, variables);
    host_program_fini(&p);
}

static const struct job_caller nobody;

/* A host's python replaces the name of a Python; its lines follow the job's; its variables override
 * the job's and those passed on, but not those of -x.
 */
START_TEST(combines)
{
    char *more[] = { S("B=passed"), S("C=passed"), S("D=x"), NULL };
    const struct job_caller caller = { more, 2 };

    read_job("command: [python3, -u, train.py]\nsetup: [one]\nenv: {A: job, D: job}\n"
             "checkpoint: {every: 0}\n"
             "nodes:\n- a\n- {host: \"b[1-2]\", setup: [two, three], env: {A: b, C: b, D: b},\n"
             "   python: /opt/p/python3.12}\n");
    check(-1, &nobody, "python3|-u|train.py|", "one|", "A=job|D=job|");
    check(0, &caller, "python3|-u|train.py|", "one|", "A=job|D=x|B=passed|C=passed|");
    for (int i = 1; i < 3; i++)
        check(i, &caller, "/opt/p/python3.12|-u|train.py|", "one|two|three|",
              "A=b|D=x|B=passed|C=b|");
    ck_assert_int_eq(job->host[1].python_line, 8);
    ck_assert_uint_eq(host_program_mark(&job->host[0]), 0);
    ck_assert_uint_ne(host_program_mark(&job->host[1]), 0);
    ck_assert_uint_eq(host_program_mark(&job->host[1]), host_program_mark(&job->host[2]));
}
END_TEST

/* The first word of a command, and whether a host's python replaces it */
static const struct {
    const char *program;
    bool is;
} programs[] = {
    { "python", true },     { "python3", true },
    { "python3.12", true }, { "/usr/bin/python3", false },
    { "./python3", false }, { "train.py", false },
    { "pythonic", false },  { "eddis-train", false },
};

START_TEST(replaces)
{
    char text[200], words[100];

    snprintf(text, sizeof text,
             "command: [%s, x]\ncheckpoint: {every: 0}\nnodes: [{host: a, python: /o/python}]\n",
             programs[_i].program);
    read_job(text);
    ck_assert_int_eq(host_program_is_python(job), programs[_i].is);
    snprintf(words, sizeof words, "%s|x|", programs[_i].is ? "/o/python" : programs[_i].program);
    check(0, &nobody, words, "", "");
}
END_TEST

/* A path longer than any of the system is refused, and quoted in part. */
START_TEST(huge)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, "command: [python3, x]\nnodes: [{host: a, python: ");
    for (int i = 0; i < 500; i++)
        strbuf_add(&b, "/long/path");
    strbuf_add(&b, "/python3}]\n");
    check_refused(strbuf_text(&b),
                  "2:27: \"nodes.python\": \"/long/path/long/path/long/path/long/path/long/path/"
                  "long/path...\" is not the path of a Python; write one like "
                  "/opt/venv/bin/python3, or auto");
    strbuf_fini(&b);
}
END_TEST

/* The text of a job has the settings of its hosts, with secrets masked, and reads as the same. */
START_TEST(written)
{
    cleanup_free char *text = NULL, *again = NULL;

    read_job(
        "command: [python3, x]\ncheckpoint: {every: 0}\n"
        "nodes: [{host: a, python: /o/python, setup: [\"b c\"], env: {D: \"1\", API_KEY: z}}]\n");
    text = job_text(job);
    ck_assert_ptr_nonnull(strstr(text, "nodes: [{host: a, python: /o/python, setup: [\"b c\"], "
                                       "env: {API_KEY: \"***\", D: \"1\"}}]"));
    read_job(text);
    again = job_text(job);
    ck_assert_ptr_nonnull(strstr(again, "setup: [\"b c\"], env: {API_KEY: \"***\", D: \"1\"}}]"));
}
END_TEST

static void add_tests(TCase *tc)
{
    jobs_add(tc);
    tcase_add_test(tc, combines);
    tcase_add_loop_test(tc, replaces, 0, sizeof programs / sizeof *programs);
    tcase_add_test(tc, huge);
    tcase_add_test(tc, written);
}

SUITE_MAIN("host_program", add_tests)
