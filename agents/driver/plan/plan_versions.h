/* SPDX-License-Identifier: Apache-2.0 */
/* plan_versions.h - publish versions of a generation's plan: which one the workers have, and when
 * the next one comes
 *
 * Version 1 is the plan, or with --measure-equal the equal split that is measured before it.  While
 * the sync mode is open, nothing is published: workers that commit wait for it.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLAN_VERSIONS_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLAN_VERSIONS_H

#include "agents/driver/core/job_run.h"

/* The plan versions of a generation. */
struct publishing {
    struct job_run *run; /* borrowed */
    struct run_plans plans;
    int64_t agreed;  /* newest version whose first step the workers have agreed on */
    int64_t save_ns; /* when the next checkpoint is due by time; 0: the time has not been set */
    bool refused;    /* a report of an unknown plan version has been recorded */
};

/* Number a generation's plan, plans.plan, and make the equal split before it if one is to be
 * measured.  open: the plan's sync mode is not decided yet.
 */
int publishing_begin(struct publishing *s, bool open, struct eddis_error *err);

/* Publish version 1 with a decided sync mode.  p becomes the generation's plan; it is taken, and
 * may be the plan itself.
 */
int publishing_settle(struct publishing *s, struct plan *p, struct eddis_error *err);

/* Check whether every plan version that the worker reported has been published.  If not, its
 * measurements are ignored, since its agent or program is broken; this is reported once a
 * generation.
 */
bool publishing_knows(struct publishing *s, const struct progress *p);

/* Record the first step of a plan version that a worker reports.  Return whether it is the first
 * report for this version.
 */
bool publishing_progress(struct publishing *s, const struct progress *p);

/* Publish the next version if it is due after new reports: the plan, once the equal split has been
 * measured long enough, or a checkpoint that is due by time.  Return whether a version was
 * published.
 */
bool publishing_stepped(struct publishing *s, int64_t now_ns);

/* Check whether there is a plan whose sync mode has not been decided. */
bool publishing_is_open(const struct publishing *s);

/* Check whether the workers still use the equal split. */
bool publishing_measures_equal(const struct publishing *s);

/* Publish p as the new plan in place of the present one.  p is taken, and freed on failure. */
int publishing_replace(struct publishing *s, struct plan *p, struct eddis_error *err);

/* Replace the plan by p, which differs only in its predictions, without publishing it.  p is taken.
 */
void publishing_refine(struct publishing *s, struct plan *p);

/* Set the plan's predicted rate to what its first steps show. */
void publishing_predict(struct publishing *s, double samples_per_s);

/* Store rank 0's choice of communication in the plan; text: JSON as of lib/model/choice.h. */
void publishing_choice(struct publishing *s, const char *text);

/* Publish the plan in force again with the request to write a checkpoint and stop. */
void publishing_checkpoint(struct publishing *s);

/* Free the plans of a generation that has ended. */
void publishing_forget(struct publishing *s);

#endif
