/* SPDX-License-Identifier: Apache-2.0 */
/* test_start_step.c - one process for several nodes, with scripts in the place of srun and scancel:
 * what tests/cluster/test_slurm.py cannot have Slurm do
 */
#include "agents/driver/start/start.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/strlist.h"
#include "tests/unit/scratch.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NODES = 3 };

#define MARK "0123456789abcdef0000000000000001"

/* What stands before each script: its words and variables go to files, $dir is the test's folder.
 */
#define HEAD                                                                                       \
    "#!/bin/sh\n"                                                                                  \
    "dir=${0%/*}; echo \"$$\" >>$dir/${0##*/}.pids; echo \"$@\" >>$dir/words; env >>$dir/env\n"

/* Three tasks that come in another order than their nodes. */
#define UP                                                                                         \
    "echo '0: eddis-keeper " EDDIS_VERSION " n1 4' >&2\n"                                          \
    "echo '2: eddis-keeper " EDDIS_VERSION " n0 4' >&2\n"                                          \
    "echo '1: eddis-keeper " EDDIS_VERSION " n2 4' >&2\n"                                          \
    "cat >$dir/input\n"

static struct starter *s;
static struct slurm_allocation *slurm;
static struct job_host host[NODES];
static struct start_event event[NODES]; /* the last of each host */
static int n_events[NODES];

static void write_script(const char *name, const char *text)
{
    cleanup_free char *path = file_join(scratch, "%s", name), *script = NULL;
    int n = asprintf(&script, "%s%s", HEAD, text);

    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(file_write_atomic(path, script, (size_t)n, 0700, NULL), 0);
}

static const char *variable(void *ctx, const char *name)
{
    return strlist_value(ctx, name);
}

static void setup(void)
{
    static const char *const set[] = { "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[0-2]", NULL };
    static char prefix[] = "/nowhere";
    char path[256];
    struct start_options o = { .host = host, .n = NODES, .launch_ns = 60 * CLOCK_S };

    (void)signal(SIGPIPE, SIG_IGN);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", scratch);
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    ck_assert_int_eq(slurm_allocation_read(variable, (void *)(uintptr_t)set, &slurm, NULL), 1);
    for (int i = 0; i < NODES; i++) {
        host[i] = (struct job_host){ .host = slurm->node[i].name, .eddis = prefix };
        n_events[i] = 0;
    }
    write_script("scancel",
                 "while read pid; do test $pid = $$ || kill $pid; done <$dir/srun.pids; exit 0\n");
    o.slurm = slurm;
    ck_assert_int_eq(starter_open(&o, &s, NULL), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(starter_clean(s, 0, clock_now_ns() + 20 * CLOCK_S, NULL), 0);
    starter_close(s);
    slurm_allocation_free(slurm);
}

static void add(int i, const char *mark, const char *input)
{
    const char *const args[] = { "--join", "1000000000", "60000000000", mark, NULL };

    ck_assert_int_eq(starter_add(s, i, args, input, clock_now_ns() + 60 * CLOCK_S, NULL), 0);
}

static void add_all(void)
{
    for (int i = 0; i < NODES; i++)
        add(i, MARK, "secret");
}

static void turn(void)
{
    struct pollfd fd = { .fd = starter_fd(s), .events = POLLIN };
    struct start_event e;

    (void)poll(&fd, 1, 50);
    starter_turn(s, clock_now_ns());
    while (starter_event(s, &e)) {
        event[e.host] = e;
        n_events[e.host]++;
    }
}

/* Turn until the first event of host i has come, which must be this. */
static void wait_event(int i, enum start_event_type type)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;

    while (n_events[i] == 0 && clock_now_ns() < end_ns)
        turn();
    ck_assert_int_eq(n_events[i], 1);
    ck_assert_int_eq(event[i].type, type);
}

/* Turn until the words of host i are these. */
static void wait_description(int i, const char *words)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;

    while (strcmp(starter_words(s, i), words) != 0 && clock_now_ns() < end_ns)
        turn();
    ck_assert_str_eq(starter_words(s, i), words);
}

