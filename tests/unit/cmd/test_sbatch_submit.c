/* SPDX-License-Identifier: Apache-2.0 */
/* test_sbatch_submit.c - tests of cmd/sbatch/sbatch_submit.h and slurm_program.h: programs that say
 * more than they should, or nothing
 */
#include "cmd/sbatch/sbatch_submit.h"

#include "cmd/slurm/slurm_program.h"
#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include "tests/unit/jobs.h"

#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

static char taken[128];
static int times;
static char got_file[256]; /* path of a file that is made when a number is taken */

static void on_got(void *ctx, const char *id, const char *cluster)
{
    (void)ctx;
    times++;
    (void)snprintf(taken, sizeof taken, "%s %s", id, cluster);
    if (*got_file)
        ck_assert_int_eq(file_write_atomic(got_file, "", 0, 0600, NULL), 0);
}

/* What a test asks for, and what comes of it. */
static char *words[2];
static struct sbatch_ask ask;
static char *said;

static void set_up(void)
{
    jobs_begin();
    said = NULL;
    times = 0;
    *taken = '\0';
}

static void tear_down(void)
{
    free(said);
    jobs_end();
}

/* Ask for the job of this text, with an option of sbatch or NULL. */
static void ask_for(const char *word, const char *yaml)
{
    read_job(yaml);
    words[0] = (char *)(uintptr_t)word;
    ask = (struct sbatch_ask){ .job = job, .words = words };
}

static int submit(bool doubtful)
{
    ask_for(NULL, "command: 'true'\n");
    ask.words = NULL;
    return sbatch_submit(&ask, "#!/bin/sh\n", doubtful, on_got, NULL, &err);
}

static int submit_test(void)
{
    return sbatch_submit_test(&ask, "#!/bin/sh\n", &said, &err);
}

static const struct {
    const char *says, *taken;
} rows[] = {
    { "echo 12", "12 " },
    { "echo '12;east'", "12 east" },
    { "echo 'Welcome to the cluster, since 2009'; echo; echo '12;east'", "12 east" },
    { "echo 'Welcome'; echo 2009; echo 12", "12 " },
    { "echo '12;east'; echo '  thank you  '", "12 east" },
    { "echo 12; sleep 0.1; echo 'see https://support'; exit 3", "12 " },
    { "i=0; while test $i -lt 300; do echo 'a long banner, line after line'; i=$((i + 1)); done; "
      "echo 12",
      "12 " },
    /* the end of a number that was told before is none */
    { "printf '%2045s\\n123456\\n%2000s\\n' x y", "123456 " },
    { "echo 'Welcome 12'", "" },
    { "printf 12", "" }, /* who is cut off has not told it */
    { "exit 1", "" },
};

START_TEST(banner)
{
    int rc;

    scratch_program("sbatch", "%s", rows[_i].says);
    rc = submit(false);
    ck_assert_str_eq(taken, rows[_i].taken);
    ck_assert_int_eq(times, *taken != '\0');
    ck_assert_int_eq(rc, !*taken ? -EINVAL : strstr(rows[_i].says, "exit 3") ? 3 : 0);
}
END_TEST

/* The number is told at once, though sbatch stays until the job's end. */
START_TEST(waits)
{
    (void)snprintf(got_file, sizeof got_file, "%s/told", scratch);
    scratch_program("sbatch",
                    "echo 12; for i in $(seq 500); do test -e '%s' && exit 5; "
                    "sleep 0.1; done; exit 6",
                    got_file);
    ck_assert_int_eq(submit(false), 5);
    *got_file = '\0';
    ck_assert_str_eq(taken, "12 ");
}
END_TEST

