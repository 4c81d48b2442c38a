/* SPDX-License-Identifier: Apache-2.0 */
/* network_choice.h - choose the network that the nodes of a job use
 *
 * Candidates come from scheduler/networks.h, which knows the addresses of all nodes.  A network
 * that an earlier job measured is used without a probe; otherwise the candidates are probed, best
 * first, until one works.
 */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_CHOICE_H
#define EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_CHOICE_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"

#include "agents/protocol/parts.h"
#include "scheduler/networks.h"

/* The candidates and the network in use. */
struct network_choice {
    struct job_run *run;     /* borrowed */
    struct run_network used; /* the network in use, lent to planning and launching */
    /* candidates, best first; the first `next` of them have been tried */
    struct networks candidates;
    int next;     /* number of candidates that have been tried */
    char *key;    /* cache key of the chosen network */
    bool dropped; /* the cache entry of the network was deleted, because the network has changed */
    struct parts heard; /* parts of the probe's results received so far */
    char why[512];      /* why networks failed: "10.1.0.0/24: c01 got no answer from c02; ..." */
};

/* Entry points for events (results of the probe, of a check by the ranks) and actions (choose a
 * network, forget the network, store its measurement for the next job)
 */
extern const struct subject_ops network_choice_ops;

/* Free the members of *c, which must have been zeroed except for run before its first use. */
void network_choice_fini(struct network_choice *c);

#endif
