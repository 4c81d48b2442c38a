/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_local.c - the whole library in local mode, a thread a rank over the loop
 *
 * Least squares in float64.  What the ranks took at each step is recorded, and one process trains
 * the same by the equations of lib/sync/local.c.  In some jobs the program combines gradients and
 * models itself, by collectives of its own.
 */
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIM = 4, MAX_STEPS = 2000, MAX_SAMPLES = 128 };

static const double rate = 0.1;

/* A step that a rank has made. */
struct made {
    int64_t epoch, count;
    int64_t index[MAX_SAMPLES];
    unsigned flags;
    bool ends; /* the round, or all steps by a stop */
};

/* When a rank applies results. */
struct due {
    bool waits; /* a result is not applied */
    int steps;  /* since the newest round's end */
};

/* The common model and the outer optimizer of a program that combines the models itself. */
struct outside {
    double common[DIM], momentum[DIM];
    double samples; /* of the group in the present round */
    int64_t rounds;
};

/* What the ranks of a job, and of the one after it, share. */
struct shared {
    struct made *made[MAX_RANKS];       /* [n] */
    int n[MAX_RANKS], first[MAX_RANKS]; /* number of steps, and of those of the job before */
    struct due due[MAX_RANKS];
    int taken[SCENARIO_EPOCHS][SCENARIO_SAMPLES];
    pthread_mutex_t lock;
    double w[MAX_RANKS][DIM];
    struct outside outside[MAX_RANKS];
    int sleep_ms[MAX_RANKS];
    bool publish;
    int leave_at; /* leave after so many checkpoints, without an end; 0: never */
    bool resume;
    int checkpoints[MAX_RANKS];
    int stop_at;       /* rank 0 asks for a stop after so many steps; 0: never */
    bool saves_inside; /* a checkpoint inside of a round is tried */
    bool goes_back;    /* a round's end behind the first checkpoint goes back to that */
    char folder[64];
};

static double input(int64_t sample, int k)
{
    uint64_t random = random_mix((uint64_t)sample, (uint64_t)k);

    return 3 * random_unit(&random) - 1.5;
}

static const double truth[DIM] = { 0.5, -1, 0.25, 2 };

/* Add the samples' gradients at w to g. */
static void add_gradient(const double *w, const int64_t *index, int64_t n, double *g)
{
    for (int64_t i = 0; i < n; i++) {
        double e = 0;

        for (int k = 0; k < DIM; k++)
            e += (w[k] - truth[k]) * input(index[i], k);
        /* not linear in w, so that the order of samples matters */
        for (int k = 0; k < DIM; k++)
            g[k] += tanh(e) * input(index[i], k);
    }
}

/* ---- the reference ---- */

/* The state of the reference. */
struct reference {
    double common[DIM], momentum[DIM];
    int at[MAX_RANKS]; /* steps of each rank that it has done */
    /* of each group, by its first rank: its model now, and at the end of the round before, whose
     * result is not applied
     */
    double w[MAX_RANKS][DIM], ended[MAX_RANKS][DIM];
    bool waits[MAX_RANKS];
};

/* Return the overlap in force: none in a program that combines the models itself. */
static int64_t overlap_of(const struct loop_job *j)
{
    return j->each.gradients ? 0 : j->overlap;
}

/* Apply the result of the round before to a group's model. */
static void group_land(struct reference *r, int first)
{
    for (int k = 0; k < DIM; k++)
        r->w[first][k] = r->common[k] + (r->w[first][k] - r->ended[first][k]);
    r->waits[first] = false;
}

/* Make all steps of a group's round from its model; add the difference from the common model, times
 * samples, to d.  Return the samples.
 */
