/* SPDX-License-Identifier: Apache-2.0 */
/* test_stragglers.c - tests of scheduler/stragglers.h, by hand and on the jobs of scheduler/sim.h
 */
#include "scheduler/sim.h"
#include "scheduler/stragglers.h"
#include "steps.h"
#include "suite.h"

#include <math.h>

enum { N = 4, SEEDS = SUITE_SEEDS(100) };

static const double JITTER = 0.02;

/* ---- simulated jobs ---- */

struct job {
    struct sim_worker worker[N];
    struct replan *replan;
    struct stragglers *stragglers;
    struct sim *sim;
    double input_s[N]; /* of a sample, from the beginning */
    bool read_ahead;
    int named[N], over[N], all, all_over; /* how often */
    struct straggler last;
};

/* Four workers of 18, 12, 9 and 6 GFLOP/s; affine: each step lasts a constant more.  Nothing is
 * known of them, and they begin with equal batches.
 */
static void open_job(struct job *j, bool affine, double jitter, uint64_t seed)
{
    static const double rate[N] = { 18, 12, 9, 6 }, call_s[N] = { 4e-4, 4e-3, 1e-3, 2e-3 };
    static const struct time_model unknown[N];
    struct replan_worker w[N];
    struct replan_setup r = {
        .worker = w, .n = N, .version = 1, .grain = 1, .algorithm = "allreduce"
    };
    struct sim_setup s = {
        .worker = j->worker, .n = N, .seed = seed, .algorithm = "allreduce", .jitter = jitter
    };

    for (int i = 0; i < N; i++) {
        j->worker[i] = (struct sim_worker){ .sample_s = 0.026 / rate[i],
                                            .fixed_s = affine ? 50 * call_s[i] : 0,
                                            .node = i };
        j->worker[i].batch = 64;
        j->worker[i].input_s = j->input_s[i];
        w[i] = (struct replan_worker){
            .first = { .sample_s = 1 }, .batch = 64, .min = 1, .max = INT64_MAX, .node = i
        };
    }
    ck_assert_int_eq(replan_new(&r, &j->replan, NULL), 0);
    ck_assert_int_eq(stragglers_new(unknown, N, &j->stragglers, NULL), 0);
    s.replan = j->replan;
    s.stragglers = j->stragglers;
    s.read_ahead = j->read_ahead;
    ck_assert_int_eq(sim_new(&s, &j->sim, NULL), 0);
}

static void close_job(struct job *j)
{
    sim_free(j->sim);
    replan_free(j->replan);
    stragglers_free(j->stragglers);
}

static void run(struct job *j, int steps)
{
    for (; steps > 0; steps--) {
        struct straggler one;

        sim_run(j->sim, 1);
        while (stragglers_next(j->stragglers, sim_now_s(j->sim), &one)) {
            if (one.rank < 0)
                (*(one.over ? &j->all_over : &j->all))++;
            else
                (one.over ? j->over : j->named)[one.rank]++;
            j->last = one;
        }
    }
}

static int sum(const int *v)
{
    return v[0] + v[1] + v[2] + v[3];
}

/* _i: affine.  Batches are found from a cold start, and steps jitter by 5 %. */
START_TEST(jitter_names_nobody)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job j = { .all = 0 };

        open_job(&j, _i, 0.05, seed);
        run(&j, 2000);
        ck_assert_msg(sum(j.named) + j.all == 0, "seed %d: rank %d, %.2f times from step %d",
                      (int)seed, j.last.rank, j.last.times, (int)j.last.since);
        close_job(&j);
    }
}
END_TEST

