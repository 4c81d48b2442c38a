/* SPDX-License-Identifier: Apache-2.0 */
/* test_stack_inspect.c - tests of agents/node/watch/stack_inspect.h */
#include "agents/node/watch/stack_inspect.h"

#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAME(name, file, shown, line)                                                             \
    "{\"name\": \"" name "\", \"filename\": \"" file "\", \"short_filename\": \"" shown            \
    "\", \"line\": " line "}"
#define THREAD(name, frames) "{\"thread_name\": \"" name "\", \"frames\": [" frames "]}"
#define DIST                 "/venv/lib/python3.11/site-packages/torch/distributed/"
#define ALL_REDUCE           FRAME("all_reduce", DIST "distributed_c10d.py", "torch/distributed/d.py", "4181")
#define WRAPPER              FRAME("wrapper", DIST "c10d_logger.py", "torch/distributed/c10d_logger.py", "83")
#define MARKED               FRAME("marked", "/home/u/eddis/torch/_script_waits.py", "_script_waits.py", "58")
#define LOAD                 FRAME("load", "/home/u/train.py", "train.py", "5")
#define MAIN                 FRAME("main", "/home/u/train.py", "train.py", "8")
#define WAIT                 FRAME("wait", "/usr/lib/python3.11/threading.py", "threading.py", "327")
#define BACKWARD                                                                                   \
    FRAME("_engine_run_backward", "/v/lib/python3.11/site-packages/torch/autograd/graph.py",       \
          "torch/autograd/graph.py", "1113")

static const struct {
    const char *says, *words;
    int code;
} rows[] = {
    { "[" THREAD("MainThread", LOAD "," MAIN) "]", "it is in load (train.py:5)", STACK_ELSEWHERE },
    { "[" THREAD("MainThread", ALL_REDUCE "," WRAPPER "," MAIN) "]",
      "it waits in all_reduce (torch/distributed/d.py:4181), called in main (train.py:8)",
      STACK_COLLECTIVE },
    { "[" THREAD("MainThread", MARKED "," ALL_REDUCE "," MAIN) "]",
      "it waits in all_reduce (torch/distributed/d.py:4181), called in main (train.py:8)",
      STACK_COLLECTIVE },
    { "[" THREAD("MainThread", BACKWARD "," MAIN) "]",
      "it waits in _engine_run_backward (torch/autograd/graph.py:1113), called in main "
      "(train.py:8)",
      STACK_COLLECTIVE },
    { "[" THREAD("MainThread", WAIT "," LOAD) "]",
      "it is in wait (threading.py:327), called in load (train.py:5)", STACK_ELSEWHERE },
    /* started by a library's function, which is no collective operation */
    { "[" THREAD("MainThread", LOAD "," WRAPPER) "]", "it is in load (train.py:5)",
      STACK_ELSEWHERE },
    { "[" THREAD("Thread-1", WAIT) "," THREAD("MainThread", LOAD) "]", "it is in load (train.py:5)",
      STACK_ELSEWHERE },
    { "[" THREAD("Thread-1", WAIT) "]", "it is in wait (threading.py:327)", STACK_ELSEWHERE },
    { "[" THREAD("MainThread", "{\"name\": \"\\u001b[31mf\", \"filename\": \"/a/b.py\"}") "]",
      "it is in f (/a/b.py:0)", STACK_ELSEWHERE },
    { "[" THREAD("MainThread", "") "]", "", 0 },
    { "[]", "", 0 },
    { "[7]", "", 0 },
    { "{\"frames\": []}", "", 0 },
    { "Error: Permission denied", "", 0 },
    { "", "", 0 },
};

START_TEST(words)
{
    char place[STACK_PLACE];

    ck_assert_int_eq(stack_inspect_text(rows[_i].says, strlen(rows[_i].says), place, sizeof place),
                     rows[_i].code);
    ck_assert_str_eq(place, rows[_i].words);
}
END_TEST

