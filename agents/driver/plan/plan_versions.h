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
struct plan_versions {
    struct job_run *run; /* borrowed */
    struct run_plans plans;
    int64_t agreed;  /* newest version whose first step the workers have agreed on */
    int64_t save_ns; /* when the next checkpoint is due by time; 0: the time has not been set */
    bool refused;    /* a report of an unknown plan version has been recorded */
};

/* Number a generation's plan, plans.plan, and make the equal split before it if one is to be
 * measured.  open: the plan's sync mode is not decided yet.
 */
int plan_versions_begin(struct plan_versions *s, bool open, struct eddis_error *err);

/* Publish version 1 with a decided sync mode.  p becomes the generation's plan; it is taken, and
 * may be the plan itself.
 */
int plan_versions_settle(struct plan_versions *s, struct plan *p, struct eddis_error *err);

/* Check whether every plan version that the worker reported has been published.  If not, its
 * measurements are ignored, since its agent or program is broken; this is reported once a
 * generation.
 */
bool plan_versions_knows(struct plan_versions *s, const struct progress *p);

/* Record the first step of a plan version that a worker reports.  Return whether it is the first
 * report for this version.
 */
bool plan_versions_progress(struct plan_versions *s, const struct progress *p);

/* Publish the next version if it is due after new reports: the plan, once the equal split has been
 * measured long enough, or a checkpoint that is due by time.  Return whether a version was
 * published.
 */
bool plan_versions_stepped(struct plan_versions *s, int64_t now_ns);

/* Check whether there is a plan whose sync mode has not been decided. */
bool plan_versions_is_open(const struct plan_versions *s);

/* Check whether the workers still use the equal split. */
bool plan_versions_measures_equal(const struct plan_versions *s);

/* Publish p as the new plan in place of the present one.  p is taken, and freed on failure. */
int plan_versions_replace(struct plan_versions *s, struct plan *p, struct eddis_error *err);

/* Replace the plan by p, which differs only in its predictions, without publishing it.  p is taken.
 */
void plan_versions_refine(struct plan_versions *s, struct plan *p);

/* Set the plan's predicted rate to what its first steps show. */
void plan_versions_predict(struct plan_versions *s, double samples_per_s);

/* Store rank 0's choice of communication in the plan; text: JSON as of lib/model/choice.h. */
void plan_versions_choice(struct plan_versions *s, const char *text);

/* Publish the plan in force again with the request to write a checkpoint and stop. */
void plan_versions_checkpoint(struct plan_versions *s);

/* Free the plans of a generation that has ended. */
void plan_versions_forget(struct plan_versions *s);

#endif
