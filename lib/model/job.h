/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - a user's request: train.yaml and the flags that override it, validated
 *
 * One table in job_keys.c defines every key of train.yaml: type, range, default and member of
 * struct job.  Reading, defaults, origins, suggestions and the test of the manual use it.
 */
#ifndef EDDIS_MODEL_JOB_H
#define EDDIS_MODEL_JOB_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "lib/model/job_slurm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOB_MAX_EMULATED = 64, JOB_MAX_KEYS = 96, JOB_MAX_HOSTS = 16384 };

enum job_origin_kind {
    JOB_DEFAULT,
    JOB_FILE, /* from train.yaml, at `line` and `column` */
    JOB_FLAG, /* from an option of the command line, whose name is `flag`, "--seed" */
};

/* Where a key's value comes from */
struct job_origin {
    enum job_origin_kind kind;
    int line, column; /* position in the file, from 1 */
    const char *flag; /* borrowed, static */
};

/* Device that a CPU emulates.  A step of b samples takes fixed_s + sample_s * b / rate on average,
 * with relative standard deviation `jitter`.
 */
struct job_emulated {
    double rate;     /* speed relative to the job's other devices, > 0 */
    double fixed_s;  /* constant part of a step's time */
    double sample_s; /* seconds per sample at rate 1 */
    double jitter;
};

/* How to log in to a host; members that are NULL or 0 are left to ssh and its configuration */
struct job_ssh {
    char *user;
    int64_t port;
    char *identity; /* path of a private key: absolute, or "~/...", which ssh expands */
    char **command; /* NULL-ended: the program to run instead of ssh, with its first arguments */
};

/* One machine of the job, listed once: ranges are expanded, repeated lines merged.  Members that
 * are NULL or 0 take the job's value.
 */
struct job_host {
    char *host;                 /* checked by host_name_check */
    int64_t workers, max_batch; /* number of workers, 0: auto; most samples per step of one worker,
                                 * 0: the job's limit */
    int64_t *device;            /* [n_device] CUDA ordinals or rows of emulate to use; NULL: all */
    size_t n_device;            /* 0 if device is NULL */
    char *address;              /* address at which other nodes reach this host; NULL: auto */
    struct job_emulated *emulate; /* [n_emulate] devices to emulate on this host; NULL: the job's */
    size_t n_emulate;
    char *eddis;     /* prefix or build folder of eddis on this host; NULL: as on this machine */
    char *python;    /* path that replaces the name of a Python in the command here; NULL: none */
    int python_line; /* line of `python` in the file */
    char **setup;    /* NULL-ended shell lines to run after those of the job; NULL: none */
    char **env;      /* as env of the job, which it overrides here; NULL: none */
    struct job_ssh ssh;
};

/* Interval in steps or in time; both 0: never */
struct job_period {
    int64_t steps, ns;
};

/* Groups of hybrid mode */
struct job_groups {
    int64_t n;   /* number of groups; 0: auto */
    int *of;     /* [n_of] group of each rank; NULL: not given by the job */
    size_t n_of; /* number of ranks in `of` */
};

/* A job; strings and arrays are owned by it */
struct job {
    char *file;   /* path of train.yaml as given; NULL: the job comes from flags only */
    char *folder; /* absolute; base of relative paths */
    char *name;
    char **command;        /* NULL-ended: the user's program and its arguments */
    char *workdir;         /* absolute */
    char **setup;          /* NULL-ended shell lines to run before the command */
    struct job_host *host; /* [n_hosts]; NULL: only this machine */
    size_t n_hosts;
    char *drop; /* nodes.drop: "none", or "auto": leave out workers that cost more than they bring;
                 * NULL: none */
    char *hostfile;           /* absolute path, or NULL; the hosts in that file are in `host` */
    struct job_ssh ssh;       /* default for all hosts */
    int64_t workers_per_node; /* 0: auto */
    int64_t gpus_per_worker;
    uint64_t seed;
    struct {
        int64_t global, min, max, grain; /* samples of a step; limits of a worker's part, max 0:
                                          * auto; the batch multiple */
        int64_t rebalance;               /* fewest steps between two re-plans; 0: auto, -1: off */
    } batch;
    struct {
        char *mode, *algorithm; /* "auto" or a name of algorithm.h */
        struct sync_options options;
        struct job_groups groups;
    } sync;
    struct {
        int64_t warmup_steps; /* learning_rate.warmup */
    } learning_rate;
    struct {
        char *pattern; /* regular expression for the step number in the output; NULL: none */
        int64_t samples, steps; /* samples of a printed step, 0: unknown; steps of the whole job, 0:
                                 * unknown */
    } progress;
    struct {
        double bucket_mb;       /* 0: auto */
        char *wire, *interface; /* "auto" or one of sync_wire_names; "auto", or an interface's name,
                                 * address or network */
    } communication;
    struct {
        char **args; /* NULL-ended, passed to mpirun unchanged */
        char **mca;  /* NULL-ended: name, value, name, value, ... */
    } mpi;
    struct {
        int64_t cache_ns;             /* longest age of a cached profile that is still used; 0: use
                                       * none */
        struct job_emulated *emulate; /* [n_emulate] */
        size_t n_emulate;
        char *precision; /* one of precision_names */
    } profile;
    struct {
        char *dir; /* absolute; NULL: in the job's folder */
        struct job_period every;
        int64_t keep;
        char *resume; /* "auto", or a checkpoint's absolute path */
    } checkpoint;
    int64_t check_models, restarts, node_losses; /* steps between two comparisons of models, -1:
                                                  * none; most restarts; most lost nodes; each 0:
                                                  * auto */
    struct {
        int64_t gpus_ns, launch_ns, lease_ns, heartbeat_ns, node_lost_ns, hang_ns, first_step_ns,
            grace_ns, checkpoint_ns, job_ns; /* gpus_ns, hang_ns, first_step_ns and job_ns may be
                                              * CLOCK_NEVER: no limit */
    } timeouts;
    char **env;      /* NULL-ended "NAME=VALUE", sorted by name */
    char **env_pass; /* NULL-ended patterns ("WANDB_*") of the caller's variables to pass on */
    char *binding;   /* "auto" or "none" */
    struct {
        char *dir;    /* absolute; NULL: in the job's folder */
        char *prefix; /* printed before each line on the screen, with {node} and {rank} replaced */
        int64_t max_mb; /* size limit of one rank's log file */
    } logs;
    struct job_slurm slurm;
    struct job_origin origin[JOB_MAX_KEYS]; /* indexed by the key's row in the table */
};

/* Check whether the interval means never: neither steps nor a time are set. */
bool job_period_is_never(const struct job_period *p);

/* Check whether the job's program is eddis-train, which uses eddis and computes on CPUs. */
bool job_runs_trainer(const struct job *job);

#endif
