/* SPDX-License-Identifier: Apache-2.0 */
/* replan.c - bench-replan [--seed N] [--json]: devices whose speeds change while they train
 *
 * OmniLearn's pattern (Tyagi and Sharma, IEEE TPDS 2025): four containers share 48 cores, and how
 * unequally changes from level 1 to 2, 4, 8 and back.  A step of b samples takes
 * 10 ms + 12 / cores * b ms with 5 % jitter; 128 samples a step, 400 steps a level.  The policies
 * run in virtual time, one after another, with the same seeds:
 *
 *   fixed       the equal split stays
 *   OmniLearn   its law as published, every 100 steps: dead-band 0.2, batches of 16 to 96
 *   opened      the same with batches of 1 to 128
 *   eddis       scheduler/replan.h from an equal split, without any known times
 *   best        the exact optimum for the present times, as soon as they change
 *
 * Seconds are per 128 samples, since OmniLearn's batches do not always add up to 128.  After the
 * pattern, the program counts how often batches change while speeds do not.  A change is needless
 * if it makes the step, by the laws, not at least 1 % shorter.  A plan that corrects a first,
 * coarse measurement is not needless.
 */
#include "lib/base/json.h"
#include "scheduler/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N = 4,
    BATCH = 128,
    EPOCH = 100, /* steps */
    EPOCHS = 4,  /* epochs of a level */
    SEEDS = 21,
    STEADY_SEEDS = 100,
    STEADY_STEPS = 2000,
    COLD_STEPS = 5,
    LEARNING_STEPS = 200,
};
static const double FIXED_S = 0.010, SAMPLE_S = 0.001, JITTER = 0.05, COLD = 3;
static const double SPIKE = 0.05, SPIKE_RATIO = 3; /* part of steps that are delayed; by how much */
static const double NEEDED = 1.01;                 /* least speed-up of a needed change */
static const double DEAD_BAND = 0.2;               /* OmniLearn's */

enum policy { FIXED, OMNILEARN, OPENED, EDDIS, BEST, POLICIES };

static const double cores[][N] = {
    { 12, 12, 12, 12 }, { 12, 12, 8, 16 }, { 9, 9, 6, 24 }, { 6, 6, 4, 32 }
};
static const int levels[] = { 0, 1, 2, 3, 3, 2, 1, 0 };
enum { LEVELS = sizeof levels / sizeof *levels };

struct job {
    struct replan *replan;
    struct sim *sim;
    int64_t batch[N];
};

/* Print the error and exit if rc is negative. */
static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "replan: %s\n", err->text);
    exit(1);
}

/* ---- jobs ---- */

/* Open a simulated job with the batches in j. slowness: each device's time relative to 12 cores;
 * source: what is known of the times; adapts: eddis re-plans; spike: part of the steps that are
 * delayed.
 */
static void job_open(struct job *j, const double *slowness, enum time_source source, bool adapts,
                     double spike, uint64_t seed)
{
    struct replan_worker w[N];
    struct sim_worker law[N];
    struct replan_setup r = {
        .worker = w, .n = N, .version = 1, .grain = 1, .algorithm = "allreduce"
    };
    struct sim_setup s = { .worker = law,
                           .n = N,
                           .seed = seed,
                           .algorithm = "allreduce",
                           .jitter = JITTER,
                           .spike = spike,
                           .spike_ratio = SPIKE_RATIO };
    struct eddis_error err = { 0 };

    for (int i = 0; i < N; i++) {
        law[i] = (struct sim_worker){
            .fixed_s = FIXED_S, .sample_s = SAMPLE_S * slowness[i], .node = i, .batch = j->batch[i]
        };
        w[i] = (struct replan_worker){
            .source = source, .batch = j->batch[i], .min = 1, .max = INT64_MAX, .node = i
        };
        w[i].first = source == TIME_GIVEN ? (struct time_model){ FIXED_S, law[i].sample_s }
                                          : (struct time_model){ .sample_s = 1 };
    }
    if (adapts)
        check(replan_new(&r, &j->replan, &err), &err);
    s.replan = j->replan;
    check(sim_new(&s, &j->sim, &err), &err);
}

/* Free a job's simulator and re-planner. */
static void job_close(struct job *j)
{
    sim_free(j->sim);
    replan_free(j->replan);
    *j = (struct job){ 0 };
}

/* Return a job with equal batches, not opened. */
static struct job equal_job(void)
{
    return (struct job){ .batch = { BATCH / N, BATCH / N, BATCH / N, BATCH / N } };
}

/* ---- OmniLearn's law ---- */

/* Make the batches add up to about BATCH, as OmniLearn's code does. */
static void correct(double *b)
{
    double sum = 0;

    for (int i = 0; i < N; i++)
        sum += b[i] = ceil(b[i]);
    for (int i = 0; i < N; i++)
        b[i] = ceil(b[i] - (sum - BATCH) / N);
}

/* Bound the batches by low and high, and give the excess of each to all in equal parts, as
 * OmniLearn does.
 */
