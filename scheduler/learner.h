/* SPDX-License-Identifier: Apache-2.0 */
/* learner.h - learns a worker's time for a batch from its own steps
 *
 * The learner begins with a model from another source. Each window of steps (step_window.h) is one
 * point: the work of a step and the worker's own time for it. The newest point determines the scale
 * of the model. The shape (constant relative to slope) is that of the first model until the points
 * span LEARNER_SPAN, or until closer points refute that shape. Then the shape is fitted to the
 * points. A probe measures only a ratio of speeds and no constant, so at first times are
 * proportional to the batch.
 *
 * A later report of a window replaces the earlier one. A change of speed scales all older points,
 * so the shape stays until new points span enough. A change of speed is accepted when its window
 * has STEP_WINDOW_SURE points and covers two seconds (1.5 s if the previous speed lasted for long).
 * With a lower threshold noise would count as a change: if one step in twenty takes three times as
 * long, three such steps in a row occur every 8 000 steps, which changed the batches of two jobs in
 * three. And a worker that shares a core is slow whenever the other programs on the core compute.
 *
 * Own time is the time to compute plus the wait for input; one line fits both. Without read-ahead
 * the two add up, so their sum is linear in the batch. With read-ahead the wait is the time by
 * which reading takes longer than computing, so own time is the line of the slower of the two.
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

#define LEARNER_SPAN 1.6 /* ratio of batches from which constant and slope are separated */
/* ratio of batches that suffices if noise cannot explain the difference */
#define LEARNER_LEAST_SPAN 1.2

struct learner_point {
    /* plan version, first step and number of points, as in struct step_metrics */
    int64_t plan, since, points;
    double work, own_s, input_s; /* medians of a step: units of work, own time, wait for input */
    /* own_s when the window became full, to detect a drift; 0: the window is not full */
    double first_s;
    double noise; /* relative noise of one step */
    bool scaled;  /* measured at another speed; own_s is converted to the present speed */
};

/* How long the worker's speeds last. */
struct learner_speeds {
    int64_t plan, since; /* plan version and first step of the newest window, accepted or not */
    double work, own_s;  /* work and own time of a step in that window */
    /* duration of that window's speed: so far, and before the window's plan */
    double lasted_s, before_s;
    double life_s;  /* recent mean duration of speeds that have ended */
    double worth_s; /* duration that a speed must last for a new plan to gain more than it costs */
    int ended; /* number of speeds that have ended; reset to 0 after a speed that lasted for long */
    bool wanders; /* a drift has shortened a window, and none was full since */
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

/* Initialize a learner with a first model in seconds. If the source is TIME_PROBE, only ratios
 * between the models of workers are meaningful.
 */
void learner_init(struct learner *l, const struct time_model *first, enum time_source source);

/* Add a report of a window. Ignore a report that is older than the newest point or inconsistent.
 * Return whether the report shows that the worker's speed has changed.
 */
bool learner_take(struct learner *l, const struct step_metrics *f);

/* Return the time model in seconds, with fixed_s >= 0 and sample_s > 0. Until steps are measured it
 * is the first model.
 */
struct time_model learner_model(const struct learner *l);

/* Return the source of the model: TIME_MEASURED once steps are measured. */
enum time_source learner_source(const struct learner *l);

/* Check whether the worker's recent speeds were too short: each ended before a plan made for it
 * could gain more than the change of plan costs. False if the speed wanders.
 */
bool learner_is_unstable(const struct learner *l);

/* Check whether the newest window shows a new speed that is not accepted yet. False if the speed
 * wanders: another one follows soon.
 */
bool learner_is_unsure(const struct learner *l);

/* Check whether the worker's speed wanders, as the windows show (step_window.h). */
bool learner_wanders(const struct learner *l);

/* Return the time model scaled to the speed of the newest window, accepted or not. */
struct time_model learner_present(const struct learner *l);

/* Return the relative standard error of the time model at the newest batch; 0 while it is the first
 * model.
 */
double learner_error(const struct learner *l);

/* Return the number of points in the newest accepted window; 0: no window is accepted yet. */
int64_t learner_points(const struct learner *l);

/* Return the fraction of the worker's own time spent waiting for input, 0 to 1. */
double learner_input(const struct learner *l);

#endif