/* _i: affine.  One becomes three times slower, and is as before later. */
START_TEST(slowed_is_named)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job j = { .all = 0 };
        int slow = (int)seed % N;
        int64_t step;

        open_job(&j, _i, JITTER, seed);
        run(&j, 150);
        ck_assert_int_eq(sum(j.named) + j.all, 0);
        step = sim_step(j.sim);
        sim_slow(j.sim, slow, 3);
        run(&j, 20);
        ck_assert_msg(sum(j.named) == 1 && j.named[slow] == 1 && j.all == 0,
                      "seed %d: rank %d of %d is named", (int)seed, j.last.rank, sum(j.named));
        ck_assert_int_eq(sum(j.over), 0);
        ck_assert_int_le(llabs(j.last.since - step), 3);
        ck_assert_double_eq_tol(j.last.times, 3, 0.5);
        ck_assert_int_eq(j.last.cause, STRAGGLER_COMPUTE);
        run(&j, 80);
        ck_assert_int_eq(sum(j.over), 0);
        sim_slow(j.sim, slow, 1);
        run(&j, 40);
        ck_assert_msg(sum(j.over) == 1 && j.over[slow] == 1, "seed %d: %d are over", (int)seed,
                      sum(j.over));
        run(&j, 200);
        ck_assert_int_eq(sum(j.named), 1);
        ck_assert_int_eq(sum(j.over), 1);
        ck_assert_int_eq(j.all, 0);
        close_job(&j);
    }
}
END_TEST

/* Seconds of a sample that it computes: the rates of open_job. */
static const double compute_s[N] = { 0.026 / 18, 0.026 / 12, 0.026 / 9, 0.026 / 6 };

/* What the slow path of a worker leaves of its share, at most; with read-ahead it takes four times
 * its computing, else that and its computing.
 */
static void check_bound(const struct job *j, int slow, int64_t fair, uint64_t seed)
{
    ck_assert_msg(sum(j->named) == 1 && j->named[slow] == 1 && j->all == 0,
                  "seed %d: rank %d of %d is named, %d", (int)seed, j->last.rank, sum(j->named),
                  j->all);
    ck_assert_int_eq(j->last.cause, STRAGGLER_INPUT);
    ck_assert_double_gt(j->last.data_per_s, 0);
    ck_assert_double_le(j->last.data_per_s, 1.2 / (4 * compute_s[slow]));
    ck_assert_int_lt(sim_batch(j->sim)[slow], fair / 2);
}

/* _i: read-ahead.  A data path that is slow from the first step on is named within 20 steps, and
 * its worker's share is the small one that it can do, until the path is mended.
 */
START_TEST(slow_path_from_the_start)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job j = { .read_ahead = _i };
        int slow = (int)seed % N;
        int64_t fair = 256 * (int64_t[N]){ 18, 12, 9, 6 }[slow] / 45, batch;

        j.input_s[slow] = 4 * compute_s[slow];
        open_job(&j, false, JITTER, seed);
        run(&j, 20);
        check_bound(&j, slow, fair, seed);
        ck_assert(j.last.bound);
        ck_assert_int_le(j.last.since, 3);
        run(&j, 100);
        batch = sim_batch(j.sim)[slow];
        run(&j, 300); /* a path that hides behind waiting is no fast one */
        ck_assert_int_le(llabs(sim_batch(j.sim)[slow] - batch), 1 + batch / 10);
        ck_assert_int_eq(sum(j.over) + j.all, 0);
        sim_set_input(j.sim, slow, 0);
        run(&j, 100);
        ck_assert_msg(sum(j.over) == 1 && j.over[slow] == 1, "seed %d: %d are over", (int)seed,
                      sum(j.over));
        ck_assert_int_ge(sim_batch(j.sim)[slow], fair * 9 / 10);
        ck_assert_int_eq(sum(j.named), 1);
        close_job(&j);
    }
}
END_TEST

START_TEST(slow_path_in_mid_run)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job j = { .read_ahead = _i };
        int slow = (int)seed % N;
        int64_t fair = 256 * (int64_t[N]){ 18, 12, 9, 6 }[slow] / 45;

        open_job(&j, false, JITTER, seed);
        run(&j, 150);
        sim_set_input(j.sim, slow, 4 * compute_s[slow]);
        run(&j, 20);
        check_bound(&j, slow, fair, seed);
        ck_assert(!j.last.bound);
        run(&j, 200);
        sim_set_input(j.sim, slow, 0);
        run(&j, 100);
        ck_assert_int_eq(sum(j.over), 1);
        ck_assert_int_eq(sum(j.named), 1);
        close_job(&j);
    }
}
END_TEST