static double group_round(const struct loop_job *j, const struct shared *s, struct reference *r,
                          int first, double *d)
{
    double *w = r->w[first], samples = 0;
    bool over = false;

    for (int steps = 1; !over && r->at[first] < s->n[first]; steps++) {
        double g[DIM] = { 0 }, n = 0;

        for (int i = first; i < first + j->per_group; i++) {
            const struct made *m = &s->made[i][r->at[i]++];

            add_gradient(w, m->index, m->count, g);
            n += (double)m->count;
            over = m->ends;
        }
        for (int k = 0; k < DIM && n > 0; k++)
            w[k] -= rate * g[k] / n;
        samples += n;
        if (r->waits[first] && (steps == overlap_of(j) || over))
            group_land(r, first);
    }
    for (int k = 0; k < DIM; k++)
        d[k] += samples * (r->common[k] - w[k]);
    memcpy(r->ended[first], w, sizeof r->ended[first]);
    return samples;
}

/* Go on from the common model, or with overlap from the group's own until that is applied. */
static void group_go_on(const struct loop_job *j, const struct shared *s, struct reference *r,
                        int first)
{
    const struct made *last = &s->made[first][r->at[first] - 1];

    r->waits[first] = overlap_of(j) && !(last->flags & EDDIS_STEP_CHECKPOINT);
    if (!r->waits[first])
        memcpy(r->w[first], r->common, sizeof r->w[first]);
}

/* Train one round.  Return whether there was one. */
static bool reference_round(const struct loop_job *j, const struct shared *s, struct reference *r)
{
    double d[DIM] = { 0 }, samples = 0;
    double outer = j->outer_rate > 0 ? j->outer_rate : 1;

    if (r->at[0] == s->n[0])
        return false;
    for (int i = 0; i < j->n; i += j->per_group)
        samples += group_round(j, s, r, i, d);
    for (int k = 0; k < DIM && samples > 0; k++) {
        r->momentum[k] = j->outer_momentum * r->momentum[k] + d[k] / samples;
        r->common[k] -= outer * (d[k] / samples + j->outer_momentum * r->momentum[k]);
    }
    for (int i = 0; i < j->n; i += j->per_group)
        group_go_on(j, s, r, i);
    return true;
}

/* Train the same rounds by the reference, and compare.  Return their number. */
static int check_reference(const struct loop_job *j, const struct shared *s)
{
    struct reference r = { 0 };
    int rounds = 0;

    while (reference_round(j, s, &r))
        rounds++;
    for (int i = 0; i < j->n; i++) {
        CHECK(r.at[i] == s->n[i], "rank %d: %d steps in the rounds of rank 0, not %d", i, r.at[i],
              s->n[i]);
        for (int k = 0; k < DIM; k++)
            CHECK(fabs(s->w[i][k] - r.common[k]) < 1e-12, "w[%d] = %.17g, not %.17g", k, s->w[i][k],
                  r.common[k]);
    }
    return rounds;
}

/* ---- a program that combines gradients and models itself ---- */

/* Combine the models at the end of a round: the first rank of each group gives its difference. */
static void combine_models(struct eddis *e, int rank, struct shared *s, double *w)
{
    struct outside *o = &s->outside[rank];
    struct eddis_world world = world_of(e);
    double d[DIM + 1], samples = world.group_rank ? 0 : o->samples;

    for (int k = 0; k < DIM; k++)
        d[k] = samples * (o->common[k] - w[k]);
    d[DIM] = samples;
    OK(eddis_allreduce(e, d, DIM + 1, EDDIS_FLOAT64, EDDIS_SUM, TIMEOUT_NS, &err));
    for (int k = 0; k < DIM && d[DIM] > 0; k++) {
        o->momentum[k] = world.outer_momentum * o->momentum[k] + d[k] / d[DIM];
        o->common[k] -= world.outer_rate * (d[k] / d[DIM] + world.outer_momentum * o->momentum[k]);
    }
    memcpy(w, o->common, sizeof o->common);
    o->samples = 0;
    o->rounds++;
}

