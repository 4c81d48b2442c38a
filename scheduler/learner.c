/* SPDX-License-Identifier: Apache-2.0 */
/* learner.c - fits a worker's time for a batch to a few windows of its steps
 *
 * The fit is weighted least squares of relative residuals over the points. The weights are the
 * number of steps and the age. It is not a step-by-step recursion (heterogeneity: RLS, lambda
 * 0.98), for three reasons. A later report of a window replaces the earlier one, which a recursion
 * cannot undo. While the batch is constant, a recursion with forgetting loses the constant within
 * 50 steps and its covariance grows without bound. Here all steps of one plan are one point, so age
 * counts plans and this cannot happen. And points can be scaled when the speed changes.
 *
 * Residuals are relative because noise is proportional to the time.
 */
#include "learner.h"

#include <math.h>
#include <string.h>

static const double CONTRADICTION = 1.25; /* least ratio of times that noise cannot explain */
/* Least ratio of medians over full windows that noise cannot explain. */
static const double DRIFT = 1.03;
static const double SLOPE_FLOOR = 0.05; /* least slope, of the newest point's time per work */
static const double REFUTED = 5; /* standard errors between model and point that refute the shape */
static const double UNLIKE = 0.01;      /* relative difference of two plans that is not noise */
static const double AGEING = 0.5;       /* factor on a point's weight for each newer plan */
static const double USUAL_NOISE = 0.03; /* relative noise of a step, before enough were seen */
static const double QUARTILES = 1.349;  /* quartile distance, in standard deviations (normal law) */
static const double MEDIAN_ERROR = 1.2533; /* error of a median, relative to that of a mean */

/* Seconds that a new speed must last before the model follows it. */
static const double SURE_S = 2;
/* The same limit if the speed before had lasted for long. */
static const double SURE_CALM_S = 1.5;
static const double WORTH_S = 6; /* speeds must last this long for plans to follow them: a plan
                                  * takes effect about 3 s after a change, and stays about 3 s too
                                  * long after the next */

enum {
    USUAL_POINTS = 4,          /* weight of USUAL_NOISE, in points */
    WORTH_STEPS = 18,          /* WORTH_S in steps, for long steps */
    FICKLE = 2,                /* speeds that must have ended before their mean life is known */
    CALM = 2,                  /* a speed that lasts this many times worth_s is stable */
    CONTRADICTING_POINTS = 10, /* points of the first window that are compared */
    MIXED_POINTS = 16,         /* accept a window of this many points even if it mixes two speeds */
};

void learner_init(struct learner *l, const struct time_model *first, enum time_source source)
{
    *l = (struct learner){
        .first = *first, .source = source, .rest = first->fixed_s / first->sample_s, .per_sample = 1
    };
}

/* ---- points ---- */

/* Borrow the newest point; there must be one. */
static const struct learner_point *newest(const struct learner *l)
{
    return &l->point[l->n - 1];
}

/* Return the weight of point i in the fit: its number of measured steps, at most STEP_WINDOW_MAX,
 * halved for each newer point.
 */
static double weight(const struct learner *l, int i)
{
    return fmin((double)l->point[i].points, STEP_WINDOW_MAX) * pow(AGEING, l->n - 1 - i);
}

/* Return the seconds that the present model predicts for an amount of work. */
static double model_s(const struct learner *l, double work)
{
    double rest = l->rest * l->per_sample;

    return newest(l)->own_s * (rest + work) / (rest + newest(l)->work);
}

/* ---- noise ---- */

/* Return the relative noise of one step: the root mean square over the steps of all points,
 * together with USUAL_POINTS steps of USUAL_NOISE.
 */
static double noise(const struct learner *l)
{
    double sum = USUAL_POINTS * USUAL_NOISE * USUAL_NOISE, steps = USUAL_POINTS;

    for (int i = 0; i < l->n; i++) {
        double n = fmin((double)l->point[i].points, STEP_WINDOW_MAX);

        sum += n * l->point[i].noise * l->point[i].noise;
        steps += n;
    }
    return sqrt(sum / steps);
}

/* Return the relative standard error of the median of `steps` steps. noise: relative noise of one
 * step.
 */
static double error_of(double noise, int64_t steps)
{
    return MEDIAN_ERROR * noise / sqrt(fmin((double)steps, STEP_WINDOW_MAX));
}

/* Return the relative standard error of the ratio of two points' times. */
static double error_between(const struct learner *l, const struct learner_point *a,
                            const struct learner_point *b)
{
    double one = noise(l), x = error_of(one, a->points), y = error_of(one, b->points);

    return sqrt(x * x + y * y + UNLIKE * UNLIKE);
}

/* ---- older points ---- */

