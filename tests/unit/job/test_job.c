/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c - train.yaml: what is accepted, and the exact sentence for what is not */
#include "lib/model/job.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/job/job_keys.h"
#include "lib/job/job_text.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include "tests/unit/jobs.h"

#include <unistd.h>

START_TEST(defaults)
{
    read_job("command: [sleep, 1]");
    ck_assert_str_eq(job->file, "train.yaml");
    ck_assert_str_eq(job->folder, "/home/ada/digits");
    ck_assert_str_eq(job->name, "digits");
    ck_assert_str_eq(job->workdir, "/home/ada/digits");
    ck_assert_str_eq(job->command[0], "sleep");
    ck_assert_str_eq(job->command[1], "1");
    ck_assert_ptr_null(job->command[2]);
    ck_assert_int_eq(job->workers_per_node, 0);
    ck_assert_int_eq(job->batch.global, 256);
    ck_assert_int_eq(job->batch.min, 1);
    ck_assert_int_eq(job->batch.max, 0);
    ck_assert_str_eq(job->sync.mode, "auto");
    ck_assert(job->communication.bucket_mb == 0);
    ck_assert_str_eq(job->communication.wire, "auto");
    ck_assert_ptr_null(job->mpi.args[0]);
    ck_assert_ptr_null(job->mpi.mca[0]);
    ck_assert_ptr_null(job->env[0]);
    ck_assert_int_eq(job->profile.cache_ns, 7 * 86400 * CLOCK_S);
    ck_assert_uint_eq(job->profile.n_emulate, 0);
    ck_assert_ptr_null(job->checkpoint.dir);
    ck_assert_str_eq(job->checkpoint.resume, "auto");
    ck_assert_int_eq(job->timeouts.lease_ns, 10 * CLOCK_S);
    ck_assert_int_eq(job->timeouts.job_ns, CLOCK_NEVER);
    ck_assert_ptr_null(job->logs.dir);
    ck_assert_int_eq(job_origin(job, "seed").kind, JOB_DEFAULT);
    ck_assert_int_eq(job_origin(job, "command").line, 1);
}
END_TEST

/* A secret in a command or a line of the shell is not shown, and still reaches the job. */
START_TEST(masked_lists)
{
    char *text;

    read_job("command: [env, A_KEY=geheim, train]\nsetup: [export B_TOKEN=geheim]\n"
             "mpi: {args: [-x, C_SECRET=geheim]}\nenv: {MY_PASSWD: geheim}");
    text = job_text(job);
    ck_assert_ptr_null(strstr(text, "geheim"));
    ck_assert_str_eq(job->command[1], "A_KEY=geheim");
    free(text);
}
END_TEST

static const char everything[] =
    "# a comment\n"
    "name: resnet-mixed\n"
    "command: python3 train.py --data '/data/image net' \"a \\\"b\\\"\" c\\ d ''\n"
    "workdir: ./sub/\n"
    "workers_per_node: 4\n"
    "seed: 9223372036854775807\n"
    "batch: {global: 512, min: 4, max: 400, grain: 2}\n"
    "sync: {mode: sync, algorithm: allreduce}\n"
    "learning_rate: {warmup: 100}\n"
    "communication: {bucket_mb: 0.1, wire: bfloat16}\n"
    "mpi: {args: [--mca, \"x y\", \"\"], mca: {btl: \"self,vader\", pml: ob1}}\n"
    "profile:\n"
    "  cache: 1h30m\n"
    "  emulate:\n"
    "    - {rate: 1.0, a_ms: 2, c_ms: 0.1}\n"
    "    - {rate: 0.4}\n"
    "    - {c_ms: 0.3, rate: 2}\n"
    "checkpoint: {dir: /ckpt, every: 1m30s, keep: 1, resume: old/step-00000500}\n"
    "timeouts: {launch: 90s, lease: 12.0000005s, heartbeat: 250ms, grace: 0s, checkpoint: 1m, "
    "job: \"12:00:00\"}\n"
    "env: {ZED: \"a=b\", OMP_NUM_THREADS: 4, B: 1.50, C: yes, A: \"\", WANDB_API_KEY: geheim, U: "
    "\"\\x80\\u2028h\\n\\t\\\"\"}\n"
    "binding: none\n"
    "logs: {dir: auto, max_mb: 10}\n";

