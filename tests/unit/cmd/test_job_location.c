/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_location.c - tests of cmd/slurm/job_location.h and slurm_lookup.h: what is not known is
 * not dead
 */
#include "cmd/slurm/job_location.h"

#include "agents/job/slurm_link.h"
#include "cmd/slurm/slurm_lookup.h"
#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What scontrol says, of its cluster and of whatever job it is asked for. */
static void make_scontrol(const char *cluster, const char *job)
{
    scratch_program("scontrol",
                    "echo \"$@\" >>%s/asked\ntest -z \"$SLURM_CLUSTERS\" || exit 9\n"
                    "case $2 in config) echo; echo 'ClusterName             = %s';; *) %s;; esac",
                    scratch, cluster, job);
}

/* A job whose driver is on another machine, by the number 12 of a cluster. */
static struct job_folder make_job(const char *cluster)
{
    static const char driver[] = "{\"url\": \"u\", \"token\": \"t\", \"owner\": \"o\", \"host\": "
                                 "\"an other\", \"pid\": 1, \"pid_start\": 1}";
    struct slurm_link l = { .job = "12", .node = "node1" };
    cleanup_free char *path = NULL;
    struct job_folder f;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    ck_assert_int_eq(job_folder_make("x", NULL, &f, NULL), 0);
    path = file_join(f.path, JOB_DRIVER_FILE);
    ck_assert_int_eq(file_write_atomic(path, driver, sizeof driver - 1, 0600, NULL), 0);
    (void)snprintf(l.cluster, sizeof l.cluster, "%s", cluster);
    ck_assert_int_eq(slurm_link_write(&f, &l, NULL), 0);
    return f;
}

/* No question of a test takes so long. */
static int64_t late_ns(void)
{
    return clock_now_ns() + 50 * CLOCK_S;
}

static int find_none(const char *word, struct job_folder *ret, struct eddis_error *err)
{
    (void)ret;
    return eddis_fail(err, -ENOENT, "no job '%s'", word);
}

#define UNKNOWN "echo slurm_load_jobs error: Invalid job id specified >&2; exit 1"
#define RECORD(state)                                                                              \
    "echo 'JobId=12 JobName=x'; echo '   JobState=" state "'; echo '   NodeList=node1'; "          \
    "echo '   BatchHost=node1'"

static const struct {
    const char *job_cluster, *cluster, *job;
    enum job_where where, by_number;
    bool over; /* Slurm has ended its processes */
} rows[] = {
    { "east", "east", UNKNOWN, JOB_DEAD, JOB_DEAD },
    { "east", "east", RECORD("COMPLETED"), JOB_DEAD, JOB_DEAD, true },
    { "east", "east", RECORD("NODE_FAIL"), JOB_DEAD, JOB_DEAD },
    { "east", "east", RECORD("PENDING"), JOB_DEAD, JOB_WAITS },
    { "east", "east", RECORD("RUNNING"), JOB_FAR, JOB_FAR },
    { "east", "east", "exit 1", JOB_HERE, -EIO },
    { "east", "west", UNKNOWN, JOB_HERE, -ENOENT },
    { "east", "west", RECORD("COMPLETED"), JOB_HERE, -ENOENT },
    { "east", "west", RECORD("RUNNING"), JOB_HERE, JOB_FAR }, /* the other job of this number */
    { "", "east", UNKNOWN, JOB_HERE, -ENOENT },
    { "", "east", RECORD("COMPLETED"), JOB_HERE, -ENOENT },
};

/* Whatever SLURM_CLUSTERS says, for it is about where jobs go to. */
START_TEST(clusters)
{
    struct job_folder f = make_job(rows[_i].job_cluster);
    struct job_location p = { .where = JOB_HERE };
    int rc;

    make_scontrol(rows[_i].cluster, rows[_i].job);
    ck_assert_int_eq(setenv("SLURM_CLUSTERS", "west", 1), 0);
    job_location_of(&f, NULL, late_ns(), &p);
    ck_assert_int_eq(p.where, rows[_i].where);
    ck_assert_int_eq(p.over, rows[_i].over);
    ck_assert_int_eq(setenv("SLURM_CLUSTERS", "west", 1), 0);
    rc = job_location_find("12", find_none, late_ns(), &p, NULL);
    ck_assert_int_eq(rc < 0 ? rc : (int)p.where, (int)rows[_i].by_number);
}
END_TEST

/* A process of job 12 with its own place for jobs; returns its pid. */
static pid_t start_process(const char *state_home)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)setenv("SLURM_JOB_ID", "12", 1);
        (void)setenv("XDG_STATE_HOME", state_home, 1);
        (void)execlp("sleep", "sleep", "1000", NULL);
        _exit(127);
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

/* srun brings the caller's XDG_STATE_HOME to the node; the job's own one is that of its processes.
 */
