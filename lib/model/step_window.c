/* SPDX-License-Identifier: Apache-2.0 */
/* step_window.c - keep a worker's last steps of one plan and one speed, and compute statistics */
#include "step_window.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Evidence for a walk: from which on a speed wanders; below which it no longer does; the most that
 * is kept; and the most that one block adds, so that a single change of speed is no walk.
 */
static const double WANDERS = 6, STAYS = 2, MOST = 9, MOST_OF_BLOCK = 2;
/* Standard deviation of the change between two blocks of a walk, relative to that of noise */
static const double WALK = 3;
/* Greatest mean square change between blocks, relative to the mean square distance from the mean,
 * of a walk; a speed that soon returns to its mean changes more
 */
static const double RETURNS = 0.6;
static const double ERRORS = 2;            /* standard errors of a block that a drift exceeds */
static const double MEDIAN_ERROR = 1.2533; /* error of a median, relative to that of a mean */

enum {
    BLOCK = STEP_WINDOW_SURE, /* points of a block */
    LONG = 64,                /* differences that their mean square covers */
    LONG_BLOCKS = 32,         /* blocks that their mean squares cover */
};

void step_window_init(struct step_window *w)
{
    memset(w, 0, sizeof *w);
    w->last = -1;
    w->used = STEP_WINDOW_MAX;
}

/* ---- order statistics ---- */

/* Sort v [n] in ascending order.  Insertion sort takes half the time of qsort for so few values,
 * and simulations spend most of their time in it.
 */