START_TEST(full)
{
    char text[200];

    read_job(everything);
    ck_assert_str_eq(job->command[3], "/data/image net");
    ck_assert_str_eq(job->command[4], "a \"b\"");
    ck_assert_str_eq(job->command[5], "c d");
    ck_assert_str_eq(job->command[6], "");
    ck_assert_ptr_null(job->command[7]);
    ck_assert_str_eq(job->workdir, "/home/ada/digits/sub");
    ck_assert_uint_eq(job->seed, INT64_MAX);
    ck_assert_int_eq(job->batch.grain, 2);
    ck_assert(job->communication.bucket_mb == 0.1);
    ck_assert_str_eq(job->communication.wire, "bfloat16");
    ck_assert_str_eq(job->mpi.args[1], "x y");
    ck_assert_str_eq(job->mpi.mca[2], "pml");
    ck_assert_uint_eq(job->profile.n_emulate, 3);
    ck_assert(job->profile.emulate[1].rate == 0.4);
    ck_assert(job->profile.emulate[1].fixed_s == 2.0 / 1000);
    ck_assert(job->profile.emulate[1].sample_s == 0.1 / 1000);
    ck_assert(job->profile.emulate[2].sample_s == 0.3 / 1000);
    ck_assert_str_eq(job->checkpoint.dir, "/ckpt");
    ck_assert_int_eq(job->checkpoint.every.ns, 90 * CLOCK_S);
    ck_assert_int_eq(job->checkpoint.every.steps, 0);
    ck_assert_str_eq(job->checkpoint.resume, "/home/ada/digits/old/step-00000500");
    ck_assert_int_eq(job->timeouts.lease_ns, 12000000500);
    ck_assert_int_eq(job->timeouts.job_ns, 43200 * CLOCK_S);
    ck_assert_str_eq(job->env[0], "A=");
    ck_assert_str_eq(job->env[1], "B=1.50"); /* text, whatever YAML would call it */
    ck_assert_str_eq(job->env[2], "C=yes");
    ck_assert_str_eq(job->env[3], "OMP_NUM_THREADS=4");
    ck_assert_str_eq(job->env[6], "ZED=a=b");
    job_origin_text(job, "batch.global", text, sizeof text);
    ck_assert_str_eq(text, "train.yaml:7");
    job_value_text(job, "timeouts.launch", text, sizeof text);
    ck_assert_str_eq(text, "90s");
    job_value_text(job, "env", text, sizeof text);
    ck_assert_ptr_null(strstr(text, "geheim"));
}
END_TEST

/* ---- sentences ---- */

