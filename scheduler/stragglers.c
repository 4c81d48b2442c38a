/* SPDX-License-Identifier: Apache-2.0 */
/* stragglers.c - follows each worker's speed from window to window, and reports who became slow */
#include "stragglers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const double CHANGE = STEP_WINDOW_RATIO; /* change of speed that batches do not explain */
static const double LASTS_S = 1;                /* how long it must last to be reported */
static const double READ_S = 5;                 /* longest wait for readings of the machine */
static const double EXPLAINS = 0.5;    /* fraction of the extra time that a cause must explain */
static const double QUARTILES = 1.349; /* quartile distance, in standard deviations (normal law) */
static const double MEDIAN_ERROR = 1.2533; /* error of a median, relative to that of a mean */
static const double SURE = 2;              /* standard errors above the threshold */

static const double STALLS_S = 0.003;  /* shorter waits come from the scheduler of the processor */
static const double MOST_TIMES = 1000; /* factor assumed for a worker that only waits */

static const double TELLS = 0.1;   /* excess over the usual value that is reported */
static const double FOLLOWS = 0.1; /* weight of the newest reading in the usual value */

enum {
    LASTS_STEPS = 5,
    READINGS = 2,      /* readings of lost core time needed: the first may begin too early */
    LEARNT_STEPS = 10, /* steps that show whether a learnt time holds, or data are the bottleneck */
    SETTLED_STEPS = 20, /* steps of a window that can be the usual one */
};

/* Measurements of one window; plan 0: there is none. */
struct window {
    int64_t plan, since, steps, count;
    double work, own_s, input_s, queued_s, error;
};

struct worker {
    struct time_model learnt;
    struct window now, anchor, usual; /* anchor: the window that `now` is compared with */
    double times, anchor_times;       /* own time relative to the usual one: now, at the anchor */
    int64_t usual_count;              /* samples of a step before it became slow */
    bool by_learnt;                   /* times is relative to what earlier jobs have learnt */
    bool bound;     /* by its data: times is relative to a step with the data at hand */
    int64_t stalls; /* since this step every one waited long for data; -1: none does */
    int64_t since;  /* step since which it is slow, or no longer */
    struct core_loss lost, usually_lost;
    int readings;     /* readings of lost core time since it is slow */
    double waits_s;   /* waits of a recent step, mean; NAN: unknown */
    double noticed_s; /* when stragglers_next saw a state that is not reported yet; NAN: none */
    bool slow, told;  /* it is slow; it was reported as slow */
};

struct stragglers {
    struct worker *worker; /* [n] */
    double *sorted;        /* [n] */
    int n;
    struct worker all;        /* all workers together; only noticed_s, told and bound are used */
    struct slow_links *links; /* NULL: links are not watched */
};

int stragglers_new(const struct time_model *learnt, int n, struct stragglers **ret,
                   struct eddis_error *err)
{
    static const struct core_loss unknown = { { NAN, NAN, NAN, NAN, NAN }, NAN };
    struct stragglers *s;

    if (n < 1)
        return eddis_fail(err, -EINVAL, "no stragglers of %d workers", n);
    s = calloc(1, sizeof *s);
    if (s) {
        s->n = n;
        s->worker = calloc((size_t)n, sizeof *s->worker);
        s->sorted = calloc((size_t)n, sizeof *s->sorted);
    }
    if (!s || !s->worker || !s->sorted) {
        stragglers_free(s);
        return eddis_fail(err, -ENOMEM, "no memory to watch %d workers", n);
    }
    for (int i = 0; i < n; i++)
        s->worker[i] = (struct worker){ .learnt = learnt[i],
                                        .times = 1,
                                        .stalls = -1,
                                        .lost = unknown,
                                        .usually_lost = unknown,
                                        .waits_s = NAN,
                                        .noticed_s = NAN };
    s->all = (struct worker){ .times = 1, .lost = unknown, .noticed_s = NAN };
    *ret = s;
    return 0;
}

void stragglers_free(struct stragglers *s)
{
    if (!s)
        return;
    slow_links_free(s->links);
    free(s->worker);
    free(s->sorted);
    free(s);
}

/* ---- one worker's speed ---- */

