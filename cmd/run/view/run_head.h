/* SPDX-License-Identifier: Apache-2.0 */
/* run_head.h - what eddis-run prints before a job's workers start: nodes, profiles, plan */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_HEAD_H
#define EDDIS_CMD_RUN_VIEW_RUN_HEAD_H

#include "agents/job/job_folder.h"
#include "cmd/run/request/run_job.h"
#include "lib/base/strbuf.h"
#include "plan_print.h"

#include <stdbool.h>

/* State between two heads of a job; zero-initialize it. */
struct run_head {
    bool printed;       /* the job and its nodes were printed */
    bool whole;         /* their profiles and a plan were printed */
    bool joined;        /* a worker has used eddis */
    bool doubtful;      /* the first plan was printed before a worker had */
    struct strbuf plan; /* text of the newest plan or line of workers */
    struct strbuf rest; /* profiles and plan that were not printed, while it is unknown whether the
                         * program uses eddis */
};

/* Return the text to print for plan p on n nodes, which the caller frees; NULL without memory. The
 * first text has the job, its nodes and their profiles, later ones only what has changed in the
 * plan. If the program may not use eddis, it has three lines: job, nodes and workers. folder: of a
 * job that is launched, else NULL.
 */
char *run_head_text(struct run_head *h, const struct run_request *q,
                    const struct job_folder *folder, const struct plan_print *how,
                    const struct plan *p, const struct node_profile *nodes, int n);

/* Note that a worker uses eddis. Return the rest of the head to print now, which the caller frees;
 * NULL: nothing is left.
 */
char *run_head_joined(struct run_head *h);

/* Free the stored texts. */
void run_head_fini(struct run_head *h);

#endif
