/* SPDX-License-Identifier: Apache-2.0 */
/* test_sbatch_script.c - tests of cmd/sbatch/sbatch_script.h */
#include "cmd/sbatch/sbatch_script.h"

#include "lib/base/clock.h"
#include "suite.h"

#include "tests/unit/jobs.h"

#include <stdint.h>

enum { MOST = 12 };

#define WORDS(...) ((char *const *)(uintptr_t)(const char *const[MOST]){ __VA_ARGS__ })

static char *script;

static void set_up(void)
{
    jobs_begin();
    script = NULL;
}

static void tear_down(void)
{
    free(script);
    jobs_end();
}

/* Make the script, without its comments, of a job. */
static void make_script(const char *text, char *const *args, char *const *words)
{
    struct sbatch_ask a = { .program = "/opt/my eddis/bin/eddis-run",
                            .args = args,
                            .words = words };
    char *all, *to;

    read_job(text);
    a.job = job;
    ck_assert_msg(sbatch_script_check(&a, &err) == 0, "%s", err.text);
    script = all = to = sbatch_script_text(&a);
    ck_assert_ptr_nonnull(all);
    for (char *line = all, *end; (end = strchr(line, '\n')); line = end + 1)
        if (strncmp(line, "# ", 2) != 0) {
            memmove(to, line, (size_t)(end + 1 - line));
            to += end + 1 - line;
        }
    *to = '\0';
}

#define ARGS  WORDS("/home/ada/it's.yaml")
#define EXEC  "exec '/opt/my eddis/bin/eddis-run' "
#define FILE_ "'/home/ada/it'\\''s.yaml'\n"

START_TEST(plain)
{
    make_script("command: a\nname: x\n", ARGS, NULL);
    ck_assert_str_eq(script, "#!/bin/sh\n#SBATCH --job-name=x\n#SBATCH --signal=B:USR1@130\n"
                             "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --exclusive\n"
                             "#SBATCH --no-kill\n" EXEC FILE_);
}
END_TEST

START_TEST(everything)
{
    char *const *args = WORDS("--set", "env={A: \"b c\"}", "/home/ada/it's.yaml");
    char *const *words = WORDS("-N2");

    make_script("command: a\nname: x\nslurm: {partition: p, time: 36h, nodes: 3, gres: g, "
                "constraint: c, cpus: all, memory: 1G, account: m, qos: q, requeue: on, "
                "extra: [--exclude=n]}\ncheckpoint: {dir: /c}\n",
                args, words);
    ck_assert_str_eq(script,
                     "#!/bin/sh\n#SBATCH --job-name=x\n#SBATCH --signal=B:USR1@130\n"
                     "#SBATCH --partition=p\n#SBATCH --nodes=3\n#SBATCH --ntasks-per-node=1\n"
                     "#SBATCH --gres=g\n#SBATCH --constraint=c\n#SBATCH --exclusive\n"
                     "#SBATCH --mem=1G\n#SBATCH --account=m\n#SBATCH --qos=q\n"
                     "#SBATCH --time=1-12:00:00\n#SBATCH --requeue\n"
                     "#SBATCH --open-mode=append\n#SBATCH --no-kill\n#SBATCH --exclude=n\n"
                     "#SBATCH -N2\n" EXEC "--set 'env={A: \"b c\"}' " FILE_);
}
END_TEST

START_TEST(components)
{
    char *const *words = WORDS("-w", "n1", ":", "-t5");

    make_script("command: a\nname: x\nslurm: {gres: \"gpu:4\", components: [{nodes: 2}, "
                "{gres: none, partition: q, cpus: 3}, {gres: none}]}\n",
                ARGS, words);
    ck_assert_str_eq(script,
                     "#!/bin/sh\n#SBATCH --job-name=x\n#SBATCH --signal=B:USR1@130\n"
                     "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:4\n"
                     "#SBATCH --no-kill\n#SBATCH -w n1\n"
                     "#SBATCH hetjob\n#SBATCH --partition=q\n#SBATCH --nodes=1\n"
                     "#SBATCH --ntasks-per-node=1\n#SBATCH --cpus-per-task=3\n#SBATCH --no-kill\n"
                     "#SBATCH -t5\n"
                     "#SBATCH hetjob\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n"
                     "#SBATCH --exclusive\n#SBATCH --no-kill\n" EXEC FILE_);
}
END_TEST

START_TEST(hosts)
{
    make_script("command: a\nname: x\nnodes: [\"n[1-2]\"]\ncheckpoint: {every: 0}\n"
                "timeouts: {checkpoint: 1500ms, grace: 1s}\n",
                ARGS, NULL);
    ck_assert_ptr_nonnull(strstr(script, "--nodes=2\n"));
    ck_assert_ptr_nonnull(strstr(script, "--nodelist=n1,n2\n"));
    ck_assert_ptr_nonnull(strstr(script, "B:USR1@3\n")); /* rounded up */
}
END_TEST

