/* SPDX-License-Identifier: Apache-2.0 */
/* network_choice.h - which network the nodes of a job use
 *
 * Candidates come from scheduler/networks.h, which knows the addresses of all nodes.  One that an
 * earlier job has measured is taken as it is; else they are probed, best first, until one works.
 */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_CHOICE_H
#define EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_CHOICE_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"

#include "agents/protocol/parts.h"
#include "scheduler/networks.h"

struct network_choice {
    struct job_run *run;        /* borrowed */
    struct run_network used;    /* lent to who plans and launches */
    struct networks candidates; /* best first; the first `next` have been tried */
    int next;
    char *key;          /* of the one chosen, for the cache */
    bool dropped;       /* from the cache, for it is not what it was */
    struct parts heard; /* of what the probe has measured */
    char why[512];      /* "10.1.0.0/24: c01 got no answer of c02; ...", of those tried */
};

/* Events: what the probe has measured.  Actions: the choice, forgetting it, and what is remembered
 * when the nodes are planned for.
 */
extern const struct subject_ops network_choice_ops;

/* Free what is in *c; zeroed but for run before. */
void network_choice_fini(struct network_choice *c);

#endif
