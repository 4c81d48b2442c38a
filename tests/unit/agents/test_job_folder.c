/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_folder.c - tests of agents/job/job_folder.h */
#include "suite.h"
#include "tests/unit/scratch.h"
#include "tests/unit/wiped.h"

#include "agents/job/job_folder.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct eddis_error err;

static void set_up(void)
{
    setenv("XDG_STATE_HOME", scratch, 1);
    setenv("TZ", "UTC", 1);
}

static int mode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

/* Check that a word finds the job of this id. */
static void finds(const char *word, const char *id)
{
    struct job_folder got;

    ck_assert_msg(job_folder_find(word, &got, &err) == 0, "%s", err.text);
    ck_assert_str_eq(got.id, id);
}

START_TEST(make_and_find)
{
    struct job_folder a, b, got;
    char name[64];
    int64_t s;

    ck_assert_int_eq(job_folder_find(NULL, &got, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "there are no jobs in '"));
    ck_assert_ptr_nonnull(strstr(err.text, scratch));
    ck_assert_msg(job_folder_make("digits", NULL, &a, &err) == 0, "%s", err.text);
    ck_assert_int_eq(mode_of(a.path), 0700);
    ck_assert(strncmp(a.path, scratch, strlen(scratch)) == 0);
    ck_assert_ptr_nonnull(strstr(a.path, a.id));
    ck_assert(job_folder_parse_id(a.id, name, sizeof name, &s));
    ck_assert_str_eq(name, "digits");
    ck_assert_int_le(llabs(clock_wall_ns() / CLOCK_S - s), 100);
    ck_assert_int_eq(job_folder_find(NULL, &got, NULL), 0);
    ck_assert_str_eq(got.path, a.path);
    ck_assert_int_eq(job_folder_make("other job/1\n", NULL, &b, NULL), 0);
    ck_assert_int_eq(strncmp(b.id, "other_job_1_-", 13), 0);
    finds("digits", a.id);
    finds(b.id, b.id);
    finds(b.path, b.id);
    ck_assert_int_eq(job_folder_find("nothing", &got, &err), -ENOENT);
    ck_assert_int_eq(job_folder_find("/nonexistent/x", &got, &err), -ENOENT);
    ck_assert_int_eq(job_folder_find("../../etc", &got, &err), -ENOENT);
}
END_TEST

/* Folders made by hand: the newest is by date, not by name or by time of change. */
START_TEST(order_and_prefixes)
{
    static const char *const ids[] = { "zeta-20250101-000000-aaaa", "alpha-20250101-000001-bbbb",
                                       "alpha-20240101-000000-cccc" };
    struct job_folder *list, got;
    char path[256];

    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/eddis/jobs/%s", scratch, ids[i]);
        ck_assert_int_eq(file_mkdirs(path, 0700, NULL), 0);
    }
    snprintf(path, sizeof path, "%s/eddis/jobs/not-a-job", scratch);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(job_folder_list(&list, NULL), 3);
    ck_assert_str_eq(list[0].id, ids[2]);
    ck_assert_str_eq(list[2].id, ids[1]);
    free(list);
    finds(NULL, ids[1]);
    ck_assert_int_eq(job_folder_find("alpha", &got, &err), -EINVAL);
    ck_assert_str_eq(err.text,
                     "the ids of 2 jobs begin with 'alpha'; write more of the id: "
                     "alpha-20250101-000001-bbbb (started "
                     "2025-01-01 00:00:01), alpha-20240101-000000-cccc (2024-01-01 00:00:00)");
    finds("alpha-2025", ids[1]);

    /* Of many the oldest are only counted. */
    for (int i = 1; i <= 4; i++) {
        snprintf(path, sizeof path, "%s/eddis/jobs/many-2025010%d-000000-aaaa", scratch, i);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    ck_assert_int_eq(job_folder_find("many", &got, &err), -EINVAL);
    ck_assert_str_eq(
        err.text,
        "the ids of 4 jobs begin with 'many'; write more of the id: many-20250104-000000-aaaa "
        "(started 2025-01-04 00:00:00), many-20250103-000000-aaaa (2025-01-03 "
        "00:00:00), many-20250102-000000-aaaa (2025-01-02 00:00:00) and 1 older");
}
END_TEST

