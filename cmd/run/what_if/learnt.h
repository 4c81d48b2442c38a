/* SPDX-License-Identifier: Apache-2.0 */
/* learnt.h - reads what earlier jobs of a program measured, from their folders and the cache */
#ifndef EDDIS_CMD_RUN_WHAT_IF_LEARNT_H
#define EDDIS_CMD_RUN_WHAT_IF_LEARNT_H

#include "agents/driver/history/past.h"
#include "agents/job/job_folder.h"
#include "facts.h"
#include "lib/base/error.h"
#include "lib/model/job.h"

/* What earlier jobs measured; zero-initialised: nothing */
struct learnt {
    struct facts facts;     /* borrows from the other members */
    struct job_folder from; /* the job that measured nodes and network */
    int64_t measured_s;     /* when its oldest profile was measured, in seconds since 1970 */
    struct past_model model;
    struct past_times times;
    struct past_memory memory;
    struct past_efficiencies efficiencies;
    struct network *network; /* NULL: not measured */
};

/* Read into *ret what earlier jobs of this job's program measured: nodes and network of the newest
 * job that had all of its nodes, model, times, memory limits and efficiencies of the cache. dir:
 * folder of that job; NULL: search all folders of jobs. Nothing is written. *ret must not be moved;
 * the caller frees it with learnt_fini, even on failure. Return 0; -ENOENT: no such job has run; or
 * another negative errno.
 */
int learnt_load(const struct job *job, const char *dir, struct learnt *ret,
                struct eddis_error *err);

/* Free what was read. */
void learnt_fini(struct learnt *l);

#endif
