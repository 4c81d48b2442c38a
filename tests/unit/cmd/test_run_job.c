/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_job.c - eddis-run's command line: which job it makes, and what it refuses */
#include "cmd/run/request/run_job.h"

#include "lib/job/job_text.h"
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int read_line(const char *line, struct run_request *r, struct eddis_error *err)
{
    static char copy[512];
    char *argv[64] = { (char *)"eddis-run" };
    int argc = 1;

    snprintf(copy, sizeof copy, "%s", line);
    for (char *rest = copy; rest;)
        argv[argc++] = strsep(&rest, "|");
    argv[argc] = NULL;
    *r = (struct run_request){ 0 };
    return run_request_read(argc, argv, r, err);
}

static const struct {
    const char *line; /* words divided by | */
    const char *key, *value, *origin;
} good_rows[] = {
    { "-H|a:2,b|--|true", "nodes", "[{host: a, workers: 2}, b]", "-H" },
    { "-Ha,a|--|true", "nodes", "[{host: a, workers: 2}]", "-H" },
    { "--host=c[01-02]|--|true", "nodes", "[c01, c02]", "-H" },
    { "--host|[fd00::1]:2|--|true", "nodes", "[{host: \"fd00::1\", workers: 2}]", "-H" },
    { "--restarts|7|--|true", "restarts", "7", "--restarts" },
    { "--max_restarts|0|--|true", "restarts", "0", "--max-restarts" },
    { "--ssh-port|2222|--|true", "ssh.port", "2222", "--ssh-port" },
    { "--ssh_command|ssh -o 'A B'|--|true", "ssh.command", "[ssh, -o, \"A B\"]", "--ssh-command" },
    { "--network-interface|10.1.0.0/24|--|true", "communication.interface", "\"10.1.0.0/24\"",
      "--network-interface" },
    { "--log-dir|/x/y|--|true", "logs.dir", "/x/y", "--log-dir" },
    { "--log_dir=/x|--|true", "logs.dir", "/x", "--log-dir" },
    { "-n|3|-H|a,b|--|true", "workers_per_node", "3", "--np" },
    { "-H|a,b|--|true", "checkpoint.every", "0", "default" },
};

START_TEST(good)
{
    struct eddis_error err = { 0 };
    struct run_request r;
    char text[200];

    ck_assert_msg(read_line(good_rows[_i].line, &r, &err) == 0, "%s", err.text);
    job_value_text(r.job, good_rows[_i].key, text, sizeof text);
    ck_assert_str_eq(text, good_rows[_i].value);
    job_origin_text(r.job, good_rows[_i].key, text, sizeof text);
    ck_assert_str_eq(text, good_rows[_i].origin);
    run_request_fini(&r);
}
END_TEST

static const struct {
    const char *line, *sentence; /* how it begins */
} bad_rows[] = {
    { "-H|a,b", "no job is named" },
    { "-H||--|true", "-H: a host is missing" },
    { "-H|-oProxyCommand=x|--|true", "-H: \"-oProxyCommand=x\" is not a name or address" },
    { "-H|a|--hostfile|x|--|true", "-H and --hostfile exclude each other" },
    { "--hostfile|/nonexistent|--|true", "--hostfile: cannot open '/nonexistent': No such file" },
    { "--restarts|-1|--|true", "--restarts: \"restarts\" is \"-1\"" },
    { "--ssh-port|0|--|true", "--ssh-port: \"ssh.port\" is \"0\"" },
    { "--network-interface|-x|--|true", "--network-interface: \"communication.interface\"" },
    { "-H|a,b|--set|checkpoint.every=5|--|true", "-H: checkpoints on several hosts need" },
};

START_TEST(bad)
{
    struct eddis_error err = { 0 };
    struct run_request r;
    const char *want = bad_rows[_i].sentence;

    ck_assert_int_lt(read_line(bad_rows[_i].line, &r, &err), 0);
    ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
}
END_TEST

/* Paths of flags are relative to where the user is. */
START_TEST(paths)
{
    char folder[] = "/tmp/eddis-test-run-XXXXXX";
    struct eddis_error err = { 0 };
    struct run_request r;
    char text[200], want[80];
    FILE *f;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    f = fopen("hosts", "w");
    fputs("a slots=2\na\nb:3 # three\n", f);
    fclose(f);
    ck_assert_msg(read_line("--hostfile|hosts|--log-dir|logs|--|true", &r, &err) == 0, "%s",
                  err.text);
    job_value_text(r.job, "nodes", text, sizeof text);
    ck_assert_str_eq(text, "[{host: a, workers: 3}, {host: b, workers: 3}]");
    snprintf(want, sizeof want, "%s/logs", folder);
    ck_assert_str_eq(r.job->logs.dir, want);
    run_request_fini(&r);
    unlink("hosts");
    ck_assert_int_eq(chdir("/"), 0);
    rmdir(folder);
}
END_TEST

/* The runs of a comparison get its options but those of the comparison, in one form. */
START_TEST(compare_words)
{
    static const char *const args[] = { "--np=2", "--set=batch.global=512", "--wait",
                                        "--env=A=b c" };
    static const char *const words[] = { "--", "true", "-q", "--seed", "4" };
    struct run_request r;
    struct eddis_error err = { 0 };
    int rc = read_line("--compare|-n2|--set|batch.global=512|--wait|-vq|--seed=3|--job-dir|x|-x|"
                       "A=b c|--modes|hybrid,sync|--until|loss=1|--rounds=2|--|true|-q|--seed|4",
                       &r, &err);

    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert(r.compare && r.ask.n_modes == 2 && r.ask.rounds == 2 && r.job->seed == 3);
    ck_assert(r.ask.mode[0] == SYNC_MODE_HYBRID && r.ask.target.goal == COMPARE_LOSS);
    ck_assert_uint_eq(r.args.n, sizeof args / sizeof *args);
    for (size_t i = 0; i < r.args.n; i++)
        ck_assert_str_eq(r.args.item[i], args[i]);
    ck_assert_uint_eq(r.words.n, sizeof words / sizeof *words);
    for (size_t i = 0; i < r.words.n; i++)
        ck_assert_str_eq(r.words.item[i], words[i]);
    run_request_fini(&r);

    ck_assert_int_eq(read_line("--compare|--|true", &r, &err), 0); /* all modes, one round */
    ck_assert(r.ask.n_modes == SYNC_MODES && r.ask.rounds == 1);
    run_request_fini(&r);
    ck_assert_int_eq(read_line("--rounds|2|--|true", &r, &err), -EINVAL);
    ck_assert_int_eq(read_line("--compare|--detach|--|true", &r, &err), -EINVAL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, good, 0, sizeof good_rows / sizeof *good_rows);
    tcase_add_loop_test(tc, bad, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, paths);
    tcase_add_test(tc, compare_words);
}

SUITE_MAIN("run_job", add_tests)
