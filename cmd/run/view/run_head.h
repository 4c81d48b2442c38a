/* SPDX-License-Identifier: Apache-2.0 */
/* run_head.h - what eddis-run prints of a job before its workers start: nodes, profiles, plan */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_HEAD_H
#define EDDIS_CMD_RUN_VIEW_RUN_HEAD_H

#include "agents/job/job_folder.h"
#include "cmd/run/request/run_job.h"
#include "lib/base/strbuf.h"
#include "plan_print.h"

#include <stdbool.h>

/* What was printed before; zeroed at first. */
struct run_head {
    bool printed;       /* the job and its nodes */
    bool whole;         /* their profiles and a plan */
    bool joined;        /* a worker uses eddis */
    bool doubtful;      /* the first plan was printed before that */
    struct strbuf plan; /* the newest plan or line of workers, and what else was printed of it */
    struct strbuf rest; /* of the head: its profiles and plan, while nobody knows whether they are
                         * for this program */
};

/* Return the text to print for plan p on n nodes, for the caller to free: the first time with the
 * job, its nodes and their profiles, later only what the plan has changed.  If the
 * program may use nothing of eddis, the text is three lines: job, nodes and workers.  folder: of a
 * job that is launched, else NULL.  NULL without memory.
 */
char *run_head_text(struct run_head *h, const struct run_request *q,
                    const struct job_folder *folder, const struct plan_print *how,
                    const struct plan *p, const struct node_profile *nodes, int n);

/* Note that a worker uses eddis.  Returns what is to be printed of the head then, for the caller to
 * free; NULL: nothing.
 */
char *run_head_joined(struct run_head *h);

void run_head_fini(struct run_head *h);

#endif
