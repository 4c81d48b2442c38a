/* SPDX-License-Identifier: Apache-2.0 */
/* sim_plan.c - draws the slow-downs of a simulated job, and counts what its re-planning does */
#include "sim_plan.h"

#include "lib/base/cleanup.h"
#include "lib/base/random.h"
#include "replan_plan.h"
#include "sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Seconds between two looks at the simulated job: a plan takes force at most so often */
static const double LOOK_S = 0.1;

/* From this time on the work of the rest is foreseen, from the work so far. If it is wrong by less
 * than this factor, the work may be done; by less than the other one, a time that an error names is
 * possible.
 */
static const double FORESEEN_S = 5, MAY_BE = 1.1, SURELY = 1.5;

struct sim_disturbance sim_disturbance_usual(void)
{
    return (struct sim_disturbance){
        .jitter = 0.03, .every_s = 100, .times = 2, .least_s = 20, .most_s = 60
    };
}

/* A simulation that goes on */
struct course {
    const struct sim_plan *set;
    struct plan *plan; /* the workers of each group stand together */
    double scale;      /* seconds per unit of the plan's times */
    struct replan *replan;
    struct stragglers *stragglers;
    struct sim *sim;
    uint64_t seed; /* of the slow-downs */
    double next_s; /* when the next slow-down begins */
    int first;     /* all slow-downs before this one are over */
    int64_t version, period;
    struct sim_reached reached;
};

/* Free all that the simulation owns. */
static void course_fini(struct course *c)
{
    sim_free(c->sim);
    stragglers_free(c->stragglers);
    replan_free(c->replan);
    plan_free(c->plan);
    sim_reached_fini(&c->reached);
}

#define cleanup_course __attribute__((cleanup(course_fini)))

/* ---- the job ---- */

/* Order workers by group, then node, then rank. */
static int compare_places(const void *a, const void *b)
{
    const struct plan_worker *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Make the re-planning of the job. It begins with the times of workers that a real job begins with.
 */
static int open_policy(struct course *c, const struct planner_history *history,
                       struct eddis_error *err)
{
    const struct plan *p = c->plan;
    cleanup_free struct time_model *learnt = calloc((size_t)p->n_workers, sizeof *learnt);
    int rc;

    if (!learnt)
        return eddis_fail(err, -ENOMEM, "no memory to simulate %d workers", p->n_workers);
    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].time == TIME_LEARNT)
            learnt[i] = (struct time_model){ p->worker[i].fixed_s, p->worker[i].sample_s };
    rc = replan_plan(c->set->job, p, history, false, &c->replan, err);
    return rc < 0 ? rc : stragglers_new(learnt, p->n_workers, &c->stragglers, err);
}

/* Make the simulated workers and their job. */
static int open_sim(struct course *c, const struct planner_history *history,
                    struct eddis_error *err)
{
    const struct plan *p = c->plan;
    const struct modes_setup network = planner_network(p, history);
    cleanup_free struct sim_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    struct sim_setup s = { .worker = w,
                           .n = p->n_workers,
                           .seed = c->set->seed,
                           .algorithm = p->algorithm,
                           .period = p->options.period,
                           .epoch_steps = network.epoch_steps,
                           .overlap = network.overlap,
                           .latency_s = network.latency_s,
                           .jitter = c->set->disturbance.jitter,
                           .stragglers = c->stragglers };

    if (!w)
        return eddis_fail(err, -ENOMEM, "no memory to simulate %d workers", p->n_workers);
    modes_sending(&network, &s.sending);
    for (int i = 0; i < p->n_workers; i++)
        w[i] = (struct sim_worker){ .fixed_s = c->scale * p->worker[i].fixed_s,
                                    .sample_s = c->scale * p->worker[i].sample_s,
                                    .bytes_per_s = network.bytes_per_s,
                                    .node = p->worker[i].node,
                                    .group = p->worker[i].group,
                                    .batch = p->worker[i].batch };
    s.replan = c->replan;
    s.keeps_plan = c->set->job->batch.rebalance < 0;
    return sim_new(&s, &c->sim, err);
}