/* Remove point i from the learner. */
static void drop(struct learner *l, int i)
{
    memmove(&l->point[i], &l->point[i + 1], (size_t)(l->n - 1 - i) * sizeof *l->point);
    l->n--;
}

/* Return the index of the oldest point that has neither the least nor the most work. Those two
 * points determine the constant.
 */
static int least_useful(const struct learner *l)
{
    int low = 0, high = 0, i = 0;

    for (int k = 1; k < l->n; k++) {
        low = l->point[k].work <= l->point[low].work ? k : low;
        high = l->point[k].work >= l->point[high].work ? k : high;
    }
    while (i == low || i == high)
        i++;
    return i;
}

/* Multiply the times of the oldest n points by `ratio`, to convert them to the present speed, and
 * mark the points as scaled.
 */
static void scale(struct learner *l, int n, double ratio)
{
    for (int i = 0; i < n; i++) {
        l->point[i].own_s *= ratio;
        l->point[i].first_s *= ratio;
        l->point[i].scaled = true;
    }
}

/* Return the ratio of the largest work to the smallest. scaled: over all points; otherwise only
 * over the newest and those measured at the present speed.
 */
static double span(const struct learner *l, bool scaled)
{
    double low = newest(l)->work, high = low;

    for (int i = 0; i < l->n; i++)
        if (scaled || !l->point[i].scaled) {
            low = fmin(low, l->point[i].work);
            high = fmax(high, l->point[i].work);
        }
    return high / low;
}

/* Remove the points that were measured at another speed. */
static void drop_scaled(struct learner *l)
{
    for (int i = l->n; i-- > 0;)
        if (l->point[i].scaled)
            drop(l, i);
}

/* ---- the fit ---- */

/* Weighted sums over the points with time t for work x, both relative to the newest point: u = 1 /
 * t, v = x / t.
 */
struct sums {
    double uu, uv, vv, u, v;
};

/* Compute the weighted sums that the fit needs. */
static struct sums sum_up(const struct learner *l)
{
    struct sums s = { 0 };

    for (int i = 0; i < l->n; i++) {
        double w = weight(l, i), u = newest(l)->own_s / l->point[i].own_s;
        double v = u * l->point[i].work / newest(l)->work;

        s.uu += w * u * u;
        s.uv += w * u * v;
        s.vv += w * v * v;
        s.u += w * u;
        s.v += w * v;
    }
    return s;
}

/* Return a / c of the least-squares fit a u + c v = 1 with a >= 0 and c at least SLOPE_FLOOR. */
static double fitted_rest(const struct sums *s)
{
    double det = s->uu * s->vv - s->uv * s->uv;
    double a = (s->u * s->vv - s->v * s->uv) / det, c = (s->v * s->uu - s->u * s->uv) / det;

    if (!(c > SLOPE_FLOOR)) {
        c = SLOPE_FLOOR;
        a = (s->u - c * s->uv) / s->uu;
    }
    return a > 0 ? a / c : 0;
}

/* Check whether the newest point and an older one contradict the model's shape by more than noise
 * explains.
 */
static bool is_refuted(const struct learner *l)
{
    for (int i = 0; i < l->n - 1; i++) {
        const struct learner_point *p = &l->point[i];
        double apart = fmax(p->work, newest(l)->work) / fmin(p->work, newest(l)->work);

        if (apart >= LEARNER_LEAST_SPAN &&
            fabs(model_s(l, p->work) / p->own_s - 1) > REFUTED * error_between(l, p, newest(l)))
            return true;
    }
    return false;
}

/* Fit the shape again if the points lie far enough apart, or refute the present shape. If the
 * points of the present speed alone lie far enough apart, remove all scaled points. While the speed
 * wanders, return to the first shape: points of different speeds show no constant, and the shape
 * may have been fitted to such points before the window could show that the speed wanders.
 */
static void refit(struct learner *l)
{
    struct sums s;
    double rest;

    if (learner_wanders(l)) {
        l->rest = l->first.fixed_s / l->first.sample_s;
        return;
    }
    if (span(l, false) >= LEARNER_SPAN)
        drop_scaled(l);
    if (span(l, true) < LEARNER_SPAN && !is_refuted(l))
        return;
    s = sum_up(l);
    rest = fitted_rest(&s) * newest(l)->work / l->per_sample;
    if (isfinite(rest))
        l->rest = rest;
}

/* ---- reports ---- */

/* Check whether low <= x <= high; false for NAN. */
static bool is_between(double x, double low, double high)
{
    return x >= low && x <= high;
}

/* Check whether a report's values are consistent and within ranges that suit any device, so that no
 * product of them overflows.
 */