static void clamp(double *b, double low, double high)
{
    double excess[N];

    for (int i = 0; i < N; i++) {
        double within = fmin(fmax(b[i], low), high);

        excess[i] = b[i] - within;
        b[i] = within;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            b[i] += ceil(excess[k] / N);
}

/* Apply OmniLearn's law to the latest step times and publish the batches if they change.  Its code
 * can compute batches below 1; they become 1 here.
 */
static void omnilearn(struct job *j, double low, double high)
{
    double t[N], b[N], mean = 0;
    bool changes = false;

    for (int i = 0; i < N; i++)
        mean += (t[i] = sim_own_s(j->sim, i)) / N;
    for (int i = 0; i < N; i++) {
        double now = (double)j->batch[i], delta = -(now / t[i]) * (t[i] - mean);

        b[i] = fabs(delta) / (now + delta) < DEAD_BAND ? now : now + delta;
    }
    clamp(b, low, high);
    correct(b);
    for (int i = 0; i < N; i++) {
        int64_t batch = (int64_t)fmax(b[i], 1);

        changes = changes || batch != j->batch[i];
        j->batch[i] = batch;
    }
    if (changes)
        sim_publish(j->sim, j->batch);
}

/* ---- the pattern ---- */

/* Set the devices to a level; the policy "best" publishes the optimal batches at once. */
static void set_level(struct job *j, enum policy policy, int level)
{
    for (int i = 0; i < N; i++)
        sim_slow(j->sim, i, 12 / cores[level][i]);
    if (policy != BEST)
        return;
    sim_best_s(j->sim, 1, NULL, j->batch);
    if (memcmp(j->batch, sim_batch(j->sim), sizeof j->batch) != 0)
        sim_publish(j->sim, j->batch);
}

/* Run a policy through all levels.  Write the seconds per BATCH samples of each level, and of all
 * together, to ret [LEVELS + 1].
 */
static void run_pattern(enum policy policy, uint64_t seed, double *ret)
{
    static const double equal[N] = { 1, 1, 1, 1 };
    struct job j = equal_job();

    job_open(&j, equal, TIME_PROBE, policy == EDDIS, 0, seed);
    for (int k = 0; k < LEVELS; k++) {
        double began_s = sim_now_s(j.sim);
        int64_t samples = sim_samples(j.sim);

        set_level(&j, policy, levels[k]);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            sim_run(j.sim, EPOCH);
            if (policy == OMNILEARN)
                omnilearn(&j, 16, 96);
            else if (policy == OPENED)
                omnilearn(&j, 1, BATCH);
        }
        ret[k] = (sim_now_s(j.sim) - began_s) * BATCH / (double)(sim_samples(j.sim) - samples);
    }
    ret[LEVELS] = sim_now_s(j.sim) * BATCH / (double)sim_samples(j.sim);
    job_close(&j);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Run all policies with SEEDS seeds; write the medians. */
static void measure_pattern(uint64_t seed, double ret[POLICIES][LEVELS + 1])
{
    static double s[POLICIES][LEVELS + 1][SEEDS];
    double one[LEVELS + 1];

    for (int k = 0; k < SEEDS; k++)
        for (int p = 0; p < POLICIES; p++) {
            run_pattern((enum policy)p, seed + (uint64_t)k, one);
            for (int l = 0; l <= LEVELS; l++)
                s[p][l][k] = one[l];
        }
    for (int p = 0; p < POLICIES; p++)
        for (int l = 0; l <= LEVELS; l++) {
            qsort(s[p][l], SEEDS, sizeof **s[p], compare_doubles);
            ret[p][l] = s[p][l][SEEDS / 2];
        }
}

/* ---- constant speeds ---- */

/* What eddis knows at the start: exact times; the same with delayed steps; the same with slow first
 * steps; nothing, but LEARNING_STEPS steps are done before counting.
 */
enum start { KNOWN, HELD_UP, COLD_START, LEARNT, STARTS };

struct steady {
    int jobs;
    int64_t changes, needless;
};

/* Run STEADY_STEPS steps; count the changes of batches and those that were needless. */
static void watch(struct job *j, struct steady *ret)
{
    int64_t version = sim_version(j->sim);

    memcpy(j->batch, sim_batch(j->sim), sizeof j->batch);
    for (int step = 0; step < STEADY_STEPS; step++) {
        sim_run(j->sim, 1);
        if (sim_version(j->sim) == version)
            continue;
        version = sim_version(j->sim);
        ret->changes++;
        ret->needless +=
            sim_longest_s(j->sim, j->batch) < NEEDED * sim_longest_s(j->sim, sim_batch(j->sim));
        memcpy(j->batch, sim_batch(j->sim), sizeof j->batch);
    }
}

/* Run one job of constant speeds with this start, and add its counts to *ret. */
static void run_steady(const double *slowness, enum start start, uint64_t seed, struct steady *ret)
{
    struct job j = equal_job();
    enum time_source source = start == LEARNT ? TIME_PROBE : TIME_GIVEN;

    job_open(&j, slowness, source, false, 0, seed);
    if (start != LEARNT)
        sim_best_s(j.sim, 1, NULL, j.batch);
    sim_free(j.sim);
    job_open(&j, slowness, source, true, start == HELD_UP ? SPIKE : 0, seed);
    for (int i = 0; i < N && start == COLD_START; i++)
        sim_slow(j.sim, i, COLD);
    if (start == COLD_START)
        sim_run(j.sim, COLD_STEPS);
    for (int i = 0; i < N; i++)
        sim_slow(j.sim, i, 1);
    if (start == LEARNT)
        sim_run(j.sim, LEARNING_STEPS);
    watch(&j, ret);
    ret->jobs++;
    job_close(&j);
}

/* Run jobs of all mixes, starts and seeds; ret [STARTS] sums up the counts. */
static void measure_steady(uint64_t seed, struct steady *ret)
{
    static const double slowness[][N] = {
        { 1, 1, 1, 1 }, { 1, 1, 1, 3 }, { 1, 1, 2, 6 }, { 1, 1, 2, 8 }
    };

    for (int k = 0; k < STEADY_SEEDS; k++)
        for (size_t row = 0; row < sizeof slowness / sizeof *slowness; row++)
            for (int s = 0; s < STARTS; s++)
                run_steady(slowness[row], (enum start)s, seed + (uint64_t)k, &ret[s]);
}

/* ---- output ---- */

/* Print the pattern's step times s, by policy and level, and the counts of constant speeds. */
static void print_table(uint64_t seed, double s[POLICIES][LEVELS + 1], const struct steady *steady)
{
    static const char *const starts[] = { "times are given", "given, 5 % of steps 3 times as long",
                                          "given, the first steps 3 times as long",
                                          "learnt in 200 steps before" };

    printf("ms of %d samples, medians of %d seeds from %llu\n"
           "level (cores)       fixed   OmniLearn   opened    eddis     best\n",
           BATCH, SEEDS, (unsigned long long)seed);
    for (int k = 0; k <= LEVELS; k++) {
        const double *c = cores[levels[k < LEVELS ? k : 0]];

        if (k < LEVELS)
            printf("%d (%2g %2g %2g %2g)   ", 1 << levels[k], c[0], c[1], c[2], c[3]);
        else
            printf("all              ");
        printf("%8.1f  %10.1f %8.1f %8.1f %8.1f\n", 1e3 * s[FIXED][k], 1e3 * s[OMNILEARN][k],
               1e3 * s[OPENED][k], 1e3 * s[EDDIS][k], 1e3 * s[BEST][k]);
    }
    printf("times eddis'     %8.2f  %10.2f %8.2f %8.2f %8.2f\n",
           s[FIXED][LEVELS] / s[EDDIS][LEVELS], s[OMNILEARN][LEVELS] / s[EDDIS][LEVELS],
           s[OPENED][LEVELS] / s[EDDIS][LEVELS], 1.0, s[BEST][LEVELS] / s[EDDIS][LEVELS]);
    printf("speeds that stay, 5 %% jitter for %d steps: changes of batches\n", STEADY_STEPS);
    for (int k = 0; k < STARTS; k++)
        printf("  %-40s %3d in %d jobs, %d of them needless\n", starts[k], (int)steady[k].changes,
               steady[k].jobs, (int)steady[k].needless);
}

/* Print the policies' step times relative to eddis', and the counts of constant speeds, as one JSON
 * object.  Return -1 without memory.
 */
static int print_json(uint64_t seed, double s[POLICIES][LEVELS + 1], const struct steady *steady)
{
    double own = s[EDDIS][LEVELS];
    cleanup_json json_t *j = json_pack(
        "{s:i, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "schema_version", 1,
        "bench", "replan", "seed", (json_int_t)seed, "eddis_s", own, "ratio_fixed",
        s[FIXED][LEVELS] / own, "ratio_omnilearn", s[OMNILEARN][LEVELS] / own,
        "ratio_omnilearn_opened", s[OPENED][LEVELS] / own, "ratio_best", s[BEST][LEVELS] / own,
        "changes_given", (json_int_t)steady[KNOWN].changes, "changes_held_up",
        (json_int_t)steady[HELD_UP].changes, "changes_cold_start",
        (json_int_t)steady[COLD_START].changes, "changes_learnt",
        (json_int_t)steady[LEARNT].changes, "needless_learnt", (json_int_t)steady[LEARNT].needless);
    char *text = j ? json_text(j, false) : NULL;

    if (!text)
        return -1;
    puts(text);
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    static double s[POLICIES][LEVELS + 1];
    struct steady steady[STARTS] = { 0 };
    uint64_t seed = 1;
    bool json = false;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: bench/replan [--seed N] [--json]\n");
            return 2;
        }
    measure_pattern(seed, s);
    measure_steady(seed, steady);
    if (json)
        return print_json(seed, s, steady) < 0;
    print_table(seed, s, steady);
    return 0;
}
