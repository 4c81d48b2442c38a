/* SPDX-License-Identifier: Apache-2.0 */
/* srun_proxy.h - srun proxy: runs a program of eddis on the node of a job's driver
 *
 * eddis opens no network connection for this. The program runs in a step of Slurm that shares the
 * job's nodes with other steps (--overlap) and takes no resources from them.
 *
 *     here                         the driver's node
 *     eddis-status 12 -> srun ---> sh: prints a hello line, becomes eddis-status 12
 *
 * The program's standard output, after the hello line, is read from a pipe; its standard error is
 * copied to that of this process. The step ends when this process ends.
 */
#ifndef EDDIS_CMD_SLURM_SRUN_PROXY_H
#define EDDIS_CMD_SLURM_SRUN_PROXY_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Job and node in which a program is run */
struct srun_proxy {
    char job[24];   /* job number for srun's --jobid */
    char name[64];  /* job number as users and scontrol write it: equal to `job`, or "12_3" */
    char node[256]; /* node name in Slurm */
    int group;      /* component of a heterogeneous job; -1: not heterogeneous */
};

/* A running srun, and its output so far */
struct srun_proxy_call {
    const struct srun_proxy *at; /* borrowed */
    pid_t pid;
    int out, errors; /* pipes from the standard output and error of srun; -1: closed */
    bool here;       /* the hello line has arrived */
    bool cut;        /* Slurm has ended the step */
    bool quiet;      /* do not copy standard error to that of this process; only `last` keeps it */
    bool shown;      /* a line of the program's standard error was copied to that of this process */
    char said[1024]; /* the last said_n bytes of output, searched for the hello line */
    size_t said_n;
    char line[512]; /* incomplete last line of standard error, of line_n bytes */
    size_t line_n;
    char srun[256], last[256]; /* last lines on standard error, of srun and of the program */
    int64_t end_ns;            /* deadline of the hello line; CLOCK_NEVER: it has arrived */
};

/* Start a program on the node `at` through srun, and fill *ret. words: name of the program, which
 * is in the folder of this program, and its arguments, NULL-ended. `at` must exist as long as *ret.
 * quiet: do not show the program's standard error. Return 0; -ENOTSUP: there is no srun; or another
 * negative errno.
 */
int srun_proxy_begin(const struct srun_proxy *at, const char *const *words, bool quiet,
                     struct srun_proxy_call *ret, struct eddis_error *err);

/* Read available output into ret [size], and process available standard error. To be called when
 * c->out or c->errors is readable, and at c->end_ns. Return the number of bytes in ret, which may
 * be 0; -ETIMEDOUT: the hello line did not arrive by its deadline.
 */
int srun_proxy_read(struct srun_proxy_call *c, char *ret, size_t size, struct eddis_error *err);

/* Check whether both pipes are closed, so that all output was read. */
bool srun_proxy_is_over(const struct srun_proxy_call *c);

/* Stop srun and the step if they have not ended, and close the pipes. Return the program's exit
 * code; -EIO: the node was not reached, and err has srun's reason; -ENOENT: eddis is not installed
 * on the node; -ECONNRESET: Slurm has ended the step, for example with its job.
 */
int srun_proxy_end(struct srun_proxy_call *c, struct eddis_error *err);

/* Append output bytes to a string buffer, ctx. A take() of srun_proxy_run. */
void srun_proxy_keep(void *ctx, const char *bytes, size_t n);

/* Run a program through srun until it ends, but at most for most_ns. take() is called with output
 * as it arrives. Return the program's exit code; 128 + the signal if this process received SIGINT,
 * SIGTERM or SIGHUP, which ends the program; or an error of srun_proxy_begin, _read or _end.
 */
int srun_proxy_run(const struct srun_proxy *at, const char *const *words, int64_t most_ns,
                   void (*take)(void *ctx, const char *bytes, size_t n), void *ctx,
                   struct eddis_error *err);

#endif
