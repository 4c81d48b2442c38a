/* SPDX-License-Identifier: Apache-2.0 */
/* report_limit.h - limits the rate of reports that are sent before the next regular report
 *
 * A new plan or speed of a worker's steps is reported immediately, without waiting for the next
 * regular report. On a noisy node every few steps may seem to have another speed. So each immediate
 * report within one interval doubles the pause before the next immediate report: there are at most
 * a few per interval.
 */
#ifndef EDDIS_AGENTS_NODE_REPORT_LIMIT_H
#define EDDIS_AGENTS_NODE_REPORT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* A rate limit; zeroed before the first use */
struct report_limit {
    int64_t last_ns;  /* time of the last immediate report */
    int64_t pause_ns; /* pause before the next immediate report */
};

/* Check whether an immediate report is allowed at now_ns, and if so record it as sent. every_ns:
 * time between two regular reports.
 */
bool report_limit_allows(struct report_limit *h, int64_t every_ns, int64_t now_ns);

#endif
