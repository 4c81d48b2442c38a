/* SPDX-License-Identifier: Apache-2.0 */
/* job_keys.c - the table of all keys of train.yaml
 *
 * A row with `later` is a known key without an implementation.  It is rejected by name, since a
 * request must not be ignored silently.
 */
#include "job_keys.h"

#include "lib/base/clock.h"
#include "lib/hosts/host_name.h"
#include "lib/job/types/job_texts.h"
#include "lib/job/types/job_types.h"
#include "lib/model/algorithm.h"
#include "lib/model/precision.h"
#include "lib/model/profile.h"

#include <string.h>

enum { BILLION = 1000000000 };

#define MINUTE (60 * CLOCK_S)
#define DAY    (86400 * CLOCK_S)

/* Fields of each type, for rows of the table; `initial` is the default value as a file has it. */
#define FIELD(kind, member) JOB_AT(job, kind, member)
#define WHOLE(member, lo, hi, w, initial)                                                          \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        FIELD(whole, member), .value = initial, .word = w, .min = lo, .max = hi                    \
    }
#define NUMBER(member, lo, hi, w, initial)                                                         \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        FIELD(number, member), .value = initial, .word = w, .low = lo, .high = hi                  \
    }
#define DURATION(member, lo, hi, w, initial)                                                       \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        FIELD(duration, member), .value = initial, .word = w, .min = lo, .max = hi                 \
    }
#define PERIOD(member, lo, hi, shortest, longest, initial)                                         \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        FIELD(period, member), .value = initial, .min = lo, .max = hi, .least = shortest,          \
                               .most = longest                                                     \
    }
#define PATH(member, w, keep, initial)                                                             \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        FIELD(path, member), .value = initial, .word = w, .keep_word = keep                        \
    }
#define TEXT(member, w, keep, fits, initial)                                                       \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        FIELD(text, member), .value = initial, .word = w, .keep_word = keep, .check = fits         \
    }
#define OTHER(kind, member, initial)                                                               \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        FIELD(kind, member), .value = initial                                                      \
    }

/* Features without an implementation, as messages name them. */
#define REPLAN      "learning rates that follow the batch"
#define COMPRESSION "gradient compression"

/* Rows for the options of algorithms, made from sync_options_rows.h. */
#define WHOLE_OPTION(member, low, high, trait, help, otherwise)                                    \
    { "sync." #member,                                                                             \
      "whole number or auto",                                                                      \
      "auto",                                                                                      \
      help,                                                                                        \
      NULL,                                                                                        \
      WHOLE(sync.options.member, low, high, "auto", "auto") },
#define NUMBER_OPTION(member, low, high, trait, help, otherwise)                                   \
    { "sync." #member,                                                                             \
      "number or auto",                                                                            \
      "auto",                                                                                      \
      help,                                                                                        \
      NULL,                                                                                        \
      NUMBER(sync.options.member, low, high, "auto", "auto") },