static void wait_text(const char *name, const char *part)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;

    for (;;) {
        cleanup_free char *text = scratch_content(name);

        if (text && strstr(text, part))
            return;
        ck_assert_msg(clock_now_ns() < end_ns, "no '%s' in %s: %s", part, name, text ? text : "");
        turn();
    }
}

static pid_t pid_of_srun(void)
{
    cleanup_free char *text = scratch_content("srun.pids");

    ck_assert(text && atoi(text) > 1);
    return atoi(text);
}

/* Start all nodes by this srun, and wait until each is up and has its secret. */
static void start_all(const char *script)
{
    write_script("srun", script);
    add_all();
    for (int i = 0; i < NODES; i++)
        wait_description(i, "started");
    wait_text("input", "secret");
}

static void kill_srun(void)
{
    ck_assert_int_eq(kill(-pid_of_srun(), SIGKILL), 0);
}

/* End all that was begun in this time, which must give this. */
static void clean(int64_t limit_s, int rc, struct eddis_error *err)
{
    ck_assert_int_eq(starter_clean(s, 0, clock_now_ns() + limit_s * CLOCK_S, err), rc);
}

START_TEST(together)
{
    cleanup_free char *words = NULL;

    write_script("srun", UP "echo '2: eddis-agent: hello' >&2\n"
                            "echo '2: eddis-keeper exit 3' >&2\n"
                            "while ! test -e $dir/end; do sleep 0.05; done\n"
                            "echo '0: eddis-keeper exit 0' >&2; echo '1: eddis-keeper exit 0' >&2\n"
                            "exit 3\n");
    add_all();
    wait_event(0, START_ENDED); /* of one node alone */
    ck_assert_int_eq(event[0].code, 3);
    ck_assert(event[0].swept);
    ck_assert_str_eq(event[0].text, "agent exited 3: hello");
    ck_assert_int_eq(n_events[1] + n_events[2], 0);
    ck_assert_str_eq(starter_words(s, 1), "started");
    starter_registered(s, 1);
    starter_registered(s, 2);
    wait_text("input", "secret");
    write_script("end", "");
    wait_event(1, START_ENDED);
    wait_event(2, START_ENDED);
    ck_assert_int_eq(event[1].code, 0);
    words = scratch_content("words");
    ck_assert_ptr_nonnull(strstr(words, "--jobid=7 --overlap "));
    ck_assert_ptr_nonnull(strstr(words, " --nodes=3 --ntasks=3 --ntasks-per-node=1 "));
    ck_assert_ptr_nonnull(strstr(words, " --nodelist=n0,n1,n2 "));
    ck_assert_ptr_nonnull(strstr(words, " /nowhere --join 1000000000 60000000000 " MARK "\n"));
    ck_assert_ptr_null(strstr(words, "secret"));
    ck_assert_ptr_null(strstr(words, "het-group"));
}
END_TEST

/* Start each node by a step of its own, of the node's number, that does this. */
static void start_apart(const char *does)
{
    cleanup_free char *script = NULL;

    ck_assert_int_gt(asprintf(&script,
                              "n=; for w; do case $w in --nodelist=*) n=${w#*=};; esac; done\n"
                              "echo \"0: eddis-keeper " EDDIS_VERSION " $n ${n#n}\" >&2\n"
                              "cat >$dir/input.$n; %s",
                              does),
                     0);
    write_script("srun", script);
    add(0, MARK, "one");
    add(1, MARK, "two");
    add(2, "0123456789abcdef0000000000000002", "two");
    for (int i = 0; i < NODES; i++)
        wait_description(i, "started");
}

/* A node that is started again has a secret of its own. */
START_TEST(apart)
{
    start_apart("sleep 60\n");
    wait_text("input.n0", "one");
    wait_text("input.n1", "two");
    wait_text("input.n2", "two");
}
END_TEST

#define CHECK_ID "\nsrun: Check SLURM_JOB_ID environment variable."
#define NO_STEP  "\nsrun: error: Unable to create step: No"