START_TEST(other_state_home)
{
    struct job_folder f = make_job("east");
    cleanup_free char *other = file_join(scratch, "other");
    struct job_location p = { .where = JOB_DEAD };
    struct eddis_error err = { 0 };
    int rc = -ENOENT;
    pid_t pid;

    ck_assert_int_eq(setenv("SLURM_JOB_ID", "12", 1), 0);
    ck_assert_int_eq(setenv("SLURM_CLUSTER_NAME", "east", 1), 0);
    ck_assert_int_eq(setenv("SLURMD_NODENAME", "node1", 1), 0);
    ck_assert_int_eq(setenv("XDG_STATE_HOME", other, 1), 0);
    ck_assert_int_eq(job_location_find("12", find_none, late_ns(), &p, &err), -ENOENT);
    ck_assert_str_eq(getenv("XDG_STATE_HOME"), other);
    pid = start_process(scratch);
    for (int64_t end_ns = late_ns(); rc == -ENOENT && clock_now_ns() < end_ns;)
        rc = job_location_find("12", find_none, late_ns(), &p, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_str_eq(p.folder.path, f.path);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
}
END_TEST

#define OF_NOBODY(state)                                                                           \
    "echo 'JobId=12 JobName=x'; echo '   UserId=nobody(65534) GroupId=x(1)'; echo '   "            \
    "JobState=" state " Reason=Priority'; echo '   NodeList=node1'"

/* Another user's job: whose it is is said, wherever it stands. */
START_TEST(other_user)
{
    static const char *const states[] = { OF_NOBODY("RUNNING"), OF_NOBODY("COMPLETED") };
    struct eddis_error err = { 0 };
    struct job_location p;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        make_scontrol("east", states[i]);
        ck_assert_int_eq(job_location_find("12", find_none, late_ns(), &p, &err), -EPERM);
        ck_assert_msg(strstr(err.text, "job 12 belongs to user nobody") != NULL, "%s", err.text);
    }
    make_scontrol("east", OF_NOBODY("PENDING"));
    ck_assert_int_eq(job_location_find("12", find_none, late_ns(), &p, &err), 0);
    ck_assert_str_eq(p.text, "Slurm's job 12 of user nobody waits: other jobs come first "
                             "(Priority)");
}
END_TEST

/* A component waits with the whole job, which alone can be cancelled. */
START_TEST(component)
{
    static const char *const words[] = { "12", "13", "12+1" };
    struct job_location p;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    make_scontrol("east",
                  "case $3 in 13) echo 'JobId=13 HetJobId=12 HetJobOffset=1';; *) echo 'JobId=12 "
                  "HetJobId=12 HetJobOffset=0';; esac; echo '   JobState=PENDING Reason=x'");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        ck_assert_int_eq(job_location_find(words[i], find_none, late_ns(), &p, NULL), 0);
        ck_assert_int_eq(p.where, JOB_WAITS);
        ck_assert_str_eq(p.number, "12");
    }
}
END_TEST

/* A question that fails is asked again, and an epilog that takes long is waited for no longer. */
START_TEST(ends)
{
    static const char once[] =
        "test -e $0.ended && { " RECORD("FAILED") "; exit; }; test -e $0.asked && >$0.ended; "
                                                  ">$0.asked; exit 1";
    int64_t end_ns = late_ns();
    struct slurm_job j;

    make_scontrol("east", once);
    ck_assert_int_eq(slurm_lookup_await_end("12", slurm_job_is_over, end_ns, &j, NULL), 0);
    ck_assert_str_eq(j.state, "FAILED");
    make_scontrol("east", RECORD("COMPLETING"));
    ck_assert_int_eq(slurm_lookup_await_end("12", slurm_job_has_ended, 0, &j, NULL), 0);
    ck_assert_int_eq(slurm_job_code(&j), 0);
    make_scontrol("east", RECORD("RUNNING"));
    ck_assert_int_eq(slurm_lookup_await_end("12", slurm_job_has_ended, 0, &j, NULL), -ETIMEDOUT);
    make_scontrol("east", "exit 1");
    ck_assert_int_eq(slurm_lookup_await_end("12", slurm_job_has_ended, 0, &j, NULL), -EIO);
    make_scontrol("east", UNKNOWN);
    ck_assert_int_eq(slurm_lookup_await_end("12", slurm_job_has_ended, end_ns, &j, NULL), -ENOENT);
}
END_TEST

/* Slurm's programs without any configuration are no Slurm. */
START_TEST(bare)
{
    struct eddis_error err = { 0 };
    struct slurm_job j;

    make_scontrol("east",
                  "echo 'scontrol: error: resolve_ctls_from_dns_srv: Unknown host'; exit 1");
    ck_assert_int_eq(slurm_lookup_ask("12", late_ns(), &j, &err), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, "there is no Slurm on this machine"));
}
END_TEST

/* A controller that is silent: what is known without it is not kept waiting. */
START_TEST(silent)
{
    struct job_folder f = make_job("east");
    struct job_location p = { .where = JOB_DEAD };

    make_scontrol("east", "exec sleep 1000");
    job_location_of(&f, NULL, 0, &p);
    ck_assert_int_eq(p.where, JOB_HERE);
    ck_assert_int_eq(job_location_find("12", find_none, 0, &p, NULL), -ETIMEDOUT);
}
END_TEST

/* No question is asked of a job that is here. */
START_TEST(here)
{
    struct job_folder f;
    struct job_location p;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch, 1), 0);
    ck_assert_int_eq(job_folder_make("x", NULL, &f, NULL), 0);
    make_scontrol("east", UNKNOWN);
    job_location_of(&f, NULL, late_ns(), &p);
    ck_assert_int_eq(p.where, JOB_HERE);
    ck_assert_ptr_null(scratch_content("asked"));
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_loop_test(tc, clusters, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, other_state_home);
    tcase_add_test(tc, other_user);
    tcase_add_test(tc, component);
    tcase_add_test(tc, ends);
    tcase_add_test(tc, bare);
    tcase_add_test(tc, silent);
    tcase_add_test(tc, here);
}

SUITE_MAIN("job_place", add_tests)