/* As some programs leave SIGCHLD to those that they start. */
START_TEST(ignored)
{
    const char *const argv[] = { "scontrol", NULL };

    scratch_program("scontrol", "echo told; exit 7");
    scratch_program("sbatch", "echo 12; exit 5");
    (void)signal(SIGCHLD, SIG_IGN);
    ck_assert_int_eq(slurm_program_run(argv, "", &said, NULL), 7);
    ck_assert_str_eq(said, "told\n");
    (void)signal(SIGCHLD, SIG_IGN);
    ck_assert_int_eq(submit(false), 5);
    ck_assert_str_eq(taken, "12 ");
}
END_TEST

/* What obeys a signal is not ended by the next one. */
START_TEST(held)
{
    const char *const argv[] = { "scancel", NULL };
    sigset_t set;

    scratch_program("scancel", "sleep 0.2; echo done");
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    (void)raise(SIGINT);
    ck_assert_int_eq(slurm_program_run(argv, "", &said, NULL), -EINTR);
    ck_assert_ptr_null(said);
    ck_assert_int_eq(slurm_program_run_for(argv, "", 60 * CLOCK_S, false, &said, NULL), 0);
    ck_assert_str_eq(said, "done\n");
}
END_TEST

/* Slurm starts a job that asks for more time than its partition allows where it may have less, and
 * where its QOS has a limit of its own; and sinfo tells of this cluster's partitions.
 */
static const struct {
    const char *yaml, *word, *variable;
    bool refused;
} limits[] = {
    { "", NULL, NULL, true },
    { "", "--time=5", NULL, false },
    { "", "--time-min=5", NULL, false },
    { "", "--time-mi=5", NULL, false },
    { "  extra: [--time-min, '5']\n", NULL, NULL, false },
    { "", "-Meast", NULL, false },
    { "", "--clusters=east", NULL, false },
    { "", NULL, "SBATCH_CLUSTERS", false },
    { "", NULL, "SLURM_CLUSTERS", false },
    { "", "-qlong", NULL, false },
    { "  qos: long\n", NULL, NULL, false },
    { "  qos: none\n", NULL, NULL, true },
    { "", NULL, "SBATCH_QOS", false },
    { "", NULL, "SBATCH_ACCOUNT", true },
};

START_TEST(over_limit)
{
    char yaml[200];

    (void)snprintf(yaml, sizeof yaml,
                   "command: 'true'\nslurm:\n  time: 10m\n  partition: short\n%s", limits[_i].yaml);
    ask_for(limits[_i].word, yaml);
    if (limits[_i].variable)
        ck_assert_int_eq(setenv(limits[_i].variable, "east", 1), 0);
    scratch_program("sbatch", "echo 'sbatch: Job 1 to start at ...'");
    scratch_program("sinfo", "echo 'main*|infinite'; echo 'short|5:00'");
    ck_assert_int_eq(submit_test(), limits[_i].refused ? -EINVAL : 0);
    if (limits[_i].refused)
        ck_assert_ptr_nonnull(strstr(err.text, "partition short allows 5 minutes"));
}
END_TEST

/* "sbatch --test-only" says no where a node is drained, too: only sbatch itself knows. */
static const struct {
    const char *says, *node, *word; /* of sbatch, sinfo, and an option */
    const char *waits;              /* part of what is said; NULL: the job is refused */
} doubts[] = {
    { "Requested node configuration is not available", "n4|drained|main*|bad fan", NULL,
      "up now: n4 is drained (bad fan)" },
    { "Requested node configuration is not available", "n4|down*|main*|none", NULL,
      "up now: n4 is down and does not answer" },
    { "Requested node configuration is not available", "n4|reserved|main*|none", NULL,
      "n4 is reserved" },
    { "Requested nodes are busy", "n4|drained|main*|x", NULL, "n4 is drained (x)" },
    { "Requested node configuration is not available", "n4|drained|main*|x", "-pmain",
      "n4 is drained (x)" },
    { "Requested node configuration is not available", "n4|drained|gpu|x", "-pmain,gpu",
      "n4 is drained (x)" },
    { "Requested node configuration is not available", "n4|drained|main*|x", "-pgpu", NULL },
    { "Requested node configuration is not available", "n4|drained|gpu|x", NULL, NULL },
    { "Requested node configuration is not available", "n4|idle~|main*|none", NULL, NULL },
    { "Requested node configuration is not available", "n4|mixed|main*|none", "-Meast",
      "with the nodes that are up now" },
    { "Requested node configuration is not available",
      "n1|down|main*|x\nn1|down|all|x\nn2|down|main*|x\nn3|down|main*|x\nn4|down|main*|x", NULL,
      "n1 is down (x), n2 is down (x), n3 is down (x) and 1 more" },
    { "Invalid feature specification", "n4|drained|main*|x", NULL, NULL },
};

