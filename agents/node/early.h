/* SPDX-License-Identifier: Apache-2.0 */
/* early.h - what an agent says on standard error before the driver hears it over HTTP
 *
 * Its session, through which the driver reads that, may be lost at any time and is of no use once
 * the agent has registered: then standard output and error become its log.
 */
#ifndef EDDIS_AGENTS_NODE_EARLY_H
#define EDDIS_AGENTS_NODE_EARLY_H

#include <stdbool.h>
#include <stdint.h>

struct early {
    int64_t next_ns; /* not to be repeated before */
    bool over;
};

/* "eddis-agent 0.1.0 started" */
void early_begin(void);

/* "eddis-agent: <sentence>", at most once a second. */
void early_say(struct early *e, int64_t now_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The driver hears us: whatever is still written goes to this descriptor. */
void early_end(struct early *e, int log_fd);

#endif