/* _i: read-ahead.  All wait as long for their data as they compute: it is nobody's. */
START_TEST(slow_paths_of_all)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job j = { .read_ahead = _i };

        for (int i = 0; i < N; i++)
            j.input_s[i] = (1 + _i) * compute_s[i];
        open_job(&j, false, 0.05, seed);
        run(&j, 500);
        ck_assert_int_eq(sum(j.named), 0);
        ck_assert_int_eq(j.all, 1);
        ck_assert(j.last.bound);
        close_job(&j);
    }
}
END_TEST

/* A wait that is usual beside computing is none to be named. */
START_TEST(some_input_names_nobody)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job j = { .read_ahead = _i };

        for (int i = 0; i < N; i++)
            j.input_s[i] = (0.05 * i + _i) * compute_s[i];
        open_job(&j, true, 0.05, seed);
        run(&j, 1000);
        ck_assert_msg(sum(j.named) + j.all == 0, "seed %d: rank %d, %.2f times from step %d",
                      (int)seed, j.last.rank, j.last.times, (int)j.last.since);
        close_job(&j);
    }
}
END_TEST

START_TEST(all_at_once_is_nobody)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job j = { .all = 0 };

        open_job(&j, false, JITTER, seed);
        run(&j, 150);
        for (int i = 0; i < N; i++)
            sim_slow(j.sim, i, 2);
        run(&j, 60);
        ck_assert_int_eq(sum(j.named), 0);
        ck_assert_int_eq(j.all, 1);
        for (int i = 0; i < N; i++)
            sim_slow(j.sim, i, 1);
        run(&j, 60);
        ck_assert_int_eq(sum(j.named), 0);
        ck_assert_int_eq(j.all, 1);
        ck_assert_int_eq(j.all_over, 1);
        close_job(&j);
    }
}
END_TEST

/* ---- by hand ---- */

static const struct time_model proportional = { .sample_s = 1 };
static struct stragglers *s;
static struct straggler one; /* the newest that was named */

static void tear_down(void)
{
    stragglers_free(s);
    s = NULL;
}

/* Begin with n workers of which nothing is known, but of the last one what is learnt. */
static void begin(int n, const struct time_model *learnt)
{
    struct time_model l[3] = { { .sample_s = 0 } };

    if (learnt)
        l[n - 1] = *learnt;
    stragglers_free(s);
    ck_assert_int_eq(stragglers_new(l, n, &s, NULL), 0);
}

static void take(int rank, const struct step_metrics *f, double queued_s)
{
    stragglers_take(s, rank, f, queued_s, &proportional);
}

static bool is_named(double now_s)
{
    return stragglers_next(s, now_s, &one);
}

static struct step_metrics metrics(int64_t plan, int64_t since, int64_t steps, int64_t count,
                                   double own_s, double input_s)
{
    struct step_metrics f = steps_of(plan, since, steps, count, own_s);

    f.own.max_s = f.own.high_s;
    f.input = spread(input_s);
    f.input.max_s = f.input.high_s;
    f.compute = spread(0);
    f.total = f.own;
    return f;
}

/* Two workers, of which the second had such a window and has another now.  Returns whether it is
 * named.
 */
static bool second(const struct time_model *learnt, struct step_metrics before,
                   struct step_metrics now, double queued_before_s, double queued_s)
{
    struct step_metrics same = metrics(1, 1, 40, 50, 0.1, 0);
    bool found;

    begin(2, learnt);
    take(0, &same, NAN);
    if (before.plan)
        take(1, &before, queued_before_s);
    take(1, &now, queued_s);
    ck_assert(!is_named(10)); /* it may be short */
    found = is_named(11.5);
    ck_assert(!stragglers_next(s, 20, &(struct straggler){ 0 }));
    return found;
}

START_TEST(causes)
{
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0.01);

    ck_assert(second(NULL, before, metrics(1, 41, 6, 50, 0.3, 0.2), 0, 0.001));
    ck_assert_int_eq(one.rank, 1);
    ck_assert_int_eq(one.since, 41);
    ck_assert_int_eq(one.cause, STRAGGLER_INPUT);
    ck_assert_double_eq_tol(one.times, 3, 1e-9);
    ck_assert_double_eq_tol(one.confidence, 0.95, 1e-9);
    ck_assert_double_eq_tol(one.data_per_s, 50 / 0.3, 1e-9);
    ck_assert(second(NULL, before, metrics(1, 41, 6, 50, 0.3, 0.01), 0, 0.15));
    ck_assert_int_eq(one.cause, STRAGGLER_PROCESSOR);
    ck_assert_double_eq_tol(one.queued_part, 0.5, 1e-9);
    ck_assert_double_eq_tol(one.confidence, 0.75, 1e-9);
    ck_assert(second(NULL, before, metrics(1, 41, 6, 50, 0.3, 0.01), NAN, NAN));
    ck_assert_int_eq(one.cause, STRAGGLER_COMPUTE);
    ck_assert(isnan(one.queued_part));
    ck_assert_double_eq_tol(one.confidence, 1, 1e-9);
}
END_TEST