/* Open the simulation. */
static int open_course(struct course *c, struct eddis_error *err)
{
    const struct sim_plan *s = c->set;
    const struct planner_history only_samples = { .samples = s->history->samples,
                                                  .samples_in_epoch =
                                                      s->history->samples_in_epoch };
    const struct planner_history *history = s->plan->relative ? &only_samples : s->history;
    int rc;

    if (!(s->plan->predicted_samples_per_s > 0))
        return eddis_fail(err, -EINVAL, "the plan predicts no speed to simulate");
    c->plan = plan_copy(s->plan);
    if (!c->plan)
        return eddis_fail(err, -ENOMEM, "no memory to simulate the plan");
    qsort(c->plan->worker, (size_t)c->plan->n_workers, sizeof *c->plan->worker, compare_places);
    c->scale = !c->plan->relative ? 1
                                  : SIM_PLAN_STEP_S * c->plan->predicted_samples_per_s /
                                        (double)c->plan->global_batch;
    rc = open_policy(c, history, err);
    if (rc == 0)
        rc = open_sim(c, history, err);
    if (rc < 0)
        return rc;
    c->version = sim_version(c->sim);
    c->period = sim_period(c->sim);
    return 0;
}

/* ---- slow-downs ---- */

/* Set when the next slow-down begins. */
static void draw_next(struct course *c)
{
    double every_s = c->set->disturbance.every_s;

    c->next_s = every_s > 0 ? c->next_s - every_s * log(1 - random_unit(&c->seed)) : INFINITY;
}

/* Borrow the slow-down of a worker that goes on at this time; NULL: the worker is not slow. */
static struct sim_slow_down *slow_of(const struct course *c, int rank, double now_s)
{
    for (int i = c->first; i < c->reached.n_slow; i++)
        if (c->reached.slow[i].rank == rank && c->reached.slow[i].end_s > now_s)
            return &c->reached.slow[i];
    return NULL;
}

/* Append a slow-down of a worker from c->next_s to this time. Return 0 or -ENOMEM. */
static int add_slow(struct course *c, int rank, double end_s, struct eddis_error *err)
{
    struct sim_reached *r = &c->reached;
    struct sim_slow_down *more = realloc(r->slow, ((size_t)r->n_slow + 1) * sizeof *more);

    if (!more)
        return eddis_fail(err, -ENOMEM, "no memory for slow-downs");
    r->slow = more;
    more[r->n_slow++] = (struct sim_slow_down){
        .rank = rank, .begin_s = c->next_s, .end_s = end_s, .followed_s = INFINITY
    };
    sim_slow(c->sim, rank, c->set->disturbance.times);
    return 0;
}

/* Begin a slow-down, or let that of a worker that is slow already last longer, and draw when the
 * next one begins.
 */
static int begin_slow(struct course *c, struct eddis_error *err)
{
    const struct sim_disturbance *d = &c->set->disturbance;
    double lasts_s = d->least_s + (d->most_s - d->least_s) * random_unit(&c->seed);
    double end_s = c->next_s + lasts_s;
    int rank = (int)random_below(&c->seed, (uint64_t)c->plan->n_workers), rc = 0;
    struct sim_slow_down *longer = slow_of(c, rank, c->next_s);

    if (longer)
        longer->end_s = fmax(longer->end_s, end_s);
    else
        rc = add_slow(c, rank, end_s, err);
    draw_next(c);
    return rc;
}

/* End the slow-downs that are over between two times. */
static void end_slow(struct course *c, double before_s, double now_s)
{
    const struct sim_reached *r = &c->reached;

    for (int i = c->first; i < r->n_slow; i++)
        if (r->slow[i].end_s > before_s && r->slow[i].end_s <= now_s)
            sim_slow(c->sim, r->slow[i].rank, 1);
    for (int i = c->first; i < r->n_slow; i++) /* if one began anew since then */
        if (r->slow[i].end_s > now_s)
            sim_slow(c->sim, r->slow[i].rank, c->set->disturbance.times);
    while (c->first < r->n_slow && r->slow[c->first].end_s <= now_s)
        c->first++;
}