static const struct {
    const char *text, *sentence;
} bad_rows[] = {
#define C "command: [a]\n"
    { "", "1:1: the job is empty; write at least the key \"command\"" },
    { "# only\n", "1:1: the job is empty; write at least the key \"command\"" },
    { "---\n", "2:1: the job is empty; write keys with values, at least the key \"command\"" },
    { "[a, b]", "1:1: the job is a list; write keys with values, at least the key \"command\"" },
    { "hello", "1:1: the job is \"hello\"; write keys with values, at least the key \"command\"" },
    { "name: a\n", "1:1: the key \"command\" is missing; add the program to run, as in command: "
                   "[python3, train.py]" },
    /* unknown keys */
    { C "seed: 1\n\n\n\n\n  batchsize: 3\n", NULL },
    { C "batchsize: 3", "2:1: unknown key \"batchsize\" in the job; did you mean \"batch\"?" },
    { C "batch:\n  globl: 3", "3:3: unknown key \"globl\" in \"batch\"; did you mean \"global\"?" },
    { C "global: 3", "2:1: unknown key \"global\" in the job; did you mean \"batch.global\"?" },
    { C "nodes: {dorp: auto}", "2:9: unknown key \"dorp\" in \"nodes\"; did you mean \"drop\"?" },
    { C "nodes: {zzzzzzz: 3}",
      "2:9: unknown key \"zzzzzzz\" in \"nodes\"; the known keys are drop, "
      "hosts" },
    { C "nodes: {drop: yes}", "2:15: \"nodes.drop\" is \"yes\"; write auto or none" },
    { C "nodes: {drop: auto}\nsync: {mode: hybrid, groups: [[0], [1, 2]]}", NULL },
    { C "batch: {zzzzzzz: 3}", "2:9: unknown key \"zzzzzzz\" in \"batch\"; the known keys are "
                               "global, min, max, grain, rebalance" },
    { C "qqqqqqqq: 3",
      "2:1: unknown key \"qqqqqqqq\" in the job; eddis-train.yaml(5) lists the keys" },
    { C "batch.global: 3",
      "2:1: unknown key \"batch.global\" in the job; write batch: {global: 3}" },
    { C "batch.globl: 3", "2:1: unknown key \"batch.globl\" in the job; write batch: {global: 3}" },
    { C "batch: {batch.min: 3}", "2:9: unknown key \"batch.min\" in \"batch\"; the known keys are "
                                 "global, min, max, grain, rebalance" },
    { C "timeouts.lease: [1]",
      "2:1: unknown key \"timeouts.lease\" in the job; write timeouts: {lease: ...}" },
    { C "communication.compression.method: none",
      "2:1: unknown key \"communication.compression.method\" in the job; write communication: "
      "{compression: {method: none}}" },
    { C "no.such.key.at.all: 3", NULL },
    { C "<<: {seed: 1}", "2:1: unknown key \"<<\" in the job; eddis-train.yaml(5) lists the keys" },
    { C "\"\": 1", "2:1: unknown key \"\" in the job; eddis-train.yaml(5) lists the keys" },
    /* keys of later versions */
    { C "batch: {rebalance: 0}", "2:20: \"batch.rebalance\" is \"0\"; write a whole number from 1 "
                                 "to 1000000000 or auto or off" },
    { C "batch: {rebalance: -1}", NULL },
    { C "batch: {rebalance: of}", "2:20: \"batch.rebalance\" is \"of\"; did you mean \"off\"?" },
    { C "batch: {max: atuo}", "2:14: \"batch.max\" is \"atuo\"; did you mean \"auto\"?" },
    { C "communication: {compression: {method: none}}",
      "2:31: the key \"communication.compression.method\" is not supported in this version yet, it "
      "waits for "
      "gradient compression; remove it" },
    { C "sync: {algorithm: adpsgd}", "2:19: \"sync.algorithm\" is \"adpsgd\", which is not "
                                     "supported in this version yet; write auto, "
                                     "allreduce, easgd, hsgd, local or diloco" },
    { C "sync: {mode: snyc}", "2:14: \"sync.mode\" is \"snyc\"; did you mean \"sync\"?" },
    { C "sync: {mode: [sync]}",
      "2:14: \"sync.mode\" is a list; write auto, sync, async, hybrid or local" },
    { C "sync: {staleness: 1}", "2:8: the key \"sync.staleness\" is not supported in this version "
                                "yet, it waits for parameter servers; "
                                "remove it" },
    { C "sync: {period: 0}",
      "2:16: \"sync.period\" is \"0\"; write a whole number from 1 to 1000000 or auto" },
    { C "sync: {moving_rate: 2}",
      "2:21: \"sync.moving_rate\" is \"2\"; write a number from 1e-06 to 1 or auto" },
    { C "sync: {momentum: 1}",
      "2:18: \"sync.momentum\" is \"1\"; write a number from 0 to 0.9999" },
    { C "sync: {groups: 0}", "2:16: \"sync.groups\" is \"0\"; write the number of groups, from 1, "
                             "a list of the ranks of each group, like [[0, 1], [2, 3]], or auto" },
    { C "sync: {groups: [0, 1]}",
      "2:16: \"sync.groups\" is a list; write the number of groups, from 1, a list of the ranks of "
      "each group, like [[0, 1], [2, 3]], or auto" },
    { C "sync: {groups: [[0, 1], [1]]}", "2:26: \"sync.groups\" names rank 1 twice" },
    { C "sync: {groups: [[0], [2]]}",
      "2:23: \"sync.groups\" names rank 2 among 2 ranks; name each from 0 to 1 once" },
    /* combinations without a meaning */
    { C "sync: {mode: async, algorithm: hsgd}",
      "2:21: \"sync.algorithm\" is hsgd and \"sync.mode\" is async; this algorithm is not one of "
      "this mode; remove one of the two keys" },
    { C "sync: {mode: sync, period: 4}",
      "2:20: \"sync.period\" is 4 and \"sync.mode\" is sync; synchronous training has one model, "
      "so nothing is averaged; remove it" },
    { C "sync: {algorithm: allreduce, momentum: 0.9}",
      "2:30: \"sync.momentum\" is 0.9 and \"sync.algorithm\" is allreduce; in synchronous and "
      "local training the optimiser has its own momentum; remove it" },
    { C "sync: {mode: local, momentum: 0.9}", "2:21: \"sync.momentum\" is 0.9 and \"sync.mode\" is "
                                              "local; in synchronous and local training "
                                              "the optimiser has its own momentum; remove it" },
    { C "sync: {mode: local, moving_rate: 0.1}",
      "2:21: \"sync.moving_rate\" is 0.1 and \"sync.mode\" is local; only asynchronous and hybrid "
      "training have a center variable; remove it" },
    { C "sync: {mode: hybrid, outer_rate: 0.7}",
      "2:22: \"sync.outer_rate\" is 0.7 and \"sync.mode\" is hybrid; only the algorithm diloco has "
      "an outer optimizer; remove it" },
    { C "sync: {mode: local, outer_rate: 0.7}",
      "2:21: \"sync.outer_rate\" is 0.7 and \"sync.mode\" is local; only the algorithm diloco has "
      "an outer optimizer; remove it" },
    { C "sync: {outer_rate: 0.7}",
      "2:8: \"sync.outer_rate\" is 0.7 and \"sync.mode\" is auto; only the algorithm diloco has an "
      "outer optimizer; remove it" },
    { C "sync: {algorithm: local, outer_momentum: 0.9}",
      "2:26: \"sync.outer_momentum\" is 0.9 and \"sync.algorithm\" is local; only the algorithm "
      "diloco has an outer optimizer; remove it" },
    { C "sync: {mode: local, outer_rate: 3}",
      "2:33: \"sync.outer_rate\" is \"3\"; write a number from 1e-06 to 2 or auto" },
    { C "sync: {mode: local, algorithm: diloco, outer_momentum: 0}",
      "2:56: \"sync.outer_momentum\" is \"0\"; write a number from 1e-06 to 0.9999 or auto" },
    { C "sync: {mode: hybrid, overlap: 2}",
      "2:22: \"sync.overlap\" is 2 and \"sync.mode\" is hybrid; only local training combines "
      "models at the end of rounds; remove it" },
    { C "sync: {mode: local, period: 4, overlap: 4}",
      "2:32: \"sync.overlap\" is 4 and \"sync.period\" is 4; the overlap must be less than the "
      "period; write a smaller \"sync.overlap\"" },
    { C "sync: {mode: local, overlap: -1}",
      "2:30: \"sync.overlap\" is \"-1\"; write a whole number from 0 to 999999 or off" },
    { C "sync: {mode: local, overlap: auto}",
      "2:30: \"sync.overlap\" is \"auto\"; write a whole number from 0 to 999999 or off" },
    { C "sync: {algorithm: easgd, groups: 2}",
      "2:26: \"sync.groups\" is 2 and \"sync.algorithm\" "
      "is easgd; only hybrid and local training have groups; "
      "remove it" },
    { C "binding: 5", "2:10: \"binding\" is \"5\"; write auto or none" },
    /* types and ranges */
    { C "batch: 5", "2:8: \"batch\" is \"5\"; write its keys, as in batch: {global: ...}" },
    { C "batch:", "2:7: \"batch\" is empty; write its keys, as in batch: {global: ...}" },
    { C "seed:", "2:6: \"seed\" is empty; write a whole number from 0 to 9223372036854775807" },
    { C "seed: null",
      "2:7: \"seed\" is empty; write a whole number from 0 to 9223372036854775807" },
    { C "seed: 1.5",
      "2:7: \"seed\" is \"1.5\"; write a whole number from 0 to 9223372036854775807" },
    { C "seed: \"5\"",
      "2:7: \"seed\" is \"5\" in quotes; write a whole number from 0 to 9223372036854775807" },
    { C "seed: 0x10",
      "2:7: \"seed\" is \"0x10\"; write a whole number from 0 to 9223372036854775807" },
    { C "seed: 010",
      "2:7: \"seed\" is \"010\"; write a whole number from 0 to 9223372036854775807" },
    { C "seed: 99999999999999999999999999999999999999999999999999999999",
      "2:7: \"seed\" is \"9999999999999999999999999999999999999999...\"; write a whole number "
      "from 0 to 9223372036854775807" },
    { C "seed: -1", "2:7: \"seed\" is \"-1\"; write a whole number from 0 to 9223372036854775807" },
    { C "batch: {global: 0}",
      "2:17: \"batch.global\" is \"0\"; write a whole number from 1 to 1000000000" },
    { C "batch: {max: many}",
      "2:14: \"batch.max\" is \"many\"; write a whole number from 1 to 1000000000 or auto" },
    { C "communication: {bucket_mb: .nan}",
      "2:28: \"communication.bucket_mb\" is \".nan\"; write a number from 0.001 to 1024 or auto" },
    { C "communication: {wire: half}", "2:23: \"communication.wire\" is \"half\"; write auto, "
                                       "float32, bfloat16 or float16" },
    { C "communication: {bucket_mb: 1e999}",
      "2:28: \"communication.bucket_mb\" is \"1e999\"; write a number from 0.001 to 1024 or auto" },
    { C "timeouts: {lease: 10}", "2:19: \"timeouts.lease\" is \"10\"; write a duration from 1s to "
                                 "1h, like 10s or 5m" },
    { C "timeouts: {lease: none}", "2:19: \"timeouts.lease\" is \"none\"; write a duration from "
                                   "1s to 1h, like 10s or 5m" },
    { C "timeouts: {job: 1}", "2:17: \"timeouts.job\" is \"1\"; write a duration from 1s to "
                              "3650d, like 10s, 5m, 2h or 7d or none" },
    { C "name: a/b", "2:7: \"name\" is \"a/b\"; write at most 64 letters, digits, '.', '_' or "
                     "'-', beginning with a letter or digit" },
    { C "workdir: ~/x",
      "2:10: \"workdir\" begins with \"~\", which eddis does not expand; write the full path" },
    { C "workdir: \"\"", "2:10: \"workdir\" is \"\"; write a path" },
    { C "checkpoint: {dir: [a]}", "2:19: \"checkpoint.dir\" is a list; write a path or auto" },
    { C "env: [a]", "2:6: \"env\" is a list; write a map like {NAME: value}" },
    { C "env: {A: [x]}", "2:10: \"A\" in \"env\" is a list; write one value" },
    { C "env:\n  A:\n", "3:3: \"A\" in \"env\" has no value; write \"\" for an empty one" },
    { C "env: {A-B: x}", "2:7: \"A-B\" in \"env\" is not a name; write letters, digits and _" },
    { C "env: {RANK: 3}", "2:7: \"RANK\" is set by eddis itself; choose another name" },
    { C "env:\n  A: b\n  EDDIS_BOARD: x\n",
      "4:3: \"EDDIS_BOARD\" is set by eddis itself; choose another name" },
    { C "env: {OMPI_COMM_WORLD_RANK: 3}",
      "2:7: \"OMPI_COMM_WORLD_RANK\" is set by eddis itself; choose another name" },
    { C "env: {1A: x}", "2:7: \"1A\" in \"env\" is not a name; write letters, digits and _" },
    { C "mpi: {args: x}", "2:13: \"mpi.args\" is \"x\"; write a list of words, like [a, b]" },
    { C "mpi: {args: [x, [y]]}", "2:17: an entry of \"mpi.args\" is a list; write a word, in "
                                 "quotes if YAML reads it as something else" },
    /* the command */
    { "command:\n", "1:9: \"command\" is empty; write a list like [python3, train.py], or one "
                    "line of words" },
    { "command: {a: b}", "1:10: \"command\" is a map; write a list like [python3, train.py], or "
                         "one line of words" },
    { "command: []", "1:10: \"command\" names no program; write a list like [python3, train.py]" },
    { "command: \"  \"",
      "1:10: \"command\" names no program; write a list like [python3, train.py]" },
    { "command: [\"\", a]",
      "1:10: \"command\" names no program; write a list like [python3, train.py]" },
    { "command: a 'b", "1:10: a quote in \"command\" is not closed; close it, or write a list" },
    { "command: a b > c", "1:10: \">\" needs a shell, and \"command\" runs without one; write "
                          "command: [sh, -c, \"...\"]" },
    /* emulated devices */
    { C "profile: {emulate: [{rate: 1}]}",
      "2:21: \"a_ms\" is missing in the first entry of \"profile.emulate\"; add it, as in {rate: "
      "1.0, a_ms: 2, c_ms: 0.1}" },
    { C "profile: {emulate: [{a_ms: 1, c_ms: 1}]}",
      "2:21: \"rate\" is missing in an entry of \"profile.emulate\"; add it, as in {rate: 1.0, "
      "a_ms: 2, c_ms: 0.1}" },
    { C "profile: {emulate: [{rate: 0, a_ms: 1, c_ms: 1}]}",
      "2:28: \"rate\" is \"0\"; write a number from 1e-06 to 1e+06" },
    { C "profile: {emulate: [{rate: 1, a: 1, c_ms: 1}]}",
      "2:31: unknown key \"a\" in \"profile.emulate\"; the known keys are rate, a_ms, c_ms, "
      "jitter" },
    { C "profile: {emulate: [{rate: 1, a_ms: 1, c_ms: 1, jitter: 2}]}",
      "2:57: \"jitter\" is \"2\"; write a number from 0 to 0.5" },
    { C "profile: {emulate: [{rat: 1, a_ms: 1, c_ms: 1}]}",
      "2:22: unknown key \"rat\" in \"profile.emulate\"; did you mean \"rate\"?" },
    { C "profile: {emulate: [1]}",
      "2:21: an entry of \"profile.emulate\" is not a map; write one like {rate: 0.5}" },
    { C "profile: {emulate: 4}", "2:20: \"profile.emulate\" is \"4\"; write a list like [{rate: "
                                 "1.0, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]" },
    /* values against each other */
    { C "batch: {min: 300}",
      "2:9: \"batch.min\" is 300 and \"batch.global\" is 256; the minimum of one worker must not "
      "exceed the global batch; write a smaller \"batch.min\"" },
    { C "batch: {min: 30, max: 20}", "2:18: \"batch.max\" is 20 and \"batch.min\" is 30; the "
                                     "maximum must not be less than the minimum" },
    { C "batch: {grain: 7}", "2:9: \"batch.grain\" is 7 and \"batch.global\" is 256; the global "
                             "batch must be a multiple of \"batch.grain\"" },
    { C "timeouts: {lease: 2s, heartbeat: 1s}",
      "2:23: \"timeouts.heartbeat\" is 1s and \"timeouts.lease\" is 2s; the lease must be at least "
      "eight heartbeats" },
    { C "timeouts: {heartbeat: 5s}", "2:12: \"timeouts.heartbeat\" is 5s and \"timeouts.lease\" is "
                                     "10s; the lease must be at least "
                                     "eight heartbeats" },
    { C "timeouts: {node_lost: 12s}",
      "2:12: \"timeouts.node_lost\" is 12s and \"timeouts.lease\" is 10s; a node may count as lost "
      "only after its lease has surely expired; write at least the lease plus a quarter of it, and "
      "at least 500ms more than the lease" },
    /* YAML itself */
    { C "seed: 1\nseed: 2\n",
      "3:1: the key \"seed\" is given a second time, first on line 2; remove one" },
    { C "batch: {min: 1, min: 1}",
      "2:17: the key \"min\" is given a second time, first on line 2; remove one" },
    { C "seed: &x 1", "2:7: an anchor, which is not allowed; remove the word that starts with &" },
    { C "seed: *x", "2:7: an alias, which is not allowed; write the value itself" },
    { C "seed: !!int 1", "2:7: a tag, which is not allowed; remove the word that starts with !" },
    { C "seed: ! 1", "2:7: a tag, which is not allowed; remove the word that starts with !" },
    { "%YAML 1.1\n---\n" C,
      "1:1: a directive, which is not allowed; remove the line that starts with %" },
    { C "---\n" C, "2:1: a second document, but a job is one document; remove the line \"---\"" },
    { C "? [a]\n: b", "2:3: a key is a list or a map; write a word before the colon" },
    { C "batch:\n\tglobal: 4\n",
      "3:1: a tab indents this line; YAML indents by spaces, write them instead" },
    { C "batch:\n  global: 4\n \tmin: 1\n",
      "4:2: a tab indents this line; YAML indents by spaces, write them instead" },
    { C "name: [a",
      "3:1: not valid YAML, did not find expected ',' or ']' while parsing a flow sequence "
      "from line 2; correct the line or put the value in quotes" },
    { C "name:\t- a\n  b: c", NULL },
    { C "name: \"a\\0b\"", "2:7: a NUL byte in a value; remove the \\0" },
    { C "name: \"\xff\"", "2:8: not UTF-8; save the file as UTF-8" },
    { C "name: \xc3\xa9\xed\xa0\x80", "2:8: not UTF-8; save the file as UTF-8" },
    { C "name: a\x01", "2:8: a control character; this must be plain text" },
    { C "name: a\xc2\x81", "2:8: a character that YAML does not allow; this must be plain text" },
    { C "env: [[[[[[[[[[[[[[[[[[[[[[[[",
      "2:21: nested more than 16 levels deep; a job needs four levels" },
};

