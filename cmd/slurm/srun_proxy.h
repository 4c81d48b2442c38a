/* SPDX-License-Identifier: Apache-2.0 */
/* srun_proxy.h - a program of ours on the node of a job's driver, run from elsewhere
 *
 * There is no door in the network: the program goes over a step of Slurm's that lies over whatever
 * else runs in the job, and takes nothing from it.
 *
 *     here                         the driver's node
 *     eddis-status 12 -> srun ---> sh: says that it is here, becomes eddis-status 12
 *
 * What it says on standard output comes through a pipe, behind that first line; what it says on
 * standard error goes to ours.  When this process ends, so does the step.
 */
#ifndef EDDIS_CMD_SLURM_SRUN_PROXY_H
#define EDDIS_CMD_SLURM_SRUN_PROXY_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct slurm_door {
    char job[24];   /* number by which its steps go */
    char name[64];  /* as people and scontrol know it: the same, or "12_3" */
    char node[256]; /* as Slurm calls it */
    int group;      /* of a heterogeneous job; -1: it is none */
};

struct slurm_door_call {
    const struct slurm_door *at; /* borrowed */
    pid_t pid;
    int out, errors; /* pipes of its standard output and error; -1: closed */
    bool here;       /* it has said so */
    bool cut;        /* Slurm has ended the step */
    bool quiet;      /* its words on standard error are kept in `last` only */
    bool shown;      /* a line of its standard error has gone to ours */
    char said[1024]; /* of its output, said_n bytes before it was here */
    size_t said_n;
    char line[512]; /* of its standard error, line_n bytes of one that has not ended */
    size_t line_n;
    char srun[256], last[256]; /* the last line of srun's, and of the program's */
    int64_t end_ns;            /* until which it must be here */
};

/* Start it: words are the name of the program, which is beside this one, and its arguments,
 * NULL-ended.  -ENOTSUP: there is no srun.
 */
int slurm_door_begin(const struct slurm_door *at, const char *const *words, bool quiet,
                     struct slurm_door_call *ret, struct eddis_error *err);

/* Read what there is: its output to ret [size]; call it when c->out or c->errors is readable, or
 * c->end_ns has come.  Returns the number of bytes, which may be 0.  -ETIMEDOUT: it has not come
 * so far in time.
 */
int slurm_door_read(struct slurm_door_call *c, char *ret, size_t size, struct eddis_error *err);

/* Whether there is nothing more to be read. */
bool slurm_door_is_over(const struct slurm_door_call *c);

/* End it, unless it has ended.  Returns its exit code.  -EIO: it never was there, and srun says
 * why; -ENOENT: there is no eddis; -ECONNRESET: Slurm has ended it, as with its job.
 */
int slurm_door_end(struct slurm_door_call *c, struct eddis_error *err);

/* Run it to its end.  take: its output as it comes; its time until the end is most_ns.  Returns its
 * exit code, or 128 + SIGINT, SIGTERM or SIGHUP, which this process is sent and which ends it.
 */
int slurm_door_run(const struct slurm_door *at, const char *const *words, int64_t most_ns,
                   void (*take)(void *ctx, const char *bytes, size_t n), void *ctx,
                   struct eddis_error *err);

#endif
