/* SPDX-License-Identifier: Apache-2.0 */
/* program_probe.h - runs the job's setup and the interpreter of its command once, for `eddis-run
 * --check`, as a child with a deadline
 *
 * The child has the environment and the folder of the node's first rank. If the first word of the
 * command is a Python, or a script whose first line names one ("#!/usr/bin/env python3"), this
 * Python prints its own version and those of torch, CUDA and NCCL, without using a GPU. If it is
 * another program, the child checks only that PATH has it. The command is not run.
 */
#ifndef EDDIS_AGENTS_NODE_PROGRAM_PROBE_H
#define EDDIS_AGENTS_NODE_PROGRAM_PROBE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct program_probe {
    pid_t pid; /* the child; 0: it does not run */
    int out;   /* file with the child's output */
    int64_t within_ns, deadline_ns;
    bool python;       /* the command's first word is a Python */
    bool setup;        /* the job has lines of setup */
    bool killed;       /* program_probe_look has killed the child ... */
    bool full;         /* ... because it had printed too much */
    char program[128]; /* the command's first word, for messages */
};

/* Start the child for the rank `rank` in the rank file at this path; it may run for within_ns.
 * Return 0 or a negative errno.
 */
int program_probe_start(struct program_probe *p, const char *rank_file, int rank, int64_t within_ns,
                        struct eddis_error *err);

/* Kill the child, with its process group, if it is late or has printed too much. */
void program_probe_look(struct program_probe *p, int64_t now_ns);

/* Read the result of a child that has ended with this waitpid status. Return 0, and in *ret the
 * text of a struct program_versions, or "" of a program that is no Python, which the caller frees;
 * otherwise a negative errno, and err says why no rank could start the program.
 */
int program_probe_finish(struct program_probe *p, int status, char **ret, struct eddis_error *err);

#endif
