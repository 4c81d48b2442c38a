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

/* Type of a function that runs in the child, measures according to `task`, and writes `result`;
 * returns 0 or a negative errno. In the child, standard output is redirected to standard error, so
 * that messages of a library do not mix with the caller's output
 */
typedef int (*isolate_fn)(const void *task, void *result, struct eddis_error *err);

/* A child that measures */
struct isolated {
    const char *what; /* name in errors: "matrix product" */
    pid_t pid;        /* process id of the child; 0: not started, for the reason in `failed` */
    int fd;
    size_t size;
    struct eddis_error failed;
};

/* Start fn in a child; fn's result has `size` bytes, at most 48 KB. If the child cannot be started,
 * isolate_wait reports it, so every call needs a call of isolate_wait.
 */
void isolate_start(struct isolated *i, const char *what, isolate_fn fn, const void *task,
                   size_t size);

/* Wait for the result, at most until the deadline, store it in ret, and end the child. Return what
 * fn returned; -ETIMEDOUT: there was no result by the deadline; -ECHILD: the child ended without a
 * result, by the signal or code in err; or the error of starting the child.
 */
int isolate_wait(struct isolated *i, int64_t deadline_ns, void *ret, struct eddis_error *err);

#endif