/* Sum the gradient g [DIM], times `count`, over the group, and divide it by its samples. */
static void combine_gradients(struct eddis *e, const struct eddis_step *step, double *g)
{
    struct eddis_collective add = collective_of(EDDIS_GROUP, EDDIS_ALLREDUCE, g, DIM);

    for (int k = 0; k < DIM; k++)
        g[k] *= (double)step->count;
    add.dtype = EDDIS_FLOAT64;
    add.op = EDDIS_SUM;
    OK(eddis_collective(e, &add, TIMEOUT_NS, &err));
    for (int k = 0; k < DIM && step->batch; k++)
        g[k] /= (double)step->batch;
}

/* ---- the job ---- */

/* At a round's end go back to the checkpoint instead of combining the models. */
static void go_back(struct eddis *e, int rank, struct shared *s, double *w)
{
    restore(e, NULL, w, DIM * sizeof *w);
    s->goes_back = false;
    s->first[rank] = s->n[rank];
    s->outside[rank].samples = 0;
    memcpy(s->outside[rank].common, w, sizeof s->outside[rank].common);
}

/* Begin the next step; return false if there is none. */
static bool next_step(struct eddis *e, int rank, struct shared *s, double *w,
                      struct eddis_step *step)
{
    int64_t combined_ns = 0;
    int rc = -1;

    step->size = sizeof *step;
    do {
        int64_t begun_ns;

        SUCCEEDS(rc = eddis_step_begin(e, step, &err));
        begun_ns = clock_now_ns();
        if (rc == EDDIS_ROUND_ENDED) {
            REFUSED(-EINVAL, "exits with status 0 before its last step",
                    ending_check_rounds(e, &err));
            if (s->goes_back && s->checkpoints[rank]) {
                go_back(e, rank, s, w);
                SUCCEEDS(rc = eddis_step_begin(e, step, &err));
                CHECK(rc == 1 && !e->step.exchange_ns, "%lld ns", (long long)e->step.exchange_ns);
                return rc == 1;
            }
            combine_models(e, rank, s, w);
            combined_ns += clock_now_ns() - begun_ns;
        }
    } while (rc == EDDIS_ROUND_ENDED);
    if (rc == 1) /* the time that the program combined models is that of the exchange */
        CHECK(!combined_ns || e->step.exchange_ns >= combined_ns);
    else
        OK(ending_check_rounds(e, &err));
    return rc == 1;
}

static void checkpoint(struct eddis *e, int rank, struct shared *s, double *w)
{
    struct eddis_checkpoint *c = NULL;
    int rc = -1;

    SUCCEEDS(rc = eddis_checkpoint_begin(e, NULL, &c, &err));
    if (rc == EDDIS_ROUND_ENDED) {
        combine_models(e, rank, s, w);
        OK(eddis_checkpoint_begin(e, NULL, &c, &err));
    }
    check_same(e, EDDIS_ALL, w, DIM * sizeof *w);
    if (rank == 0)
        OK(eddis_checkpoint_put(c, "w", w, DIM * sizeof *w, &err));
    OK(eddis_checkpoint_commit(c, 0, &err));
    s->checkpoints[rank]++;
}

/* Check the flags about values of a step, which comes behind the one before m in a round. */
static void check_values(const struct loop_job *j, struct due *d, const struct made *m, bool first)
{
    bool written = first;

    if (first)
        *d = (struct due){ 0 };
    else if (m[-1].ends) {
        bool saved = m[-1].flags & EDDIS_STEP_CHECKPOINT;

        written = (d->waits || !overlap_of(j)) && !saved;
        *d = (struct due){ .waits = overlap_of(j) && !saved };
    } else if (++d->steps >= overlap_of(j) && d->waits) {
        written = true;
        d->waits = false;
    }
    CHECK(!(m->flags & EDDIS_STEP_WRITTEN) == !written);
    CHECK(!(m->flags & EDDIS_STEP_READS) ==
          !(m->ends || (d->waits && d->steps + 1 >= overlap_of(j))));
    CHECK(!(m->flags & EDDIS_STEP_END_OF_EPOCH) || m->ends);
}