START_TEST(bad)
{
    check_refused(bad_rows[_i].text, bad_rows[_i].sentence);
}
END_TEST

/* The options of local mode. */
START_TEST(local)
{
    read_job(C "sync: {mode: local}");
    ck_assert_str_eq(job->sync.mode, "local");
    ck_assert(job->sync.options.period == 0 && job->sync.options.outer_rate == 0);
    read_job(C "sync: {mode: local, period: 4, groups: 2}");
    ck_assert(job->sync.options.period == 4 && job->sync.groups.n == 2);
    read_job(C "sync: {algorithm: diloco, outer_rate: 1, outer_momentum: 0.5}");
    ck_assert(job->sync.options.outer_rate == 1 && job->sync.options.outer_momentum == 0.5);
    read_job(C "sync: {mode: local, period: 4, overlap: 3}");
    ck_assert(job->sync.options.overlap == 3);
    read_job(C "sync: {algorithm: diloco, overlap: 3}");
    ck_assert(job->sync.options.overlap == 3);
    read_job(C "sync: {mode: local, overlap: off}");
    ck_assert(job->sync.options.overlap == 0);
    read_job(C "sync: {mode: sync, overlap: 0}"); /* as off */
    ck_assert(job->sync.options.overlap == 0);
}
END_TEST

