/* SPDX-License-Identifier: Apache-2.0 */
/* learner.c - fits a worker's time for a batch to a few windows of its steps
 *
 * The fit is least squares of relative residuals over the points, weighted by their steps and by
 * age, not recursive least squares step by step (heterogeneity: RLS, lambda 0.98).  Three reasons.
 * Reports of one window supersede each other, which a recursion cannot undo.  While the batch
 * stands still, a recursion with forgetting loses the constant within 50 steps and its covariance
 * winds up; here steps of one plan are one point, so age counts plans, and there is nothing to
 * guard.  And the points can be scaled when the speed changes.
 *
 * Relative residuals, for noise is a part of the time: a step of twice the length is twice as far
 * off.
 */
#include "learner.h"

#include <math.h>
#include <string.h>

static const double CONTRADICTION = 1.25;  /* a ratio of times that noise does not explain */
static const double DRIFT = 1.03;          /* the same of medians over full windows */
static const double SLOPE_FLOOR = 0.05;    /* of the time per unit of work, at the newest point */
static const double REFUTED = 5;           /* standard errors that a shape is off */
static const double UNLIKE = 0.01;         /* by which two plans differ beside noise */
static const double AGEING = 0.5;          /* of a point's weight for each newer plan */
static const double USUAL_NOISE = 0.03;    /* of a step, before quartiles of enough steps tell */
static const double QUARTILES = 1.349;     /* apart, in standard deviations of a normal law */
static const double MEDIAN_ERROR = 1.2533; /* of a median, in standard errors of a mean */

static const double SURE_S = 2; /* that a speed has lasted by which it is believed to go on */
static const double SURE_CALM_S = 1.5; /* the same, behind one that has lasted for long */
static const double WORTH_S = 6; /* that speeds last where it pays to follow them: a plan comes some
                                  * three seconds behind a change, and does harm as long behind the
                                  * next */

enum {
    USUAL_POINTS = 4, /* that the usual noise stands for */
    WORTH_STEPS = 18, /* as WORTH_S, where steps are long */
    FICKLE = 2,       /* speeds that have ended, by which it is known how long they last */
    CALM = 2,         /* times that, after which one speed is taken to last */
    CONTRADICTING_POINTS = 10,
    MIXED_POINTS = 16, /* that a device's steps, if still of two speeds, are taken as they are */
};

void learner_init(struct learner *l, const struct time_model *first, enum time_source source)
{
    *l = (struct learner){
        .first = *first, .source = source, .rest = first->fixed_s / first->sample_s, .per_sample = 1
    };
}

/* ---- points ---- */

static const struct learner_point *newest(const struct learner *l)
{
    return &l->point[l->n - 1];
}

static double smaller(double x, double y)
{
    return x < y ? x : y;
}

static double weight(const struct learner *l, int i)
{
    return smaller((double)l->point[i].points, STEP_WINDOW_MAX) * pow(AGEING, l->n - 1 - i);
}

/* Seconds for so much work by the present model. */
static double model_s(const struct learner *l, double work)
{
    double rest = l->rest * l->per_sample;

    return newest(l)->own_s * (rest + work) / (rest + newest(l)->work);
}

/* ---- noise ---- */

/* Of one step, relative: from the quartiles of all points, and the usual noise beside them. */
static double noise(const struct learner *l)
{
    double sum = USUAL_POINTS * USUAL_NOISE * USUAL_NOISE, steps = USUAL_POINTS;

    for (int i = 0; i < l->n; i++) {
        double n = smaller((double)l->point[i].points, STEP_WINDOW_MAX);

        sum += n * l->point[i].noise * l->point[i].noise;
        steps += n;
    }
    return sqrt(sum / steps);
}

/* Of a median of so many steps. */
static double error_of(double noise, int64_t steps)
{
    return MEDIAN_ERROR * noise / sqrt(smaller((double)steps, STEP_WINDOW_MAX));
}