static const struct {
    const char *text, *want;
} wrong[] = {
    { "command: a\nslurm: {time: 1m}\n", "slurm.time is 1m (train.yaml:2), of which the last 130 s "
                                         "are for saving (timeouts.checkpoint and timeouts.grace); "
                                         "give the job more time, or shorten these timeouts" },
    { "command: a\nslurm: {requeue: on}\n",
      "train.yaml:2: slurm.requeue: without checkpoints a requeued job starts from the beginning; "
      "set checkpoint.dir to a folder that all nodes share" },
    { "command: a\nnodes: [b]\nslurm: {nodes: 2}\n",
      "train.yaml:3: slurm.nodes: that is not the number of named nodes; leave it out" },
    { "command: a\nnodes: [b]\nslurm: {components: [{nodes: 2}]}\n",
      "train.yaml:2: nodes: named nodes cannot be divided among slurm.components; remove one of "
      "the two" },
    { "command: a\nslurm: {extra: [x]}\n",
      "train.yaml:2: \"x\" is not an option of sbatch; name only one job file, and write options "
      "of eddis-run as keys in it" },
};

START_TEST(refused)
{
    struct sbatch_ask a = { .program = "/e", .args = ARGS };

    read_job(wrong[_i].text);
    a.job = job;
    ck_assert_int_eq(sbatch_script_check(&a, &err), -EINVAL);
    ck_assert_str_eq(err.text, wrong[_i].want);
}
END_TEST

static const struct {
    const char *word, *value;
    int64_t ns;
} times[] = {
    { "-t5", NULL, 300 * CLOCK_S },           { "-t", "90", 5400 * CLOCK_S },
    { "--time=10:30", NULL, 630 * CLOCK_S },  { "--time", "01:00:00", 3600 * CLOCK_S },
    { "--time=2-3", NULL, 183600 * CLOCK_S }, { "--time=INFINITE", NULL, CLOCK_NEVER },
    { "--time-min=5", NULL, 7200 * CLOCK_S }, { "-t0", NULL, CLOCK_NEVER },
    { "--time=tomorrow", NULL, -1 },
};

/* Who has the last word about the time; what eddis cannot read, Slurm may. */
START_TEST(limits)
{
    struct sbatch_ask a = { .words = WORDS(times[_i].word, times[_i].value) };
    char where[200];

    read_job("command: a\nslurm: {time: 2h, partition: p}\n");
    a.job = job;
    ck_assert_int_eq(setenv("SBATCH_TIMELIMIT", "1", 1), 0);
    ck_assert_int_eq(setenv("SBATCH_PARTITION", "q", 1), 0);
    ck_assert_int_eq(sbatch_script_check(&a, NULL), 0);
    ck_assert_int_eq(sbatch_script_time_ns(&a, 0, where, sizeof where), times[_i].ns);
    ck_assert_ptr_nonnull(strstr(where, times[_i].ns == 7200 * CLOCK_S
                                            ? "slurm.time is 2h (train.yaml:2)"
                                            : "(command line)"));
    ck_assert_str_eq(sbatch_script_partition(&a, 0), "p");
}
END_TEST

/* Each component has a time and a partition; variables hold where nobody asks. */
START_TEST(of_components)
{
    struct sbatch_ask a = { .words = WORDS("-pa", ":", "-t9", ":", "-p", "c") };
    char where[200];

    read_job("command: a\nslurm: {components: [{}, {partition: p}, {}], "
             "extra: [-t3-0, \":\", -t, 1-0]}\n");
    a.job = job;
    ck_assert_int_eq(setenv("SBATCH_PARTITION", "q", 1), 0);
    ck_assert_int_eq(sbatch_script_time_ns(&a, 0, where, sizeof where), 259200 * CLOCK_S);
    ck_assert_int_eq(sbatch_script_time_ns(&a, 1, where, sizeof where), 540 * CLOCK_S);
    ck_assert_int_eq(sbatch_script_time_ns(&a, 2, where, sizeof where), -1);
    ck_assert_int_eq(setenv("SBATCH_TIMELIMIT", "1", 1), 0);
    ck_assert_int_eq(sbatch_script_time_ns(&a, 2, where, sizeof where), 60 * CLOCK_S);
    ck_assert_str_eq(where, "the time limit is \"1\" (SBATCH_TIMELIMIT)");
    ck_assert_int_eq(sbatch_script_check(&a, NULL), -EINVAL);
    ck_assert_str_eq(sbatch_script_partition(&a, 0), "a");
    ck_assert_str_eq(sbatch_script_partition(&a, 1), "p");
    ck_assert_str_eq(sbatch_script_partition(&a, 2), "c");
}
END_TEST

/* What the script asks for itself, variables of sbatch do not. */
START_TEST(variables)
{
    struct sbatch_ask a = { .words = WORDS("-A", "me", ":", "--qos=q") };
    static const char *const gone[] = { "SBATCH_PARTITION", "SBATCH_SIGNAL", "SBATCH_JOB_NAME",
                                        "SBATCH_ACCOUNT", "SBATCH_QOS" };

    read_job("command: a\nslurm: {components: [{}, {partition: p}], extra: [-Jy]}\n");
    a.job = job;
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        ck_assert_int_eq(setenv(gone[i], "x", 1), 0);
    ck_assert_int_eq(setenv("SBATCH_TIMELIMIT", "5", 1), 0);
    sbatch_script_drop_variables(&a);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        ck_assert_ptr_null(getenv(gone[i]));
    ck_assert_ptr_nonnull(getenv("SBATCH_TIMELIMIT"));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, plain);
    tcase_add_test(tc, everything);
    tcase_add_test(tc, components);
    tcase_add_test(tc, hosts);
    tcase_add_loop_test(tc, limits, 0, sizeof times / sizeof *times);
    tcase_add_test(tc, of_components);
    tcase_add_test(tc, variables);
    tcase_add_loop_test(tc, refused, 0, sizeof wrong / sizeof *wrong);
}

SUITE_MAIN("sbatch_script", add_tests)
