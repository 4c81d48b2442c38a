/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - what a user asked for: train.yaml and the flags over it, validated
 *
 * One table in job_keys.c names every key of train.yaml with its type, range, default and the
 * member of struct job it fills; reading, defaults, --dry-run's origins, "did you mean" and the
 * manual's test all use it.
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
    JOB_FILE, /* line and column of train.yaml */
    JOB_FLAG, /* flag holds its name, "--seed" */
};

struct job_origin {
    enum job_origin_kind kind;
    int line, column; /* from 1 */
    const char *flag; /* borrowed, static */
};

/* One device that a CPU emulates: a step of b samples takes fixed_s + sample_s * b / rate on
 * average, with this relative standard deviation.
 */
struct job_emulated {
    double rate;     /* speed relative to the others, > 0 */
    double fixed_s;  /* a, seconds */
    double sample_s; /* c, seconds per sample at rate 1 */
    double jitter;
};

/* How a host is logged in to; a member that is NULL or 0 is left to ssh and its configuration. */
struct job_ssh {
    char *user;
    int64_t port;
    char *identity; /* path of a private key: absolute, or "~/..." which ssh itself expands */
    char **command; /* NULL-ended: the program in the place of ssh, with its first arguments */
};

/* One machine that takes part.  Ranges are expanded and repeated lines of a hostfile added up, so
 * that every host stands here once; what a host does not say is taken from the job.
 */
struct job_host {
    char *host;                 /* checked by job_check_host */
    int64_t workers, max_batch; /* 0: auto; samples of one of them at a step, 0: the job's */
    int64_t *device;            /* [n_device] CUDA ordinals or rows of emulate to use; NULL: all */
    size_t n_device;            /* 0 with device NULL */
    char *address;              /* that others reach it at; NULL: auto */
    struct job_emulated *emulate; /* [n_emulate]; NULL: the job's */
    size_t n_emulate;
    char *eddis; /* prefix of eddis there, or a build folder of it; NULL: as on this machine */
    struct job_ssh ssh;
};

/* How often something is done: every so many steps, or so much time; both 0: never. */
struct job_period {
    int64_t steps, ns;
};

/* Groups of the hybrid mode. */
struct job_groups {
    int64_t n;   /* how many; 0: auto */
    int *of;     /* [n_of] the group of each rank, when the job names them; else NULL */
    size_t n_of; /* ranks that it names, from 0 */
};

struct job {
    char *file;   /* train.yaml as given, NULL when the job comes from flags alone */
    char *folder; /* absolute; relative paths of the file are relative to it */
    char *name;
    char **command;        /* NULL-ended */
    char *workdir;         /* absolute */
    char **setup;          /* NULL-ended lines for the user's shell, before the command */
    struct job_host *host; /* [n_hosts]; NULL: this machine alone */
    size_t n_hosts;
    char *hostfile;           /* as given, absolute; its hosts are in `host` */
    struct job_ssh ssh;       /* the default of all hosts */
    int64_t workers_per_node; /* 0: auto */
    uint64_t seed;
    struct {
        int64_t global, min, max, grain; /* max 0: auto */
        int64_t rebalance;               /* steps between two re-plans at least; 0: auto, -1: off */
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
        char *pattern;          /* finds the number of a step in the output; NULL: none */
        int64_t samples, steps; /* of a step that a worker prints; of all epochs; 0: unknown */
    } progress;
    struct {
        double bucket_mb;       /* 0: auto */
        char *wire, *interface; /* "auto"; or a sync_wire; or a name, an address, a network */
    } communication;
    struct {
        char **args; /* NULL-ended, given to mpirun as they are */
        char **mca;  /* NULL-ended: name, value, name, value, ... */
    } mpi;
    struct {
        int64_t cache_ns;             /* 0: do not use the cache */
        struct job_emulated *emulate; /* [n_emulate] */
        size_t n_emulate;
    } profile;
    struct {
        char *dir; /* absolute; NULL: in the job's folder */
        struct job_period every;
        int64_t keep;
        char *resume; /* "auto", or a checkpoint's absolute path */
    } checkpoint;
    int64_t check_models, restarts, node_losses; /* 0: auto; the first in steps, -1: off */
    struct {
        int64_t launch_ns, lease_ns, heartbeat_ns, node_lost_ns, hang_ns, first_step_ns, grace_ns,
            checkpoint_ns, job_ns; /* hang, first_step and job: CLOCK_NEVER for "none" */
    } timeouts;
    char **env;      /* NULL-ended "NAME=VALUE", sorted by name */
    char **env_pass; /* NULL-ended patterns, "WANDB_*": the caller's variables that go with them */
    char *binding;   /* "auto" or "none" */
    struct {
        char *dir;      /* absolute; NULL: in the job's folder */
        char *prefix;   /* before a line on the screen, where {node} and {rank} stand for them */
        int64_t max_mb; /* of one rank's log file */
    } logs;
    struct job_slurm slurm;
    struct job_origin origin[JOB_MAX_KEYS]; /* by number of the key in the table */
};