static bool makes_sense(const struct step_metrics *f)
{
    return f->points >= STEP_WINDOW_CHANGE && f->count > 0 && is_between(f->work, 1e-9, 1e18) &&
           is_between((double)f->count, 1, 1e15) && is_between(f->own.median_s, 1e-9, 1e9) &&
           is_between(f->own.low_s, 0, f->own.median_s) &&
           is_between(f->own.high_s, f->own.median_s, 1e9) && is_between(f->input.median_s, 0, 1e9);
}

/* Return the relative noise of one step from a window's quartiles. Quartiles of few values lie too
 * close together; the factor corrects that for a normal law.
 */
static double noise_of(const struct step_metrics *f)
{
    double n = fmin((double)f->points, STEP_WINDOW_MAX);

    return (f->own.high_s - f->own.low_s) / QUARTILES / f->own.median_s / (1 - 1.1 / n);
}

/* Return the point of a window's measurements. */
static struct learner_point point_of(const struct step_metrics *f)
{
    return (struct learner_point){
        .plan = f->plan,
        .since = f->since,
        .points = f->points,
        .work = f->work,
        .own_s = f->own.median_s,
        .input_s = f->input.median_s,
        .first_s = f->points >= STEP_WINDOW_MAX ? f->own.median_s : 0,
        .noise = noise_of(f),
    };
}

/* Replace the newest point by p, from a later report of the same window. If the speed drifts too
 * slowly for a new window to begin, scale the older points as well; otherwise the fit would take
 * the drift for a constant. Fewer points than before mean that a drift has shortened the window.
 */
static void replace(struct learner *l, struct learner_point p)
{
    struct learner_point *old = &l->point[l->n - 1];

    if (p.points < old->points) {
        l->speeds.wanders = true;
        scale(l, l->n - 1, p.own_s / old->own_s);
    } else if (old->first_s > 0) {
        double drift = p.own_s / old->first_s;

        p.first_s = old->first_s;
        if (drift > DRIFT || drift < 1 / DRIFT) {
            scale(l, l->n - 1, drift);
            p.first_s = p.own_s;
        }
    }
    if (p.points >= STEP_WINDOW_MAX)
        l->speeds.wanders = false;
    *old = p;
}

/* Detect a change of speed that came with the newest plan, from the two newest points. Under any
 * shape time grows with work, at most in proportion. If neither that nor noise explains the
 * difference of the points, scale all older points to the present speed and return true.
 */
static bool follow_speed(struct learner *l)
{
    const struct learner_point *p = newest(l), *before;
    double steep, off, ratio;

    if (l->n < 2)
        return false;
    before = &l->point[l->n - 2];
    steep = before->own_s * p->work / before->work;
    off = 1 + fmin(REFUTED * error_between(l, before, p), CONTRADICTION - 1);
    if (p->own_s <= off * fmax(before->own_s, steep) &&
        p->own_s * off >= fmin(before->own_s, steep))
        return false;
    ratio = before->own_s / model_s(l, before->work);
    scale(l, l->n - 1, 1 / ratio);
    return true;
}

/* Append p, the point of a new window; if the table is full, drop another point first. If the
 * newest point has the same plan, the speed has changed: scale all points to the new speed and drop
 * the newest. Return whether the speed has changed.
 */
static bool append(struct learner *l, const struct learner_point *p)
{
    bool again = l->n > 0 && p->plan == newest(l)->plan;

    if (again) {
        scale(l, l->n, p->own_s / model_s(l, p->work));
        drop(l, l->n - 1);
    }
    if (l->n == LEARNER_POINTS)
        drop(l, least_useful(l));
    l->point[l->n++] = *p;
    return again;
}

/* ---- whether speeds last ---- */

/* Return the least number of seconds that a window covers. If steps are short, a point stands for
 * several of them.
 */
static double window_s(const struct step_metrics *f)
{
    return fmax((double)f->points * STEP_POINT_S,
                (double)f->steps * fmax(f->total.median_s, f->own.median_s));
}

/* Update l->speeds with a report: for how long the present speed has lasted, and the mean duration
 * of speeds that ended. A new window under the same plan ends the previous speed: the speed has
 * jumped, so it does not wander. A new plan begins a window but ends no speed.
 */
static void watch_speeds(struct learner *l, const struct step_metrics *f)
{
    struct learner_speeds *s = &l->speeds;

    if (f->plan != s->plan)
        s->before_s = s->lasted_s;
    else if (f->since > s->since) {
        s->life_s = s->ended > 0 ? (s->life_s + s->lasted_s) / 2 : s->lasted_s;
        s->ended++;
        s->before_s = 0;
        s->wanders = false;
    }
    s->lasted_s = s->before_s + window_s(f);
    s->worth_s = fmax(WORTH_S, WORTH_STEPS * f->total.median_s);
    if (s->lasted_s > CALM * s->worth_s)
        s->ended = 0;
    s->plan = f->plan;
    s->since = f->since;
    s->work = f->work;
    s->own_s = f->own.median_s;
}

