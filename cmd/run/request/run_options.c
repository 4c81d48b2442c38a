/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.c - options of eddis-run, and advice for options of other launchers */
#include "run_options.h"

static const struct option_row rows[] = {
    { "np", 'n', "N", "workers on each node (workers_per_node)" },
    { "host", 'H', "HOSTS", "train on these machines, as a:2,b,c[01-04] (host:workers)" },
    { "hostfile", 0, "FILE", "train on the machines that a file lists, one per line" },
    { "env", 'x', "NAME[=VALUE]", "set a variable of the workers, or pass on its value here" },
    { "set", 0, "KEY=VALUE", "set any key of train.yaml, --set batch.global=512" },
    { "seed", 0, "N", "seed of the order of samples and of the initial weights" },
    { "restarts", 0, "N", "restart a failed job at most N times" },
    { "max-restarts", 0, "N", "the same as --restarts" },
    { "ssh-port", 0, "PORT", "port of the machines' ssh servers" },
    { "ssh-command", 0, "COMMAND", "program to run instead of ssh, as rsync's -e" },
    { "network-interface", 0, "NETWORK", "use this network: eth1, 10.1.0.0/24" },
    { "wait", 0, "[=TIME]", "wait for GPUs that another job uses, at most for this time" },
    { "timeout", 0, "TIME", "end the job after this time: 30s, 5m, 12:00:00" },
    { "resume", 0, "CHECKPOINT",
      "continue from the folder of a checkpoint, or from a job's newest checkpoint" },
    { "plan", 0, "PLAN",
      "replay a plan: a file plan-*.json, or a job, whose newest plan is taken" },
    { "measure-equal", 0, "STEPS", "first train this many steps with an equal split, to compare" },
    { "compare", 0, NULL, "train the job in one mode after another, and compare them" },
    { "modes", 0, "LIST", "with --compare: the modes, as sync,hybrid; without it all" },
    { "until", 0, "TARGET",
      "with --compare: train until accuracy=0.97, loss=0.1, samples=N or time=10m" },
    { "rounds", 0, "N", "with --compare: train each mode N times, each with a seed of its own" },
    { "ranks", 0, "LIST", "show the output of these workers only, as 0,5-7" },
    { "job-dir", 0, "FOLDER",
      "keep the job's files in this folder, which must be missing or empty" },
    { "log-dir", 0, "FOLDER", "keep the output of the workers in this folder, on their nodes" },
    { "slurm", 0, NULL, "submit the job to Slurm (slurm: in the file), and follow it to its end" },
    { "detach", 0, NULL, "continue in the background once the workers run; print the job's id" },
    { "check", 0, NULL, "check everything that a start needs on all machines, and train nothing" },
    { "stop", 0, "JOB",
      "end a running job, also by Slurm's number, in good order, and wait for its end" },
    { "cleanup", 0, "JOB", "end and remove what a dead job left on its machines, and exit" },
    { "prune", 0, "TIME", "remove the folders of jobs that ended this long ago, as 30d" },
    { "failed", 0, NULL, "with --prune: only of jobs that failed, or whose driver has died" },
    { "dry-run", 0, NULL, "print the plan and where each value of the job comes from, and exit" },
    { "what-if", 0, "CHANGES", "predict the job with changes, as -node3,+2xnode1,network=10gbit" },
    { "simulate", 0, "TIME", "simulate the job for this time, as 600s, also with --what-if" },
    { "profile", 0, NULL, "print the measurements of the devices and exit" },
    { "json", 0, NULL, "print one JSON document instead of text" },
    { "verbose", 'v', NULL, "with the plan, print each value and where it comes from" },
    { "quiet", 'q', NULL, "print nothing but errors" },
    { "help", 'h', NULL, "print this help and exit" },
    { "version", 'V', NULL, "print the version and exit" },
};

#define NEEDLESS "leave it out: eddis-run needs no rendezvous"
#define BEHIND   "write the program after --: eddis-run -- python3 -m package.train"
#define SHOWN    "each worker's output is shown and written to a file; see --ranks and --log-dir"
#define LOSES    "leave it out: after a failure the job continues with the remaining nodes"
#define OF_MPI   "write arguments for mpirun in mpi.args of train.yaml"

/* Options of torchrun, horovodrun, mpirun, srun and deepspeed, with our advice. */
static const struct option_foreign foreign[] = {
    { "nproc-per-node", "did you mean \"-n\"?" },
    { "nproc", "did you mean \"-n\"?" },
    { "m", BEHIND },
    { "module", BEHIND },
    { "no-python", BEHIND },
    { "tee", SHOWN },
    { "redirects", SHOWN },
    { "monitor-interval", "leave it out: a failed worker is detected at once" },
    { "start-method", "leave it out: each worker is a process of its own" },
    { "local-addr", "did you mean \"--network-interface\"?" },
    { "oversubscribe", OF_MPI },
    { "bind-to", OF_MPI },
    { "mca", "write MCA parameters in mpi.mca of train.yaml" },
    { "local-ranks-filter", "did you mean \"--ranks\"?" },
    { "run-path", "write the script and its arguments after --: eddis-run -- python3 train.py" },
    { "role", "leave it out: ROLE_NAME is default; -x ROLE_NAME=... sets the variable" },
    { "logs-specs", "leave it out: each worker's output is written to a file" },
    { "rdzv-conf", NEEDLESS },
    { "min-np", LOSES },
    { "max-np", LOSES },
    { "reset-limit", "did you mean \"--restarts\"?" },
    { "output-filename", "did you mean \"--log-dir\"?" },
    { "ssh-identity-file", "did you mean --ssh-command \"ssh -i FILE\"?" },
    { "num-proc", "did you mean \"-n\"?" },
    { "ntasks-per-node", "did you mean \"-n\"?" },
    { "num-gpus", "did you mean \"-n\", workers on each node?" },
    { "hosts", "did you mean \"-H\"?" },
    { "nodelist", "did you mean \"-H\"?" },
    { "nnodes", "name the machines: -H a,b, --hostfile FILE or nodes: in the file" },
    { "num-nodes", "name the machines: -H a,b, --hostfile FILE or nodes: in the file" },
    { "node-rank", "eddis-run starts the workers of all nodes itself, from one of them" },
    { "standalone", NEEDLESS },
    { "rdzv-backend", NEEDLESS },
    { "rdzv-endpoint", NEEDLESS },
    { "rdzv-id", NEEDLESS },
    { "master-addr", "eddis-run chooses it; -x MASTER_ADDR=... sets the variable" },
    { "master-port", "eddis-run chooses it; -x MASTER_PORT=... sets the variable" },
};

static const char *const use[] = { "[option ...] train.yaml",
                                   "[option ...] -- command [argument ...]",
                                   "[option ...] --profile",
                                   "--compare [option ...] train.yaml",
                                   "--stop JOB | --cleanup JOB | --prune TIME [--failed]",
                                   NULL };

const struct option_table run_options = {
    .program = "eddis-run",
    .summary = "Train on unequal devices at the sum of their speeds.",
    .use = use,
    .row = rows,
    .n = sizeof rows / sizeof *rows,
    .foreign = foreign,
    .n_foreign = sizeof foreign / sizeof *foreign,
    .footer =
        "exit codes: 0 every worker succeeded, 1 fault of eddis or a lost node, 2 wrong usage,\n"
        "3 the job could not start, 75 ended by SIGTERM with a checkpoint, 143 without one,\n"
        "124 the time limit was reached, 130 Ctrl-C; otherwise the exit code of the worker\n"
        "that failed first, or 128 + its signal.  More in eddis-run(1).\n",
};
