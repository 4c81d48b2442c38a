/* SPDX-License-Identifier: Apache-2.0 */
/* plan_versions.h - versions of a generation's plan: which one its workers have, and when the next
 * comes
 *
 * Version 1 is the plan, or with --measure-equal the equal split that is measured before it.  While
 * the mode is open it is not published: workers that commit wait for it.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLAN_VERSIONS_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLAN_VERSIONS_H

#include "agents/driver/core/job_run.h"

struct publishing {
    struct job_run *run; /* borrowed */
    struct run_plans plans;
    int64_t agreed;  /* version of which the workers have agreed from which step it holds */
    int64_t save_ns; /* when the next checkpoint is due by time; 0: it does not count yet */
    bool refused;    /* it was said that a worker tells of a version that there is not */
};

/* Begin with plans.plan: make the equal split before it when one is to be measured.  open: the mode
 * of the plan may be another one yet.
 */
int publishing_begin(struct publishing *s, bool open, struct eddis_error *err);

/* Publish version 1 with the mode of the plan, which is p from now on; p is taken, and may be the
 * plan itself.
 */
int publishing_settle(struct publishing *s, struct plan *p, struct eddis_error *err);

/* Whether all versions that a worker tells of have been published.  Else nothing is to be made of
 * its figures, as an agent's or a program's that is broken: that is said once a generation.
 */
bool publishing_knows(struct publishing *s, const struct progress *p);

/* Note from which step a worker says that a version holds; returns whether it is the first one. */
bool publishing_progress(struct publishing *s, const struct progress *p);

/* After workers have told how far they are: publish the plan when the equal split has been measured
 * long enough, and once more with a checkpoint when one is due by the time since the last.  Returns
 * whether a version was published.
 */
bool publishing_stepped(struct publishing *s, int64_t now_ns);

/* Whether the mode is open. */
bool publishing_is_open(const struct publishing *s);

/* Whether the equal split is still what the workers have. */
bool publishing_measures_equal(const struct publishing *s);

/* Publish p, which publishing takes, in the place of the plan.  It is freed when that fails. */
int publishing_replace(struct publishing *s, struct plan *p, struct eddis_error *err);

/* Take p, which differs from the plan in what is predicted alone: nobody is told of another. */
void publishing_refine(struct publishing *s, struct plan *p);

/* Note what steps of the plan tell of those to come. */
void publishing_predict(struct publishing *s, double samples_per_s);

/* Put what rank 0 has chosen of the communication into the plan; text as of lib/model/choice.h. */
void publishing_choice(struct publishing *s, const char *text);

/* Publish once more what is in force: write a checkpoint and stop. */
void publishing_checkpoint(struct publishing *s);

/* Free the plans of a generation that has ended. */
void publishing_forget(struct publishing *s);

#endif