/* Read and check train.yaml.  Returns a job that job_free frees.  -EINVAL, -ENOENT, ...: err is
 * "<file>:<line>:<column>: <what is wrong>; <what to do>".
 */
int job_read(const char *path, struct job **ret, struct eddis_error *err);

/* What is wrong in a file's keys; of values that do not fit, and of no YAML, the first alone. */
enum { JOB_MAX_MISTAKES = 10 };
struct job_mistakes {
    int n;
    bool more; /* there are others */
    char text[JOB_MAX_MISTAKES][sizeof((struct eddis_error *)0)->text];
};

/* As job_read, and write all that is wrong to *ret_wrong, err being the first of it. */
int job_read_all(const char *path, struct job_mistakes *ret_wrong, struct job **ret,
                 struct eddis_error *err);

/* As job_read from n bytes of text; `name` stands for the file in errors, `folder` (absolute) is
 * what relative paths are relative to.
 */
int job_parse(const char *text, size_t n, const char *name, const char *folder, struct job **ret,
              struct eddis_error *err);

/* A job of defaults and this command, without a file: `eddis-run -n 4 -- python3 train.py`.
 * folder is absolute.
 */
int job_from_command(const char *const *command, const char *folder, struct job **ret,
                     struct eddis_error *err);

/* Set one key over the file by its dotted name, "batch.global", from a flag's text; the checks and
 * sentences are those of the file, with the flag in the place of file, line and column.  Lists and
 * maps are written as in YAML, "[a, b]".  flag is static.
 */
int job_set(struct job *job, const char *key, const char *value, const char *flag,
            struct eddis_error *err);

/* As job_set, but value is the text of one scalar whatever it looks like, never a list: "nodes" is
 * then what -H takes, "a:2,c[01-04]".
 */
int job_set_text(struct job *job, const char *key, const char *value, const char *flag,
                 struct eddis_error *err);

/* Check the values against each other (batch.min against batch.max, ...).  job_read and job_parse
 * have done it for the file's values; call it again after the last job_set.
 */
int job_check(const struct job *job, struct eddis_error *err);

/* Check the name of a variable that a user wants his workers to have: letters, digits and _, and
 * none that eddis itself sets.  -EINVAL: the sentence says which.
 */
int job_check_variable(const char *name, struct eddis_error *err);

/* Whether values of a variable of this name [n] are never to be shown: it holds KEY, TOKEN, SECRET,
 * PASSWORD, PASSWD or CREDENTIAL.
 */
bool job_is_secret(const char *name, size_t n);

/* Returns text with the values of assignments to secret names masked, as in "export API_KEY=***";
 * NULL without memory.  Names are in capitals: --tokenizer=bert is no secret.
 */
char *job_masked(const char *text);

/* Check the name or address of a host: a host name of letters, digits, '.', '-' and '_', an IPv4 or
 * an IPv6 address.  What passes is no option of any program and no path.  -EINVAL.
 */
int job_check_host(const char *host, struct eddis_error *err);

/* Check an address of a host, in numbers; the name of a user to log in as. */
int job_check_address(const char *address, struct eddis_error *err);
int job_check_user(const char *user, struct eddis_error *err);

/* How this host is logged in to: what it says itself, else what the job says.  Borrows from both.
 */
struct job_ssh job_host_ssh(const struct job *job, const struct job_host *host);

/* Whether it is never. */
bool job_period_is_never(const struct job_period *p);

void job_free(struct job *job); /* accepts NULL and a half-built job */

/* The job as text of a train.yaml, every key with its value and a comment that tells its origin,
 * what the job folder keeps as job.yaml; read again, defaults are defaults.  Values of variables
 * with secret names are masked; the hosts of a hostfile are nodes.  NULL without memory.
 */
char *job_text(const struct job *job);

struct job_key {
    const char *name;    /* dotted: "batch.global" */
    const char *type;    /* in words, for the manual: "whole number", "duration" */
    const char *initial; /* default, in words */
    const char *help;    /* one line */
    const char *later;   /* NULL, or the feature it waits for: the key is refused by name */
    const struct job_field *field; /* how it is read and where it goes; job_impl.h */
};

/* Borrows the table's rows, in the order of the manual; returns their number. */
size_t job_keys(const struct job_key **ret);

/* Origin of a key's value, by dotted name; a default for an unknown name. */
struct job_origin job_origin(const struct job *job, const char *key);

/* Write an origin as people read it: "train.yaml:7", "--seed", "default". */
void job_origin_text(const struct job *job, const char *key, char *ret, size_t size);

/* A key's value as people read it, "256", "10s", "auto". */
void job_value_text(const struct job *job, const char *key, char *ret, size_t size);

#endif