START_TEST(hostile)
{
    static const char *const parts[] = {
        "[", "{", "- ",  "? ",     "{a: ", "[a, ", "a: &a [*a,", "\"",
        "'", "|", "a\n", "-\n",    ": ",   "\n",   " ",          "\t",
        "#", "!", "%",   "a: b\n", "[[],", ",",    "? - ",       "k: |\n ",
    };
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 16);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = 0;

        while (n + strlen(parts[i]) <= SIZE) {
            memcpy(text + n, parts[i], strlen(parts[i]));
            n += strlen(parts[i]);
        }
        ck_assert_int_eq(parse_bytes(text, n), -EINVAL);
        ck_assert_uint_lt(strlen(err.text), 300);
    }
    memset(text, 'a', SIZE + 1);
    ck_assert_int_eq(parse_bytes(text, SIZE + 1), -EINVAL);
    ck_assert_int_eq(parse_bytes("command: a\0b", 12), -EINVAL);
    free(text);
}
END_TEST

/* ---- properties ---- */

static bool same_words(char *const *a, char *const *b)
{
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return !*a && !*b;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void assert_same(const struct job *a, const struct job *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert(same_words(a->command, b->command));
    ck_assert_str_eq(a->workdir, b->workdir);
    ck_assert_int_eq(a->workers_per_node, b->workers_per_node);
    ck_assert_uint_eq(a->seed, b->seed);
    ck_assert_mem_eq(&a->batch, &b->batch, sizeof a->batch);
    ck_assert_str_eq(a->sync.mode, b->sync.mode);
    ck_assert_str_eq(a->sync.algorithm, b->sync.algorithm);
    ck_assert_mem_eq(&a->learning_rate, &b->learning_rate, sizeof a->learning_rate);
    ck_assert(a->communication.bucket_mb == b->communication.bucket_mb);
    ck_assert_str_eq(a->communication.wire, b->communication.wire);
    ck_assert(same_words(a->mpi.args, b->mpi.args));
    ck_assert(same_words(a->mpi.mca, b->mpi.mca));
    ck_assert_int_eq(a->profile.cache_ns, b->profile.cache_ns);
    ck_assert_uint_eq(a->profile.n_emulate, b->profile.n_emulate);
    ck_assert_mem_eq(a->profile.emulate, b->profile.emulate,
                     a->profile.n_emulate * sizeof *a->profile.emulate);
    ck_assert(same_text(a->checkpoint.dir, b->checkpoint.dir));
    ck_assert_int_eq(a->checkpoint.every.steps, b->checkpoint.every.steps);
    ck_assert_int_eq(a->checkpoint.every.ns, b->checkpoint.every.ns);
    ck_assert_int_eq(a->checkpoint.keep, b->checkpoint.keep);
    ck_assert_str_eq(a->checkpoint.resume, b->checkpoint.resume);
    ck_assert_mem_eq(&a->timeouts, &b->timeouts, sizeof a->timeouts);
    ck_assert(same_words(a->env, b->env));
    ck_assert_str_eq(a->binding, b->binding);
    ck_assert(same_text(a->logs.dir, b->logs.dir));
    ck_assert_int_eq(a->logs.max_mb, b->logs.max_mb);
}

static void assert_text_again(void)
{
    char *text = job_text(job);
    struct job *first = job;

    job = NULL;
    read_job(text);
    if (strstr(text, "\"***\"") == NULL) /* a masked value is not equal, and must not be */
        assert_same(first, job);
    job_free(first);
    free(text);
}

START_TEST(text_again)
{
    char *text;

    read_job(everything);
    text = job_text(job);
    ck_assert_ptr_nonnull(strstr(text, "WANDB_API_KEY: \"***\""));
    ck_assert_ptr_null(strstr(text, "geheim"));
    ck_assert_ptr_nonnull(strstr(text, "seed: 9223372036854775807  # train.yaml:6\n"));
    free(text);
    ck_assert_int_eq(job_set(job, "env", "{A: x}", "--env", NULL), 0);
    assert_text_again();
}
END_TEST

/* Texts that mean something in YAML, to a terminal or in UTF-8. */
static const char *const bits[] = {
    "a",
    "-",
    "--x",
    "null",
    "~",
    "yes",
    "1",
    "0.1",
    "1e3",
    ".",
    "..",
    "/",
    ": ",
    "#",
    " #",
    "'",
    "\"",
    "\\",
    "\n",
    "\t",
    "\x1b",
    "\x7f",
    "{",
    "]",
    ",",
    "&a",
    "*a",
    "!t",
    "%",
    "@",
    "`",
    "|",
    ">",
    "\xc3\xa9",
    "\xc2\x80",
    "\xc2\x85",
    "\xc2\xa0",
    "\xe2\x80\xa8",
    "\xef\xbb\xbf",
    "\xef\xbf\xbe",
    "\xf0\x9f\x98\x80",
    "\xf4\x8f\xbf\xbf",
    "",
    " ",
    "=",
    "?",
};

/* Append six of them, drawn at random. */
static void add_random(char *word, unsigned *state)
{
    for (int k = 0; k < 6; k++) {
        *state = *state * 1103515245 + 12345;
        strcat(word, bits[(*state >> 16) % (sizeof bits / sizeof *bits)]);
    }
}

/* Any bytes as values: what a random draw gives must survive the way through the text. */
START_TEST(text_again_random)
{
    unsigned state = 20261121;

    for (int round = 0; round < 3000; round++) {
        char words[4][64] = { "", "", "", "" };
        const char *command[] = { "p", words[0], words[1], words[2], words[3], NULL };

        for (int w = 0; w < 4; w++)
            add_random(words[w], &state);
        ck_assert_int_eq(job_from_command(command, "/", &job, NULL), 0);
        ck_assert_str_eq(job->name, "job");
        assert_text_again();
        job_free(job);
        job = NULL;
    }
}
END_TEST

START_TEST(prefixes)
{
    for (size_t n = 0; n < sizeof everything; n++) {
        char *copy = malloc(n ? n : 1); /* its own block, so that a sanitizer sees an overrun */

        memcpy(copy, everything, n);
        if (parse_bytes(copy, n) == 0)
            assert_text_again();
        else
            ck_assert_msg(strncmp(err.text, "train.yaml:", 11) == 0, "%s", err.text);
        free(copy);
    }
}
END_TEST

START_TEST(mutations)
{
    unsigned state = 7;
    char copy[sizeof everything];

    for (int round = 0; round < 4000; round++) {
        memcpy(copy, everything, sizeof copy);
        for (int k = 0; k < 1 + round % 5; k++) {
            state = state * 1103515245 + 12345;
            copy[(state >> 12) % (sizeof copy - 1)] = (char)(state >> 4);
        }
        if (parse_bytes(copy, sizeof copy - 1) == 0)
            free(job_text(job));
        else
            ck_assert_msg(strncmp(err.text, "train.yaml:", 11) == 0, "%s", err.text);
    }
}
END_TEST

/* ---- flags, files, the table ---- */

START_TEST(flags)
{
    char text[64];

    read_job("command: a\nseed: 3\n");
    ck_assert_int_eq(job_set(job, "seed", "7", "--seed", &err), 0);
    ck_assert_uint_eq(job->seed, 7);
    job_origin_text(job, "seed", text, sizeof text);
    ck_assert_str_eq(text, "--seed");
    ck_assert_int_eq(job_set(job, "seed", "x", "--seed", &err), -EINVAL);
    ck_assert_str_eq(err.text, "--seed: \"seed\" is \"x\"; write a whole number from 0 to "
                               "9223372036854775807");
    ck_assert_uint_eq(job->seed, 7);
    ck_assert_int_eq(job_set(job, "workdir", "/x/", "--workdir", &err), 0);
    ck_assert_str_eq(job->workdir, "/x");
    ck_assert_int_eq(job_set(job, "workdir", "\xff", "--workdir", &err), -EINVAL);
    ck_assert_int_eq(job_set(job, "mpi.args", "[a, b", "--mpi-args", &err), -EINVAL);
    ck_assert(strncmp(err.text, "--mpi-args: not valid YAML", 26) == 0);
    ck_assert_int_eq(job_set(job, "mpi.args", "[a, b]", "--mpi-args", &err), 0);
    ck_assert_str_eq(job->mpi.args[1], "b");
    ck_assert_int_eq(job_set(job, "sync.staleness", "1", "--set", &err), -EINVAL);
    ck_assert_int_eq(job_set(job, "nonsense", "1", "--nonsense", &err), -EINVAL);
    ck_assert_int_eq(job_set(job, "batch.min", "500", "--batch-min", &err), 0);
    ck_assert_int_eq(job_check(job, &err), -EINVAL);
    ck_assert_str_eq(err.text, "--batch-min: \"batch.min\" is 500 and \"batch.global\" is 256; "
                               "the minimum of one worker must not exceed the global batch; write "
                               "a smaller \"batch.min\"");
    ck_assert_int_eq(job_set(job, "batch.global", "512", "--batch", &err), 0);
    ck_assert_int_eq(job_check(job, &err), 0);
    assert_text_again();
}
END_TEST

/* nodes is a list, or a map of it and nodes.drop; a flag of one leaves the other. */
START_TEST(nodes_and_drop)
{
    char text[64];

    read_job("command: a\nnodes: [b, c]\n");
    ck_assert_str_eq(job->drop, "none");
    read_job("command: a\nnodes:\n  drop: auto\n");
    ck_assert_str_eq(job->drop, "auto");
    ck_assert_uint_eq(job->n_hosts, 0);
    job_origin_text(job, "nodes.drop", text, sizeof text);
    ck_assert_str_eq(text, "train.yaml:3");
    read_job("command: a\ncheckpoint: {dir: /x}\nnodes:\n  hosts: [b, {host: c, workers: 2}]\n"
             "  drop: auto\n");
    ck_assert_str_eq(job->drop, "auto");
    ck_assert_uint_eq(job->n_hosts, 2);
    ck_assert_int_eq(job->host[1].workers, 2);
    job_origin_text(job, "nodes", text, sizeof text);
    ck_assert_str_eq(text, "train.yaml:4");
    assert_text_again();
    ck_assert_int_eq(job_set(job, "nodes", "[d]", "-H", &err), 0);
    ck_assert_str_eq(job->drop, "auto");
    ck_assert_int_eq(job_set(job, "nodes.hosts", "[d, e]", "--set", &err), 0);
    ck_assert_uint_eq(job->n_hosts, 2);
    ck_assert_int_eq(job_set(job, "nodes.drop", "none", "--set", &err), 0);
    ck_assert_uint_eq(job->n_hosts, 2);
    assert_text_again();
}
END_TEST

START_TEST(files)
{
    cleanup_free char *path = file_join(scratch, "train.yaml");

    ck_assert_int_eq(job_read(path, &job, &err), -ENOENT);
    scratch_write("train.yaml",
                  "\xef\xbb\xbf"
                  "command: a\r\nseed: 4\r\n",
                  0600);
    ck_assert_msg(job_read(path, &job, &err) == 0, "%s", err.text);
    ck_assert_str_eq(job->folder, scratch);
    ck_assert_uint_eq(job->seed, 4);
    ck_assert_str_eq(job->file, path);
    ck_assert_int_eq(job_read(scratch, &job, &err), -EISDIR);
    ck_assert_int_eq(truncate(path, 2 << 20), 0);
    ck_assert_int_eq(job_read(path, &job, &err), -EFBIG);
}
END_TEST

static const char wrong_keys[] = "run: a\n"
                                 "batch: {global: x, min: 1, mix: 2}\n"
                                 "nodes: [a, {host: b, worker: 2, address: 3.3.3}]\n"
                                 "seed: 1\n"
                                 "restarts: -1\n";

/* Everything that is wrong, in its order; a sentence once. */
START_TEST(all_mistakes)
{
    static const char *const begin[] = { "1:1: unknown key",
                                         "2:17: \"batch.global\" is",
                                         "2:28: unknown key",
                                         "3:22: unknown key",
                                         "3:42: \"nodes.address\"",
                                         "5:11: \"restarts\" is",
                                         "1:1: the key \"command\" is missing" };
    cleanup_free char *path = file_join(scratch, "train.yaml");
    cleanup_strbuf struct strbuf many = { 0 };
    struct job_mistakes wrong;

    scratch_write("train.yaml", wrong_keys, 0600);
    ck_assert_int_eq(job_read_all(path, &wrong, &job, &err), -EINVAL);
    for (int i = 0; i < wrong.n; i++) {
        ck_assert_int_eq(strncmp(wrong.text[i], path, strlen(path)), 0);
        ck_assert_msg(strncmp(wrong.text[i] + strlen(path) + 1, begin[i], strlen(begin[i])) == 0,
                      "%s", wrong.text[i]);
    }
    ck_assert_int_eq(wrong.n, 7);
    ck_assert(!wrong.more);
    ck_assert_str_eq(err.text, wrong.text[0]);

    for (int i = 0; i < JOB_MAX_MISTAKES + 1; i++)
        strbuf_addf(&many, "wrong%d: 1\n", i);
    scratch_write("train.yaml", strbuf_text(&many), 0600);
    ck_assert_int_eq(job_read_all(path, &wrong, &job, NULL), -EINVAL);
    ck_assert_int_eq(wrong.n, JOB_MAX_MISTAKES);
    ck_assert(wrong.more);

    scratch_write("train.yaml", "command: a\nbatch: [\n", 0600);
    ck_assert_int_eq(job_read_all(path, &wrong, &job, &err), -EINVAL);
    ck_assert_int_eq(wrong.n, 1);
    ck_assert_str_eq(err.text, wrong.text[0]);
}
END_TEST

START_TEST(table)
{
    const struct job_key *keys;
    size_t n = job_keys(&keys);

    read_job("command: a");
    for (size_t i = 0; i < n; i++) {
        char text[256];

        ck_assert(*keys[i].name && *keys[i].type && *keys[i].initial && *keys[i].help);
        ck_assert_msg(!keys[i].later == !!keys[i].field, "%s", keys[i].name);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(keys[i].name, keys[k].name);
        job_value_text(job, keys[i].name, text, sizeof text);
        if (keys[i].field && strcmp(keys[i].name, "command") != 0 &&
            strcmp(keys[i].name, "name") != 0 && strcmp(keys[i].name, "workdir") != 0)
            ck_assert_msg(strcmp(text, keys[i].initial) == 0 || strcmp(text, "1m") == 0, "%s: %s",
                          keys[i].name, text);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    jobs_add(tc);
    tcase_add_test(tc, defaults);
    tcase_add_test(tc, masked_lists);
    tcase_add_test(tc, full);
    tcase_add_loop_test(tc, bad, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, local);
    tcase_add_test(tc, hostile);
    tcase_add_test(tc, text_again);
    tcase_add_test(tc, text_again_random);
    tcase_add_test(tc, prefixes);
    tcase_add_test(tc, mutations);
    tcase_add_test(tc, flags);
    tcase_add_test(tc, nodes_and_drop);
    tcase_add_test(tc, files);
    tcase_add_test(tc, all_mistakes);
    tcase_add_test(tc, table);
}

SUITE_MAIN("job", add_tests)