/* Return the window of a report. queued_s: seconds of a step in the run queue, NAN: unknown. */
static struct window window_of(const struct step_metrics *f, double queued_s)
{
    double n = fmin((double)f->points, STEP_WINDOW_MAX);
    double noise = (f->own.high_s - f->own.low_s) / QUARTILES / f->own.median_s;

    return (struct window){ .plan = f->plan,
                            .since = f->since,
                            .steps = f->steps,
                            .count = f->count,
                            .work = f->work,
                            .own_s = f->own.median_s,
                            .input_s = f->input.median_s,
                            .queued_s = queued_s,
                            .error = MEDIAN_ERROR * noise / sqrt(n) };
}

/* Return the time of b's work relative to a's, beyond what the batches explain. times: a's own
 * factor over the usual time; m: the worker's model.
 */
static double ratio(const struct window *a, const struct window *b, double times,
                    const struct time_model *m)
{
    double more = b->work / a->work, low = a->own_s * fmin(1, more);
    double high = a->own_s * fmax(1, more), expected;

    if (a->plan == b->plan)
        return b->own_s / a->own_s / more;
    expected = a->own_s * time_model_s(m, b->count) / time_model_s(m, a->count);
    expected = fmin(fmax(expected, low), high);
    if (b->own_s > high * CHANGE || b->own_s < low / CHANGE)
        return b->own_s / expected;
    /* Either the speed is unchanged, or the worker is no longer slow: take the nearer one. */
    if (times > STRAGGLER_OVER &&
        fabs(log(b->own_s * times / expected)) < fabs(log(b->own_s / expected)))
        return 1 / times;
    return 1;
}

/* Compare what follows with the present window. A speed that has been better for long becomes the
 * usual one.
 */
static void drop_anchor(struct worker *w)
{
    w->anchor_times = w->now.steps >= SETTLED_STEPS ? fmax(w->times, 1) : w->times;
    w->anchor = w->now;
}

/* Take the first window as the usual one, or compare it with what earlier jobs have learnt. */
static void take_first(struct worker *w)
{
    double learnt_s = w->learnt.sample_s > 0 ? time_model_s(&w->learnt, w->now.count) : 0;

    w->times = 1;
    w->anchor = w->now;
    w->anchor_times = 1;
    w->by_learnt =
        learnt_s > 0 && w->now.steps >= LEARNT_STEPS && w->now.own_s / learnt_s > STRAGGLER_TIMES;
    if (w->by_learnt)
        w->anchor_times = w->times = w->now.own_s / learnt_s;
}

/* Check whether a window is a worker's first one, or is also its anchor and had few steps then. */
static bool is_first(const struct worker *w, const struct window *now)
{
    return w->now.plan == 0 || (w->anchor.plan == now->plan && w->anchor.since == now->since &&
                                w->anchor.steps < SETTLED_STEPS);
}

/* Return the duration of a step relative to one with its data at hand. */
static double stall(const struct window *w)
{
    return 1 / fmax(1 - w->input_s / w->own_s, 1 / MOST_TIMES);
}

/* Detect a data path that was slow from the beginning, which the worker's own past cannot show. Its
 * steps count across changes of plan, since the plan follows the time of the data.
 */
static void note_input(struct worker *w)
{
    double times = stall(&w->now);

    if (!(w->now.input_s > STALLS_S && times > (w->bound ? STRAGGLER_OVER : STRAGGLER_TIMES)))
        w->stalls = -1;
    else if (w->stalls < 0)
        w->stalls = w->now.since;
    if (!w->bound && !w->slow && !w->by_learnt && w->stalls >= 0 &&
        w->now.since + w->now.steps - w->stalls >= LEARNT_STEPS)
        w->bound = true;
    if (!w->bound)
        return;
    w->anchor = w->now;
    w->anchor_times = w->times = w->stalls < 0 ? 1 : times;
}

