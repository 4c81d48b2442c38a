/* SPDX-License-Identifier: Apache-2.0 */
/* report_limit.h - limits the rate of reports that are sent before the next regular one
 *
 * A new plan or speed of a worker's steps is reported at once.  On a noisy node every few steps may
 * seem to have another speed.  So each report at once within one interval doubles the pause before
 * the next: there are a few per interval at most.
 */
#ifndef EDDIS_AGENTS_NODE_REPORT_LIMIT_H
#define EDDIS_AGENTS_NODE_REPORT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* A rate limit; all zero before the first use. */
struct report_limit {
    int64_t last_ns;  /* time of the last report at once */
    int64_t pause_ns; /* pause before the next one */
};

/* Check whether news at now_ns may be reported at once, and if so count it as reported. every_ns:
 * time between two regular reports.
 */
bool report_limit_allows(struct report_limit *h, int64_t every_ns, int64_t now_ns);

#endif