#define PLAIN_OPTION(member, high, trait, help, otherwise)                                         \
    { "sync." #member, "number", "0", help, NULL, NUMBER(sync.options.member, 0, high, NULL, "0") },
#define OFF_OPTION(member, high, trait, help, otherwise)                                           \
    { "sync." #member,                                                                             \
      "whole number or off",                                                                       \
      "off",                                                                                       \
      help,                                                                                        \
      NULL,                                                                                        \
      WHOLE(sync.options.member, 0, high, "off", "off") },
#define GROUPS_OPTION(help)                                                                        \
    { "sync.groups", "whole number, list of lists of ranks, or auto",                              \
      "auto",        help,                                                                         \
      NULL,          OTHER(groups, sync.groups, "auto") },
#define WIRE_OPTION(member)
#define LATER_OPTION(name, type, initial, help, feature)                                           \
    { "sync." #name, type, initial, help, feature, NULL },

/* All keys, in the order of the manual. */
static const struct job_key table[] = {
    { "name", "name", "the folder's name", "names the job, its folder and its id", NULL,
      OTHER(name, name, NULL) },
    { "command", "list or line of words", "none: must be given",
      "the program that every worker runs", NULL, OTHER(command, command, NULL) },
    { "workdir", "path", ".", "the folder in which the workers run", NULL,
      PATH(workdir, NULL, false, ".") },
    { "setup", "list of lines", "[]", "lines that a shell runs on each node before the command",
      NULL, OTHER(lines, setup, "[]") },
    { "nodes", "list of nodes", "[]", "the machines of the job; if there are none: this machine",
      NULL,
      &(const struct job_field){ FIELD(nodes, host), .value = "[]", .instead = "hostfile",
                                 .inner = "hosts" } },
    { "nodes.drop", "word", "none",
      "workers that are left out; auto: those that cost more than they bring", NULL,
      &(const struct job_field){ FIELD(word, drop), .value = "none",
                                 .words = { "auto", "none" } } },
    { "hostfile", "path or none", "none", "a file with one machine per line, instead of nodes",
      NULL,
      &(const struct job_field){ FIELD(hostfile, hostfile), .value = "none", .word = "none",
                                 .instead = "nodes" } },
    { "ssh.user", "text or auto", "auto", "the user to log in as; auto: as ssh decides", NULL,
      TEXT(ssh.user, "auto", false, host_user_check, "auto") },
    { "ssh.port", "whole number or auto", "auto",
      "the port of the ssh servers; auto: as ssh decides", NULL,
      WHOLE(ssh.port, 1, 65535, "auto", "auto") },
    { "ssh.identity", "path or auto", "auto",
      "the private key to log in with; auto: as ssh decides", NULL,
      &(const struct job_field){ FIELD(path, ssh.identity), .value = "auto", .word = "auto",
                                 .tilde = true } },
    { "ssh.command", "list or line of words", "[ssh]", "the program to run instead of ssh", NULL,
      OTHER(command, ssh.command, "[ssh]") },
    { "workers_per_node", "whole number or auto", "auto",
      "workers on each node; auto: one for each device or NUMA node", NULL,
      WHOLE(workers_per_node, 1, 1024, "auto", "auto") },
    { "gpus_per_worker", "whole number", "1",
      "GPUs of each worker, for programs that divide a model between several", NULL,
      WHOLE(gpus_per_worker, 1, PROFILE_MAX_BUNDLE, NULL, "1") },
    { "seed", "whole number", "0", "seeds the order of samples and the initial parameters", NULL,
      WHOLE(seed, 0, INT64_MAX, NULL, "0") },
    { "batch.global", "whole number", "256", "number of samples in one step, over all workers",
      NULL, WHOLE(batch.global, 1, BILLION, NULL, "256") },
    { "batch.min", "whole number", "1", "minimum number of samples of one worker in a step", NULL,
      WHOLE(batch.min, 0, BILLION, NULL, "1") },
    { "batch.max", "whole number or auto", "auto",
      "maximum number of samples of one worker in a step; auto: as many as the plan gives", NULL,
      WHOLE(batch.max, 1, BILLION, "auto", "auto") },
    { "batch.grain", "whole number", "1", "every worker's batch is a multiple of this number", NULL,
      WHOLE(batch.grain, 1, 1000000, NULL, "1") },
    { "batch.rebalance", "whole number, auto or off", "auto",
      "whether batches are adjusted to measurements while the job runs; a number: at most once in "
      "this many steps",
      NULL,
      &(const struct job_field){ FIELD(whole, batch.rebalance), .value = "auto", .word = "auto",
                                 .words = { "off" }, .min = 1, .max = BILLION } },
    { "sync.mode", "word", "auto", "how the workers synchronise their models", NULL,
      &(const struct job_field){ FIELD(word, sync.mode), .value = "auto",
                                 .nth_word = sync_mode_name_at } },
    { "sync.algorithm", "word", "auto", "the algorithm of the mode", NULL,
      &(const struct job_field){ FIELD(word, sync.algorithm), .value = "auto",
                                 .nth_word = algorithm_word, .nth_soon = algorithm_later } },
#include "lib/model/sync_options_rows.h"
    { "learning_rate.scale", "word", "none", "how the learning rate follows a change of the batch",
      REPLAN, NULL },
    { "learning_rate.warmup", "whole number", "0",
      "steps over which the learning rate rises from almost zero", NULL,
      WHOLE(learning_rate.warmup_steps, 0, BILLION, NULL, "0") },
    { "progress.pattern", "text or none", "none",
      "a POSIX extended regular expression that finds the number of finished steps in a worker's "
      "output; its first group is the number",
      NULL, TEXT(progress.pattern, "none", false, job_check_progress, "none") },
    { "progress.samples", "whole number or none", "none",
      "number of samples in one step of a worker that prints its steps", NULL,
      WHOLE(progress.samples, 1, BILLION, "none", "none") },
    { "progress.steps", "whole number or none", "none",
      "total number of steps of a program that does not report it", NULL,
      WHOLE(progress.steps, 1, BILLION, "none", "none") },
    { "communication.bucket_mb", "number or auto", "auto",
      "megabytes (2^20 bytes) of gradients sent together; auto: measured in the first steps", NULL,
      NUMBER(communication.bucket_mb, 0.001, 1024, "auto", "auto") },
    { "communication.wire", "word", "auto",
      "the number format in which gradients are sent between nodes", NULL,
      &(const struct job_field){ FIELD(word, communication.wire), .value = "auto",
                                 .nth_word = sync_wire_name } },
    { "communication.compression.method", "word", "none", "how gradients are compressed",
      COMPRESSION, NULL },
    { "communication.compression.density", "number", "0.001", "fraction of a gradient that is sent",
      COMPRESSION, NULL },
    { "communication.compression.warmup", "whole number", "4",
      "epochs over which the density falls to its value", COMPRESSION, NULL },
    { "communication.factors", "word", "auto", "whether layers send factors of their gradient",
      "sufficient factors", NULL },
    { "communication.memory", "word", "normal", "normal, or layer: reuse gradient memory",
      "memory reuse between layers", NULL },
    { "communication.interface", "text or auto", "auto",
      "the network to use: an interface's name, an address or a network like 10.1.0.0/24 or "
      "fd00:7::/64",
      NULL, TEXT(communication.interface, "auto", true, job_check_interface, "auto") },
    { "mpi.args", "list of words", "[]", "additional arguments of mpirun", NULL,
      OTHER(list, mpi.args, "[]") },
    { "mpi.mca", "map", "{}", "MCA parameters of Open MPI by name", NULL,
      OTHER(mca, mpi.mca, "{}") },
    { "profile.cache", "duration", "7d", "maximum age of a cached profile; 0s: measure anew", NULL,
      DURATION(profile.cache_ns, 0, 3650 * DAY, NULL, "7d") },
    { "profile.emulate", "list of devices", "[]",
      "devices to emulate, one worker each, instead of the real ones", NULL,
      &(const struct job_field){ FIELD(emulate, profile.emulate), .value = "[]",
                                 .count = offsetof(struct job, profile.n_emulate) } },
    { "profile.precision", "word", "auto",
      "the precision of matrix products by whose rates GPUs are compared", NULL,
      &(const struct job_field){ FIELD(word, profile.precision), .value = "auto",
                                 .nth_word = precision_name } },
    { "checkpoint.dir", "path or auto", "auto",
      "the folder in which each job has its folder of checkpoints; auto: the job's folder", NULL,
      PATH(checkpoint.dir, "auto", false, "auto") },
    { "checkpoint.every", "whole number or duration", "5m",
      "steps or time between two checkpoints; 0: no periodic checkpoints", NULL,
      PERIOD(checkpoint.every, 0, BILLION, CLOCK_S, 3650 * DAY, "5m") },
    { "checkpoint.keep", "whole number", "3", "how many checkpoints are kept", NULL,
      WHOLE(checkpoint.keep, 1, 10000, NULL, "3") },
    { "checkpoint.resume", "path or auto", "auto",
      "the checkpoint from which the job resumes; auto: the job's own newest one", NULL,
      PATH(checkpoint.resume, "auto", true, "auto") },
    { "checks.models", "whole number, auto or off", "auto",
      "steps between two comparisons of the workers' models; auto: 256", NULL,
      &(const struct job_field){ FIELD(whole, check_models), .value = "auto", .word = "auto",
                                 .words = { "off" }, .min = 1, .max = BILLION } },
    { "restarts", "whole number", "3", "how many times a failed job restarts automatically", NULL,
      WHOLE(restarts, 0, 1000, NULL, "3") },
    { "node_losses", "whole number or auto", "auto",
      "how many times a job may lose a node and restart; auto: no limit, unless restarts is 0",
      NULL, WHOLE(node_losses, 1, 1000000, "auto", "auto") },
    { "timeouts.gpus", "duration or none", "0s",
      "time to wait for GPUs that another job uses; 0s: fail instead; none: wait without limit",
      NULL, DURATION(timeouts.gpus_ns, 0, 3650 * DAY, "none", "0s") },
    { "timeouts.launch", "duration", "60s", "maximum time until every worker has started", NULL,
      DURATION(timeouts.launch_ns, CLOCK_S, DAY, NULL, "60s") },
    { "timeouts.lease", "duration", "10s",
      "an agent that hears nothing from the driver for this long stops its workers", NULL,
      DURATION(timeouts.lease_ns, CLOCK_S, 60 * MINUTE, NULL, "10s") },
    { "timeouts.heartbeat", "duration", "1s", "time between two reports of an agent", NULL,
      DURATION(timeouts.heartbeat_ns, 50 * CLOCK_MS, MINUTE, NULL, "1s") },
    { "timeouts.node_lost", "duration", "15s",
      "time without a report after which a node counts as lost", NULL,
      DURATION(timeouts.node_lost_ns, 1500 * CLOCK_MS, 120 * MINUTE, NULL, "15s") },
    { "timeouts.hang", "duration or none", "5m",
      "time without a finished step after which the job counts as hanging", NULL,
      DURATION(timeouts.hang_ns, CLOCK_S, 3650 * DAY, "none", "5m") },
    { "timeouts.first_step", "duration or none", "30m",
      "the same before the first step, which loading data may delay", NULL,
      DURATION(timeouts.first_step_ns, CLOCK_S, 3650 * DAY, "none", "30m") },
    { "timeouts.grace", "duration", "10s",
      "time that workers have to end by themselves after a request to stop", NULL,
      DURATION(timeouts.grace_ns, 0, 60 * MINUTE, NULL, "10s") },
    { "timeouts.checkpoint", "duration", "2m",
      "maximum time for writing one checkpoint when the job is stopped, from the request to the "
      "workers' end",
      NULL, DURATION(timeouts.checkpoint_ns, CLOCK_S, DAY, NULL, "2m") },
    { "timeouts.job", "duration or none", "none", "maximum run time of the whole job", NULL,
      DURATION(timeouts.job_ns, CLOCK_S, 3650 * DAY, "none", "none") },
    { "env", "map", "{}", "environment variables of the workers", NULL, OTHER(env, env, "{}") },
    { "env_pass", "list of patterns", "[]",
      "environment variables of the caller that are passed to the workers", NULL,
      &(const struct job_field){ FIELD(list, env_pass), .value = "[]",
                                 .check = job_check_pattern } },
    { "binding", "word", "auto",
      "auto: each worker is bound to cores of its own; none: the operating system places workers",
      NULL,
      &(const struct job_field){ FIELD(word, binding), .value = "auto",
                                 .words = { "auto", "none" } } },
    { "logs.dir", "path or auto", "auto",
      "where the workers' output goes; auto: in the job's folder", NULL,
      PATH(logs.dir, "auto", false, "auto") },
    { "logs.prefix", "text or auto", "auto",
      "the prefix of each line of a worker on the screen; auto: {node}:{rank}", NULL,
      TEXT(logs.prefix, "auto", true, job_check_prefix, "auto") },
    { "logs.max_mb", "whole number", "1024", "megabytes (10^6 bytes) of one worker's log file",
      NULL, WHOLE(logs.max_mb, 1, 1000000, NULL, "1024") },
    { "slurm.partition", "text or auto", "auto", "the partition; auto: as Slurm decides", NULL,
      JOB_SBATCH(job, slurm.partition, "auto") },
    { "slurm.time", "duration or none", "none", "the time limit; none: the partition's limit", NULL,
      DURATION(slurm.time_ns, MINUTE, 365 * DAY, "none", "none") },
    { "slurm.nodes", "whole number or auto", "auto",
      "number of nodes; auto: those that nodes or hostfile name, or one", NULL,
      WHOLE(slurm.nodes, 1, JOB_MAX_HOSTS, "auto", "auto") },
    { "slurm.gres", "text or none", "none", "generic resources of each node, such as gpu:4", NULL,
      JOB_SBATCH(job, slurm.gres, "none") },
    { "slurm.constraint", "text or none", "none", "features that each node must have, such as a100",
      NULL, JOB_SBATCH(job, slurm.constraint, "none") },
    { "slurm.cpus", "whole number, all or auto", "auto",
      "processors of each node; all: whole nodes; auto: all if slurm.gres is not set", NULL,
      JOB_SBATCH_CPUS(job, slurm.cpus, "auto") },
    { "slurm.memory", "text or auto", "auto",
      "memory of each node, such as 64G; auto: as Slurm decides", NULL,
      JOB_SBATCH(job, slurm.memory, "auto") },
    { "slurm.account", "text or auto", "auto", "the account to charge; auto: as Slurm decides",
      NULL, JOB_SBATCH(job, slurm.account, "auto") },
    { "slurm.qos", "text or auto", "auto", "the quality of service; auto: as Slurm decides", NULL,
      JOB_SBATCH(job, slurm.qos, "auto") },
    { "slurm.requeue", "word", "auto",
      "on: a job that was stopped is put back into the queue and resumes; auto: as Slurm decides",
      NULL,
      &(const struct job_field){ FIELD(word, slurm.requeue), .value = "auto",
                                 .words = { "auto", "on", "off" } } },
    { "slurm.components", "list of maps", "[]",
      "groups of nodes of different kinds, instead of slurm.nodes", NULL,
      OTHER(components, slurm.component, "[]") },
    { "slurm.launch", "word", "auto",
      "how agents start inside an allocation; auto: srun, or ssh if there is no srun", NULL,
      &(const struct job_field){ FIELD(word, slurm.launch), .value = "auto",
                                 .words = { "auto", "srun", "ssh" } } },
    { "slurm.extra", "list of words", "[]", "additional options of sbatch", NULL,
      &(const struct job_field){ FIELD(list, slurm.extra), .value = "[]",
                                 .check = job_check_slurm_word } },
};

enum { N_KEYS = sizeof table / sizeof *table };

_Static_assert((int)N_KEYS <= (int)JOB_MAX_KEYS, "struct job keeps an origin for each key");

const struct job_table job_table = { table, N_KEYS };

size_t job_keys(const struct job_key **ret)
{
    *ret = table;
    return N_KEYS;
}
