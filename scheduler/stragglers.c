/* SPDX-License-Identifier: Apache-2.0 */
/* stragglers.c - follows each worker's speed from window to window, and reports who became slow */
#include "stragglers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const double CHANGE = STEP_WINDOW_RATIO; /* change of speed that batches do not explain */
static const double LASTS_S = 1;                /* seconds that a change must last to be reported */
static const double READ_S = 5;                 /* longest wait for readings of the machine */
static const double EXPLAINS = 0.5;    /* fraction of the extra time that a cause must explain */
static const double QUARTILES = 1.349; /* quartile distance, in standard deviations (normal law) */
static const double MEDIAN_ERROR = 1.2533; /* error of a median, relative to that of a mean */
static const double SURE = 2; /* standard errors by which a slowdown must exceed the threshold */

/* Shortest wait for data that counts; shorter waits come from the processor's scheduler. */
static const double STALLS_S = 0.003;
static const double MOST_TIMES = 1000; /* factor assumed for a worker that only waits */

/* Least excess over the usual value that is reported, as a fraction of the time. */
static const double TELLS = 0.1;
static const double FOLLOWS = 0.1; /* weight of the newest reading in the usual value */

enum {
    LASTS_STEPS = 5,   /* steps that a change must last to be reported */
    READINGS = 2,      /* readings of lost core time needed: the first may begin too early */
    LEARNT_STEPS = 10, /* steps that show whether a learnt time holds, or data are the bottleneck */
    SETTLED_STEPS = 20, /* steps of a window that can be the usual one */
};

/* Measurements of one window; plan 0: there is none. */
struct window {
    int64_t plan, since, steps, count;
    /* Of a step: work, own time, wait for input, time in the run queue (NAN: unknown); relative
     * standard error of own_s.
     */
    double work, own_s, input_s, queued_s, error;
};

/* A worker's windows, and what was found and reported about them. */
struct worker {
    struct time_model learnt;
    /* Newest window; window that `now` is compared with; last window in which the worker did not
     * seem slow.
     */
    struct window now, anchor, usual;
    double usual_error; /* error of the last window in which the worker was not surely slow */
    /* Own time relative to the usual own time: in `now`, and in `anchor`. */
    double times, anchor_times;
    int64_t usual_count; /* samples of a step before the worker became slow */
    bool by_learnt;      /* `times` is relative to the time that earlier jobs have learnt */
    /* Its data path is the bottleneck: `times` is relative to a step with the data at hand. */
    bool bound;
    /* First of the latest steps that all waited long for data; -1: the newest did not. */
    int64_t stalls;
    int64_t since;                       /* first step of the present state, slow or not slow */
    struct core_loss lost, usually_lost; /* newest reading of lost core time, and usual values */
    struct gpu_state gpu;                /* newest reading of its GPU; reading 0: there is none */
    double usually_mhz;                  /* usual clock of its GPU; NAN: unknown */
    int readings;   /* different readings of lost core time, or its GPU, since the worker is slow */
    double waits_s; /* mean wait in a recent step, beyond own time; NAN: unknown */
    /* Time at which stragglers_next noticed a state not yet reported; NAN: none. */
    double noticed_s;
    bool slow, reported; /* the worker is slow; the last report says that it is slow */
};