/* Update whether a worker is slow, since which step, and what is usual. */
static void note_speed(struct worker *w)
{
    double err = w->bound ? 0 : hypot(w->now.error, w->usual.plan ? w->usual.error : 0);
    bool slow = w->slow ? w->times > STRAGGLER_OVER : w->times * (1 - SURE * err) > STRAGGLER_TIMES;

    if (slow != w->slow)
        w->since = w->now.steps <= SETTLED_STEPS ? w->now.since : w->now.since + w->now.steps - 1;
    if (slow && !w->slow && w->bound)
        w->since = w->stalls;
    w->slow = slow;
    if (!slow) {
        w->usual = w->now;
        w->by_learnt = w->bound = false;
    }
    if (!slow && !w->told && (w->stalls < 0 || !w->usual_count))
        w->usual_count = w->now.count;
}

void stragglers_take(struct stragglers *s, int rank, const struct step_metrics *f, double queued_s,
                     const struct time_model *model)
{
    struct window now;
    struct worker *w;

    if (rank < 0 || rank >= s->n || !step_metrics_are_valid(f) || !(f->own.median_s > 0))
        return;
    w = &s->worker[rank];
    now = window_of(f, queued_s);
    if (now.plan < w->now.plan || (now.plan == w->now.plan && now.since < w->now.since))
        return;
    if (is_first(w, &now)) {
        w->now = now;
        take_first(w);
    } else {
        if (now.plan != w->now.plan || now.since != w->now.since)
            drop_anchor(w);
        w->now = now;
        w->times = w->anchor_times * ratio(&w->anchor, &w->now, w->anchor_times, model);
        if (w->anchor.plan != now.plan && now.steps >= SETTLED_STEPS)
            drop_anchor(w);
    }
    note_input(w);
    note_speed(w);
}

/* Check whether two readings of lost core time are equal. */
static bool is_same(const struct core_loss *a, const struct core_loss *b)
{
    for (int i = 0; i < CORE_LOSSES; i++)
        if (a->part[i] != b->part[i] && !(isnan(a->part[i]) && isnan(b->part[i])))
            return false;
    return true;
}

/* Add a reading of a worker's lost core time. It changes the usual value only while the worker is
 * not slow. A reading that is taken just before a worker is found slow has little weight in it.
 */
void stragglers_take_loss(struct stragglers *s, int rank, enum device_kind on,
                          const struct core_loss *l)
{
    struct worker *w;

    if (rank < 0 || rank >= s->n || on == DEVICE_CUDA)
        return;
    w = &s->worker[rank];
    if (!w->slow)
        w->readings = 0;
    else if (!is_same(&w->lost, l))
        w->readings++;
    w->lost = *l;
    for (int i = 0; i < CORE_LOSSES && !w->slow; i++) {
        double now = l->part[i], *usual = &w->usually_lost.part[i];

        if (isfinite(now))
            *usual = isfinite(*usual) ? *usual + FOLLOWS * (now - *usual) : now;
    }
}

int stragglers_watch_links(struct stragglers *s, const int *node, int n_nodes,
                           struct eddis_error *err)
{
    slow_links_free(s->links);
    s->links = NULL;
    return slow_links_new(node, s->n, n_nodes, &s->links, err);
}

void stragglers_take_step(struct stragglers *s, int rank, const struct straggler_step *step)
{
    if (rank < 0 || rank >= s->n)
        return;
    s->worker[rank].waits_s = step->waits_s;
    if (s->links)
        slow_links_take(s->links, rank, &step->link, step->peer, step->step_s, step->number);
}

/* ---- causes ---- */

/* Return the fraction of the extra step time that a wait explains; of the whole time, if nothing is
 * known of before. 0 to 1.
 */
static double part_of(const struct worker *w, double wait_s, double usual_s)
{
    double extra = w->now.own_s * (1 - 1 / w->times), part = wait_s / w->now.own_s;

    if (w->usual.plan)
        part = (wait_s - usual_s * w->now.work / w->usual.work) / extra;
    return isfinite(part) ? fmin(fmax(part, 0), 1) : 0;
}

/* Return the fraction of core time lost beyond the usual loss; 0: too little to report. Usual
 * losses do not explain that a worker has become slower.
 */
static double newly_lost(const struct worker *w, enum core_loss_kind kind)
{
    double now = w->lost.part[kind], usual = w->usually_lost.part[kind];
    double more = now - (isfinite(usual) && !w->by_learnt ? usual : 0);

    return more >= TELLS ? more : 0;
}