/* ---- looks ---- */

/* Count a plan that has taken force since the last look. */
static void look_at_plan(struct course *c, double now_s)
{
    struct sim_reached *r = &c->reached;

    if (sim_version(c->sim) == c->version)
        return;
    r->replans += sim_version(c->sim) - c->version;
    r->period_changes += sim_period(c->sim) != c->period;
    c->version = sim_version(c->sim);
    c->period = sim_period(c->sim);
    for (int i = c->first; i < r->n_slow; i++)
        if (r->slow[i].end_s > now_s && isinf(r->slow[i].followed_s))
            r->slow[i].followed_s = now_s;
}

/* Mark the slow workers that are reported. */
static void look_at_stragglers(struct course *c, double now_s)
{
    struct sim_reached *r = &c->reached;
    struct straggler x;

    while (stragglers_next(c->stragglers, now_s, &x))
        for (int i = c->first; i < r->n_slow && !x.over; i++)
            r->slow[i].found |= r->slow[i].rank == x.rank && r->slow[i].end_s > now_s;
}

/* Return how many seconds can surely be simulated; INFINITY: maybe all. */
static double foresee(const struct course *c, double now_s, int64_t most)
{
    const double work = fmax((double)sim_work(c->sim), 1);
    double possible_s = (double)most * now_s / work;

    if (work > (double)most)
        return now_s / MAY_BE;
    return now_s >= FORESEEN_S && possible_s * MAY_BE < c->set->seconds ? possible_s / SURELY
                                                                        : INFINITY;
}

/* Fail because only so many seconds can be simulated. */
static int too_much(const struct sim_plan *s, double possible_s, struct eddis_error *err)
{
    possible_s = floor(possible_s);
    if (possible_s < 1)
        return eddis_fail(err, -E2BIG, "%d workers are too many to simulate", s->plan->n_workers);
    return eddis_fail(err, -E2BIG,
                      "%.0f s of %d workers are too much to simulate; write at most %.0fs",
                      s->seconds, s->plan->n_workers, possible_s);
}

/* Advance the job to its end. */
static int run(struct course *c, struct eddis_error *err)
{
    const struct sim_plan *s = c->set;
    const int64_t most = s->most_work > 0 ? s->most_work : SIM_PLAN_WORK;
    double now_s = 0, next_s, possible_s;

    draw_next(c);
    for (int64_t k = 1; now_s < s->seconds; now_s = next_s, k++) {
        next_s = fmin((double)k * LOOK_S, s->seconds);
        while (c->next_s <= next_s) {
            int rc = begin_slow(c, err);

            if (rc < 0)
                return rc;
        }
        sim_run_until(c->sim, next_s);
        end_slow(c, now_s, next_s);
        look_at_plan(c, next_s);
        look_at_stragglers(c, next_s);
        possible_s = foresee(c, next_s, most);
        if (next_s < s->seconds && possible_s < s->seconds)
            return too_much(s, possible_s, err);
    }
    if (sim_samples(c->sim) == 0)
        return eddis_fail(err, -EINVAL, "no step ends in %g s; simulate a longer time", s->seconds);
    return 0;
}

int sim_plan(const struct sim_plan *s, struct sim_reached *ret, struct eddis_error *err)
{
    cleanup_course struct course c = { .set = s, .seed = random_mix(s->seed, 2) };
    int rc = open_course(&c, err);

    if (rc == 0)
        rc = run(&c, err);
    if (rc < 0)
        return rc;
    c.reached.samples_per_s = c.scale * (double)sim_samples(c.sim) / sim_now_s(c.sim);
    c.reached.period = sim_period(c.sim);
    for (int i = 0; i < c.reached.n_slow; i++)
        c.reached.slow[i].rank = c.plan->worker[c.reached.slow[i].rank].rank;
    *ret = c.reached;
    c.reached = (struct sim_reached){ 0 };
    return 0;
}

void sim_reached_fini(struct sim_reached *r)
{
    free(r->slow);
    *r = (struct sim_reached){ 0 };
}