/* Logs alone are what a worker's node keeps, where nobody can tell how the job fares. */
START_TEST(of_a_worker)
{
    struct job_folder *list, got = { 0 };
    char path[256];

    snprintf(path, sizeof path, "%s/eddis/jobs/far-20250101-000000-aaaa/logs", scratch);
    ck_assert_int_eq(file_mkdirs(path, 0700, NULL), 0);
    ck_assert_int_eq(job_folder_find(NULL, &got, &err), -ENOENT);
    ck_assert_int_eq(job_folder_find("far", &got, &err), -EREMOTE);
    ck_assert_ptr_nonnull(strstr(err.text, "job far-20250101-000000-aaaa was started on another"));
    *strrchr(path, '/') = '\0';
    ck_assert_int_eq(job_folder_find(path, &got, &err), -EREMOTE);
    ck_assert_int_eq(job_folder_list(&list, NULL), 1); /* for --prune */
    free(list);
    strcat(path, "/job.yaml");
    ck_assert_int_eq(file_write_atomic(path, "", 0, 0600, NULL), 0);
    ck_assert_int_eq(job_folder_find("far", &got, &err), 0);
}
END_TEST

/* Of one second, by when they were made: the digits behind it are drawn. */
START_TEST(one_second)
{
    static const char *const ids[] = { "job-20250101-000000-cccc", "job-20250101-000000-aaaa",
                                       "a-20250101-000000-bbbb" };
    struct job_folder *list;
    char path[256];

    for (int i = 0; i < 3; i++) {
        struct timespec t[2] = { { 1000, 5 + i }, { 1000, 5 + i } };

        snprintf(path, sizeof path, "%s/eddis/jobs/%s", scratch, ids[i]);
        ck_assert_int_eq(file_mkdirs(path, 0700, NULL), 0);
        strcat(path, "/job.yaml");
        ck_assert_int_eq(file_write_atomic(path, "", 0, 0600, NULL), 0);
        ck_assert_int_eq(utimensat(AT_FDCWD, path, t, 0), 0);
    }
    ck_assert_int_eq(job_folder_list(&list, NULL), 3);
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(list[i].id, ids[i]);
    free(list);
    finds(NULL, ids[2]);
}
END_TEST

/* What job_folder_make has made goes; what was there is empty again. */
START_TEST(dropped)
{
    struct job_folder f;
    char path[256];

    ck_assert_int_eq(job_folder_make("x", NULL, &f, NULL), 0);
    ck_assert_int_eq(job_folder_drop(&f, &err), 0);
    ck_assert_int_lt(access(f.path, F_OK), 0);
    snprintf(path, sizeof path, "%s/mine", scratch);
    for (int i = 0; i < 2; i++) {
        cleanup_free char *logs = file_join(path, "logs/more");

        ck_assert_int_eq(job_folder_make("x", path, &f, NULL), 0);
        ck_assert_int_eq(file_mkdirs(logs, 0700, NULL), 0);
        ck_assert_int_eq(job_folder_drop(&f, &err), 0);
        ck_assert_int_eq(access(path, F_OK), i - 1);
        ck_assert_int_eq(mkdir(path, 0700), i ? -1 : 0);
    }
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

/* Who may not write there is told where else. */
START_TEST(no_root)
{
    struct job_folder f;

    setenv("XDG_STATE_HOME", "/dev/null", 1);
    ck_assert_int_eq(job_folder_make("x", NULL, &f, &err), -ENOTDIR);
    ck_assert_str_eq(
        err.text, "cannot create folder '/dev/null/eddis': Not a directory; set XDG_STATE_HOME to "
                  "a folder where jobs can be kept, or write --job-dir");
}
END_TEST

START_TEST(own_folder)
{
    struct job_folder f, got;
    char path[256];

    snprintf(path, sizeof path, "%s/deep/er/mine", scratch);
    ck_assert_msg(job_folder_make("x", path, &f, &err) == 0, "%s", err.text);
    ck_assert_str_eq(f.path, path);
    ck_assert_int_eq(mode_of(path), 0700);
    ck_assert_int_eq(job_folder_make("x", path, &f, NULL), -EEXIST); /* no more: it is taken */
    snprintf(path, sizeof path, "%s/deep", scratch);
    ck_assert_int_eq(job_folder_make("x", path, &f, &err), -EEXIST);
    ck_assert_int_lt(job_folder_make("x", "/dev/null/x", &f, &err), 0);
    ck_assert_int_eq(job_folder_find(path, &got, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "is not a job's folder"));
    snprintf(path, sizeof path, "%s/deep/job.yaml", scratch);
    ck_assert_int_eq(file_write_atomic(path, "", 0, 0600, NULL), 0);
    *strrchr(path, '/') = '\0';
    finds(path, "deep");
}
END_TEST

/* A folder that was there keeps its mode, and is refused where it cannot or must not be used. */
START_TEST(own_folder_mode)
{
    static const struct {
        mode_t mode;
        int rc;
    } rows[] = { { 0755, 0 }, { 0700, 0 }, { 0500, -EACCES }, { 0777, -EPERM } };
    struct job_folder f;
    char path[256];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(path, sizeof path, "%s/mode%zu", scratch, i);
        ck_assert_int_eq(file_mkdirs(path, 0700, NULL), 0);
        ck_assert_int_eq(chmod(path, rows[i].mode), 0);
        ck_assert_int_eq(job_folder_make("x", path, &f, NULL), rows[i].rc);
        ck_assert_int_eq(mode_of(path), rows[i].mode);
    }
}
END_TEST

