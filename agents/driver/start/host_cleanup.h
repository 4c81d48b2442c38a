/* SPDX-License-Identifier: Apache-2.0 */
/* host_cleanup.h - having eddis-keeper --cleanup end what is left of a job on some hosts */
#ifndef EDDIS_AGENTS_DRIVER_START_HOST_CLEANUP_H
#define EDDIS_AGENTS_DRIVER_START_HOST_CLEANUP_H

#include "start.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum host_cleanup_result {
    HOST_CLEAN,  /* nothing is left */
    HOST_LEFT,   /* its keeper says that something is */
    HOST_UNSEEN, /* nobody has answered there */
};

/* Say what was found and done on host i, or why not; called once for each. */
typedef void (*host_cleanup_say_fn)(void *ctx, int i, const char *host,
                                    enum host_cleanup_result result, const char *text);

struct host_cleanup {
    struct start_options start;
    const char *job_id;  /* what bears it ends as well; "": only what is marked */
    char *const **mark;  /* [start.n] the marks of each host, NULL-ended */
    int64_t node_ns;     /* for a login and the clean-up, START_LOGINS of them at a time */
    int64_t deadline_ns; /* for all of them */
    int stop;            /* a descriptor: no longer than until it can be read; -1: none */
    host_cleanup_say_fn say;
    void *ctx;
};

/* Blocks.  Returns the number of hosts where something may be left.  The caller ignores SIGPIPE and
 * has no children.
 */
int host_cleanup(const struct host_cleanup *c, struct eddis_error *err);

#endif
