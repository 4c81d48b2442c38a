/* SPDX-License-Identifier: Apache-2.0 */
/* host_cleanup.h - run `eddis-keeper --cleanup` on hosts, to end and remove what remains of a job
 */
#ifndef EDDIS_AGENTS_DRIVER_START_HOST_CLEANUP_H
#define EDDIS_AGENTS_DRIVER_START_HOST_CLEANUP_H

#include "start.h"

#include "lib/base/error.h"

#include <stdint.h>

/* The result of the cleanup of one host. */
enum host_cleanup_result {
    HOST_CLEAN,  /* no process or file of the job remains */
    HOST_LEFT,   /* the supervisor on the host reports that something remains */
    HOST_UNSEEN, /* the host could not be reached */
};

/* Type of the function called once for each host, number i, with the result and a sentence about it
 */
typedef void (*host_cleanup_say_fn)(void *ctx, int i, const char *host,
                                    enum host_cleanup_result result, const char *text);

/* What to clean up; all pointers are borrowed */
struct host_cleanup {
    struct start_options start;
    /* job whose processes are ended, too; "": end only processes with one of the marks */
    const char *job_id;
    char *const **mark;  /* [start.n] marks of the starts on each host, NULL-terminated */
    int64_t node_ns;     /* time limit of one host; START_LOGINS hosts are cleaned up at a time */
    int64_t deadline_ns; /* deadline of all hosts */
    int stop;            /* descriptor that ends the cleanup when it becomes readable; -1: none */
    host_cleanup_say_fn say;
    void *ctx;
};

/* Clean up all hosts. Return the number of hosts where something may remain, or a negative errno.
 * Blocks. The caller must ignore SIGPIPE and have no child processes.
 */
int host_cleanup(const struct host_cleanup *c, struct eddis_error *err);

#endif