/* Two workers, of which the second loses so much before, and so much once its steps take that long,
 * of which these are windows.  Returns whether it is named.
 */
static bool loses(double before, double now, struct step_metrics then)
{
    const struct core_loss was = { { before, 0, NAN, NAN } }, is = { { now, 0.05, 0.5, NAN } };
    struct step_metrics first = metrics(1, 1, 40, 50, 0.1, 0.01);
    bool found;

    begin(2, NULL);
    take(0, &first, 0);
    take(1, &first, 0);
    for (int i = 0; i < 100; i++)
        stragglers_take_loss(s, 1, DEVICE_CPU, &was);
    stragglers_take_loss(s, 1, DEVICE_CPU, &is); /* its steps do not show it yet */
    take(1, &then, 0);
    stragglers_take_loss(s, 1, DEVICE_CPU, &is);
    ck_assert(!is_named(10));
    found = is_named(15.5); /* nothing else is read */
    return found;
}

/* The machine explains, and names nobody. */
START_TEST(machine_explains)
{
    struct step_metrics same = metrics(1, 41, 40, 50, 0.1, 0.01);
    struct step_metrics slow = metrics(1, 41, 6, 50, 0.3, 0.01);

    ck_assert(!loses(0, 1, same));
    ck_assert(loses(0, 0.6, slow));
    ck_assert_int_eq(one.rank, 1);
    ck_assert_int_eq(one.cause, STRAGGLER_PROCESSOR);
    ck_assert_double_eq_tol(one.confidence, 0.81, 1e-9); /* a tenth of it was usual by then */
    ck_assert_double_eq_tol(one.lost.part[CORE_LOSS_STOLEN], 0.6, 1e-9);
    ck_assert_double_eq(one.lost.part[CORE_LOSS_THROTTLED], 0); /* too little */
    ck_assert_double_eq(one.lost.part[CORE_LOSS_CLOCK], 0);     /* unknown */
    ck_assert(loses(0.55, 0.6, slow));
    ck_assert_double_eq(one.lost.part[CORE_LOSS_STOLEN], 0); /* as before */
    ck_assert_int_eq(one.cause, STRAGGLER_COMPUTE);
    ck_assert(loses(0, 0.6, metrics(1, 41, 6, 50, 0.3, 0.21)));
    ck_assert_double_eq(one.lost.part[CORE_LOSS_STOLEN], 0); /* it waits for data */
}
END_TEST

/* Those that only wait are not slow: it is said for whom they do, as long as that may be for it. */
START_TEST(waited_for)
{
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0), now = metrics(1, 41, 6, 50, 0.4, 0);

    for (int k = 0; k < 3; k++) {
        static const double waits_s[3] = { 0.25, 0.9, 0.001 }, reported_s[3] = { 0.25, 0.3, 0 };

        begin(3, NULL);
        for (int i = 0; i < 3; i++) {
            struct straggler_step step = { .number = 47,
                                           .step_s = 0.5,
                                           .waits_s = i ? waits_s[k] : 0 };

            take(i, &before, 0);
            stragglers_take_step(s, i, &step);
        }
        take(0, &now, 0);
        ck_assert(!is_named(10));
        ck_assert(is_named(11.5));
        ck_assert_int_eq(one.rank, 0);
        ck_assert_double_eq_tol(one.waited_s, reported_s[k], 1e-9);
    }
}
END_TEST

