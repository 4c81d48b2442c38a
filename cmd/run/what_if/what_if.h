/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.h - --what-if and --simulate: predict a job as it is, or with other nodes, another
 * network or other keys
 *
 * From what earlier jobs of the program measured; nothing is started, and nothing is written.
 */
#ifndef EDDIS_CMD_RUN_WHAT_IF_WHAT_IF_H
#define EDDIS_CMD_RUN_WHAT_IF_WHAT_IF_H

#include "cmd/run/request/what_if_changes.h"
#include "cmd/run/view/plan_print.h"
#include "lib/base/error.h"
#include "lib/model/job.h"

#include <stdbool.h>

/* A question, borrowed */
struct what_if {
    const struct job *today;               /* the job as it is */
    const struct job *then;                /* the job with the changed keys */
    const struct what_if_changes *changes; /* changes of nodes and network */
    const char *text;                      /* the changes as they were given */
    double simulate_s;                     /* simulate so many seconds of the training; 0: do not */
    bool only_today;     /* --simulate without --what-if: leave out the changed job */
    const char *job_dir; /* folder of the earlier job; NULL: the newest of the program */
    bool json;           /* answer in JSON */
};

/* Append to o->out the plan of the job as it is beside that with the changes, and then the latter
 * in whole; or a JSON document. Simulations have the seed of today's job. Return 0; -EINVAL: a
 * change is impossible, or the job then; -ENOENT: no earlier job has measured its nodes; -E2BIG:
 * there is too much to simulate; or another negative errno.
 */
int what_if(const struct what_if *w, const struct plan_print *o, struct eddis_error *err);

#endif