/* Return the fraction of the extra step time that lost core time explains. */
static double part_lost(const struct worker *w)
{
    double most = 0;

    for (int i = 0; i < CORE_LOSSES; i++)
        most = fmax(most, newly_lost(w, i));
    return most > 0 ? fmin(most / (1 - 1 / w->times), 1) : 0;
}

/* Return the fraction of the extra step time that the wait for data explains. */
static double part_input(const struct worker *w)
{
    return w->bound ? 1 : part_of(w, w->now.input_s, w->usual.input_s);
}

/* Check whether the wait for data explains the extra time. */
static bool waits_for_data(const struct worker *w)
{
    return part_input(w) >= EXPLAINS;
}

/* Fill ret->cause and ret->confidence. */
static void find_cause(const struct worker *w, struct straggler *ret)
{
    double input = part_input(w);
    double processor = fmax(part_of(w, w->now.queued_s, w->usual.queued_s), part_lost(w));

    ret->cause = STRAGGLER_COMPUTE;
    ret->confidence = 1 - fmin(input + processor, 1);
    if (input >= EXPLAINS && input >= processor) {
        ret->cause = STRAGGLER_INPUT;
        ret->confidence = input;
    } else if (processor >= EXPLAINS) {
        ret->cause = STRAGGLER_PROCESSOR;
        ret->confidence = processor;
    }
}

/* Fill ret->lost with the core time that a slow worker loses beyond the usual, unless it waits for
 * data.
 */
static void find_loss(const struct worker *w, struct straggler *ret)
{
    for (int i = 0; i < CORE_LOSSES && w->slow && ret->cause != STRAGGLER_INPUT; i++)
        if (newly_lost(w, i) > 0)
            ret->lost.part[i] = w->lost.part[i];
    ret->lost.celsius = w->lost.celsius;
}

/* Order doubles, for qsort. */
static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Return the seconds of a step that most others wait for this worker, at most its extra time; 0:
 * little or unknown.
 */
static double waited_for(struct stragglers *s, int rank)
{
    const struct worker *w = &s->worker[rank];
    double most_s = w->now.own_s * (1 - 1 / w->times), waited_s;
    int n = 0;

    for (int i = 0; i < s->n; i++)
        if (i != rank && !s->worker[i].slow && isfinite(s->worker[i].waits_s))
            s->sorted[n++] = s->worker[i].waits_s;
    if (n == 0)
        return 0;
    qsort(s->sorted, (size_t)n, sizeof *s->sorted, by_size);
    waited_s = fmin(s->sorted[(n - 1) / 2], most_s);
    return waited_s > TELLS * w->now.own_s ? waited_s : 0;
}

/* Describe a worker in *ret. */
static void tell(struct stragglers *s, int rank, struct straggler *ret)
{
    const struct worker *w = &s->worker[rank];

    *ret = (struct straggler){ .rank = rank,
                               .over = !w->slow,
                               .learnt = w->by_learnt,
                               .bound = w->bound,
                               .since = w->since,
                               .times = w->times,
                               .own_s = w->now.own_s,
                               .usual_s = w->now.own_s / w->times,
                               .usual_count = w->usual_count,
                               .input_s = w->now.input_s,
                               .queued_part = fmin(w->now.queued_s / w->now.own_s, 1),
                               .waited_s = w->slow ? waited_for(s, rank) : 0 };
    if (isnan(w->now.queued_s))
        ret->queued_part = NAN;
    if (w->bound || w->now.input_s > EXPLAINS * w->now.own_s)
        ret->data_per_s = (double)w->now.count / w->now.own_s;
    find_cause(w, ret);
    find_loss(w, ret);
}

/* ---- which worker ---- */

/* Return the lower median of all workers' slowdown, at least 1; more than half are at least as
 * slow. A job of one worker has no common slowdown.
 */
static double common_times(struct stragglers *s)
{
    int n = 0;

    if (s->n == 1)
        return 1;
    for (int i = 0; i < s->n; i++)
        if (s->worker[i].now.plan)
            s->sorted[n++] = s->worker[i].times;
    if (n == 0)
        return 1;
    qsort(s->sorted, (size_t)n, sizeof *s->sorted, by_size);
    return fmax(s->sorted[(n - 1) / 2], 1);
}

