/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - from the workers' boards to the figures of a job
 *
 * Defined once, here, and described in eddis-run(1):
 *
 *   samples_per_s    samples of all workers divided by the longest sum of step times of a worker.
 *                    A step lasts from the end of the one before to its own end: waiting for data,
 *                    computing, communicating, waiting for others.  Evaluations and checkpoints are
 *                    no part of a step, and the steps of --measure-equal's equal split, which
 *                    are counted apart in the same way, are left out; when there were no others
 *                    they are what is known, and count.
 *   ideal            sum over workers of b / (a + c b) for the batch b that the plan in force gives
 *                    them.  For a device that is not emulated its samples by its time of computing
 *                    and input take the place of the model, over the very steps of the rate that
 *                    is held against it: of the job, a plan, or the last seconds.
 *   equal, predicted the planner's prediction for an equal split.  Where the time model knows
 * ratios only, the ratio of the two predictions times samples_per_s.
 *
 *   relative_speed   of a worker: the time that the model gives for the samples that it had, over
 *                    its time of computing and input, in the last FIGURES_WINDOW steps or more of
 *                    the plan in force; at the job's end in all of them.  Unknown before, since a
 *                    few steps say little about a device.
 *
 *   step_ms, ...     of a worker that runs: medians of the figures that its agent reports of its
 *                    latest steps, of one plan and one speed; wait_ms is what they leave of the
 *                    step's.  Until there are such, and at the job's end, means.
 *
 * A job that was started again has one rate: samples and step times of all its generations are
 * added up, those of steps that were done twice included, since they took their time as well; what
 * a failure cost is seen in wall_s.  The *number* of samples counts each step once: what was
 * trained behind the checkpoint that the next generation resumed from is taken off again, as whole
 * batches.  So that they compare with this rate, ideal and equal are means over the generations, by
 * their step times; recent_ideal, beside the rate of the last seconds, is of the plan in force, and
 * so are the prediction, relative speeds and the workers' own figures.
 *
 *   plans            what each plan gave: from which step, for how many, samples per second beside
 *                    what was predicted and ideal for it.  A job that was re-planned is judged by
 *                    these: ideal is of the plan in force, and says little about one whose plans
 *                    were unlike or whose devices became slower in the middle.
 *
 * Of a program whose steps are those that its workers print or tell the job is as far as the worker
 * that is furthest, and its rate is that of the workers that do.  Where it goes on after a failure
 * is known when it tells its next step, which is when what it does again is taken off.
 *
 * All sums come from the boards, which keep those of the steps under earlier plans apart, and so do
 * not depend on when a report was sent.
 */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_H

#include "agents/job/status_json.h"
#include "agents/protocol/protocol.h"
#include "lib/base/error.h"
#include "lib/model/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Steps after which a time model must hold. */
enum { FIGURES_WINDOW = 20 };

struct figures_mark {
    int64_t steps, samples;
    struct board_times sum;
};

struct figures_worker {
    bool seen;
    int64_t seen_ns;                /* when the last report came, less its age */
    struct progress last;           /* of which only plain numbers are used */
    struct figures_mark warm;       /* the first report behind its slow first steps */
    bool real_begun;                /* it has done a step of the real plan ... */
    struct figures_mark real_first; /* ... and this before it */
    struct figures_mark window[2];  /* where the last and the present window begin */
    int64_t plan;                   /* version of the listed plan that its last step was of; 0 */
    struct figures_mark plan_begin; /* before the first step of that one */
    char end[24];                   /* "exited", "killed", ...; "" while it runs */
};

/* What earlier generations did. */
struct figures_past {
    int64_t steps;       /* that the present one resumed from */
    int64_t samples;     /* trained up to there */
    double step_samples; /* of all workers, of a program that tells its steps; 0: the plan's */
    int64_t all_samples, all_ns; /* of the rate, redone steps included */
    double ideal_samples;        /* that the devices' own speeds would have made in all_ns */
    double equal_samples;        /* that an equal split was predicted to make in it */
    double equal_samples_per_s;  /* of the equal split of --measure-equal; 0: none */
    bool any_seen;
};

/* A plan of the list, and the rates of the workers that have left it. */
struct figures_plan {
    struct plan_status s;
    double rate;
    double emulated_ideal; /* of its emulated devices, as it has them */
    double measured_ideal; /* of the others among those workers */
    int n_rates, n_workers;
};

struct figures_plans {
    struct figures_plan plan[STATUS_MAX_PLANS]; /* [n], of all generations */
    int n;
};

struct figures {
    bool printed;            /* workers print their steps, not all of them as many, or any */
    int64_t all_steps;       /* of the program, as the job says; 0: it does not */
    const struct plan *plan; /* the real one, borrowed; NULL before and between generations */
    int64_t real_version;    /* from which plan version on it is in force: 1, or 2 */
    struct figures_worker *worker;
    int n_workers;
    struct figures_past past;
    struct figures_plans plans; /* see metrics_plans.h */
};

/* Begin with a plan, borrowed until figures_fini, that is in force from version real_version on. */
int figures_init(struct figures *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err);
void figures_fini(struct figures *f);

/* End a generation, whose plan is no longer used; the next one resumes from resume_step (-1: from
 * the beginning), and begins with its own plan by figures_next.
 */
void figures_end_generation(struct figures *f, int64_t resume_step);
int figures_next(struct figures *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err);

/* Go on with a plan of the same workers that takes the place of the one before. */
void figures_replan(struct figures *f, const struct plan *plan);

/* Go on with the plan in force whose times have become known. */
void figures_refine(struct figures *f, const struct plan *plan);

/* Take one worker's progress from a report that came now. */
void figures_progress(struct figures *f, const struct progress *p, int64_t now_ns);

/* Keep how a worker ended, "exited", for its state. */
void figures_end(struct figures *f, int rank, const char *how);

/* Return the number of the last step that every worker has done + 1; 0 while one has not been heard
 * of.  Where workers or groups go at their own paces, or do what such ones left out, the steps that
 * sync mode makes of all samples together, those up to the checkpoint resumed from included.
 */
int64_t figures_steps(const struct figures *f);

/* Return the fewest steps that any worker has done in this generation. */
int64_t figures_steps_here(const struct figures *f);

/* Whether any worker has opened its page; whether every one has done a step of the real plan. */
bool figures_any_seen(const struct figures *f);
bool figures_real_begun(const struct figures *f);

/* Expect no real plan any more: the equal split's steps are all that count. */
void figures_only_equal(struct figures *f);

/* Return b / (a + c b). */
double figures_modelled_speed(const struct plan_worker *w, int64_t batch);

/* Fill what the boards know; the rest of *s is left alone.  s has room for the workers. */
void figures_fill(const struct figures *f, int64_t now_ns, struct job_status *s);

#endif