static const struct {
    const char *says;
    const char *why; /* NULL: the allocation is over, so no other start will do */
} failures[] = {
    { "srun: error: Unable to create step for job 7: No", "Unable to create step for job 7: No" },
    { "srun: error: Slurm job 7 has expired" CHECK_ID, NULL },
    { "srun: error: Unable to confirm allocation for job 7: Invalid job id specified" CHECK_ID,
      NULL },
    { "srun: error: Unable to create step for job 7: Job/step already completing or "
      "completed" CHECK_ID,
      NULL },
    /* others speak of what has expired, too, where srun fails for a reason of its own */
    { "slurmstepd: error: prolog: the ticket has expired" NO_STEP, "Unable to create step: No" },
    { "0: site: Invalid job id of the licence server" NO_STEP, "Unable to create step: No" },
    { "srun: error: krb5: the ticket has expired" NO_STEP, "Unable to create step: No" },
};

START_TEST(cannot_begin)
{
    const char *why = failures[_i].why;
    cleanup_free char *script = NULL;

    ck_assert_int_gt(asprintf(&script, "echo '%s' >&2; exit 1\n", failures[_i].says), 0);
    write_script("srun", script);
    add_all();
    for (int i = 0; i < NODES; i++) {
        char text[96] = "Slurm's job 7 has ended (";

        if (why)
            snprintf(text, sizeof text, "n%d: srun: %s", i, why);
        wait_event(i, START_FAILED);
        ck_assert_int_eq(event[i].gone, !why);
        ck_assert_msg(strncmp(event[i].text, text, strlen(text) + !!why) == 0, "%s", event[i].text);
    }
}
END_TEST

START_TEST(another_version)
{
    write_script("srun", "echo '0: eddis-keeper 0.0.1 n1 4' >&2; sleep 60\n");
    add_all();
    wait_event(1, START_FAILED);
    ck_assert_str_eq(event[1].text, "node n1 runs eddis 0.0.1 and this is eddis " EDDIS_VERSION
                                    "; install one version on both");
    ck_assert_int_eq(n_events[0] + n_events[2], 0);
}
END_TEST

/* Its helper may end the step, or may have been killed as well. */
START_TEST(srun_killed)
{
    cleanup_free char *words = NULL;

    start_all(UP "exec sleep 60\n");
    starter_registered(s, 0);
    kill_srun();
    wait_event(0, START_CUT);
    ck_assert_str_eq(event[0].text, "its srun session has ended");
    ck_assert_str_eq(starter_words(s, 1), "started, but its srun session has ended");
    clean(20, 0, NULL);
    words = scratch_content("words");
    ck_assert_ptr_nonnull(strstr(words, "\n7.4\n"));
}
END_TEST

/* What does not end by itself is ended by its number, so that Slurm sees to its tasks. */
START_TEST(ended_by_number)
{
    start_all(UP "exec sleep 60\n");
    clean(20, 0, NULL);
    wait_text("words", "\n7.4\n");
    ck_assert_int_eq(kill(pid_of_srun(), 0), -1);
}
END_TEST

/* A controller that is silent: all are told at once, and which have not ended is said. */
START_TEST(never_ended)
{
    struct eddis_error err;
    int64_t begun_ns;

    write_script("scancel", "exec sleep 1000\n");
    start_apart("trap '' TERM; while :; do sleep 1; done\n");
    begun_ns = clock_now_ns();
    clean(4, -ETIMEDOUT, &err);
    ck_assert_str_eq(err.text, "Slurm has not ended step 7.0 on n0; step 7.1 on n1; step 7.2 on "
                               "n2; look at squeue -s, and end it with scancel");
    ck_assert_int_lt(clock_now_ns() - begun_ns, 60 * CLOCK_S);
    for (int i = 0; i < 3; i++) {
        char name[8];

        snprintf(name, sizeof name, "\n7.%d\n", i);
        wait_text("words", name);
    }
}
END_TEST

