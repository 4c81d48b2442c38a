/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - from the workers' boards to the figures of a job
 *
 * Defined once, here, and described in eddis-run(1):
 *
 *   samples_per_s    samples of all workers divided by the longest sum of step times of a worker.
 *                    A step lasts from the end of the one before to its own end: waiting for data,
 *                    computing, communicating, waiting for others.  Evaluations and checkpoints are
 *                    no part of a step, and the steps of --measure-equal's equal split, which
 *                    are counted apart in the same way, are left out.
 *   ideal            sum over workers of b / (a + c b) for the batch b that the plan in force gives
 *                    them.  For a device that is not emulated b / (its mean measured time of
 *                    computing and input) takes the place of the model.
 *   equal, predicted the planner's prediction for an equal split.  Where the time model knows
 * ratios only, the ratio of the two predictions times samples_per_s.
 *
 * Both sums come from the boards and so do not depend on when a report was sent; a report that
 * holds steps of both plans is counted with neither.
 */
#ifndef EDDIS_AGENTS_DRIVER_FIGURES_H
#define EDDIS_AGENTS_DRIVER_FIGURES_H

#include "agents/protocol.h"
#include "agents/status_json.h"
#include "lib/base/error.h"
#include "lib/model/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct figures_mark {
    bool set;
    int64_t steps, samples;
    struct board_times sum;
};

struct figures_worker {
    bool seen;
    int64_t seen_ns;           /* when the last report came, less its age */
    struct progress last;      /* of which only plain numbers are used */
    struct figures_mark first; /* before the first step: all zero but the number of steps */
    struct figures_mark equal_first, equal_last, real_first;
    char end[16]; /* "exited", "killed", "lost"; "" while it runs */
};

struct figures {
    const struct plan *plan; /* the real one, borrowed; NULL before */
    int64_t real_version;    /* from which plan version on it is in force: 1, or 2 */
    struct figures_worker *worker;
    int n_workers;
};

/* plan is borrowed until figures_fini. */
int figures_init(struct figures *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err);
void figures_fini(struct figures *f);

/* Take one worker's progress from a report that came now. */
void figures_progress(struct figures *f, const struct progress *p, int64_t now_ns);

/* How a worker ended, for its state. */
void figures_end(struct figures *f, int rank, const char *how);

/* Fewest steps done by any worker; 0 while one has not been heard of. */
int64_t figures_steps(const struct figures *f);

/* Fill what the boards know; the rest of *s is left alone.  s has room for the workers. */
void figures_fill(const struct figures *f, int64_t now_ns, struct job_status *s);

#endif
