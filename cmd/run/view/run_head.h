/* SPDX-License-Identifier: Apache-2.0 */
/* run_head.h - makes the head, which eddis-run prints before a job's workers start: nodes,
 * profiles, plan
 */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_HEAD_H
#define EDDIS_CMD_RUN_VIEW_RUN_HEAD_H

#include "agents/job/job_folder.h"
#include "cmd/run/request/run_job.h"
#include "lib/base/strbuf.h"
#include "plan_print.h"

#include <stdbool.h>

/* State of a job's head; zero-initialize it */
struct run_head {
    bool printed;       /* the job and its nodes were printed */
    bool whole;         /* the nodes' profiles and a plan were printed */
    bool joined;        /* a worker has used eddis */
    bool doubtful;      /* the first plan was printed before a worker had used eddis */
    struct strbuf plan; /* text of the newest plan, or of the line about workers */
    /* text of profiles and plan, which is not printed while it is unknown whether the program uses
     * eddis
     */
    struct strbuf rest;
};

/* Return the text to print for plan p on n nodes, which the caller frees; NULL without memory. The
 * first text has the job, its nodes and their profiles; later texts have only what has changed in
 * the plan. If the program perhaps does not use eddis, the first text has three lines: job, nodes
 * and workers. folder: folder of the job if it is launched, otherwise NULL.
 */
char *run_head_text(struct run_head *h, const struct run_request *q,
                    const struct job_folder *folder, const struct plan_print *how,
                    const struct plan *p, const struct node_profile *nodes, int n);

/* Record that a worker uses eddis. Return the rest of the head, to be printed now, which the caller
 * frees; NULL: all of it was printed.
 */
char *run_head_joined(struct run_head *h);

/* Free the stored texts. */
void run_head_fini(struct run_head *h);

#endif
