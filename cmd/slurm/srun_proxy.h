/* SPDX-License-Identifier: Apache-2.0 */
/* srun_proxy.h - srun proxy: runs a program of ours on the node of a job's driver
 *
 * No network connection of ours is opened. The program runs in a step of Slurm's that shares the
 * job's nodes with other steps (--overlap) and takes no resources from them.
 *
 *     here                         the driver's node
 *     eddis-status 12 -> srun ---> sh: prints a hello line, becomes eddis-status 12
 *
 * Its standard output comes through a pipe, after the hello line. Its standard error goes to ours.
 * The step ends when this process ends.
 */
#ifndef EDDIS_CMD_SLURM_SRUN_PROXY_H
#define EDDIS_CMD_SLURM_SRUN_PROXY_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Node and job that a program is run in. */
struct srun_proxy {
    char job[24];   /* job number that srun's --jobid takes */
    char name[64];  /* number as users and scontrol write it: the same, or "12_3" */
    char node[256]; /* node name in Slurm */
    int group;      /* component of a heterogeneous job; -1: not heterogeneous */
};

/* A running srun, and what was read from it. */
struct srun_proxy_call {
    const struct srun_proxy *at; /* borrowed */
    pid_t pid;
    int out, errors; /* pipes of its standard output and error; -1: closed */
    bool here;       /* the hello line has come */
    bool cut;        /* Slurm has ended the step */
    bool quiet;      /* do not copy standard error to ours; only `last` keeps it */
    bool shown;      /* a line of its standard error was copied to ours */
    char said[1024]; /* the last said_n bytes of output, searched for the hello line */
    size_t said_n;
    char line[512]; /* an incomplete line of its standard error, of line_n bytes */
    size_t line_n;
    char srun[256], last[256]; /* last lines on standard error, of srun and of the program */
    int64_t end_ns;            /* deadline of the hello line; CLOCK_NEVER after it */
};

/* Start a program on the job's node through srun. words: the name of the program, which lies beside
 * this one, and its arguments, NULL-ended. `at` must live as long as *ret. quiet: do not show its
 * standard error. -ENOTSUP: there is no srun.
 */
int srun_proxy_begin(const struct srun_proxy *at, const char *const *words, bool quiet,
                     struct srun_proxy_call *ret, struct eddis_error *err);

/* Read available output into ret [size], and process available standard error. Call it when c->out
 * or c->errors is readable, or at c->end_ns. Return the number of bytes, which may be 0.
 * -ETIMEDOUT: the hello line did not come in time.
 */
int srun_proxy_read(struct srun_proxy_call *c, char *ret, size_t size, struct eddis_error *err);

/* Check whether both pipes are closed, so nothing is left to read. */
bool srun_proxy_is_over(const struct srun_proxy_call *c);

/* Stop srun and the step unless they have ended, and close the pipes. Return the program's exit
 * code. -EIO: the node was not reached, with srun's reason; -ENOENT: there is no eddis there;
 * -ECONNRESET: Slurm ended the step, as with its job.
 */
int srun_proxy_end(struct srun_proxy_call *c, struct eddis_error *err);

/* Append output bytes to a string buffer, ctx. A take() of srun_proxy_run. */
void srun_proxy_keep(void *ctx, const char *bytes, size_t n);

/* Run a program through srun until it ends, for most_ns at most. take() gets its output as it
 * comes. Return its exit code; or 128 + SIGINT, SIGTERM or SIGHUP if this process received that
 * signal, which ends the program.
 */
int srun_proxy_run(const struct srun_proxy *at, const char *const *words, int64_t most_ns,
                   void (*take)(void *ctx, const char *bytes, size_t n), void *ctx,
                   struct eddis_error *err);

#endif