/* A program by the name of python3 that waits, in an environment with this PATH. */
static pid_t wait_as_python(const char *path)
{
    cleanup_free char *python = file_join(scratch, "python3");
    char variable[96];
    int ends[2];
    pid_t pid;

    (void)snprintf(variable, sizeof variable, "PATH=%s", path);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void)execle(python, python, "600", NULL, (char *[]){ variable, NULL });
        _exit(9);
    }
    (void)close(ends[1]);
    ck_assert_int_eq(read(ends[0], variable, 1), 0); /* until it has become it */
    (void)close(ends[0]);
    return pid;
}

static const struct {
    const char *script; /* NULL: there is no py-spy */
    bool in_path;       /* else it lies beside the interpreter */
    bool late;
    int rc;
    const char *words;
} stubs[] = {
    { "#!/bin/sh\ntest \"$1 $2 $3 $4\" = 'dump --json --nonblocking --pid' && test -d /proc/$5 &&"
      "echo '[" THREAD("MainThread", LOAD) "]'\n",
      true, false, 0, "it is in load (train.py:5)" },
    { "#!/bin/sh\necho '[" THREAD("MainThread", LOAD) "]'\n", false, false, 0,
      "it is in load (train.py:5)" },
    { "#!/bin/sh\necho '[" THREAD("MainThread", LOAD) "]'\nexit 1\n", true, false, 0, "" },
    { "#!/bin/sh\nsleep 600\n", true, true, 0, "" },
    { NULL, true, false, -ENOENT, "" },
};

START_TEST(asked)
{
    cleanup_free char *stub = file_join(scratch, "py-spy");
    const char *script = stubs[_i].script;
    char command[128], place[STACK_PLACE];
    struct stack_inspect l = { 0 };
    int64_t now_ns = clock_now_ns();
    pid_t python;
    int status;

    (void)snprintf(command, sizeof command, "cp /bin/sleep %s/python3", scratch);
    ck_assert_int_eq(system(command), 0);
    if (script)
        ck_assert_int_eq(file_write_atomic(stub, script, strlen(script), 0755, NULL), 0);
    ck_assert_int_eq(setenv("PATH", "/bin:/usr/bin", 1), 0);
    ck_assert_int_eq(stack_inspect_start(&l, getpid(), now_ns), -ENOENT); /* no Python */
    python = wait_as_python(stubs[_i].in_path && script ? scratch : "/bin");
    if (script || access("/usr/bin/py-spy", X_OK) < 0)
        ck_assert_int_eq(stack_inspect_start(&l, python, now_ns), stubs[_i].rc);
    if (l.pid > 0) {
        stack_inspect_report_soon(&l, now_ns);
        if (stubs[_i].late)
            stack_inspect_report_soon(&l, now_ns + 6 * CLOCK_S);
        ck_assert_int_eq(waitpid(l.pid, &status, 0), l.pid);
        (void)stack_inspect_finish(&l, status, place, sizeof place);
        ck_assert_str_eq(place, stubs[_i].words);
        ck_assert_int_eq(l.pid, 0);
    }
    (void)kill(python, SIGKILL);
    (void)waitpid(python, NULL, 0);
}
END_TEST

/* What each value of ptrace_scope keeps an ordinary user, or root, from. */
START_TEST(forbidden)
{
    static const struct {
        int scope;
        bool root;
        const char *part; /* NULL: nothing is forbidden */
    } may[] = {
        { 0, false, NULL },          { 1, false, "in its last line with exec" },
        { 2, false, "set it to 1" }, { 3, false, "everybody" },
        { 0, true, NULL },           { 1, true, NULL },
        { 2, true, NULL },           { 3, true, "forbids it to everybody" },
    };
    const char *why = stack_inspect_forbidden(may[_i].scope, may[_i].root);

    ck_assert_int_eq(why != NULL, may[_i].part != NULL);
    ck_assert(!why || strstr(why, may[_i].part));
    ck_assert_int_ge(stack_inspect_scope(), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_loop_test(tc, forbidden, 0, 8);
    tcase_add_loop_test(tc, words, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, asked, 0, sizeof stubs / sizeof *stubs);
}

SUITE_MAIN("stack_look", add_tests)
