/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - from the workers' boards to the figures of a job
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
 *                    them.  For a device that is not emulated b / (its mean measured time of
 *                    computing and input) takes the place of the model.
 *   equal, predicted the planner's prediction for an equal split.  Where the time model knows
 * ratios only, the ratio of the two predictions times samples_per_s.
 *
 *   relative_speed   of a worker: the time that the model gives for the samples that it had, over
 *                    its time of computing and input, in the last FIGURES_WINDOW steps or more of
 *                    the plan in force; at the job's end in all of them.  Unknown before, since a
 *                    few steps say little about a device.
 *
 * A job that was started again has one rate: samples and step times of all its generations are
 * added up, those of steps that were done twice included, since they took their time as well; what
 * a failure cost is seen in wall_s.  The *number* of samples counts each step once: what was
 * trained behind the checkpoint that the next generation resumed from is taken off again, as whole
 * batches. Ideal, predictions, relative speeds and the workers' own figures are those of the last
 * generation.
 *
 * All sums come from the boards, which keep those of the steps under earlier plans apart, and so do
 * not depend on when a report was sent.
 */
#ifndef EDDIS_AGENTS_DRIVER_FIGURES_H
#define EDDIS_AGENTS_DRIVER_FIGURES_H

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
    bool real_begun;                /* it has done a step of the real plan ... */
    struct figures_mark real_first; /* ... and this before it */
    struct figures_mark window[2];  /* where the last and the present window begin */
    char end[24];                   /* "exited", "killed", ...; "" while it runs */
};

/* What earlier generations did. */
struct figures_past {
    int64_t steps;               /* that the present one resumed from */
    int64_t samples;             /* trained up to there */
    int64_t all_samples, all_ns; /* of the rate, redone steps included */
    double equal_samples_per_s;  /* of the equal split of --measure-equal; 0: none */
    bool any_seen;
};

struct figures {
    const struct plan *plan; /* the real one, borrowed; NULL before and between generations */
    int64_t real_version;    /* from which plan version on it is in force: 1, or 2 */
    struct figures_worker *worker;
    int n_workers;
    struct figures_past past;
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

/* Take one worker's progress from a report that came now. */
void figures_progress(struct figures *f, const struct progress *p, int64_t now_ns);

/* Keep how a worker ended, "exited", for its state. */
void figures_end(struct figures *f, int rank, const char *how);

/* Return the number of the last step that every worker has done + 1; 0 while one has not been heard
 * of.  Where workers or groups go at their own paces, the global batches that all samples together
 * make.
 */
int64_t figures_steps(const struct figures *f);

/* Return the fewest steps that any worker has done in this generation. */
int64_t figures_steps_here(const struct figures *f);

/* Whether any worker has opened its page; whether every one has done a step of the real plan. */
bool figures_any_seen(const struct figures *f);
bool figures_real_begun(const struct figures *f);

/* Expect no real plan any more: the equal split's steps are all that count. */
void figures_only_equal(struct figures *f);

/* Return which part of the steps' time was communication that compute did not hide, of all workers
 * of this generation; NAN while one of them has done less than a window of them.
 */
double figures_exposed(const struct figures *f);

/* Fill what the boards know; the rest of *s is left alone.  s has room for the workers. */
void figures_fill(const struct figures *f, int64_t now_ns, struct job_status *s);

#endif
