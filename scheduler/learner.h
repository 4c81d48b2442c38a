/* SPDX-License-Identifier: Apache-2.0 */
/* learner.h - learns a worker's time for a batch from its own steps
 *
 * The learner begins with a model from another source. Each window of steps (step_window.h) is one
 * point: the work of a step and the worker's own time for it. The newest point determines the scale
 * of the model. The shape (constant relative to slope) is that of the first model until the points
 * span LEARNER_SPAN, or until closer points refute it. Then it is fitted to them. A probe's ratio
 * has no constant, so times are proportional to the batch at first.
 *
 * A later report of a window replaces the earlier one. A change of speed scales all older points,
 * so the shape stays until new points span enough. A change is believed after a window of
 * STEP_WINDOW_SURE points and two seconds. With fewer points, if one step in twenty takes three
 * times as long, three in a row occur every 8 000 steps, which changed the batches of two jobs in
 * three. And a worker that shares a core is slow whenever the others compute. After a speed that
 * lasted for long, 1.5 s are enough.
 *
 * Own time is compute and the wait for input. One line fits both. Without read-ahead the two add
 * up, so their sum is a line. With read-ahead the wait is what the longer path takes in excess, so
 * the line is that of the longer path.
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

#define LEARNER_SPAN       1.6 /* ratio of batches that separates the constant from the slope */
#define LEARNER_LEAST_SPAN 1.2 /* ratio that does so if noise cannot explain the difference */

struct learner_point {
    int64_t plan, since, points; /* as of struct step_metrics */
    double work, own_s, input_s; /* of a step, medians */
    double first_s; /* own_s when the window was first full, to detect a drift; 0: it is not full */
    double noise;   /* relative noise of one step */
    bool scaled;    /* measured at another speed, own_s converted to the present one */
};

/* How long the worker's speeds last. */
struct learner_speeds {
    int64_t plan, since;       /* of the newest window, believed or not */
    double work, own_s;        /* of that window */
    double lasted_s, before_s; /* duration of its speed: so far, and before its plan */
    double life_s;             /* recent mean duration of speeds that have ended */
    double worth_s;            /* duration from which it pays that plans follow a speed */
    int ended;                 /* number of speeds that have ended; 0 again after a long one */
};

struct learner {
    struct time_model first;
    enum time_source source;
    double rest;       /* fixed_s / sample_s, in samples: the shape */
    double per_sample; /* units of work per sample */
    /* Measured time / predicted time if the first window of the job contradicts a first model in
     * seconds by more than a quarter, so that times from earlier jobs are useless; 0: it does not
     */
    double contradicted;
    bool compared;   /* first window was compared with the first model, or has ended before */
    int64_t largest; /* largest batch measured; 0: none */
    struct learner_point point[LEARNER_POINTS]; /* [n], the newest last */
    int n;
    struct learner_speeds speeds;
};

/* Initialize a learner with a first model in seconds. If its source is TIME_PROBE, only the ratios
 * of these numbers are meaningful.
 */
void learner_init(struct learner *l, const struct time_model *first, enum time_source source);

/* Add a report of a window. A report that is older than the newest point or makes no sense is
 * ignored. Return whether it shows that the worker's speed has changed.
 */
bool learner_take(struct learner *l, const struct step_metrics *f);

/* Return the model of seconds for a batch: fixed_s >= 0, sample_s > 0. It is the first model until
 * steps are measured.
 */
struct time_model learner_model(const struct learner *l);

/* Return the source of the model: TIME_MEASURED once steps are measured. */
enum time_source learner_source(const struct learner *l);

/* Check whether recent speeds end before a plan that follows them has gained more than it costs. */
bool learner_is_unstable(const struct learner *l);

/* Check whether a new speed has begun that is not believed yet. */
bool learner_is_unsure(const struct learner *l);

/* Return the model scaled to the newest window, believed or not. */
struct time_model learner_present(const struct learner *l);

/* Return the relative standard error of the model at the newest batch; 0: it is the first model. */
double learner_error(const struct learner *l);

/* Return the number of points in the newest believed window; 0: none. */
int64_t learner_points(const struct learner *l);

/* Return the fraction of the worker's own time spent waiting for input, 0 to 1. */
double learner_input(const struct learner *l);

#endif