/* ---- which reports are believed ---- */

/* Check whether the speed before the newest one had lasted for long. */
static bool follows_calm(const struct learner *l)
{
    return l->speeds.ended == 1 && l->speeds.life_s > CALM * l->speeds.worth_s;
}

/* Check whether the window of a report is still too short to be used. Only a window that began
 * under the plan of the newest point can be: the speed may have changed, steps may have been
 * delayed once, or another program may use the core for a moment. A window whose quartiles show two
 * speeds is too short up to MIXED_POINTS.
 */
static bool is_hasty(const struct learner *l, const struct step_metrics *f)
{
    double low = f->own.median_s / STEP_WINDOW_RATIO, high = f->own.median_s * STEP_WINDOW_RATIO;

    if (l->n == 0 || f->plan != newest(l)->plan || f->since <= newest(l)->since)
        return false;
    return f->points < STEP_WINDOW_SURE || window_s(f) < (follows_calm(l) ? SURE_CALM_S : SURE_S) ||
           (f->points < MIXED_POINTS && (f->own.low_s < low || f->own.high_s > high));
}

/* Compare the job's first window with the first model, at the first report with enough steps, and
 * store a contradiction in l->contradicted. Later calls do nothing. again: this window is not the
 * first.
 */
static void compare_first(struct learner *l, const struct step_metrics *f, bool again)
{
    double ratio = f->own.median_s / time_model_s(&l->first, f->count);
    bool over = l->compared || again || l->n > 1;

    l->compared = over || f->points >= CONTRADICTING_POINTS;
    if (over || !l->compared || l->source < TIME_GIVEN)
        return;
    if (ratio > CONTRADICTION || ratio < 1 / CONTRADICTION)
        l->contradicted = ratio;
}

/* Check whether a report is older than the newest point. */
static bool is_late(const struct learner *l, const struct step_metrics *f)
{
    return l->n > 0 && (f->plan < newest(l)->plan ||
                        (f->plan == newest(l)->plan && f->since < newest(l)->since));
}

bool learner_take(struct learner *l, const struct step_metrics *f)
{
    struct learner_point p;
    bool changed = false;

    if (!makes_sense(f) || is_late(l, f))
        return false;
    watch_speeds(l, f);
    if (is_hasty(l, f))
        return false;
    p = point_of(f);
    if (l->n > 0 && p.plan == newest(l)->plan && p.since == newest(l)->since)
        replace(l, p);
    else
        changed = append(l, &p);
    compare_first(l, f, changed);
    changed |= follow_speed(l);
    l->per_sample = f->work / (double)f->count;
    l->largest = f->count > l->largest ? f->count : l->largest;
    refit(l);
    return changed;
}

/* ---- results ---- */

struct time_model learner_model(const struct learner *l)
{
    struct time_model m = l->first;

    if (l->n > 0) {
        double samples = newest(l)->work / l->per_sample;

        m.sample_s = newest(l)->own_s / (l->rest + samples);
        m.fixed_s = m.sample_s * l->rest;
    }
    return m;
}

enum time_source learner_source(const struct learner *l)
{
    return l->n > 0 ? TIME_MEASURED : l->source;
}

bool learner_is_unstable(const struct learner *l)
{
    return l->n > 0 && !learner_wanders(l) && l->speeds.ended >= FICKLE &&
           l->speeds.life_s < l->speeds.worth_s;
}

bool learner_is_unsure(const struct learner *l)
{
    return l->n > 0 && !learner_wanders(l) && l->speeds.plan == newest(l)->plan &&
           l->speeds.since != newest(l)->since;
}

bool learner_wanders(const struct learner *l)
{
    return l->speeds.wanders;
}

struct time_model learner_present(const struct learner *l)
{
    struct time_model m = learner_model(l);

    if (l->n > 0) {
        m.sample_s = l->speeds.own_s / (l->rest + l->speeds.work / l->per_sample);
        m.fixed_s = m.sample_s * l->rest;
    }
    return m;
}

double learner_error(const struct learner *l)
{
    return l->n > 0 ? error_of(noise(l), newest(l)->points) : 0;
}

int64_t learner_points(const struct learner *l)
{
    return l->n > 0 ? newest(l)->points : 0;
}

double learner_input(const struct learner *l)
{
    return l->n > 0 ? fmin(newest(l)->input_s / newest(l)->own_s, 1) : 0;
}
