/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - compute the job's metrics from the workers' progress
 *
 * The metrics are defined here and described in eddis-run(1):
 *
 *     samples_per_s    samples of all workers divided by the longest total step time of a
 *                      worker.  A step lasts from the end of the previous step to its own end:
 *                      waiting for data, computing, communicating, waiting for workers.
 *                      Evaluations and checkpoints are not part of a step.  The rate of
 *                      --measure-equal's equal split is computed separately in the same way;
 *                      its steps count in samples_per_s only if there are no other steps.
 *     ideal            sum over workers of b / (a + c b) for the batch b of the plan in force.
 *                      For a real device, samples divided by computing and input time replace
 *                      the model.  The steps are those of the rate that ideal is compared
 *                      with: the job's, a plan's, or those of the last seconds.
 *     equal, predicted the planner's prediction for an equal split.  If the time model knows
 *                      only ratios: the ratio of the two predictions times samples_per_s.
 *
 *     relative_speed   of a worker: the model's time for the samples it had, divided by its
 *                      computing and input time.  It is computed over the last METRICS_WINDOW
 *                      or more steps of the plan in force, at the job's end over all its steps.
 *                      With fewer steps it is unknown, since they say little about a device.
 *
 *     step_ms, ...     of a running worker: medians that its agent reports for its latest
 *                      steps at one plan and one speed; wait_ms is the rest of the step.
 *                      If there are no medians yet, and at the job's end, means are used.
 *
 * A restarted job has one rate. Samples and step times of all generations are added up, including
 * repeated steps, because they took time as well; wall_s shows the cost of a failure. The *number*
 * of samples counts each step once: samples that were trained after the checkpoint from which the
 * next generation resumes are subtracted, as whole batches. To be comparable with this rate, ideal
 * and equal are means over the generations, weighted by their step times. recent_ideal belongs to
 * the plan in force, like the rate of the last seconds, the prediction, relative speeds and the
 * workers' own metrics.
 *
 *     plans            the result of each plan: its first step, the number of its steps, and
 *                      samples per second beside the predicted and ideal rates.  Judge a
 *                      re-planned job by these: ideal belongs to the plan in force, and says
 *                      little about a job whose plans differed or whose devices slowed down.
 *
 * If the workers' steps come from their output, the progress of the job is that of its furthest
 * worker, and its rate counts only workers that report steps. The step at which such a program
 * resumes after a failure is unknown until it reports its next step; repeated samples are
 * subtracted then.
 *
 * All sums come from the workers' progress pages, which separate the steps under earlier plans.
 * Thus no metric depends on when a report was sent.
 */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_H

#include "agents/job/status_json.h"
#include "agents/protocol/protocol.h"
#include "lib/base/error.h"
#include "lib/model/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Number of steps over which a time model is compared with measurements. */
enum { METRICS_WINDOW = 20 };

/* A point in a worker's run: steps, samples and step times since the start of its process */
struct metrics_mark {
    int64_t steps, samples;
    struct board_times sum;
};

/* The measurements of one worker in the present generation. */
struct metrics_worker {
    bool seen;                /* a report of the worker has arrived */
    int64_t seen_ns;          /* time at which the last report arrived */
    struct progress last;     /* the latest progress; only members without pointers are used */
    struct metrics_mark warm; /* the first report after the worker's slow first steps */
    bool real_begun;          /* the worker has done a step of the real plan */
    struct metrics_mark real_first; /* the worker's point before its first step of the real plan */
    /* points at which the previous and the present window of METRICS_WINDOW steps began */
    struct metrics_mark window[2];
    int64_t plan; /* version of the plan in `plans` that the latest step used; 0: none */
    struct metrics_mark plan_begin; /* the worker's point before its first step of this plan */
    char end[24];                   /* how the worker ended: "exited", "killed", ...; "": it runs */
};

/* Totals of earlier generations. */
struct metrics_past {
    int64_t steps;       /* step from which the present generation resumed */
    int64_t samples;     /* samples trained up to that step */
    double step_samples; /* samples per step of a program that prints steps; 0: as in the plan */
    /* samples and time of all steps, including repeated steps, for the rate */
    int64_t all_samples, all_ns;
    double ideal_samples;       /* samples that the devices' own speeds would give in all_ns */
    double equal_samples;       /* samples predicted for an equal split in all_ns */
    double equal_samples_per_s; /* measured rate of --measure-equal's equal split; 0: none */
    bool any_seen;              /* some worker has opened its progress page */
};