START_TEST(many_at_once_are_different)
{
    struct job_folder *list;

    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            struct job_folder f;

            for (int k = 0; k < 25; k++)
                if (job_folder_make("race", NULL, &f, NULL) < 0)
                    _exit(1);
            _exit(0);
        }
    for (int i = 0; i < 4; i++) {
        int status;

        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(job_folder_list(&list, NULL), 100);
    free(list);
}
END_TEST

static const struct {
    const char *id, *name;
} id_rows[] = {
    { "a-20261121-140712-3f9a", "a" },   { "a-b-20261121-140712-3f9a", "a-b" },
    { "-20261121-140712-3f9a", NULL },   { "a-20261121-140712-3f9", NULL },
    { "a-20261121-140712-3f9g", NULL },  { "a-2026112x-140712-3f9a", NULL },
    { "a_20261121-140712-3f9a", NULL },  { "../20261121-140712-3f9a", NULL },
    { ".a-20261121-140712-3f9a", NULL }, { "", NULL },
};

START_TEST(ids)
{
    char name[32];
    int64_t s;
    bool ok = job_folder_parse_id(id_rows[_i].id, name, sizeof name, &s);

    ck_assert_int_eq(ok, id_rows[_i].name != NULL);
    if (ok) {
        ck_assert_str_eq(name, id_rows[_i].name);
        ck_assert_int_eq(s, 1795270032);
    }
}
END_TEST

START_TEST(root)
{
    char path[64], small[8];

    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    ck_assert_int_eq(job_folder_root(path, sizeof path, NULL), 0);
    ck_assert_str_eq(path, "/home/me/.local/state/eddis/jobs");
    ck_assert_int_eq(job_folder_root(small, sizeof small, NULL), -ENAMETOOLONG);
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    ck_assert_int_eq(job_folder_root(path, sizeof path, &err), -ENOENT);
}
END_TEST

/* Of several that find it empty one takes it. */
START_TEST(race)
{
    enum { RACERS = 8, ROUNDS = 20 };
    char dir[sizeof scratch + 16];

    for (int round = 0; round < ROUNDS; round++) {
        pid_t racer[RACERS];
        int go[2], taken = 0, status;
        char byte;

        snprintf(dir, sizeof dir, "%s/race-%d", scratch, round);
        ck_assert_int_eq(mkdir(dir, 0700), 0);
        ck_assert_int_eq(pipe(go), 0);
        for (int i = 0; i < RACERS; i++)
            if ((racer[i] = fork()) == 0) {
                struct job_folder f;

                (void)close(go[1]);
                (void)!read(go[0], &byte, 1);
                _exit(job_folder_make("x", dir, &f, &err) < 0);
            }
        (void)close(go[0]);
        (void)close(go[1]);
        for (int i = 0; i < RACERS; i++) {
            ck_assert_int_eq(waitpid(racer[i], &status, 0), racer[i]);
            taken += status == 0;
        }
        ck_assert_int_eq(taken, 1);
    }
}
END_TEST

/* Of several whose ids begin alike people mean the one that runs. */
START_TEST(running_is_meant)
{
    const struct job_driver d = { .url = "http://127.0.0.1:4123", .token = "t", .owner = "o" };
    struct job_folder f[3], got;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(job_folder_make("same", NULL, &f[i], NULL), 0);
    ck_assert_int_eq(job_folder_find("same", &got, NULL), -EINVAL);
    ck_assert_int_eq(job_driver_write(&f[1], &d, NULL), 0);
    finds("same", f[1].id);
    ck_assert_int_eq(job_driver_write(&f[2], &d, NULL), 0);
    ck_assert_int_eq(job_folder_find("same", &got, NULL), -EINVAL);
}
END_TEST