static void record(struct eddis *e, int rank, struct loop_job *j, const struct eddis_step *step)
{
    struct shared *s = j->arg;
    int64_t passed;
    struct made *m = &s->made[rank][s->n[rank]];

    CHECK(step->count <= MAX_SAMPLES && s->n[rank] < MAX_STEPS);
    *m = (struct made){ .epoch = step->epoch, .count = step->count, .flags = step->flags };
    OK(eddis_sample_indices(e, step, m->index, &err));
    pthread_mutex_lock(&s->lock);
    for (int64_t i = 0; i < m->count; i++)
        s->taken[m->epoch][m->index[i]]++;
    pthread_mutex_unlock(&s->lock);
    s->n[rank]++;
    if (!e->group.rounds)
        return;
    m->ends = step->flags & EDDIS_STEP_STOP || samples_round_ends(&e->samples, &passed);
    check_values(j, &s->due[rank], m, s->n[rank] == s->first[rank] + 1);
}

/* Ask for steps ahead, on the thread that makes the steps: they are known, in later rounds too. */
static void look_ahead(struct eddis *e, const struct eddis_step *step, int most)
{
    struct eddis_step next = { .size = sizeof next };

    for (int i = 1; i <= most; i++)
        SUCCEEDS(eddis_plan_step(e, step->step + i, EDDIS_FOREVER, &next, &err));
}

static void train_step(struct eddis *e, struct loop_job *j, int rank, int parameter, double *w,
                       const struct eddis_step *step)
{
    struct shared *s = j->arg;
    const struct made *m;
    double g[DIM] = { 0 };

    look_ahead(e, step, j->each.read_ahead);
    record(e, rank, j, step);
    m = &s->made[rank][s->n[rank] - 1];
    add_gradient(w, m->index, m->count, g);
    for (int k = 0; k < DIM && m->count; k++)
        g[k] /= (double)m->count;
    if (s->sleep_ms[rank])
        clock_sleep_until_ns(clock_now_ns() + s->sleep_ms[rank] * CLOCK_MS);
    if (j->each.gradients)
        combine_gradients(e, step, g);
    else
        step_announce(e, parameter, g);
    s->outside[rank].samples += (double)step->batch;
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    for (int k = 0; k < DIM && step->batch; k++)
        w[k] -= rate * g[k];
    OK(eddis_step_end(e, NULL, &err));
}

/* Publish the first plan's batches or those of the ranks in reverse order, with other periods. */
static void steer(struct loop_job *j, int rank)
{
    const struct shared *s = j->arg;
    int64_t batch[MAX_RANKS];
    int n = s->n[0];

    if (rank != 0 || !s->publish || n % 6 != 3)
        return;
    for (int i = 0; i < j->n; i++)
        batch[i] = j->split[n / 6 % 2 ? i : j->n - 1 - i];
    loop_job_publish(j, batch, 0);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct shared *s = j->arg;
    double w[DIM] = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .value = w,
                                 .dtype = EDDIS_FLOAT64,
                                 .n_dims = 1,
                                 .dims = { DIM } };
    int parameter = add_parameter(e, &p);
    struct eddis_step step;

    s->first[rank] = s->n[rank];
    OK(eddis_commit(e, &err));
    OK(eddis_broadcast_parameters(e, 0, &err));
    if (s->resume)
        restore(e, NULL, w, sizeof w);
    s->outside[rank] = (struct outside){ 0 };
    memcpy(s->outside[rank].common, w, sizeof w);
    while (next_step(e, rank, s, w, &step)) {
        CHECK(step.lr_factor == 1 || step.step < 4 || !e->group.rounds);
        train_step(e, j, rank, parameter, w, &step);
        if (s->saves_inside && !(step.flags & EDDIS_STEP_READS)) {
            struct eddis_checkpoint *c = NULL;

            REFUSED(-EINVAL, "when a round of", eddis_checkpoint_begin(e, NULL, &c, &err));
            s->saves_inside = false;
        }
        if (step.flags & EDDIS_STEP_CHECKPOINT)
            checkpoint(e, rank, s, w);
        if (s->leave_at && s->checkpoints[rank] == s->leave_at)
            return;
        if (rank == 0 && s->n[0] == s->stop_at)
            CHECK(eddis_stop(e) == 0);
        steer(j, rank);
    }
    CHECK(!step_begin(e, &step));
    CHECK(!j->each.gradients == !s->outside[rank].rounds);
    memcpy(s->w[rank], w, sizeof w);
}