/* Of the ratio of two points' times. */
static double error_between(const struct learner *l, const struct learner_point *a,
                            const struct learner_point *b)
{
    double one = noise(l), x = error_of(one, a->points), y = error_of(one, b->points);

    return sqrt(x * x + y * y + UNLIKE * UNLIKE);
}

/* ---- points of before ---- */

static void drop(struct learner *l, int i)
{
    memmove(&l->point[i], &l->point[i + 1], (size_t)(l->n - 1 - i) * sizeof *l->point);
    l->n--;
}

/* The oldest but for the smallest and the largest, which tell the constant. */
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

/* Move the first n points to another speed. */
static void scale(struct learner *l, int n, double ratio)
{
    for (int i = 0; i < n; i++) {
        l->point[i].own_s *= ratio;
        l->point[i].first_s *= ratio;
        l->point[i].scaled = true;
    }
}

/* The ratio of the smallest work to the largest; scaled: of all points, else of those that were
 * measured at the present speed.
 */
static double span(const struct learner *l, bool scaled)
{
    double low = newest(l)->work, high = low;

    for (int i = 0; i < l->n; i++)
        if (scaled || !l->point[i].scaled) {
            low = smaller(low, l->point[i].work);
            high = fmax(high, l->point[i].work);
        }
    return high / low;
}

static void drop_scaled(struct learner *l)
{
    for (int i = l->n; i-- > 0;)
        if (l->point[i].scaled)
            drop(l, i);
}

/* ---- the fit ---- */

/* Sums over the points of time t for work x, as parts of the newest's: u = 1 / t, v = x / t. */
struct sums {
    double uu, uv, vv, u, v;
};

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

/* Least squares of a u + c v = 1 with c at its floor at least, and a >= 0.  Returns a / c. */
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

/* Whether the newest point and one other contradict the shape as noise cannot. */
static bool is_refuted(const struct learner *l)
{
    for (int i = 0; i < l->n - 1; i++) {
        const struct learner_point *p = &l->point[i];
        double apart = fmax(p->work, newest(l)->work) / smaller(p->work, newest(l)->work);

        if (apart >= LEARNER_LEAST_SPAN &&
            fabs(model_s(l, p->work) / p->own_s - 1) > REFUTED * error_between(l, p, newest(l)))
            return true;
    }
    return false;
}

