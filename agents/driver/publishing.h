/* SPDX-License-Identifier: Apache-2.0 */
/* publishing.h - versions of a generation's plan: which one its workers have, and when the next
 * comes
 *
 * Version 1 is the plan, or with --measure-equal the equal split that is measured before it.
 */
#ifndef EDDIS_AGENTS_DRIVER_PUBLISHING_H
#define EDDIS_AGENTS_DRIVER_PUBLISHING_H

#include "job_run.h"

struct publishing {
    struct job_run *run; /* borrowed */
    struct run_plans plans;
    int64_t agreed; /* version of which the workers have agreed from which step it holds */
};

/* Begin with plans.plan: make the equal split before it when one is to be measured. */
int publishing_begin(struct publishing *s, struct eddis_error *err);

/* Note from which step a worker says that a version holds. */
void publishing_progress(struct publishing *s, const struct progress *p);

/* Publish the plan when the equal split has been measured long enough. */
void publishing_stepped(struct publishing *s);

/* Publish once more what is in force: write a checkpoint and stop. */
void publishing_checkpoint(struct publishing *s);

/* Free the plans of a generation that has ended. */
void publishing_forget(struct publishing *s);

#endif