static void begin(struct shared *s)
{
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    for (int i = 0; i < MAX_RANKS; i++)
        s->made[i] = calloc(MAX_STEPS, sizeof *s->made[i]);
    CHECK(own_folder_make(s->folder, sizeof s->folder) == 0);
}

static void end(struct shared *s)
{
    for (int i = 0; i < MAX_RANKS; i++)
        free(s->made[i]);
    pthread_mutex_destroy(&s->lock);
}

static void run(struct loop_job *j, struct shared *s)
{
    j->checkpoint_dir = s->folder;
    j->arg = s;
    j->body = body;
    loop_job_run(j);
}

static void check_once_an_epoch(const struct shared *s)
{
    for (int e = 0; e < SCENARIO_EPOCHS; e++)
        for (int i = 0; i < SCENARIO_SAMPLES; i++)
            CHECK(s->taken[e][i] == 1, "sample %d of epoch %d was taken %d times", i, e,
                  s->taken[e][i]);
}

/* ---- the tests ---- */

#define SPLIT(...) .split = { __VA_ARGS__ }

static const struct loop_job jobs[] = {
    { .n = 2, SPLIT(21, 9), .per_group = 1, .period = 3, .algorithm = "local" },
    { .n = 3,
      SPLIT(20, 3, 7),
      .per_group = 1,
      .period = 4,
      .algorithm = "diloco",
      .outer_rate = 0.7,
      .outer_momentum = 0.9 },
    { .n = 4, SPLIT(12, 8, 4, 6), .per_group = 2, .period = 2, .algorithm = "local" },
    { .n = 6,
      SPLIT(9, 3, 6, 2, 5, 5),
      .per_group = 3,
      .period = 50,
      .algorithm = "diloco",
      .outer_rate = 0.5,
      .outer_momentum = 0.5 },
    { .n = 1, SPLIT(30), .per_group = 1, .period = 2, .algorithm = "local" },
    { .n = 2, SPLIT(21, 9), .per_group = 2, .period = 3, .algorithm = "local" },
    { .n = 2, SPLIT(21, 9), .per_group = 1, .period = 3, .overlap = 2, .algorithm = "local" },
    /* the overlap is longer than the rounds of two ranks */
    { .n = 3,
      SPLIT(20, 3, 7),
      .per_group = 1,
      .period = 3,
      .overlap = 4,
      .algorithm = "diloco",
      .outer_rate = 0.7,
      .outer_momentum = 0.9 },
    { .n = 4, SPLIT(12, 8, 4, 6), .per_group = 2, .period = 2, .overlap = 1, .algorithm = "local" },
    { .n = 6,
      SPLIT(9, 3, 6, 2, 5, 5),
      .per_group = 3,
      .period = 50,
      .overlap = 7,
      .algorithm = "diloco",
      .outer_rate = 0.5,
      .outer_momentum = 0.5 },
    { .n = 1, SPLIT(30), .per_group = 1, .period = 2, .overlap = 1, .algorithm = "local" },
};

enum { N_JOBS = sizeof jobs / sizeof *jobs };

