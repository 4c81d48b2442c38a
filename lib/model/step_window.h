/* SPDX-License-Identifier: Apache-2.0 */
/* step_window.h - what a worker's steps of late took, as a few figures to plan by
 *
 * A window holds steps that were all done under one plan and at one speed.  The first step under a
 * plan is left out, since it may carry what the change costs.
 *
 * It holds them as points.  A long step is one; short ones are put together, by their means, until
 * they have lasted STEP_POINT_S.  A plan holds for a second at least, and of 64 steps of 0.2 ms,
 * the hundredth part of that, nothing follows for the rest: where others compute on the same core,
 * most steps are not held up at all, and one in ten takes a hundred times as long.  Means tell
 * that, and how they differ from point to point tells how little is known.
 *
 * When STEP_WINDOW_CHANGE points running take longer or shorter than the median before by more than
 * STEP_WINDOW_RATIO, the device's speed has changed: the window begins again with these.  So no
 * figure mixes two plans or two speeds.  Medians and quartiles of points, not means: what the
 * operating system has held up once says nothing of the next one.
 *
 * Own time is what a worker takes by itself, compute and input.  A step's figures are scaled to the
 * window's median of work where the program reports work, for then steps of one size are not alike;
 * communication and the whole step are as they were.
 *
 * Pure: agents fill a window from the steps of a board, the simulator from those that it makes up.
 */
#ifndef EDDIS_MODEL_STEP_WINDOW_H
#define EDDIS_MODEL_STEP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STEP_WINDOW_MAX = 64,   /* points of which figures are made, the last ones */
    STEP_WINDOW_CHANGE = 3, /* points running that make a change; a window of less tells nothing */
    STEP_WINDOW_SURE =
        2 * STEP_WINDOW_CHANGE, /* by which chance has ended a window that it began */
};

#define STEP_WINDOW_RATIO  1.25
#define STEP_POINT_S       0.1
#define STEP_FIGURES_MAX_S 2e10 /* what two times in ns can be together */

/* One step. */
struct window_step {
    int64_t step, plan; /* its number; version of the plan it was done under */
    int64_t count;      /* samples */
    double work;        /* units of work; count where the program does not report it */
    double compute_s, input_s, exposed_s;
    double total_s; /* from the end of the one before to its own, waiting for others included */
};

/* Seconds: quartiles and the largest. */
struct step_spread {
    double low_s, median_s, high_s, max_s;
};

struct step_figures {
    int64_t plan;   /* version; 0: there is no step yet */
    int64_t since;  /* number of the first step in the window */
    int64_t steps;  /* in it so far */
    int64_t points; /* that they make; figures are of the last STEP_WINDOW_MAX at most */
    int64_t count;  /* samples of a step, median */
    double work;    /* units of work of a step, median */
    struct step_spread own, compute, input, exposed, total;
};

/* A step, or means of some that were done one after another. */
struct step_point {
    struct window_step mean; /* its number: of the first one */
    int64_t n;
};

struct step_window {
    int64_t plan, since, points, steps; /* of its points, as struct step_figures has it */
    int64_t last;                       /* number of the newest step that was seen; -1: none */
    int n;                              /* points kept */
    struct step_point point[STEP_WINDOW_MAX]; /* the newest at points - 1 modulo the size */
    struct step_point next;                   /* sums of its steps so far */
};

void step_window_init(struct step_window *w);

/* Take a step; those up to the newest one that was seen, and empty ones, are left out.  full: the
 * samples that the plan gives this worker, 0 when unknown: a shorter step, an epoch's last one, is
 * left out too.
 */
void step_window_add(struct step_window *w, const struct window_step *s, int64_t full);

/* Fill *ret; returns whether there are steps enough to tell something. */
bool step_window_figures(const struct step_window *w, struct step_figures *ret);

/* Whether figures, which may come from a program or over the network, are those of a window that
 * tells something: no time negative, longer than STEP_FIGURES_MAX_S or out of order.
 */
bool step_figures_are_sane(const struct step_figures *f);

#endif