START_TEST(doubtful)
{
    int rc;

    ask_for(doubts[_i].word, "command: 'true'\nslurm: {nodes: 4}\n");
    scratch_program("sbatch", "echo 'allocation failure: %s'; exit 1", doubts[_i].says);
    scratch_program("sinfo",
                    "case \"$*\" in *%%N*) printf '%s\\n';; *) echo "
                    "'main*|infinite';; esac",
                    doubts[_i].node);
    rc = submit_test();
    ck_assert_msg(rc == (doubts[_i].waits ? 1 : -EINVAL), "%d: %s", rc, err.text);
    if (doubts[_i].waits)
        ck_assert_msg(strstr(said, doubts[_i].waits) != NULL, "%s", said);
}
END_TEST

/* One core of each node, by what Slurm itself says; NULL: sinfo does not answer. */
static const struct {
    const char *yaml, *word;
    int processors;
    bool narrow;
    const char *nodes;
} widths[] = {
    { "nodes: 2, gres: \"gpu:4\"", NULL, 2, true },
    { "nodes: 2, gres: \"gpu:4\"", NULL, 32, false }, /* the site gives some with each GPU */
    { "nodes: 2, gres: \"gpu:4\"", "-N3", 3, true },
    { "nodes: 2, gres: \"gpu:4\", cpus: 1", NULL, 2, false },
    { "nodes: 2, gres: \"gpu:4\"", "-c1", 2, false },
    { "nodes: 2", "--gpus=4", 2, true },
    { "components: [{gres: gpu}, {}]", NULL, 1, false },
    { "nodes: 2, gres: \"gpu:4\"", NULL, 4, true, "n1|2:8:2\nn1|2:8:2\nn2|2:8:2" },
    { "nodes: 2, gres: \"gpu:4\"", NULL, 5, false, "n1|2:8:2\nn2|2:8:2" },
    { "nodes: 2, gres: \"gpu:4\"", NULL, 2, true, "n1|2:8:2\nn2|2:8:2" }, /* a thread each */
    { "nodes: 2, gres: \"gpu:4\"", NULL, 3, true, "n1|2:8:2\nn2|2:8:1" },
    { "nodes: 2, gres: \"gpu:4\"", NULL, 4, false, "n1|1:1:2\nn2|1:1:2" }, /* all there are */
    { "nodes: 2, gres: \"gpu:4\"", NULL, 2, true, "n1|unknown\n" },
    { "gres: \"gpu:4\"", "-N2-4", 2, true, "n1|2:8:1\nn2|2:8:1" },
    { "nodes: 4, gres: \"gpu:4\"", "-M east", 4, true, "n1|2:8:1" }, /* of another n1 */
};

START_TEST(narrow)
{
    char yaml[200], line[200];

    (void)snprintf(yaml, sizeof yaml, "command: 'true'\nslurm: {%s}\n", widths[_i].yaml);
    ask_for(widths[_i].word, yaml);
    if (widths[_i].nodes)
        scratch_program("sinfo",
                        "case \"$*\" in *'-n node[1-2]') printf '%s\\n';; *) exit 1;; esac",
                        widths[_i].nodes);
    else
        scratch_program("sinfo", "exit 1");
    (void)snprintf(line, sizeof line,
                   "Job 7 to start at 2026-11-29T02:00:00 using %d processors on nodes node[1-2] "
                   "in partition main",
                   widths[_i].processors);
    ck_assert_int_eq(sbatch_submit_is_narrow(&ask, line), widths[_i].narrow);
    ck_assert(!sbatch_submit_is_narrow(&ask, "Job 7 to start now"));
}
END_TEST