struct stragglers {
    struct worker *worker; /* [n] */
    double *sorted;        /* [n] scratch */
    int n;
    /* All workers together; only bound and what is_time uses are meaningful. */
    struct worker all;
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
                                        .usually_mhz = NAN,
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

/* Return a window with the measurements of a report. queued_s: seconds of a step in the run queue,
 * NAN: unknown.
 */
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

/* Return the own time of window b relative to that of a, divided by the change that the work
 * explains. times: slowdown in window a; m: the worker's model.
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

/* Make the present window the anchor, with which later windows are compared. If the window is long
 * and faster than usual, its speed becomes the usual one.
 */
static void drop_anchor(struct worker *w)
{
    w->anchor_times = w->now.steps >= SETTLED_STEPS ? fmax(w->times, 1) : w->times;
    w->anchor = w->now;
}

/* Make the worker's first window its anchor, with slowdown 1. If the window is long enough and much
 * slower than what earlier jobs have learnt, set the slowdown relative to that.
 */
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

/* Check whether this is a worker's first report, or a later report of its anchor window, which was
 * still short when it became the anchor.
 */
static bool is_first(const struct worker *w, const struct window *now)
{
    return w->now.plan == 0 || (w->anchor.plan == now->plan && w->anchor.since == now->since &&
                                w->anchor.steps < SETTLED_STEPS);
}

/* Return by which factor the wait for data lengthens a step. */
static double stall(const struct window *w)
{
    return 1 / fmax(1 - w->input_s / w->own_s, 1 / MOST_TIMES);
}

/* Update w->stalls, and set w->bound if the data path was slow from the beginning, which the
 * worker's own past cannot show. While w->bound is set, the slowdown is relative to a step with the
 * data at hand. Steps count across changes of plan, since the plan follows the time of the data.
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

/* Update the usual window and count of a worker that is not surely slow. A window that is too noisy
 * to be sure may be the first of a slow worker, and is not the usual one.
 */
static void note_usual(struct worker *w)
{
    w->usual_error = w->now.error;
    w->by_learnt = w->bound = false;
    if (w->usual.plan && w->times > STRAGGLER_TIMES)
        return;
    w->usual = w->now;
    if (!w->reported && (w->stalls < 0 || !w->usual_count))
        w->usual_count = w->now.count;
}

/* Update whether the worker is slow, since which step, and the usual window and count. */
static void note_speed(struct worker *w)
{
    double err = w->bound ? 0 : hypot(w->now.error, w->usual_error);
    bool slow = w->slow ? w->times > STRAGGLER_OVER : w->times * (1 - SURE * err) > STRAGGLER_TIMES;

    if (slow != w->slow)
        w->since = w->now.steps <= SETTLED_STEPS ? w->now.since : w->now.since + w->now.steps - 1;
    if (slow && !w->slow && w->bound)
        w->since = w->stalls;
    w->slow = slow;
    if (!slow)
        note_usual(w);
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

/* Check whether a reading shows a clock that a working GPU has usually. Heat and protections are no
 * usual state, while many GPUs always work at their power cap.
 */
static bool is_usual(const struct gpu_state *g)
{
    return g->reading && isfinite(g->clock_mhz) &&
           (g->slowed == GPU_SLOWED_NOT || g->slowed == GPU_SLOWED_POWER ||
            g->slowed == GPU_SLOWED_SET);
}

/* Add a reading of a worker's GPU. It changes the usual clock only while the worker is not slow. */
void stragglers_take_gpu(struct stragglers *s, int rank, const struct gpu_state *g)
{
    struct worker *w;

    if (rank < 0 || rank >= s->n)
        return;
    w = &s->worker[rank];
    if (!w->slow)
        w->readings = 0;
    else if (g->reading != w->gpu.reading)
        w->readings++;
    if (!w->slow && g->reading != w->gpu.reading && is_usual(g))
        w->usually_mhz = isfinite(w->usually_mhz)
                             ? w->usually_mhz + FOLLOWS * (g->clock_mhz - w->usually_mhz)
                             : g->clock_mhz;
    w->gpu = *g;
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

/* Return the fraction of the extra step time that an increase of a wait from usual_s to wait_s
 * explains, 0 to 1. If there is no usual window, return the wait as a fraction of the whole time.
 */
static double part_of(const struct worker *w, double wait_s, double usual_s)
{
    double extra = w->now.own_s * (1 - 1 / w->times), part = wait_s / w->now.own_s;

    if (w->usual.plan)
        part = (wait_s - usual_s * w->now.work / w->usual.work) / extra;
    return isfinite(part) ? fmin(fmax(part, 0), 1) : 0;
}

/* Return the fraction of core time that a worker loses now beyond its usual loss; 0: too little to
 * report. If the worker is compared with earlier jobs, the whole loss counts.
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

/* Check whether the wait for data explains the worker's extra time. */
static bool waits_for_data(const struct worker *w)
{
    return part_input(w) >= EXPLAINS;
}

/* Fill ret->cause and ret->confidence for worker w: the cause that explains most of its extra time.
 */
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

/* Fill ret->lost with the core time that worker w loses beyond the usual, if it is slow and does
 * not wait for data. ret->cause must be set.
 */
static void find_loss(const struct worker *w, struct straggler *ret)
{
    for (int i = 0; i < CORE_LOSSES && w->slow && ret->cause != STRAGGLER_INPUT; i++)
        if (newly_lost(w, i) > 0)
            ret->lost.part[i] = w->lost.part[i];
    ret->lost.celsius = w->lost.celsius;
}

/* Fill ret->gpu if the clock of worker w's GPU is lower than usual, for a reason that is known. A
 * worker that is compared with earlier jobs is compared with the highest clock.
 */
static void find_gpu(const struct worker *w, struct straggler *ret)
{
    const struct gpu_state *g = &w->gpu;
    double usual = isfinite(w->usually_mhz) && !w->by_learnt ? w->usually_mhz : g->clock_most_mhz;

    if (w->slow && ret->cause != STRAGGLER_INPUT && g->reading && g->slowed != GPU_SLOWED_NOT &&
        g->slowed != GPU_SLOWED_IDLE && 1 - g->clock_mhz / usual >= TELLS)
        ret->gpu = *g;
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

/* Fill *ret with the report that a worker is slow, or no longer slow. */
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
    find_gpu(w, ret);
}

/* ---- which worker ---- */

/* Return the lower median of all workers' slowdown, at least 1: more than half of the workers are
 * at least as slow. For a job of one worker return 1.
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

/* Check whether to wait before a slow worker is reported, because readings of its machine may
 * explain why it is slow. They come less often than steps.
 */
static bool is_to_be_read(const struct worker *w, double now_s)
{
    bool known = w->gpu.reading > 0;

    for (int i = 0; i < CORE_LOSSES; i++)
        known = known || isfinite(w->lost.part[i]);
    return known && w->readings < READINGS && now_s - w->noticed_s < READ_S && !waits_for_data(w);
}

/* Check whether the worker's state `slow` has differed from the reported one for long enough. If
 * so, record it as reported.
 */
static bool is_time(struct worker *w, bool slow, double now_s)
{
    if (slow == w->reported) {
        w->noticed_s = NAN;
        return false;
    }
    if (isnan(w->noticed_s))
        w->noticed_s = now_s;
    if (now_s - w->noticed_s < LASTS_S || w->now.since + w->now.steps - w->since < LASTS_STEPS ||
        (slow && is_to_be_read(w, now_s)))
        return false;
    w->reported = slow;
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

/* Fill ret->lost, for each kind, with the lower median of the core time that slow workers lose. */
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

/* Check whether there is news of all workers together: most have become slow, or most no longer
 * are. If so, fill *ret. times: common slowdown.
 */
static bool next_of_all(struct stragglers *s, double times, double now_s, struct straggler *ret)
{
    bool slow = times > (s->all.reported ? STRAGGLER_OVER : STRAGGLER_TIMES);

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

/* Check whether there is news of a slow link, and fill *ret. If the worker of that link is slow by
 * itself, or most workers are, the link is not reported: busy machines also slow down what they
 * send.
 */
static bool next_link(struct stragglers *s, double now_s, struct straggler *ret)
{
    struct slow_link l;

    if (!s->links || !slow_links_next(s->links, now_s, &l))
        return false;
    if (l.over && s->worker[l.rank].reported)
        return false;
    if (!l.over && (s->worker[l.rank].slow || s->all.reported || !isnan(s->all.noticed_s))) {
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
        bool slow = w->slow && (w->reported || w->times > common * STRAGGLER_TIMES);

        if (is_time(w, slow, now_s)) {
            tell(s, i, ret);
            return true;
        }
    }
    return next_of_all(s, common, now_s, ret) || next_link(s, now_s, ret);
}