/* A plan in the list of plans, with the sums of the workers that have changed to a newer plan */
struct metrics_plan {
    struct plan_status s;
    double rate; /* samples per second of the workers that have left this plan */
    /* samples per second of the plan's emulated devices, by the time model */
    double emulated_ideal;
    double measured_ideal;  /* measured samples per second of these workers' real devices */
    int n_rates, n_workers; /* number of workers counted in `rate`, and of all workers */
};

struct metrics_plans {
    struct metrics_plan plan[STATUS_MAX_PLANS]; /* [n] plans of all generations */
    int n;
};

struct metrics {
    bool printed;      /* steps come from output; some workers may print fewer steps, or none */
    int64_t all_steps; /* total steps of the program, as set for the job; 0: not set */
    const struct plan *plan; /* the plan in force, borrowed; NULL before and between generations */
    int64_t real_version;    /* first version of the real plan: 1, or 2 after an equal split */
    struct metrics_worker *worker;
    int n_workers;
    struct metrics_past past;
    struct metrics_plans plans; /* see metrics_plans.h */
};

/* Free the metrics and clear *f. */
void metrics_fini(struct metrics *f);

/* End the metrics of a generation: add its measurements to the totals, and drop the reference to
 * its plan. resume_step: step from which the next generation resumes; -1: from the beginning. The
 * metrics of the next generation start with metrics_next.
 */
void metrics_end_generation(struct metrics *f, int64_t resume_step);

/* Start the metrics of the next generation (the first one: *f is zero) with its plan, which is in
 * force from version real_version on. The plan is borrowed until metrics_fini. Return 0, or
 * -ENOMEM: *f then has no workers, those of the earlier generation are freed too.
 */
int metrics_next(struct metrics *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err);

/* Continue the metrics with `plan`, a new plan of the same workers, which is borrowed. */
void metrics_replan(struct metrics *f, const struct plan *plan);

/* Replace the plan in force by `plan`, the same plan with measured times, which is borrowed. */
void metrics_refine(struct metrics *f, const struct plan *plan);

/* Record one worker's progress from a report that arrived at now_ns. */
void metrics_progress(struct metrics *f, const struct progress *p, int64_t now_ns);

/* Record how a worker ended ("exited", "killed", ...), for its state in the status. */
void metrics_end(struct metrics *f, int rank, const char *how);

/* Return the number of steps that every worker has completed; until all workers have reported, the
 * step from which the generation resumed. If workers or groups advance at their own speed, return
 * the number of sync-mode steps for all samples trained, including samples before the checkpoint
 * from which the generation resumed. If steps come from output, return the steps of the furthest
 * worker.
 */
int64_t metrics_steps(const struct metrics *f);

/* Return the samples that the workers have trained, including those before the checkpoint from
 * which the generation resumed.
 */
int64_t metrics_samples(const struct metrics *f);

/* Return the mean of the workers' latest finite losses, weighted by batch; NAN: there are none. */
double metrics_loss(const struct metrics *f);

/* Return the smallest number of steps that a worker has done in this generation. */
int64_t metrics_steps_here(const struct metrics *f);

/* Check whether any worker has opened its progress page, in this or an earlier generation. */
bool metrics_any_seen(const struct metrics *f);

/* Check whether every worker has done a step of the real plan. */
bool metrics_real_begun(const struct metrics *f);

/* Record that the real plan will never be used: only the equal split's steps count. */
void metrics_only_equal(struct metrics *f);

/* Return the samples per second that the time model of w predicts for this batch, b / (a + c b); 0
 * if the batch is 0.
 */
double metrics_modelled_speed(const struct plan_worker *w, int64_t batch);

/* Fill the measured members of *s, whose table of workers has enough rows; leave all other members
 * unchanged. Do nothing between generations.
 */
void metrics_fill(const struct metrics *f, int64_t now_ns, struct job_status *s);

#endif
