/* SPDX-License-Identifier: Apache-2.0 */
/* test_program.c - the program of a command: whether it is there, and what was meant where not */
#include "lib/base/program.h"

#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make(const char *name, mode_t mode)
{
    cleanup_free char *path = file_join(scratch, "%s", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

    ck_assert_int_ge(fd, 0);
    (void)close(fd);
}

static void write_script(const char *name, const char *text)
{
    cleanup_free char *path = file_join(scratch, "%s", name);

    ck_assert_int_eq(file_write_atomic(path, text, strlen(text), 0755, NULL), 0);
}

static void make_folder(const char *name)
{
    cleanup_free char *path = file_join(scratch, "%s", name);

    ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* A folder to work in, and two of PATH. */
static void setup(void)
{
    static const char *const folders[] = { "job", "job/sub", "bin", "bin2", "bin/trane" };

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        make_folder(folders[i]);
    make("job/train.py", 0644);
    make("job/trainer", 0755);
    make("job/.train.pz", 0644);
    make("job/sub/begin.sh", 0755);
    make("bin/train", 0755);
    make("bin/trail", 0644); /* may not be executed */
    make("bin2/eddis-train", 0755);
    make("bin2/start.sh", 0644);
    write_script("job/good.py", "#! /usr/bin/env  train -x\nexit\n");
    write_script("job/dos.py", "#!/usr/bin/env python3\r\nimport sys\r\n");
    write_script("bin/dos", "#!/bin/sh\r\nexit\r\n");
    write_script("job/lost.py", "#!/opt/nowhere/python -u\nimport sys\n");
    write_script("job/env.py", "#!/usr/bin/env pythom9\nimport sys\n");
    write_script("job/options.py", "#!/usr/bin/env -S pythom9 -u\nimport sys\n");
    write_script("job/empty.py", "#!");
}

static void search(char *path, size_t size, char *folder, size_t folder_size)
{
    (void)snprintf(path, size, "/nowhere:%s/bin::%s/bin2", scratch, scratch);
    (void)snprintf(folder, folder_size, "%s/job", scratch);
}

static const struct program_row {
    const char *name;
    int rc;
    const char *sentence; /* its end, or NULL */
} programs[] = {
    { "train", 0, NULL },
    { "./trainer", 0, NULL },
    { "sub/begin.sh", 0, NULL },
    { "eddis-trian", -ENOENT, "no program 'eddis-trian' in PATH; did you mean \"eddis-train\"?" },
    { "Train", -ENOENT, "no program 'Train' in PATH; did you mean \"train\"?" },
    { "trial", -ENOENT, "did you mean \"train\"?" }, /* "trail" is no program, "trane" a folder */
    { "nothing-like-it", -ENOENT,
      "in PATH; install it, or write its path as in ./nothing-like-it" },
    { "./tain.py", -ENOENT, "/job/tain.py'; did you mean \"./train.py\"?" },
    { "tain.py", -ENOENT, "'tain.py' in PATH; install it, or write its path as in ./tain.py" },
    { "sub/beginn.sh", -ENOENT, "/job/sub/beginn.sh'; did you mean \"sub/begin.sh\"?" },
    { "./nothing", -ENOENT, "/job/nothing'; build it first, or correct the command" },
    { "sup/begin.sh", -ENOENT, "/job/sup/begin.sh'; build it first, or correct the command" },
    { "./good.py", 0, NULL },
    { "./options.py", 0, NULL },
    { "./empty.py", 0, NULL },
    { "./dos.py", -ENOEXEC, "/job/dos.py" },
    { "dos", -ENOEXEC, "/bin/dos" },
    { "./lost.py", -ENOENT,
      "/job/lost.py' cannot run because the interpreter '/opt/nowhere/python' in its first line "
      "does not exist; install it, or correct that line" },
    { "./env.py", -ENOENT,
      "/job/env.py' cannot run because the interpreter 'pythom9' in its first line is not in PATH; "
      "install it, or correct that line" },
    { "./train.py", -EACCES, "train.py' is not an executable program" },
};

START_TEST(found_or_near)
{
    const struct program_row *row = &programs[_i];
    struct eddis_error err = { 0 };
    char path[256], folder[128];
    size_t n = row->sentence ? strlen(row->sentence) : 0;

    search(path, sizeof path, folder, sizeof folder);
    ck_assert_int_eq(program_check(row->name, folder, path, "", &err), row->rc);
    if (n) {
        ck_assert_uint_ge(strlen(err.text), n);
        ck_assert_str_eq(err.text + strlen(err.text) - n, row->sentence);
    }
}
END_TEST

/* Lines may change PATH before: what is in it nobody knows. */
START_TEST(unknown_path)
{
    char path[256], folder[128];
    struct eddis_error err = { 0 };

    search(path, sizeof path, folder, sizeof folder);
    ck_assert_int_eq(program_check("./env.py", folder, NULL, "", &err), 0);
    ck_assert_int_eq(program_check("./dos.py", folder, NULL, "", &err), -ENOEXEC);
    ck_assert_ptr_nonnull(strstr(err.text, "lines end in CRLF"));
}
END_TEST

START_TEST(near_beside)
{
    struct eddis_error err = { 0 };
    cleanup_free char *beside = file_join(scratch, "bin2");

    ck_assert_int_eq(program_check("eddis-train", scratch, "", beside, &err), 0);
    ck_assert_int_eq(program_check("edis-train", scratch, "", beside, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "did you mean \"eddis-train\"?"));
}
END_TEST

static const struct script_row {
    const char *command[6];
    const char *sentence; /* its end; NULL: it is there, or nobody can tell */
} scripts[] = {
    { { "python3", "train.py", "--x" }, NULL },
    { { "python3", "tain.py" },
      "no script 'tain.py' for python3 in %s/job; did you mean \"train.py\"?" },
    { { "/usr/bin/python3.11", "-u", "-OO", "./tain.py" }, "did you mean \"./train.py\"?" },
    { { "python", "sub/begn.sh", "train.py" }, "did you mean \"sub/begin.sh\"?" },
    { { "python3", "/nowhere/at.py" },
      "no script '/nowhere/at.py' for python3; correct the command" },
    { { "python3", "nothing" }, "no script 'nothing' for python3 in %s/job; correct the command" },
    { { "python3", "-m", "tain" }, NULL },
    { { "python3", "-c", "tain.py" }, NULL },
    { { "python3", "-uc", "tain.py" }, NULL },
    { { "python3", "-X", "dev", "tain.py" }, NULL }, /* options with words of their own */
    { { "python3", "-" }, NULL },
    { { "python3", "sub" }, NULL }, /* a folder with a __main__.py */
    { { "python3" }, NULL },
    { { "sh", "-e", "sub/begn.sh" }, "did you mean \"sub/begin.sh\"?" },
    { { "sh", "-c", "tain.py" }, NULL },
    { { "sh", "+e", "sub/begn.sh" }, NULL },
    { { "bash", "start.sh" }, NULL }, /* a shell looks into PATH, too */
    { { "bash", "strat.sh" }, "no script 'strat.sh' for bash in %s/job; correct the command" },
    { { "pythonic", "tain.py" }, NULL },
    { { "train", "tain.py" }, NULL },
};

START_TEST(script_there_or_near)
{
    const struct script_row *row = &scripts[_i];
    struct eddis_error err = { 0 };
    char path[256], folder[128], want[256] = "";
    int rc;

    search(path, sizeof path, folder, sizeof folder);
    rc = program_check_script((char *const *)(uintptr_t)row->command, folder, path, &err);
    ck_assert_int_eq(rc, row->sentence ? -ENOENT : 0);
    if (!row->sentence)
        return;
    if (strstr(row->sentence, "%s")) {
        const char *at = strstr(row->sentence, "%s");

        (void)snprintf(want, sizeof want, "%.*s%s%s", (int)(at - row->sentence), row->sentence,
                       scratch, at + 2);
        ck_assert_str_eq(err.text, want);
    } else {
        ck_assert_msg(strstr(err.text, row->sentence), "%s", err.text);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, found_or_near, 0, sizeof programs / sizeof *programs);
    tcase_add_test(tc, unknown_path);
    tcase_add_test(tc, near_beside);
    tcase_add_loop_test(tc, script_there_or_near, 0, sizeof scripts / sizeof *scripts);
}

SUITE_MAIN("program", add_tests)