/* Check whether to wait for readings of the machine that explain why a worker is slow. They come
 * less often than steps.
 */
static bool is_to_be_read(const struct worker *w, double now_s)
{
    bool known = false;

    for (int i = 0; i < CORE_LOSSES; i++)
        known = known || isfinite(w->lost.part[i]);
    return known && w->readings < READINGS && now_s - w->noticed_s < READ_S && !waits_for_data(w);
}

/* Check whether a worker's state has differed from the reported one for long enough, and if so
 * count it as reported.
 */
static bool is_time(struct worker *w, bool slow, double now_s)
{
    if (slow == w->told) {
        w->noticed_s = NAN;
        return false;
    }
    if (isnan(w->noticed_s))
        w->noticed_s = now_s;
    if (now_s - w->noticed_s < LASTS_S || w->now.since + w->now.steps - w->since < LASTS_STEPS ||
        (slow && is_to_be_read(w, now_s)))
        return false;
    w->told = slow;
    w->noticed_s = NAN;
    return true;
}

/* Check whether most of the slow workers wait for their data. */
static bool most_are_bound(const struct stragglers *s)
{
    int slow = 0, bound = 0;

    for (int i = 0; i < s->n; i++) {
        slow += s->worker[i].slow;
        bound += s->worker[i].slow && s->worker[i].bound;
    }
    return 2 * bound > slow;
}

/* Fill ret->lost with the lower median of what the slow workers lose, for each kind. */
static void find_common_loss(struct stragglers *s, struct straggler *ret)
{
    for (int kind = 0; kind < CORE_LOSSES; kind++) {
        int n = 0;

        for (int i = 0; i < s->n; i++)
            if (s->worker[i].slow)
                s->sorted[n++] =
                    newly_lost(&s->worker[i], kind) > 0 ? s->worker[i].lost.part[kind] : 0;
        qsort(s->sorted, (size_t)n, sizeof *s->sorted, by_size);
        ret->lost.part[kind] = n ? s->sorted[(n - 1) / 2] : 0;
    }
}

/* Report that most workers have become slow together, or are no longer. Return whether there is
 * news.
 */
static bool next_of_all(struct stragglers *s, double times, double now_s, struct straggler *ret)
{
    bool slow = times > (s->all.told ? STRAGGLER_OVER : STRAGGLER_TIMES);

    s->all.now = (struct window){ .steps = LASTS_STEPS, .own_s = 1 };
    if (!is_time(&s->all, slow, now_s))
        return false;
    if (slow)
        s->all.bound = most_are_bound(s);
    *ret = (struct straggler){ .rank = -1, .over = !slow, .bound = s->all.bound, .times = times };
    if (slow && !s->all.bound)
        find_common_loss(s, ret);
    return true;
}

/* Report a slow link. Return whether there is news. A worker that is slow by itself is reported as
 * such instead. If most workers are slow, busy machines also slow down what they send.
 */
static bool next_link(struct stragglers *s, double now_s, struct straggler *ret)
{
    struct slow_link l;

    if (!s->links || !slow_links_next(s->links, now_s, &l))
        return false;
    if (l.over && s->worker[l.rank].told)
        return false;
    if (!l.over && (s->worker[l.rank].slow || s->all.told || !isnan(s->all.noticed_s))) {
        slow_links_take_back(s->links);
        return false;
    }
    *ret = (struct straggler){ .rank = l.rank,
                               .over = l.over,
                               .since = l.since,
                               .times = l.times,
                               .cause = STRAGGLER_NETWORK,
                               .confidence = l.confidence,
                               .queued_part = NAN,
                               .link = l };
    return true;
}

bool stragglers_next(struct stragglers *s, double now_s, struct straggler *ret)
{
    double common = common_times(s);

    for (int i = 0; i < s->n; i++) {
        struct worker *w = &s->worker[i];
        bool slow = w->slow && (w->told || w->times > common * STRAGGLER_TIMES);

        if (is_time(w, slow, now_s)) {
            tell(s, i, ret);
            return true;
        }
    }
    return next_of_all(s, common, now_s, ret) || next_link(s, now_s, ret);
}