/* Slow links are told of in the same way. */
START_TEST(link_is_named)
{
    const int node[3] = { 0, 1, 2 };
    int found = 0;

    begin(3, NULL);
    ck_assert_int_eq(stragglers_watch_links(s, node, 3, NULL), 0);
    for (int k = 0; k < 40; k++) {
        bool slow = k >= 20;
        struct straggler_step step = { .number = k,
                                       .step_s = slow ? 0.5 : 0.1,
                                       .link = { slow ? 0.9 : 0.1, slow ? 1e6 : 1e8, "" },
                                       .peer = 2 };

        stragglers_take_step(s, 1, &step);
        found += is_named(k);
    }
    ck_assert_int_eq(found, 1);
    ck_assert(one.rank == 1 && one.cause == STRAGGLER_NETWORK && one.link.to == 2);
}
END_TEST

/* On a busy machine all are slow, and what is sent is as well: that is nobody's link. */
START_TEST(links_of_a_busy_machine)
{
    const int node[3] = { 0, 1, 2 };

    begin(3, NULL);
    ck_assert_int_eq(stragglers_watch_links(s, node, 3, NULL), 0);
    for (int k = 1; k <= 60; k++) {
        bool slow = k > 30;
        struct step_metrics f =
            metrics(1, slow ? 31 : 1, slow ? k - 30 : k, 50, slow ? 0.5 : 0.1, 0);
        struct straggler_step step = { .number = k,
                                       .step_s = slow ? 1 : 0.2,
                                       .link = { slow ? 0.9 : 0.1, slow ? 1e6 : 1e8, "" },
                                       .peer = 2 };

        for (int i = 0; i < 3 && f.steps >= STEP_WINDOW_CHANGE; i++)
            take(i, &f, 0);
        stragglers_take_step(s, 1, &step);
        if (is_named(k))
            ck_assert_int_eq(one.rank, -1);
    }
}
END_TEST

/* What is read only once after the worker became slow may be of the time before. */
START_TEST(reading_is_waited_for)
{
    const struct core_loss was = { { 0, 0, 0, NAN } };
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0), now = metrics(1, 41, 6, 50, 0.4, 0);

    begin(2, NULL);
    for (int i = 0; i < 2; i++) {
        take(i, &before, 0);
        stragglers_take_loss(s, i, DEVICE_CPU, &was);
    }
    take(1, &now, 0);
    ck_assert(!is_named(10));
    stragglers_take_loss(s, 1, DEVICE_CPU, &(struct core_loss){ { 0, 0, 0.2, NAN } });
    ck_assert(!is_named(12));
    stragglers_take_loss(s, 1, DEVICE_CPU, &(struct core_loss){ { 0, 0, 0.7, NAN } });
    ck_assert(is_named(12.1));
    ck_assert_int_eq(one.cause, STRAGGLER_PROCESSOR);
    ck_assert_double_eq_tol(one.lost.part[CORE_LOSS_OTHERS], 0.7, 1e-9);
}
END_TEST

/* A GPU computes no slower for what others do with the cores beside it. */
START_TEST(cores_beside_a_gpu)
{
    const struct core_loss was = { { 0, 0, 0, NAN } }, is = { { 0, 0, 0.7, NAN } };
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0), now = metrics(1, 41, 6, 50, 0.4, 0);

    for (int waits = 0; waits < 2; waits++) {
        begin(2, NULL);
        for (int i = 0; i < 2; i++) {
            take(i, &before, 0);
            stragglers_take_loss(s, i, DEVICE_CUDA, &was);
        }
        take(1, &now, waits ? 0.25 : 0);
        stragglers_take_loss(s, 1, DEVICE_CUDA, &is);
        ck_assert(!is_named(10));
        ck_assert(is_named(11.5)); /* no reading is waited for */
        ck_assert_int_eq(one.cause, waits ? STRAGGLER_PROCESSOR : STRAGGLER_COMPUTE);
        ck_assert_double_eq(one.lost.part[CORE_LOSS_OTHERS], 0);
    }
}
END_TEST

