/* SPDX-License-Identifier: Apache-2.0 */
/* isolate.h - run a measurement in a separate process
 *
 * BLAS libraries and drivers crash and hang on machines that their authors never tested.  So each
 * measurement runs in a forked child, which sends its result through a pipe.  If a child dies or is
 * late, only its measurement is lost.  The caller must have no other thread.
 */
#ifndef EDDIS_PROFILER_ISOLATE_H
#define EDDIS_PROFILER_ISOLATE_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Function that runs in the child: measures according to `task` and writes `result`.  Its standard
 * output is redirected to standard error, so that messages of a library do not mix with the
 * caller's output.
 */
typedef int (*isolate_fn)(const void *task, void *result, struct eddis_error *err);

/* A child that measures */
struct isolated {
    const char *what; /* name in errors: "matrix product" */
    pid_t pid;        /* 0: not started, for the reason in `failed` */
    int fd;
    size_t size;
    struct eddis_error failed;
};

/* Start fn in a child; its result has `size` bytes, at most 48 KB.  A failure is reported by
 * isolate_wait, so that every start has one wait.
 */
void isolate_start(struct isolated *i, const char *what, isolate_fn fn, const void *task,
                   size_t size);

/* Wait for the result until the deadline, and end the child.  Blocks.  Return the result of fn;
 * -ETIMEDOUT: it was late; -ECHILD: it ended without a result, by the signal or code in err.
 */
int isolate_wait(struct isolated *i, int64_t deadline_ns, void *ret, struct eddis_error *err);

#endif