START_TEST(driver)
{
    struct job_driver d = { .url = "http://127.0.0.1:4123", .token = "secret", .owner = "other" },
                      got;
    struct job_folder f;
    char path[JOB_FOLDER_MAX_PATH + 16];
    int status;
    pid_t pid;

    ck_assert_int_eq(job_folder_make("x", NULL, &f, NULL), 0);
    snprintf(path, sizeof path, "%s/driver.json", f.path);
    ck_assert_int_eq(job_driver_read(&f, &got, NULL), -ENOENT);
    ck_assert_int_eq(job_driver_write(&f, &d, NULL), 0);
    ck_assert_int_eq(mode_of(path), 0600);
    ck_assert_msg(job_driver_read(&f, &got, &err) == 1, "%s", err.text);
    ck_assert_str_eq(got.url, d.url);
    ck_assert_str_eq(got.token, d.token);
    ck_assert_str_eq(got.owner, d.owner);
    ck_assert_int_eq(got.pid, getpid());

    /* Another process has the pid now. */
    got.pid_start++;
    {
        char text[256];
        int n = snprintf(text, sizeof text,
                         "{\"url\": \"u\", \"token\": \"t\", \"owner\": \"o\", \"pid\": %d, "
                         "\"pid_start\": %lld}",
                         (int)getpid(), (long long)got.pid_start);

        ck_assert_int_eq(file_write_atomic(path, text, (size_t)n, 0600, NULL), 0);
    }
    ck_assert_int_eq(job_driver_read(&f, &got, NULL), 0);

    /* It died; also while it is a zombie. */
    pid = fork();
    if (pid == 0)
        _exit(job_driver_write(&f, &d, NULL) < 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(job_driver_read(&f, &got, NULL), 0);
    ck_assert_int_eq(got.pid, pid);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(job_driver_read(&f, &got, NULL), 0);

    /* Readable by others, a link, nonsense. */
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(job_driver_read(&f, &got, &err), -EPERM);
    ck_assert_int_eq(file_write_atomic(path, "{}", 2, 0600, NULL), 0);
    ck_assert_int_eq(job_driver_read(&f, &got, &err), -EINVAL);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("/dev/null", path), 0);
    ck_assert_int_eq(job_driver_read(&f, &got, &err), -ELOOP);
}
END_TEST

/* Jansson's copies of the tokens are overwritten, also if the file is refused. */
START_TEST(tokens_are_wiped)
{
    static const char *const secrets[] = { "first-secret", "second-secret" };
    const struct job_driver d = { .url = "u", .token = "first-secret", .owner = "second-secret" };
    const char *bad = "{\"url\": \"u\", \"token\": \"first-secret\", "
                      "\"owner\": \"second-secret\", \"pid\": 0}";
    struct job_driver got;
    struct job_folder f;
    char path[JOB_FOLDER_MAX_PATH + 16];

    ck_assert_int_eq(job_folder_make("x", NULL, &f, NULL), 0);
    snprintf(path, sizeof path, "%s/driver.json", f.path);
    for (int i = 0; i < 2; i++) {
        wiped_begin(secrets[i]);
        ck_assert_int_eq(job_driver_write(&f, &d, NULL), 0);
        ck_assert_int_eq(job_driver_read(&f, &got, NULL), 1);
        ck_assert_int_eq(file_write_atomic(path, bad, strlen(bad), 0600, NULL), 0);
        ck_assert_int_eq(job_driver_read(&f, &got, &err), -EINVAL);
        ck_assert_int_eq(wiped_end(), 0);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, make_and_find);
    tcase_add_test(tc, order_and_prefixes);
    tcase_add_test(tc, one_second);
    tcase_add_test(tc, of_a_worker);
    tcase_add_test(tc, dropped);
    tcase_add_test(tc, no_root);
    tcase_add_test(tc, own_folder);
    tcase_add_test(tc, own_folder_mode);
    tcase_add_test(tc, many_at_once_are_different);
    tcase_add_loop_test(tc, ids, 0, sizeof id_rows / sizeof *id_rows);
    tcase_add_test(tc, root);
    tcase_add_test(tc, race);
    tcase_add_test(tc, running_is_meant);
    tcase_add_test(tc, driver);
    tcase_add_test(tc, tokens_are_wiped);
}

SUITE_MAIN("job_folder", add_tests)