/* Clocks of a GPU before and now, why they are low, and whether that explains a slow worker. */
static const struct {
    double was_mhz, is_mhz;
    enum gpu_slowed was, is;
    bool explains;
} clocks[] = {
    { 1410, 1005, GPU_SLOWED_NOT, GPU_SLOWED_HEAT, true },
    { 1410, 1005, GPU_SLOWED_NOT, GPU_SLOWED_POWER, true },
    { 1410, 1400, GPU_SLOWED_NOT, GPU_SLOWED_HEAT, false },    /* as fast as before */
    { 1005, 1005, GPU_SLOWED_POWER, GPU_SLOWED_POWER, false }, /* as before */
    { 1005, 1005, GPU_SLOWED_HEAT, GPU_SLOWED_HEAT, true },    /* it was hot from the beginning */
    { 1410, 210, GPU_SLOWED_NOT, GPU_SLOWED_IDLE, false },     /* it has nothing to do */
    { 1410, 1005, GPU_SLOWED_NOT, GPU_SLOWED_NOT, false },     /* nobody says why */
};

/* A GPU that is throttled more than before explains, and only after readings that are of that time.
 */
START_TEST(clock_explains)
{
    struct gpu_state g = { .clock_mhz = clocks[_i].was_mhz,
                           .clock_most_mhz = 1410,
                           .slowed = clocks[_i].was };
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0), now = metrics(1, 41, 6, 50, 0.3, 0);

    begin(2, NULL);
    for (int i = 0; i < 2; i++)
        take(i, &before, 0);
    for (g.reading = 1; g.reading < 100; g.reading++)
        stragglers_take_gpu(s, 1, &g);
    g.clock_mhz = clocks[_i].is_mhz;
    g.slowed = clocks[_i].is;
    stragglers_take_gpu(s, 1, &g);
    ck_assert(!is_named(9)); /* it names nobody */
    take(1, &now, 0);
    ck_assert(!is_named(10));
    for (int i = 0; i < 2; i++) {
        ck_assert(!is_named(12)); /* readings are waited for */
        g.reading++;
        stragglers_take_gpu(s, 1, &g);
        stragglers_take_gpu(s, 1, &g); /* the same once more */
    }
    ck_assert(is_named(12.1));
    ck_assert_int_eq(one.cause, STRAGGLER_COMPUTE);
    ck_assert_int_eq(one.gpu.reading > 0, clocks[_i].explains);
    if (clocks[_i].explains)
        ck_assert_double_eq(one.gpu.clock_mhz, clocks[_i].is_mhz);
}
END_TEST

/* What takes them all longer is what most of them lose. */
START_TEST(machine_explains_all)
{
    const struct core_loss was = { { 0, 0, 0, NAN } }, is = { { 0, 0, 0.5, NAN } };
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0), now = metrics(1, 41, 6, 50, 0.2, 0);

    begin(3, NULL);
    for (int i = 0; i < 3; i++) {
        take(i, &before, 0);
        stragglers_take_loss(s, i, DEVICE_CPU, &was);
        take(i, &now, 0);
        stragglers_take_loss(s, i, DEVICE_CPU, i ? &is : &was);
    }
    ck_assert(!is_named(10));
    ck_assert(is_named(11.5));
    ck_assert_int_eq(one.rank, -1);
    ck_assert_double_eq_tol(one.lost.part[CORE_LOSS_OTHERS], 0.5, 1e-9);
    ck_assert_double_eq(one.lost.part[CORE_LOSS_STOLEN], 0);
}
END_TEST

/* Of a batch that is a fifth, no time between a fifth and the whole tells of a slow device. */
START_TEST(batches_explain)
{
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0);

    ck_assert(!second(NULL, before, metrics(2, 42, 20, 10, 0.1, 0), 0, 0));
    ck_assert(!second(NULL, before, metrics(2, 42, 20, 10, 0.02, 0), 0, 0));
    ck_assert(!second(NULL, before, metrics(2, 42, 20, 100, 0.2, 0), 0, 0));
    ck_assert(second(NULL, before, metrics(2, 42, 20, 10, 0.2, 0), 0, 0));
    ck_assert(second(NULL, before, metrics(2, 42, 20, 100, 0.4, 0), 0, 0));
}
END_TEST

START_TEST(earlier_jobs_tell)
{
    const struct time_model learnt = { .sample_s = 0.002 };
    struct step_metrics none = { .plan = 0 };

    ck_assert(!second(&learnt, none, metrics(1, 1, 10, 50, 0.12, 0), 0, 0));
    ck_assert(!second(&learnt, none, metrics(1, 1, 9, 50, 0.2, 0), 0, 0));
    ck_assert(second(&learnt, none, metrics(1, 1, 10, 50, 0.2, 0.15), 0, 0));
    ck_assert(one.learnt);
    ck_assert_double_eq_tol(one.times, 2, 1e-9);
    ck_assert_int_eq(one.cause, STRAGGLER_INPUT);
    ck_assert(!second(NULL, none, metrics(1, 1, 10, 50, 0.2, 0), 0, 0));
}
END_TEST