static void refit(struct learner *l)
{
    struct sums s;
    double rest;

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

static bool is_between(double x, double low, double high)
{
    return x >= low && x <= high;
}

/* Ranges wide enough for any device, and narrow enough that no product of theirs overflows. */
static bool makes_sense(const struct step_figures *f)
{
    return f->points >= STEP_WINDOW_CHANGE && f->count > 0 && is_between(f->work, 1e-9, 1e18) &&
           is_between((double)f->count, 1, 1e15) && is_between(f->own.median_s, 1e-9, 1e9) &&
           is_between(f->own.low_s, 0, f->own.median_s) &&
           is_between(f->own.high_s, f->own.median_s, 1e9) && is_between(f->input.median_s, 0, 1e9);
}

/* Quartiles of few values lie too near each other; the correction is that of a normal law. */
static double noise_of(const struct step_figures *f)
{
    double n = smaller((double)f->points, STEP_WINDOW_MAX);

    return (f->own.high_s - f->own.low_s) / QUARTILES / f->own.median_s / (1 - 1.1 / n);
}

static struct learner_point point_of(const struct step_figures *f)
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

/* The same window, further on.  A speed that drifts, too slowly for a window to begin again, takes
 * the other points with it; else a constant would be read from it.
 */
static void replace(struct learner *l, struct learner_point p)
{
    struct learner_point *old = &l->point[l->n - 1];

    if (old->first_s > 0) {
        double drift = p.own_s / old->first_s;

        p.first_s = old->first_s;
        if (drift > DRIFT || drift < 1 / DRIFT) {
            scale(l, l->n - 1, drift);
            p.first_s = p.own_s;
        }
    }
    *old = p;
}

/* The newest point beside the one before: under any shape time grows with work, and less than in
 * proportion.  What neither that nor noise explains is a change of speed that fell together with
 * the plan's; the points of before follow.  Returns whether it is one.
 */
static bool follow_speed(struct learner *l)
{
    const struct learner_point *p = newest(l), *before;
    double steep, off, ratio;

    if (l->n < 2)
        return false;
    before = &l->point[l->n - 2];
    steep = before->own_s * p->work / before->work;
    off = 1 + smaller(REFUTED * error_between(l, before, p), CONTRADICTION - 1);
    if (p->own_s <= off * fmax(before->own_s, steep) &&
        p->own_s * off >= smaller(before->own_s, steep))
        return false;
    ratio = before->own_s / model_s(l, before->work);
    scale(l, l->n - 1, 1 / ratio);
    return true;
}

/* Returns whether the window has begun again, as it does when the speed changes. */
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

/* Not all of its steps were seen where they are short. */
static double window_s(const struct step_figures *f)
{
    return fmax((double)f->points * STEP_POINT_S,
                (double)f->steps * fmax(f->total.median_s, f->own.median_s));
}

/* Another speed has ended the one before; a plan ends none, though it begins a window. */
static void watch_speeds(struct learner *l, const struct step_figures *f)
{
    struct learner_speeds *s = &l->speeds;

    if (f->plan != s->plan)
        s->before_s = s->lasted_s;
    else if (f->since > s->since) {
        s->life_s = s->ended > 0 ? (s->life_s + s->lasted_s) / 2 : s->lasted_s;
        s->ended++;
        s->before_s = 0;
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

/* ---- what is believed ---- */

/* Whether the newest speed has ended one that had lasted for long. */
static bool follows_calm(const struct learner *l)
{
    return l->speeds.ended == 1 && l->speeds.life_s > CALM * l->speeds.worth_s;
}

/* A window that has begun again, of which it is open whether the speed has changed or steps were
 * held up: the three behind such ones begin another window, or their quartiles tell of two speeds;
 * or whether somebody else computes on the same core for a moment.
 */
static bool is_hasty(const struct learner *l, const struct step_figures *f)
{
    double low = f->own.median_s / STEP_WINDOW_RATIO, high = f->own.median_s * STEP_WINDOW_RATIO;

    if (l->n == 0 || f->plan != newest(l)->plan || f->since <= newest(l)->since)
        return false;
    return f->points < STEP_WINDOW_SURE || window_s(f) < (follows_calm(l) ? SURE_CALM_S : SURE_S) ||
           (f->points < MIXED_POINTS && (f->own.low_s < low || f->own.high_s > high));
}

/* Set the first model beside the first window, once, when that holds steps enough; again: it is
 * another one.
 */
static void compare_first(struct learner *l, const struct step_figures *f, bool again)
{
    double ratio = f->own.median_s / time_model_s(&l->first, f->count);
    bool over = l->compared || again || l->n > 1;

    l->compared = over || f->points >= CONTRADICTING_POINTS;
    if (over || !l->compared || l->source < TIME_GIVEN)
        return;
    if (ratio > CONTRADICTION || ratio < 1 / CONTRADICTION)
        l->contradicted = ratio;
}

static bool is_late(const struct learner *l, const struct step_figures *f)
{
    return l->n > 0 && (f->plan < newest(l)->plan ||
                        (f->plan == newest(l)->plan && f->since < newest(l)->since));
}

bool learner_take(struct learner *l, const struct step_figures *f)
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

/* ---- what is known ---- */

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

bool learner_is_fickle(const struct learner *l)
{
    return l->n > 0 && l->speeds.ended >= FICKLE && l->speeds.life_s < l->speeds.worth_s;
}

bool learner_is_unsure(const struct learner *l)
{
    return l->n > 0 && l->speeds.plan == newest(l)->plan && l->speeds.since != newest(l)->since;
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

int64_t learner_largest(const struct learner *l)
{
    return l->largest;
}

double learner_input(const struct learner *l)
{
    return l->n > 0 ? smaller(newest(l)->input_s / newest(l)->own_s, 1) : 0;
}

double learner_contradicted(const struct learner *l)
{
    return l->contradicted;
}
