/* SPDX-License-Identifier: Apache-2.0 */
/* host_cleanup.h - have `eddis-keeper --cleanup` end what is left of a job on some hosts */
#ifndef EDDIS_AGENTS_DRIVER_START_HOST_CLEANUP_H
#define EDDIS_AGENTS_DRIVER_START_HOST_CLEANUP_H

#include "start.h"

#include "lib/base/error.h"

#include <stdint.h>

/* The result of the cleanup of one host. */
enum host_cleanup_result {
    HOST_CLEAN,  /* nothing is left */
    HOST_LEFT,   /* the supervisor there reports that something is left */
    HOST_UNSEEN, /* the host could not be reached */
};

/* Called once for each host with the result and a sentence about it. */
typedef void (*host_cleanup_say_fn)(void *ctx, int i, const char *host,
                                    enum host_cleanup_result result, const char *text);

/* What to clean up.  Everything is borrowed. */
struct host_cleanup {
    struct start_options start;
    const char *job_id;  /* processes with this job id are ended as well; "": only marked ones */
    char *const **mark;  /* [start.n] process marks of each host, NULL-terminated */
    int64_t node_ns;     /* time limit of one host; START_LOGINS of them run at a time */
    int64_t deadline_ns; /* deadline of all hosts */
    int stop;            /* a descriptor that ends the cleanup once it is readable; -1: none */
    host_cleanup_say_fn say;
    void *ctx;
};

/* Clean up all hosts and return the number of those where something may be left.  Blocks.  The
 * caller ignores SIGPIPE and has no children.
 */
int host_cleanup(const struct host_cleanup *c, struct eddis_error *err);

#endif