/* Steps that jitter so much that three of them tell nothing. */
START_TEST(noise_is_no_slowness)
{
    struct step_metrics noisy = metrics(1, 41, 5, 50, 0.15, 0);

    noisy.own.low_s = 0.1;
    noisy.own.high_s = noisy.own.max_s = 0.2;
    ck_assert(!second(NULL, metrics(1, 1, 40, 50, 0.1, 0), noisy, 0, 0));
}
END_TEST

/* The first steps on a slow data path jitter too much to be sure, and are no usual steps either. */
START_TEST(noise_is_not_usual)
{
    struct step_metrics told[] = { metrics(1, 1, 40, 50, 0.1, 0.01),
                                   metrics(1, 41, 3, 50, 0.3, 0.2), metrics(1, 41, 6, 50, 0.3, 0.2),
                                   metrics(1, 41, 7, 50, 0.3, 0.2) };

    told[1].own.low_s = 0.1;
    told[1].own.high_s = told[1].own.max_s = 0.5;
    begin(1, NULL);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        take(0, &told[i], 0);
    ck_assert(!is_named(10));
    ck_assert(is_named(11.5));
    ck_assert_int_eq(one.since, 41);
    ck_assert_int_eq(one.cause, STRAGGLER_INPUT);
    ck_assert_double_eq_tol(one.confidence, 0.95, 1e-9);
}
END_TEST

/* There is nobody beside whom it could be the machines' doing. */
START_TEST(single_worker_is_named)
{
    struct step_metrics before = metrics(1, 1, 40, 50, 0.1, 0), now = metrics(1, 41, 6, 50, 0.3, 0);

    begin(1, NULL);
    take(0, &before, 0);
    ck_assert(!is_named(5));
    take(0, &now, 0);
    ck_assert(!is_named(10));
    ck_assert(is_named(11.5));
    ck_assert_int_eq(one.rank, 0);
    ck_assert_double_eq_tol(one.times, 3, 1e-9);
    ck_assert(!is_named(20));
}
END_TEST

START_TEST(refuses)
{
    struct step_metrics nonsense = { .plan = 1, .steps = 10, .points = 10 };
    struct eddis_error err = { 0 };

    ck_assert_int_lt(stragglers_new(NULL, 0, &s, &err), 0);
    ck_assert_str_ne(err.text, "");
    begin(1, NULL);
    take(0, &nonsense, 0);
    take(1, &nonsense, 0);
    ck_assert(!is_named(100));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, jitter_names_nobody, 0, 2);
    tcase_add_loop_test(tc, slowed_is_named, 0, 2);
    tcase_add_loop_test(tc, slow_path_from_the_start, 0, 2);
    tcase_add_loop_test(tc, slow_path_in_mid_run, 0, 2);
    tcase_add_loop_test(tc, slow_paths_of_all, 0, 2);
    tcase_add_loop_test(tc, some_input_names_nobody, 0, 2);
    tcase_add_test(tc, all_at_once_is_nobody);
    tcase_add_test(tc, causes);
    tcase_add_test(tc, machine_explains);
    tcase_add_test(tc, waited_for);
    tcase_add_test(tc, link_is_named);
    tcase_add_test(tc, links_of_a_busy_machine);
    tcase_add_test(tc, reading_is_waited_for);
    tcase_add_test(tc, cores_beside_a_gpu);
    tcase_add_loop_test(tc, clock_explains, 0, sizeof clocks / sizeof *clocks);
    tcase_add_test(tc, machine_explains_all);
    tcase_add_test(tc, batches_explain);
    tcase_add_test(tc, earlier_jobs_tell);
    tcase_add_test(tc, noise_is_no_slowness);
    tcase_add_test(tc, noise_is_not_usual);
    tcase_add_test(tc, single_worker_is_named);
    tcase_add_test(tc, refuses);
}

SUITE_MAIN("stragglers", add_tests)