static void sort(double *v, int n)
{
    for (int i = 1; i < n; i++) {
        double x = v[i];
        int at = i;

        for (; at > 0 && v[at - 1] > x; at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
}

/* Return the quantile `part` (0 to 1) of v [n], which is sorted, by linear interpolation. */
static double quantile(const double *v, int n, double part)
{
    double at = part * (n - 1);
    int below = (int)at;

    return below + 1 < n ? v[below] + (at - below) * (v[below + 1] - v[below]) : v[n - 1];
}

/* Return the median of v [n], which is sorted in place. */
static double median(double *v, int n)
{
    sort(v, n);
    return quantile(v, n, 0.5);
}

/* Return the quartiles and the maximum of v [n], which is sorted in place. */
static struct step_spread spread_of(double *v, int n)
{
    sort(v, n);
    return (struct step_spread){ .low_s = quantile(v, n, 0.25),
                                 .median_s = quantile(v, n, 0.5),
                                 .high_s = quantile(v, n, 0.75),
                                 .max_s = v[n - 1] };
}

/* Return the worker's own time in a step, compute and input, in seconds. */
static double own_s(const struct window_step *s)
{
    return s->compute_s + s->input_s;
}

/* Return the worker's own time in a step per unit of work, in seconds. */
static double pace(const struct window_step *s)
{
    return own_s(s) / s->work;
}

/* ---- the window's points ---- */

/* Borrow the point of the window that is followed by `back` newer points. */
static const struct step_point *kept(const struct step_window *w, int back)
{
    return &w->point[(w->points - 1 - back) % STEP_WINDOW_MAX];
}

/* Append point p to the window; if the window is full, p replaces the oldest point. */
static void keep(struct step_window *w, const struct step_point *p)
{
    if (w->points == 0)
        w->since = p->mean.step;
    w->point[w->points++ % STEP_WINDOW_MAX] = *p;
    w->steps += p->n;
    w->n += w->n < STEP_WINDOW_MAX;
}

/* Empty the window and set its plan version. */
static void begin(struct step_window *w, int64_t plan)
{
    w->plan = plan;
    w->points = w->steps = w->n = 0;
    w->next.n = 0;
}

/* Check whether the newest point's pace is more than STEP_WINDOW_RATIO times the least of v [n],
 * the paces of earlier points, or less than the greatest divided by the ratio.  If neither, it
 * cannot differ from their median by the ratio, so has_changed need not sort them.
 */
static bool may_have_changed(const struct step_window *w, const double *v, int n)
{
    double newest = pace(&kept(w, 0)->mean), low = newest, high = newest;

    for (int i = 0; i < n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    return newest > low * STEP_WINDOW_RATIO || newest < high / STEP_WINDOW_RATIO;
}

/* Check whether the newest STEP_WINDOW_CHANGE points are all slower, or all faster, than the median
 * of the earlier points by more than STEP_WINDOW_RATIO.
 */
static bool has_changed(const struct step_window *w)
{
    double v[STEP_WINDOW_MAX], before;
    int n = 0, slower = 0, faster = 0;

    if (w->n < 2 * STEP_WINDOW_CHANGE)
        return false;
    for (int i = STEP_WINDOW_CHANGE; i < w->n; i++)
        v[n++] = pace(&kept(w, i)->mean);
    if (!may_have_changed(w, v, n))
        return false;
    before = median(v, n);
    for (int i = 0; i < STEP_WINDOW_CHANGE; i++) {
        slower += pace(&kept(w, i)->mean) > before * STEP_WINDOW_RATIO;
        faster += pace(&kept(w, i)->mean) < before / STEP_WINDOW_RATIO;
    }
    return slower == STEP_WINDOW_CHANGE || faster == STEP_WINDOW_CHANGE;
}

/* Return the median pace of n points, after which `back` newer ones follow. */
static double median_pace(const struct step_window *w, int back, int n)
{
    double v[STEP_WINDOW_MAX];

    for (int i = 0; i < n; i++)
        v[i] = pace(&kept(w, back + i)->mean);
    return median(v, n);
}

/* Return the relative error of a block's median pace, if the differences between consecutive points
 * are noise.
 */
static double block_error(const struct step_window *w)
{
    return MEDIAN_ERROR * sqrt(w->walk.square / 2 / BLOCK);
}

/* Add the newest point's difference from the point before to the mean square. */
static void add_difference(struct step_window *w)
{
    double change;

    if (w->n < 2)
        return;
    change = log(pace(&kept(w, 0)->mean) / pace(&kept(w, 1)->mean));
    w->walk.differences += w->walk.differences < LONG;
    w->walk.square += (change * change - w->walk.square) / w->walk.differences;
}

/* Add x, the logarithm of a block's median pace, to the mean squares. first: the block is the
 * window's first, so plan or speed may have jumped before it: the mean moves along.
 */
static void add_to_means(struct step_walk *k, double x, bool first)
{
    double change = x - k->last, distance = x - k->mean, part;

    k->last = x;
    if (k->blocks == 0)
        k->mean = x;
    else if (first)
        k->mean += change;
    k->blocks += k->blocks < LONG_BLOCKS;
    if (first)
        return;
    part = 1.0 / k->blocks;
    k->change += (change * change - k->change) * part;
    k->distance += (distance * distance - k->distance) * part;
    k->mean += distance * part;
}

/* If the newest point completes a block, add the change from the block before to the evidence for a
 * walk: the logarithm of how much likelier this change is for a walk than for noise.
 */
static void add_block(struct step_window *w)
{
    struct step_walk *k = &w->walk;
    bool first = w->n < 2 * BLOCK;
    double x, z, more, change;

    if (w->points % BLOCK != 0)
        return;
    x = log(median_pace(w, 0, BLOCK));
    change = x - k->last;
    add_to_means(k, x, first);
    if (first || !(k->square > 0))
        return;
    z = change / (M_SQRT2 * block_error(w));
    more = (1 - 1 / (WALK * WALK)) * z * z / 2 - log(WALK);
    k->evidence = fmin(fmax(k->evidence + fmin(more, MOST_OF_BLOCK), 0), MOST);
    if (k->evidence < STAYS || k->change > RETURNS * k->distance)
        k->wanders = false;
    else if (k->evidence >= WANDERS)
        k->wanders = true;
}

/* Check whether the speed wanders, and the median pace of the newest STEP_WINDOW_SURE points
 * differs from that of the earlier ones by more than STEP_WINDOW_DRIFT and noise explain.
 */
static bool has_drifted(const struct step_window *w)
{
    int before = w->n - STEP_WINDOW_SURE < w->used ? w->n - STEP_WINDOW_SURE : w->used;
    double least = fmax(log(STEP_WINDOW_DRIFT), ERRORS * block_error(w));

    return w->walk.wanders && before >= STEP_WINDOW_SURE &&
           fabs(log(median_pace(w, 0, STEP_WINDOW_SURE) /
                    median_pace(w, STEP_WINDOW_SURE, before))) > least;
}

/* Remove all points from the window except the newest STEP_WINDOW_CHANGE. */
static void begin_again(struct step_window *w)
{
    struct step_point newest[STEP_WINDOW_CHANGE];

    for (int i = 0; i < STEP_WINDOW_CHANGE; i++)
        newest[STEP_WINDOW_CHANGE - 1 - i] = *kept(w, i);
    begin(w, w->plan);
    for (int i = 0; i < STEP_WINDOW_CHANGE; i++)
        keep(w, &newest[i]);
}

/* Add step s to `to`, the sums of the steps of a point; the first step sets them, with its number.
 */
static void sum_up(struct step_point *to, const struct window_step *s)
{
    struct window_step *sum = &to->mean;

    if (to->n++ == 0) {
        *sum = *s;
        return;
    }
    sum->count += s->count;
    sum->work += s->work;
    sum->compute_s += s->compute_s;
    sum->input_s += s->input_s;
    sum->exposed_s += s->exposed_s;
    sum->total_s += s->total_s;
}

/* Return the point that has the means of the steps in `sum`. */
static struct step_point mean_of(const struct step_point *sum)
{
    struct step_point p = *sum;
    double n = (double)p.n;

    p.mean.count = (int64_t)((double)p.mean.count / n + 0.5);
    p.mean.work /= n;
    p.mean.compute_s /= n;
    p.mean.input_s /= n;
    p.mean.exposed_s /= n;
    p.mean.total_s /= n;
    return p;
}

/* Check whether the steps from the first one in `sum` to step `last` have lasted STEP_POINT_S, so
 * that they make a point.  Steps that are not in `sum` count with the mean duration of those that
 * are.
 */
static bool is_point(const struct step_point *sum, int64_t last)
{
    double all_s = fmax(sum->mean.total_s, own_s(&sum->mean)) / (double)sum->n;

    return all_s * (double)(last - sum->mean.step + 1) >= STEP_POINT_S;
}

void step_window_add(struct step_window *w, const struct window_step *s, int64_t full)
{
    struct step_point next;

    if (s->step <= w->last)
        return;
    w->last = s->step;
    if (s->plan != w->plan) {
        begin(w, s->plan);
        return;
    }
    if (s->count <= 0 || !(s->work > 0) || !(own_s(s) > 0) || (full > 0 && s->count < full))
        return;
    sum_up(&w->next, s);
    if (!is_point(&w->next, s->step))
        return;
    next = mean_of(&w->next);
    w->next.n = 0;
    keep(w, &next);
    add_difference(w);
    add_block(w);
    if (!w->walk.wanders && has_changed(w))
        begin_again(w);
    else if (has_drifted(w))
        w->used = STEP_WINDOW_SURE;
    else if (w->used < STEP_WINDOW_MAX && w->points % 2 == 0)
        w->used++;
}

/* ---- statistics ---- */

/* Return the number of newest points that the statistics use. */
static int used(const struct step_window *w)
{
    return w->n < w->used ? w->n : w->used;
}

/* Return the spread over the window's points of the time that time_s returns for a point.  Each
 * time is scaled from the point's work to this amount of work; work 0: not scaled.
 */
static struct step_spread spread_by(const struct step_window *w, double work,
                                    double (*time_s)(const struct window_step *))
{
    double v[STEP_WINDOW_MAX];

    for (int i = 0; i < used(w); i++)
        v[i] = time_s(&kept(w, i)->mean) * (work > 0 ? work / kept(w, i)->mean.work : 1);
    return spread_of(v, used(w));
}

/* Return a step's compute time, for spread_by. */
static double compute_s(const struct window_step *s)
{
    return s->compute_s;
}

/* Return a step's input time, for spread_by. */
static double input_s(const struct window_step *s)
{
    return s->input_s;
}

/* Return a step's exposed communication time, for spread_by. */
static double exposed_s(const struct window_step *s)
{
    return s->exposed_s;
}

/* Return a step's total time, for spread_by. */
static double total_s(const struct window_step *s)
{
    return s->total_s;
}

bool step_window_metrics(const struct step_window *w, struct step_metrics *ret)
{
    double count[STEP_WINDOW_MAX], work[STEP_WINDOW_MAX];
    int n = used(w);
    int64_t points = n < STEP_WINDOW_MAX ? n : w->points;

    *ret = (struct step_metrics){
        .plan = w->plan, .since = w->since, .steps = w->steps, .points = points
    };
    if (points < STEP_WINDOW_CHANGE)
        return false;
    for (int i = 0; i < n; i++) {
        count[i] = (double)kept(w, i)->mean.count;
        work[i] = kept(w, i)->mean.work;
    }
    ret->count = (int64_t)(median(count, n) + 0.5);
    ret->work = median(work, n);
    ret->own = spread_by(w, ret->work, own_s);
    ret->compute = spread_by(w, ret->work, compute_s);
    ret->input = spread_by(w, ret->work, input_s);
    ret->exposed = spread_by(w, 0, exposed_s);
    ret->total = spread_by(w, 0, total_s);
    return true;
}

/* Check whether 0 <= lower quartile <= median <= upper quartile <= maximum <= STEP_FIGURES_MAX_S.
 */
static bool spread_is_valid(const struct step_spread *s)
{
    return s->low_s >= 0 && s->low_s <= s->median_s && s->median_s <= s->high_s &&
           s->high_s <= s->max_s && s->max_s <= STEP_FIGURES_MAX_S;
}

bool step_metrics_are_valid(const struct step_metrics *f)
{
    return f->plan > 0 && f->since >= 0 && f->points >= STEP_WINDOW_CHANGE &&
           f->steps >= f->points && f->since <= INT64_MAX - f->steps && f->count > 0 &&
           f->work >= DBL_MIN && isfinite(f->work) && spread_is_valid(&f->own) &&
           spread_is_valid(&f->compute) && spread_is_valid(&f->input) &&
           spread_is_valid(&f->exposed) && spread_is_valid(&f->total);
}