/* What Slurm refuses is said, but not where there is no such step any more. */
START_TEST(refused)
{
    static const struct {
        const char *scancel;
        int rc;
    } row[] = {
        { "echo 'scancel: error: Kill job error on job step id 7.4: Invalid job id specified' >&2; "
          "exit 225\n",
          0 },
        { "exit 0\n", 0 },
        { "echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1\n", -ETIMEDOUT },
    };
    struct eddis_error err = { 0 };

    write_script("scancel", row[_i].scancel);
    start_all(UP "exec sleep 60\n");
    starter_registered(s, 0);
    kill_srun();
    wait_event(0, START_CUT);
    clean(60, row[_i].rc, &err);
    if (row[_i].rc)
        ck_assert_str_eq(err.text, "Slurm has not ended step 7.4 on n0, n1, n2; look at squeue -s, "
                                   "and end it with scancel");
}
END_TEST

/* Slurm may be busy with a step, as with an epilog, when all is gone that was begun in it. */
START_TEST(lingers)
{
    static const struct {
        const char *ended;
        int rc;
    } row[] = { { "0 1 2", -EINPROGRESS }, { "0 2", -ETIMEDOUT } };
    struct eddis_error err = { 0 };
    cleanup_free char *script = NULL;

    ck_assert_int_gt(asprintf(&script,
                              UP "trap '' TERM\n"
                                 "for i in %s; do echo \"$i: eddis-keeper exit 0\" >&2; done\n"
                                 "while :; do sleep 1; done\n",
                              row[_i].ended),
                     0);
    start_all(script);
    wait_event(0, START_ENDED);
    wait_event(1, START_ENDED);
    clean(3, row[_i].rc, &err);
    ck_assert_str_eq(err.text, row[_i].rc == -ETIMEDOUT
                                   ? "Slurm has not ended step 7.4 on n0, n1, n2; look at squeue "
                                     "-s, and end it with scancel"
                                   : "Slurm has not ended step 7.4 on n0, n1, n2, although no "
                                     "process is left there; look at squeue -s");
}
END_TEST

/* The same of agents that have said farewell, when srun and its helper were killed. */
START_TEST(cut_behind_farewells)
{
    struct eddis_error err = { 0 };

    write_script("scancel",
                 "echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1\n");
    start_all(UP "exec sleep 60\n");
    for (int i = 0; i < NODES; i++) {
        starter_registered(s, i);
        starter_left(s, i, "", clock_now_ns());
    }
    kill_srun();
    for (int i = 0; i < NODES; i++)
        wait_event(i, START_ENDED);
    clean(60, -EINPROGRESS, &err);
}
END_TEST

START_TEST(variables)
{
    static const struct {
        const char *name, *value;
        bool stays;
    } rows[] = { { "SLURM_NTASKS", "12", false },     { "SLURM_CPUS_PER_TASK", "4", false },
                 { "SLURM_EXACT", "1", false },       { "CUDA_VISIBLE_DEVICES", "3", false },
                 { "SLURM_STEPID", "1", false },      { "SLURM_STEP_ID", "1", false },
                 { "SLURM_CONF", "/c", true },        { "SLURM_STEPMGR", "n0", true },
                 { "SLURM_ARRAY_TASK_ID", "5", true } };
    const size_t n = sizeof rows / sizeof *rows;
    cleanup_free char *env = NULL;

    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(setenv(rows[i].name, rows[i].value, 1), 0);
    start_all(UP "sleep 60\n");
    env = scratch_content("env");
    for (size_t i = 0; i < n; i++) {
        char part[64];

        snprintf(part, sizeof part, rows[i].stays ? "%s=%s\n" : "%s=", rows[i].name, rows[i].value);
        ck_assert_msg(!strstr(env, part) == !rows[i].stays, "%s", part);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, together);
    tcase_add_test(tc, apart);
    tcase_add_loop_test(tc, cannot_begin, 0, sizeof failures / sizeof *failures);
    tcase_add_test(tc, another_version);
    tcase_add_test(tc, srun_killed);
    tcase_add_test(tc, ended_by_number);
    tcase_add_test(tc, never_ended);
    tcase_add_loop_test(tc, refused, 0, 3);
    tcase_add_loop_test(tc, lingers, 0, 2);
    tcase_add_test(tc, cut_behind_farewells);
    tcase_add_test(tc, variables);
}

SUITE_MAIN("start_step", add_tests)