/* Train as the reference does, with readers ahead of the steps, a slow rank and changing plans. */
static void trains(const struct loop_job *like, bool publish)
{
    static struct shared s;
    struct loop_job j = *like;
    int rounds;

    begin(&s);
    s.publish = publish;
    s.sleep_ms[j.n - 1] = j.n > 1;
    j.each.read_ahead = publish ? 0 : 5;
    run(&j, &s);
    check_once_an_epoch(&s);
    rounds = check_reference(&j, &s);
    CHECK(rounds >= SCENARIO_EPOCHS);
    end(&s);
}

/* With a period of 1, plain averaging is synchronous training, to the rounding. */
static void period_1_is_synchronous(void)
{
    static struct shared s, sync;
    struct loop_job j = {
        .n = 3, SPLIT(17, 5, 8), .per_group = 1, .period = 1, .algorithm = "local"
    };
    struct loop_job same = { .n = 3, SPLIT(17, 5, 8), .per_group = SYNC };

    begin(&s);
    begin(&sync);
    run(&j, &s);
    run(&same, &sync);
    check_once_an_epoch(&s);
    for (int i = 0; i < j.n; i++)
        CHECK(s.n[i] == sync.n[i]);
    for (int k = 0; k < DIM; k++)
        CHECK(fabs(s.w[0][k] - sync.w[0][k]) < 1e-15 * 2, "%.17g %.17g", s.w[0][k], sync.w[0][k]);
    end(&s);
    end(&sync);
}

/* A job that ends at a checkpoint and goes on has the same bits as one that was not interrupted, if
 * its sums are made in the same way.
 */
static void restarts(const struct loop_job *like)
{
    static const struct comm_choice choice = { .version = 1, .tree_bytes = 1 << 20 };
    static struct shared s, whole;
    struct loop_job j = *like, once = *like;

    j.choice = once.choice = &choice;
    begin(&whole);
    run(&once, &whole);
    begin(&s);
    s.leave_at = 1;
    run(&j, &s);
    j = *like;
    j.choice = &choice;
    j.generation = 2;
    s.leave_at = 0;
    s.resume = true;
    run(&j, &s);
    check_once_an_epoch(&s);
    for (int i = 0; i < j.n; i++)
        CHECK(memcmp(s.w[i], whole.w[i], sizeof s.w[i]) == 0);
    end(&s);
    end(&whole);
}

/* A round whose end has a checkpoint is not overlapped: if all have one, overlap changes no bit. */
static void saves_apply_at_once(const struct loop_job *like)
{
    static const struct comm_choice choice = { .version = 1, .tree_bytes = 1 << 20 };
    static struct shared s, off;
    struct loop_job j = *like, plain = *like;

    plain.overlap = 0;
    j.choice = plain.choice = &choice;
    j.checkpoint_every = plain.checkpoint_every = 1;
    begin(&s);
    begin(&off);
    run(&j, &s);
    run(&plain, &off);
    for (int i = 0; i < j.n; i++) {
        CHECK(s.checkpoints[i] > 1 && s.checkpoints[i] == off.checkpoints[i]);
        CHECK(memcmp(s.w[i], off.w[i], sizeof s.w[i]) == 0);
    }
    end(&s);
    end(&off);
}

/* After a checkpoint in one mode the job goes on in another, and takes every other sample once. */
static void goes_on_in(const struct loop_job *like, const struct loop_job *next)
{
    static struct shared s;
    struct loop_job j = *like;

    begin(&s);
    s.leave_at = 1;
    run(&j, &s);
    j = *next;
    j.generation = 2;
    s.leave_at = 0;
    s.resume = true;
    run(&j, &s);
    check_once_an_epoch(&s);
    for (int i = 1; i < j.n; i++)
        CHECK(memcmp(s.w[i], s.w[0], sizeof s.w[0]) == 0);
    end(&s);
}

