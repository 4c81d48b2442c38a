/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_slurm.c - the keys under `slurm` */
#include "lib/base/clock.h"
#include "lib/model/job.h"
#include "suite.h"

#include "tests/unit/jobs.h"

#define C "command: a\n"

static const char everything[] =
    C "slurm:\n"
      "  {partition: gpu, time: 12:00:00, gres: \"gpu:a100:4(S:0-1)\", constraint: \"[a|b]\",\n"
      "   cpus: all, account: none, requeue: on, launch: ssh,\n"
      "   extra: [--exclusive, \"--comment=a b\", auto],\n"
      "   components: [{nodes: 2, gres: none, cpus: 3}, {}, {memory: 4G, partition: p}]}\n";

START_TEST(full)
{
    char *text = NULL, *again = NULL, shown[200];

    read_job(everything);
    for (int round = 0; round < 2; round++) { /* as written, and as job.yaml has it */
        ck_assert_int_eq(job->slurm.time_ns, 43200 * CLOCK_S);
        ck_assert_str_eq(job->slurm.gres, "gpu:a100:4(S:0-1)");
        ck_assert_str_eq(job->slurm.constraint, "[a|b]");
        ck_assert_int_eq(job->slurm.cpus, -1);
        ck_assert_str_eq(job->slurm.account, "none");
        ck_assert_ptr_null(job->slurm.qos);
        ck_assert_str_eq(job->slurm.requeue, "on");
        ck_assert_str_eq(job->slurm.launch, "ssh");
        ck_assert_str_eq(job->slurm.extra[1], "--comment=a b");
        ck_assert_uint_eq(job->slurm.n_components, 3);
        ck_assert_str_eq(job->slurm.component[0].gres, "none");
        ck_assert_int_eq(job->slurm.component[0].cpus, 3);
        ck_assert_int_eq(job->slurm.component[1].nodes, 1);
        ck_assert_ptr_null(job->slurm.component[1].gres);
        job_value_text(job, "slurm.components", shown, sizeof shown);
        ck_assert_str_eq(shown, "[{nodes: 2, gres: none, cpus: 3}, {nodes: 1}, {nodes: 1, "
                                "partition: p, memory: \"4G\"}]");
        text = job_text(job);
        ck_assert_ptr_nonnull(text);
        ck_assert(!again || strstr(text, "requeue: \"on\""));
        free(again);
        again = text;
        read_job(text);
    }
    free(text);
}
END_TEST

static const struct {
    const char *text, *want;
} bad[] = {
    { C "slurm: {gres: }", "2:15: \"slurm.gres\" is empty; write a text or none" },
    { C "slurm: {gres: gpu 4}",
      "2:15: \"slurm.gres\": \"gpu 4\" is not valid for sbatch; write letters, digits and "
      "punctuation, without blanks, quotes, backslashes, '#' and a leading '-'" },
    { C "slurm: {constraint: -C}", NULL },
    { C "slurm: {account: \"a#b\"}", NULL },
    { C "slurm: {qos: \"a\\\"b\"}", NULL },
    { C "slurm: {memory: \"a\\nb\"}", NULL },
    { C "slurm: {cpus: some}", NULL },
    { C "slurm: {time: 5s}", NULL },
    { C "slurm: {nodes: 0}",
      "2:16: \"slurm.nodes\" is \"0\"; write a whole number from 1 to 16384 or auto" },
    { C "slurm: {launch: mpi}", "2:17: \"slurm.launch\" is \"mpi\"; write auto, srun or ssh" },
    { C "slurm: {requeue: yes}", "2:18: \"slurm.requeue\" is \"yes\"; write auto, on or off" },
    { C "slurm: {extra: [\"a\\nb\"]}",
      "2:17: \"slurm.extra\": a control character; write plain text" },
    { C "slurm: {extra: [\"\"]}", "2:17: \"slurm.extra\": an empty word; remove it" },
    { C "slurm: {components: 3}", NULL },
    { C "slurm: {components: [3]}", "2:22: an entry of \"slurm.components\" is not a map; write "
                                    "one like {nodes: 2, constraint: a100}" },
    { C "slurm: {components: [{nodes: 2}, {node: 2}]}",
      "2:35: unknown key \"node\" in \"slurm.components\"; did you mean \"nodes\"?" },
    { C "slurm: {nodes: 2, components: [{nodes: 2}]}",
      "2:9: \"slurm.nodes\" is 2 and \"slurm.components\" is [{nodes: 2}]; each component has "
      "its own number of nodes; remove \"slurm.nodes\"" },
};

START_TEST(wrong)
{
    check_refused(bad[_i].text, bad[_i].want);
    ck_assert_int_eq(strncmp(err.text, "train.yaml:2:", 13), 0);
}
END_TEST

START_TEST(set)
{
    read_job(C);
    ck_assert_int_eq(job->slurm.time_ns, CLOCK_NEVER);
    ck_assert_str_eq(job->slurm.launch, "auto");
    ck_assert_int_eq(job_set(job, "slurm.components", "[{nodes: 2}]", "--set", &err), 0);
    ck_assert_int_eq(job_set(job, "slurm.components", "[]", "--set", &err), 0);
    ck_assert_uint_eq(job->slurm.n_components, 0);
    ck_assert_int_eq(job_set(job, "slurm.gres", "gpu:2", "--set", &err), 0);
    ck_assert_str_eq(job->slurm.gres, "gpu:2");
    ck_assert_int_eq(job_set(job, "slurm.gres", "none", "--set", &err), 0);
    ck_assert_ptr_null(job->slurm.gres);
}
END_TEST

static void add_tests(TCase *tc)
{
    jobs_add(tc);
    tcase_add_test(tc, full);
    tcase_add_loop_test(tc, wrong, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, set);
}

SUITE_MAIN("job_slurm", add_tests)