/* What Slurm would never start does not stay in its queue; what waits does. */
static const struct {
    const char *reason;
    bool never;
} reasons[] = {
    { "ReqNodeNotAvail,_UnavailableNodes:n4", false },
    { "Resources", false },
    { "PartitionConfig", true },
    { "PartitionNodeLimit", true },
};

START_TEST(never)
{
    cleanup_free char *cancelled = NULL;

    scratch_program("sbatch", "echo 12");
    scratch_program("scontrol", "echo 'JobId=12 JobName=x'; echo '   JobState=PENDING Reason=%s'",
                    reasons[_i].reason);
    scratch_program("scancel", "echo $1 >%s/cancelled", scratch);
    ck_assert_int_eq(submit(true), reasons[_i].never ? -EINVAL : 0);
    ck_assert_int_eq(times, !reasons[_i].never);
    cancelled = scratch_content("cancelled");
    ck_assert_pstr_eq(cancelled, reasons[_i].never ? "12\n" : NULL);
    if (reasons[_i].never)
        ck_assert_ptr_nonnull(strstr(err.text, reasons[_i].reason));
}
END_TEST

/* The place that is blamed is the one that had the last word. */
static const struct {
    const char *word, *says, *blamed;
} places[] = {
    { "-N99", "Requested node configuration is not available", "--nodes is \"99\" (command line)" },
    { "--nodes=99", "Requested node configuration is not available",
      "--nodes is \"99\" (command line)" },
    { "-pnope", "invalid partition specified", "--partition is \"nope\" (command line)" },
    { "-Cnope", "Invalid feature specification", "--constraint is \"nope\" (command line)" },
    { "-c9", "Requested node configuration is not available", "slurm.nodes is 4 (train.yaml:2)" },
    { "-c9", "Requested node configuration is not available",
      "--cpus-per-task is \"9\" (command line)" },
    { "-x n1", "invalid partition specified", "slurm.partition is main (train.yaml:2)" },
};

START_TEST(blamed)
{
    ask_for(places[_i].word,
            "command: 'true'\nslurm: {nodes: 4, partition: main, constraint: a}\n");
    scratch_program("sbatch", "echo 'allocation failure: %s'; exit 1", places[_i].says);
    scratch_program("sinfo", "exit 1");
    ck_assert_int_eq(submit_test(), -EINVAL);
    ck_assert_msg(strstr(err.text, places[_i].blamed) != NULL, "%s", err.text);
}
END_TEST

/* sbatch is installed, and nobody it could ask: no job was looked at. */
START_TEST(absent)
{
    ask_for(NULL, "command: 'true'\n");
    scratch_program("sbatch",
                    "echo 'sbatch: fatal: Could not establish a configuration source' >&2\n"
                    "exit 1");
    ck_assert_int_eq(submit_test(), -EHOSTDOWN);
    ck_assert_msg(strncmp(err.text, "Slurm does not answer on this machine", 37) == 0, "%s",
                  err.text);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, banner, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, waits);
    tcase_add_test(tc, ignored);
    tcase_add_test(tc, held);
    tcase_add_test(tc, absent);
    tcase_add_loop_test(tc, doubtful, 0, sizeof doubts / sizeof *doubts);
    tcase_add_loop_test(tc, never, 0, sizeof reasons / sizeof *reasons);
    tcase_add_loop_test(tc, narrow, 0, sizeof widths / sizeof *widths);
    tcase_add_loop_test(tc, blamed, 0, sizeof places / sizeof *places);
    tcase_add_loop_test(tc, over_limit, 0, sizeof limits / sizeof *limits);
}

SUITE_MAIN("sbatch_submit", add_tests)