/* A stop that one rank asks for ends all groups, with the mean of what they have. */
static void stops(const struct loop_job *like)
{
    static struct shared s;
    struct loop_job j = *like;

    begin(&s);
    s.stop_at = 2;
    s.sleep_ms[0] = 2;
    run(&j, &s);
    for (int i = 0; i < j.n; i++) {
        CHECK(s.n[i] > 0 && s.made[i][s.n[i] - 1].flags & EDDIS_STEP_STOP);
        CHECK(s.made[i][s.n[i] - 1].flags & EDDIS_STEP_READS);
    }
    check_reference(&j, &s);
    end(&s);
}

/* The job whose program combines gradients and models itself. */
static struct loop_job outside(const struct loop_job *like)
{
    struct loop_job j = *like;

    j.each.gradients = "torch";
    return j;
}

/* A program that combines the models itself trains as the reference, stops, and goes on after a
 * checkpoint, which has no momentum here.
 */
static void outside_trains(const struct loop_job *like)
{
    struct loop_job j = outside(like);

    trains(&j, false);
    trains(&j, true);
    stops(&j);
    if (!(j.outer_momentum > 0))
        restarts(&j);
}

/* A group that has no samples in short rounds takes part in their ends, as often as the others. */
static void outside_without_steps(void)
{
    static struct shared s;
    static const struct loop_job like = { .n = 3,
                                          SPLIT(64, 64, 64),
                                          .per_group = 1,
                                          .period = 1,
                                          .each = { .min_count = 60 },
                                          .algorithm = "diloco",
                                          .outer_rate = 0.7,
                                          .outer_momentum = 0.9 };
    struct loop_job j = outside(&like);

    begin(&s);
    run(&j, &s);
    check_once_an_epoch(&s);
    CHECK(s.n[0] > 0 && s.n[0] < s.outside[0].rounds && s.n[1] == s.outside[1].rounds);
    for (int i = 1; i < j.n; i++) {
        CHECK(s.outside[i].rounds == s.outside[0].rounds && s.outside[i].rounds > SCENARIO_EPOCHS);
        CHECK(memcmp(s.w[i], s.w[0], sizeof s.w[0]) == 0);
    }
    end(&s);
}

/* Inside of a round there is no common model to be saved. */
static void saves_no_parts(void)
{
    static struct shared s;
    struct loop_job j = { .n = 1, SPLIT(30), .per_group = 1, .period = 5, .algorithm = "local" };

    begin(&s);
    s.saves_inside = true;
    run(&j, &s);
    CHECK(!s.saves_inside);
    check_reference(&j, &s);
    end(&s);
}

/* A program that restores a checkpoint instead of combining the models ends no exchange by that. */
static void outside_goes_back(void)
{
    static struct shared s;
    static const struct loop_job like = {
        .n = 1, SPLIT(30), .per_group = 1, .period = 1, .algorithm = "local", .checkpoint_every = 2
    };
    struct loop_job j = outside(&like);

    begin(&s);
    s.goes_back = true;
    run(&j, &s);
    CHECK(!s.goes_back);
    end(&s);
}

int main(void)
{
    static const struct loop_job async = { .n = 2, .share = 15, .per_group = ASYNC, .period = 2 };
    static const struct loop_job sync = { .n = 3, .share = 10, .per_group = SYNC };

    for (int i = 0; i < N_JOBS; i++) {
        trains(&jobs[i], false);
        trains(&jobs[i], true);
        stops(&jobs[i]);
        restarts(&jobs[i]);
        if (jobs[i].overlap)
            saves_apply_at_once(&jobs[i]);
        outside_trains(&jobs[i]);
    }
    outside_without_steps();
    outside_goes_back();
    period_1_is_synchronous();
    goes_on_in(&jobs[2], &jobs[1]);
    goes_on_in(&jobs[1], &sync);
    goes_on_in(&sync, &jobs[0]);
    goes_on_in(&jobs[0], &async);
    goes_on_in(&async, &jobs[2]);
    saves_no_parts();
    return check_result();
}
