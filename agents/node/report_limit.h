/* SPDX-License-Identifier: Apache-2.0 */
/* report_limit.h - how often news of workers' steps may be reported before the next report is due
 *
 * News of a new plan or speed is worth a report at once.  On a node that is so noisy that every few
 * steps seem to be of another speed it is not: reports that follow each other within one interval
 * double the pause before the next, so that there are a few an interval at most.
 */
#ifndef EDDIS_AGENTS_NODE_REPORT_LIMIT_H
#define EDDIS_AGENTS_NODE_REPORT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* All zero before the first news. */
struct hurry {
    int64_t last_ns;  /* of the last report at once */
    int64_t pause_ns; /* before the next one */
};

/* Whether news at now_ns is to be reported at once, which it is then taken to be; every_ns: the
 * time between two reports.
 */
bool hurry_allows(struct hurry *h, int64_t every_ns, int64_t now_ns);

#endif
