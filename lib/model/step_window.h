/* SPDX-License-Identifier: Apache-2.0 */
/* step_window.h - statistics of a worker's recent steps, for planning
 *
 * A window has steps of one plan version and one speed.  The first step under a plan is left out,
 * since it may include the cost of the change.
 *
 * Steps are kept as points.  A long step is one point; short steps are averaged until they have
 * lasted STEP_POINT_S.  A plan stays for at least a second; 64 steps of 0.2 ms last a hundredth of
 * a second and do not predict the rest.  If other programs use the same core, most steps are not
 * delayed at all, and one in ten takes a hundred times as long.  The means of points include these
 * delays, and the variation between points shows the uncertainty.
 *
 * If STEP_WINDOW_CHANGE consecutive points differ from the median of the points before them by more
 * than the factor STEP_WINDOW_RATIO, in one direction, the device's speed has changed.  The window
 * then restarts with these points, so no statistic mixes two plans or speeds.  Statistics are
 * medians and quartiles, not means, because a single delay by the operating system predicts
 * nothing.
 *
 * A speed may also wander: it changes by chance, from wherever it is.  Then the median of 64 points
 * is the speed of half a window ago.  Steps that only vary, and speeds that jump, are no walk:
 *
 *              noise             walk                  jump
 *     changes between blocks of STEP_WINDOW_SURE points, relative to those between points:
 *              as expected       large, again and again   large, once
 *
 * The evidence for a walk adds up over the blocks, and each block adds only a limited part, so a
 * jump does not suffice.  Changes from one plan to the next, and at a change of speed, are left
 * out. If the speed wanders and has drifted by STEP_WINDOW_DRIFT, the statistics use only the
 * newest STEP_WINDOW_SURE points, and then more of them again, as long as the speed stays.  `since`
 * and `steps` stay, since it is the same window; only `points` falls.  While a speed wanders, no
 * change of speed restarts the window.
 *
 * A step's own time is its compute time and its input time.  If the program reports work, a step's
 * own times are scaled to the window's median work, because steps of equal size then differ.
 * Communication and total time are not scaled.
 *
 * No I/O: agents fill a window from a progress board, the simulator from simulated steps.
 */
#ifndef EDDIS_MODEL_STEP_WINDOW_H
#define EDDIS_MODEL_STEP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STEP_WINDOW_MAX = 64,   /* number of newest points in the statistics */
    STEP_WINDOW_CHANGE = 3, /* consecutive points that show a change of speed; also the fewest
                             * points for statistics */
    STEP_WINDOW_SURE =
        2 * STEP_WINDOW_CHANGE, /* points from which on a window's speed is not taken for chance */
};

#define STEP_WINDOW_RATIO 1.25
#define STEP_WINDOW_DRIFT 1.06 /* least ratio of medians that is a drift */
#define STEP_POINT_S      0.1
/* Limit in seconds of the sum of two times that are int64_t in ns */
#define STEP_FIGURES_MAX_S 2e10

/* One step */
struct window_step {
    int64_t step, plan; /* step number; version of the plan it ran under */
    int64_t count;      /* samples */
    double work;        /* units of work; count if the program does not report it */
    double compute_s, input_s, exposed_s; /* times of computing, of waiting for input, and of
                                           * communication not hidden by computing */
    double total_s; /* from the end of the previous step to its own end, including waits */
};

/* Quartiles and maximum, in seconds */
struct step_spread {
    double low_s, median_s, high_s, max_s;
};

/* Statistics of a window */
struct step_metrics {
    int64_t plan;   /* plan version; 0: no step yet */
    int64_t since;  /* number of the first step in the window */
    int64_t steps;  /* steps in the window so far */
    int64_t points; /* points of these steps; statistics use at most the last STEP_WINDOW_MAX. After
                     * a drift: only the points in the statistics */
    int64_t count;  /* samples per step, median */
    double work;    /* units of work per step, median */
    struct step_spread own, compute, input, exposed, total;
};

/* One step, or the means of consecutive steps */
struct step_point {
    struct window_step mean; /* the step itself, or means; the step number is that of the first
                              * step */
    int64_t n;               /* number of steps in the point */
};

/* What shows that a speed wanders.  Earlier windows count. */
struct step_walk {
    int differences;         /* number of differences between consecutive points, up to a limit */
    double square;           /* mean square of these, relative */
    int blocks;              /* number of blocks of STEP_WINDOW_SURE points, up to a limit */
    double last, mean;       /* logarithm of the median pace: of the last block, and mean */
    double change, distance; /* mean squares: of the change between two blocks; of the distance of a
                              * block from the mean */
    double evidence;         /* logarithm of how much likelier a walk is than chance */
    bool wanders;
};

/* A window of steps */
struct step_window {
    int64_t plan, since, points, steps; /* counters of the points, as in struct
                                         * step_metrics */
    int64_t last;                       /* number of the newest step added; -1: none */
    int n;                              /* number of points kept */
    int used; /* most newest points in the statistics; fewer after a drift */
    struct step_walk walk;
    struct step_point point[STEP_WINDOW_MAX]; /* the newest is at points - 1 modulo the size */
    struct step_point next;                   /* sums over the steps of the next point, which is
                                               * incomplete */
};

/* Make the window empty. */
void step_window_init(struct step_window *w);

/* Add a step.  Ignore a step that is not newer than the newest step added, an empty step, and a
 * step of fewer samples than `full`, such as the last step of an epoch.  full: samples that the
 * plan gives this worker; 0: unknown.
 */
void step_window_add(struct step_window *w, const struct window_step *s, int64_t full);

/* Write the window's statistics to *ret.  Return false if there are too few points for statistics;
 * only the counters are then set.
 */
bool step_window_metrics(const struct step_window *w, struct step_metrics *ret);

/* Check statistics from a program or the network: all must be set, no time may be negative or above
 * STEP_FIGURES_MAX_S, and quartiles and maximum must be in ascending order.
 */
bool step_metrics_are_valid(const struct step_metrics *f);

#endif
