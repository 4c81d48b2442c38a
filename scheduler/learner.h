/* SPDX-License-Identifier: Apache-2.0 */
/* learner.h - a worker's time for a batch, learnt from its own steps
 *
 * What is known at first is a model of some source.  Each window of steps (step_window.h) is one
 * point: its work and the worker's own time for it.  The newest point gives the model its scale;
 * the shape, how the constant stands to the slope, is that of the first model until points lie at
 * least LEARNER_SPAN apart, or nearer ones refute it, and is then fitted to them.  With a probe's
 * ratio, which has no constant, times are so proportional to the batch at first.
 *
 * A later report of one window replaces the earlier one.  A change of speed scales all points of
 * before, so that the shape stays until new points lie far enough apart to tell another.  It is
 * believed of a window of STEP_WINDOW_SURE points and two seconds: where one step in twenty takes
 * three times as long, three run together once in 8 000 steps, and that moved the batches of two
 * jobs in three; and who shares a core with others is slow whenever they compute.  Behind a speed
 * that has lasted for long a second and a half will do.
 *
 * Own time is compute and the wait for input.  That is one law, not two: without read-ahead the
 * paths add, so the sum of two lines is wanted, and with it the wait makes up what the longer path
 * takes, so the line is that of the path that binds.
 *
 * Pure; a learner is a value and may be copied.
 */
#ifndef EDDIS_SCHEDULER_LEARNER_H
#define EDDIS_SCHEDULER_LEARNER_H

#include "lib/model/plan.h"
#include "lib/model/step_window.h"
#include "scheduler/time_model.h"

#include <stdbool.h>
#include <stdint.h>

enum { LEARNER_POINTS = 12 };

#define LEARNER_SPAN       1.6 /* of batches that tell the constant from the slope */
#define LEARNER_LEAST_SPAN 1.2 /* of those that may, when noise cannot explain what they say */

struct learner_point {
    int64_t plan, since, points;
    double work, own_s, input_s;
    double first_s; /* own_s as the window was first full; what it drifts from */
    double noise;   /* of one step, relative */
    bool scaled;    /* was measured at another speed */
};

/* How long speeds last. */
struct learner_speeds {
    int64_t plan, since; /* the newest window, whether it was believed or not */
    double work, own_s;
    double lasted_s, before_s; /* its speed so far, and that before its plan */
    double life_s;             /* of speeds that another one has ended, a mean of late */
    double worth_s;            /* that they have to live for plans that follow them to pay */
    int ended;                 /* how many; 0 again after a long one */
};

struct learner {
    struct time_model first;
    enum time_source source;
    double rest;       /* fixed_s / sample_s, in samples: the shape */
    double per_sample; /* units of work */
    double contradicted;
    bool compared; /* the first window with the first model, or it has ended before that */
    int64_t largest;
    struct learner_point point[LEARNER_POINTS]; /* [n], the newest last */
    int n;
    struct learner_speeds speeds;
};

/* first: seconds, or of TIME_PROBE ratios. */
void learner_init(struct learner *l, const struct time_model *first, enum time_source source);

/* Take a report; one of an older plan than the newest, or that makes no sense, is left out.
 * Returns whether it tells that the worker's speed has changed.
 */
bool learner_take(struct learner *l, const struct step_figures *f);

/* Seconds for a batch of samples: fixed_s >= 0, sample_s > 0.  The first model until steps were
 * measured.
 */
struct time_model learner_model(const struct learner *l);

/* TIME_MEASURED as soon as steps were measured. */
enum time_source learner_source(const struct learner *l);

/* Whether speeds of late have not lasted as long as it takes until a plan that follows them has
 * gained what it costs when they end.
 */
bool learner_is_fickle(const struct learner *l);

/* Whether another speed has begun that is not believed yet. */
bool learner_is_unsure(const struct learner *l);

/* The model, its scale that of the newest window, believed or not. */
struct time_model learner_present(const struct learner *l);

/* Relative standard error of the model at the newest batch; 0 while it is the first model. */
double learner_error(const struct learner *l);

/* Points of the newest window; 0: none. */
int64_t learner_points(const struct learner *l);

/* Largest batch measured, in samples; 0: none. */
int64_t learner_largest(const struct learner *l);

/* Part of the worker's own time that is a wait for input, 0 to 1. */
double learner_input(const struct learner *l);

/* Measured time by predicted, where the steps 2 to 11 differ from a first model in seconds by more
 * than a quarter: what an earlier job has learnt is of no use then.  0: they do not.
 */
double learner_contradicted(const struct learner *l);

#endif
