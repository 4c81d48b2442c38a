/* SPDX-License-Identifier: Apache-2.0 */
/* isolate.h - a measurement in a process of its own
 *
 * BLAS libraries and drivers crash and hang on machines that their authors never saw.  Each
 * measurement runs in a forked child, which sends its result through a pipe; a child that dies or
 * is late costs its figure and nothing else.  The caller must have no other thread.
 */
#ifndef EDDIS_PROFILER_ISOLATE_H
#define EDDIS_PROFILER_ISOLATE_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Runs in the child: measure what task says, write the result.  Its standard output is standard
 * error, so that a chatty library cannot spoil the caller's.
 */
typedef int (*isolate_fn)(const void *task, void *result, struct eddis_error *err);

struct isolated {
    const char *what; /* "matrix product": names it in errors */
    pid_t pid;        /* 0: not started, waiting for it fails with the reason in `failed` */
    int fd;
    size_t size;
    struct eddis_error failed;
};

/* Start fn in a child; the result has `size` bytes, 48 KB at most.  A failure to start is kept for
 * isolate_wait, so that every start has one wait.
 */
void isolate_start(struct isolated *i, const char *what, isolate_fn fn, const void *task,
                   size_t size);

/* Wait for the result until the deadline and end the child.  Blocks.  Returns as fn did.
 * -ETIMEDOUT: it was late; -ECHILD: it ended without a result, err says by which signal.
 */
int isolate_wait(struct isolated *i, int64_t deadline_ns, void *ret, struct eddis_error *err);

#endif
