/* SPDX-License-Identifier: Apache-2.0 */
/* plan_versions.h - publish the versions of a generation's plan, and record which version the
 * workers use
 *
 * Version 1 is the plan, or, with --measure-equal, the equal split that is measured before the
 * plan. While the sync mode is not chosen, no version is published: workers that commit wait for
 * the mode.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLAN_VERSIONS_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLAN_VERSIONS_H

#include "agents/driver/core/job_run.h"

/* The plan versions of a generation. */
struct plan_versions {
    struct job_run *run; /* borrowed */
    struct run_plans plans;
    int64_t agreed;  /* newest version on whose first step the workers have agreed */
    int64_t save_ns; /* time at which the next checkpoint is due; 0: the time has not been set */
    bool refused;    /* a report of an unknown plan version has been recorded */
};

/* Give a version number to the generation's plan (plans.plan). If an equal split is to be measured
 * first, make this split, and give it the preceding number. open: the plan's sync mode is not
 * chosen yet. Return 0 or a negative errno.
 */
int plan_versions_begin(struct plan_versions *s, bool open, struct eddis_error *err);

/* Publish version 1 with the chosen sync mode. p becomes the generation's plan, and the function
 * takes it over, also on failure; p may be plans.plan. Return 0 or a negative errno.
 */
int plan_versions_settle(struct plan_versions *s, struct plan *p, struct eddis_error *err);

/* Check whether every plan version that the worker reported has been published. If not, the
 * worker's agent or program is broken, and the caller ignores the worker's measurements; the user
 * is told once a generation.
 */
bool plan_versions_knows(struct plan_versions *s, const struct progress *p);

/* If a worker reports the first step of a plan version, record this as an event. Return whether it
 * is the first report for this version.
 */
bool plan_versions_progress(struct plan_versions *s, const struct progress *p);

/* Publish the next version if it is due after new reports: the plan, after the equal split has been
 * measured for long enough, or a version that asks for a checkpoint. Return whether a version was
 * published.
 */
bool plan_versions_stepped(struct plan_versions *s, int64_t now_ns);

/* Check whether the generation has a plan whose sync mode is not chosen yet. */
bool plan_versions_is_open(const struct plan_versions *s);

/* Check whether the workers still use the equal split. */
bool plan_versions_measures_equal(const struct plan_versions *s);

/* Publish p as the new plan in place of the present plan. The function takes over p, and frees it
 * on failure. Return 0 or a negative errno.
 */
int plan_versions_replace(struct plan_versions *s, struct plan *p, struct eddis_error *err);

/* Show p's mode and algorithm in the job's status. */
void plan_versions_show(struct plan_versions *s, const struct plan *p);

/* Replace the plan by p, which differs only in predictions, without publishing p. The function
 * takes over p.
 */
void plan_versions_refine(struct plan_versions *s, struct plan *p);

/* Set the plan's predicted rate to the rate that its first steps show, and scale the predicted rate
 * of an equal split.
 */
void plan_versions_predict(struct plan_versions *s, double samples_per_s);

/* Store rank 0's choice of communication in the plan; text: JSON as of lib/model/choice.h. */
void plan_versions_choice(struct plan_versions *s, const char *text);

/* Publish the plan in force again, with the request that workers write a checkpoint and stop. */
void plan_versions_checkpoint(struct plan_versions *s);

/* Free the plans of a generation that has ended. */
void plan_versions_forget(struct plan_versions *s);

#endif
