/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_models.c - the whole library in async and hybrid mode, a thread a rank over the loop
 *
 * Least squares: every sample is taken once an epoch, whoever takes it and whatever is restarted;
 * all workers leave with the same parameters, the centre, and these fit.
 */
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { DIM = 4, FOREVER = 1 << 30 };

/* What the ranks of a job, and of the one after it, share. */
struct shared {
    pthread_mutex_t lock;
    int taken[SCENARIO_EPOCHS][SCENARIO_SAMPLES];
    int leave_at; /* leave after so many checkpoints, without an end */
    bool resume;
    bool own[MAX_RANKS]; /* goes on with its group's own model */
    int checkpoints[MAX_RANKS], stops[MAX_RANKS], empty[MAX_RANKS];
    int ends[MAX_RANKS]; /* of epochs, seen by each */
    int64_t steps[MAX_RANKS], first_step[MAX_RANKS];
    int64_t unsaved[MAX_RANKS]; /* samples of each since its last checkpoint */
    int boxed[MAX_RANKS];       /* messages to and of the box between the first step and the end */
    double lr_sum;              /* learning-rate factors times 1, of all roots' steps */
    float w[MAX_RANKS][DIM];
    int sleep_ms[MAX_RANKS]; /* a step's */
    bool publish;            /* rank 0 publishes new splits */
    int64_t read_ahead;      /* so many steps, by a thread of each rank; 0: none reads ahead */
    bool go_back;            /* each checkpoint is restored at once */
    int lose_at;             /* the model is lost before this checkpoint; 0: never */
    char first[256];         /* the first checkpoint, to go back to */
    int kept[SCENARIO_EPOCHS][SCENARIO_SAMPLES]; /* what was taken before it */
    int lost[MAX_RANKS];                         /* times that each went back */
    unsigned periods;                            /* set bits: rank 0 did steps under them */
    int64_t flags_at, flags; /* ... and, after so many of its steps, these flags */
    char folder[64];         /* for checkpoints */
};

struct worker {
    struct eddis *e;
    struct shared *s;
    struct loop_job *j;
    int rank;
    float w[DIM], g[DIM];
    pthread_t reader;
    atomic_bool done;
    int64_t since;        /* steps since the last exchange */
    bool reads;           /* the next step's beginning reads values */
    atomic_llong present; /* the step that the reader begins at */
};

static double input(int64_t sample, int j)
{
    uint64_t random = random_mix((uint64_t)sample, (uint64_t)j);

    return 3 * random_unit(&random) - 1.5;
}

static const double truth[DIM] = { 0.5, -1, 0.25, 2 };

static void gradient(const struct worker *w, const int64_t *index, int64_t n, float *g)
{
    memset(g, 0, DIM * sizeof *g);
    for (int64_t i = 0; i < n; i++) {
        double e = 0;

        for (int k = 0; k < DIM; k++)
            e += ((double)w->w[k] - truth[k]) * input(index[i], k);
        for (int k = 0; k < DIM; k++)
            g[k] += (float)(e * input(index[i], k) / (double)n);
    }
}

static void set_up(struct worker *w)
{
    CHECK(commit_vector(w->e, w->w, DIM) == 0);
    OK(eddis_broadcast_parameters(w->e, 0, &err));
}

/* path NULL: the newest. */
static void restore_model(struct worker *w, const char *path)
{
    struct eddis_checkpoint_info info = { .size = sizeof info };
    struct eddis_checkpoint *c = NULL;
    int rank = -1;

    GIVES(1, eddis_restore_begin(w->e, path, &c, &err));
    OK(eddis_checkpoint_get(c, "w", w->w, sizeof w->w, &err));
    OK(eddis_checkpoint_info(c, &info, &err));
    if (info.own) {
        OK(eddis_checkpoint_get_from(c, w->rank, "rank", &rank, sizeof rank, &err));
        CHECK(rank == w->rank);
    }
    CHECK((eddis_checkpoint_size(c, w->rank, "rank", NULL) < 0) == (w->rank >= info.n_ranks));
    OK(eddis_restore_end(c, &err));
    w->s->own[w->rank] = w->e->centre.local != NULL;
    CHECK(info.own == (w->e->group.several ? w->s->own[w->rank] : w->rank < info.n_ranks));
    w->since = 0;
}

/* Rank 0 notes, or takes back, what all have taken; nobody makes steps meanwhile. */
static void keep(struct worker *w, void *to, const void *from)
{
    OK(eddis_barrier(w->e, TIMEOUT_NS, &err));
    if (w->rank == 0)
        memcpy(to, from, sizeof w->s->kept);
    OK(eddis_barrier(w->e, TIMEOUT_NS, &err));
}

/* As eddis.h says: all agree in a checkpoint that is given up, and go back to the first one. */
static void go_back(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    int32_t lost = w->rank == w->j->n - 1;

    for (int k = 0; k < DIM && lost; k++)
        w->w[k] = NAN;
    OK(eddis_checkpoint_begin(w->e, NULL, &c, &err));
    OK(eddis_allreduce(w->e, &lost, 1, EDDIS_INT32, EDDIS_MAX, TIMEOUT_NS, &err));
    CHECK(lost);
    OK(eddis_checkpoint_abandon(c, &err));
    for (int k = 0; k < DIM; k++)
        w->w[k] = NAN;
    atomic_store(&w->present, 0);
    restore_model(w, w->s->first);
    keep(w, w->s->taken, w->s->kept);
    w->s->lost[w->rank]++;
}

static void checkpoint(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    float own[DIM];

    memcpy(own, w->w, sizeof own);
    OK(eddis_checkpoint_begin(w->e, NULL, &c, &err));
    check_same(w->e, EDDIS_ALL, w->w, sizeof w->w); /* meanwhile */
    if (w->rank == 0)
        OK(eddis_checkpoint_put(c, "w", w->w, sizeof w->w, &err));
    OK(eddis_checkpoint_put(c, "rank", &w->rank, sizeof w->rank, &err));
    if (w->s->lose_at && !w->s->checkpoints[w->rank]) {
        if (w->rank == 0)
            snprintf(w->s->first, sizeof w->s->first, "%.*s",
                     (int)(strlen(eddis_checkpoint_folder(c)) - strlen(".g1.part")),
                     eddis_checkpoint_folder(c));
        keep(w, w->s->kept, w->s->taken);
    }
    OK(eddis_checkpoint_commit(c, 0, &err));
    CHECK(memcmp(w->w, own, sizeof own) == 0);
    w->s->checkpoints[w->rank]++;
    w->since = 0;
}

static void count(struct worker *w, const struct eddis_step *s, const int64_t *index)
{
    pthread_mutex_lock(&w->s->lock);
    for (int64_t i = 0; i < s->count; i++)
        w->s->taken[s->epoch][index[i]]++;
    pthread_mutex_unlock(&w->s->lock);
    w->s->ends[w->rank] += (s->flags & EDDIS_STEP_END_OF_EPOCH) != 0;
    w->s->stops[w->rank] += (s->flags & EDDIS_STEP_STOP) != 0;
    w->s->empty[w->rank] += s->batch == 0;
}

/* An exchange came before the step if one was due by the period of the plan that it was done under.
 */
static void count_exchange(struct worker *w, const struct eddis_step *s)
{
    const struct board_page *p = board_own(w->e->board);
    int64_t period = loop_job_period(w->j, p->step_plan);
    int64_t offset = w->e->group.number * period / w->e->group.n_groups;
    bool due = period && s->batch && (s->step + offset) % period == 0;

    /* Where it did, the step before has said that values would be read, and this one says so. */
    if (w->since > 0)
        CHECK(!(s->flags & EDDIS_STEP_WRITTEN) == !due);
    CHECK(!due || w->since == 0 || w->reads || w->e->group.place.rank > 0);
    w->reads = s->flags & EDDIS_STEP_READS;
    w->since = due ? 1 : w->since + 1;
    CHECK(p->staleness == (period ? w->since : 0));
    if (w->rank == 0) /* who publishes, and so sees every version */
        w->s->periods |= 1U << p->step_plan % 3;
}

/* As a sampler on the thread that makes the steps: what may be asked for is known while the step is
 * under way, on members of a group too.
 */
static void look_ahead(const struct worker *w, const struct eddis_step *s)
{
    int64_t most = w->j->scenario[w->rank].read_ahead ? w->j->scenario[w->rank].read_ahead : 2;
    struct eddis_step next = { .size = sizeof next };
    int more = 0;

    for (int64_t i = 1; i <= most; i++) {
        SUCCEEDS(more = eddis_plan_step(w->e, s->step + i, EDDIS_FOREVER, &next, &err));
        CHECK(more == 0 || next.step == s->step + i);
    }
    REFUSED(-ENOBUFS, "", eddis_plan_step(w->e, s->step + most + 1, EDDIS_FOREVER, &next, &err));
}

static void step(struct worker *w, const struct eddis_step *s)
{
    int64_t index[SCENARIO_SAMPLES];

    OK(eddis_sample_indices(w->e, s, index, &err));
    look_ahead(w, s);
    gradient(w, index, s->count, w->g);
    if (w->s->sleep_ms[w->rank])
        clock_sleep_until_ns(clock_now_ns() + w->s->sleep_ms[w->rank] * CLOCK_MS);
    step_announce(w->e, 0, w->g);
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    for (int k = 0; k < DIM; k++)
        w->w[k] -= (float)(0.3 * s->lr_factor) * w->g[k];
    OK(eddis_step_end(w->e, NULL, &err));
    count_exchange(w, s);
    count(w, s, index);
}

/* Ask for the numbers and counts of a step, as a loader's thread does. */
static void ask_numbers(const struct worker *w, const struct eddis_step *s)
{
    int64_t index[SCENARIO_SAMPLES], count[MAX_RANKS];
    int rc;

    OK(eddis_sample_indices(w->e, s, index, &err));
    rc = eddis_counts(w->e, s->step, count, NULL);
    /* the step is over, or the job has gone back, meanwhile */
    CHECK(rc > 0 || rc == -ESTALE || w->s->go_back || w->s->lose_at);
}

/* Ask for the samples of steps ahead again and again, as a thread that loads data would.  Some are
 * over when it comes to them.
 */
static void *read_ahead(void *arg)
{
    struct worker *w = arg;

    while (!atomic_load(&w->done)) {
        int64_t from = atomic_load(&w->present);

        for (int64_t i = 0; i < w->s->read_ahead && !atomic_load(&w->done); i++) {
            struct eddis_step s = { .size = sizeof s };
            struct eddis_error why = { 0 };
            int64_t timeout_ns = i % 2 ? 0 : EDDIS_FOREVER;
            int rc = eddis_plan_step(w->e, from + i, timeout_ns, &s, &why);
            /* the step is over, the answer on its way, or the job has gone back */
            bool good = rc >= 0 || rc == -ESTALE || (rc == -EAGAIN && timeout_ns == 0) ||
                        (rc == -ENOBUFS && (w->s->go_back || w->s->lose_at));

            CHECK(good, "%d %s", rc, why.text);
            if (rc == 1)
                ask_numbers(w, &s);
            usleep(100); /* leave the cores to the others */
        }
    }
    return NULL;
}

static void reader_start(struct worker *w)
{
    if (w->s->read_ahead)
        CHECK(pthread_create(&w->reader, NULL, read_ahead, w) == 0);
}

static void reader_end(struct worker *w)
{
    atomic_store(&w->done, true);
    if (w->s->read_ahead)
        CHECK(pthread_join(w->reader, NULL) == 0);
}

static void steer(struct worker *w, int64_t n)
{
    static const int64_t split[2][MAX_RANKS] = { { 10, 10, 10, 10, 10, 10, 10, 10 },
                                                 { 12, 8, 9, 11, 6, 14, 10, 10 } };

    if (w->rank != 0)
        return;
    if (w->s->publish && n % 4 == 2)
        loop_job_publish(w->j, split[n / 4 % 2], 0);
    if (n == w->s->flags_at && w->s->flags)
        loop_job_publish(w->j, split[0], w->s->flags);
}

/* After the end: back to the first checkpoint and to the end again, and back. */
static void once_more(struct worker *w)
{
    struct eddis_step s;
    int64_t first;
    int n = 0;

    restore_model(w, w->s->first);
    first = w->e->samples.step;
    while (step_begin(w->e, &s)) {
        CHECK(n > 0 || s.step == first);
        step_announce(w->e, 0, w->g);
        step_end(w->e);
        if (s.flags & EDDIS_STEP_CHECKPOINT)
            checkpoint(w);
        n++;
    }
    CHECK(n > 0);
    restore_model(w, w->s->first);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .s = j->arg, .j = j, .rank = rank };
    struct eddis_step s;
    bool left = false;
    int64_t n = 0;

    set_up(&w);
    reader_start(&w);
    if (w.s->resume)
        restore_model(&w, NULL);
    while (!left && step_begin(e, &s)) {
        if (n == 0) {
            w.s->first_step[rank] = s.step;
            w.s->boxed[rank] = -atomic_load(&j->sent[rank][COMM_BOX]);
        }
        atomic_store(&w.present, s.step);
        step(&w, &s);
        n++;
        w.s->unsaved[rank] = s.flags & EDDIS_STEP_CHECKPOINT ? 0 : w.s->unsaved[rank] + s.count;
        if (s.flags & EDDIS_STEP_CHECKPOINT && w.s->checkpoints[rank] + 1 == w.s->lose_at &&
            !w.s->lost[rank])
            go_back(&w);
        else if (s.flags & EDDIS_STEP_CHECKPOINT || w.s->go_back)
            checkpoint(&w);
        if (w.s->go_back)
            restore_model(&w, NULL);
        left = w.s->checkpoints[rank] == w.s->leave_at;
        if (!left)
            steer(&w, n);
    }
    reader_end(&w);
    if (left)
        return;
    CHECK(w.reads || !j->period || e->group.place.rank > 0 || w.s->go_back || n == 0);
    CHECK(!step_begin(e, &s)); /* and so it stays */
    w.s->steps[rank] = n;
    w.s->boxed[rank] += atomic_load(&j->sent[rank][COMM_BOX]);
    memcpy(w.s->w[rank], w.w, sizeof w.w);
    if (w.s->lose_at)
        once_more(&w);
}

static void run(struct loop_job *j, struct shared *s)
{
    j->each.read_ahead = (int)s->read_ahead;
    if (!s->leave_at)
        s->leave_at = FOREVER;
    pthread_mutex_init(&s->lock, NULL);
    j->arg = s;
    j->body = body;
    loop_job_run(j);
    pthread_mutex_destroy(&s->lock);
}

static void check_end(const struct loop_job *j, const struct shared *s)
{
    int64_t last = scenario_epochs(&j->each);

    for (int e = 0; e < SCENARIO_EPOCHS; e++)
        for (int i = 0; i < SCENARIO_SAMPLES; i++)
            CHECK(s->taken[e][i] == (e < last), "sample %d of epoch %d was taken %d times", i, e,
                  s->taken[e][i]);
    for (int i = 0; i < j->n; i++) {
        CHECK(memcmp(s->w[i], s->w[0], sizeof s->w[0]) == 0);
        CHECK(s->checkpoints[i] == s->checkpoints[0]);
    }
    for (int k = 0; k < DIM && last == SCENARIO_EPOCHS; k++)
        CHECK(fabs(s->w[0][k] - truth[k]) < 0.2, "w[%d] = %g, not %g", k, (double)s->w[0][k],
              truth[k]);
}

static const struct row {
    int n, per_group, period;
    int node_of[MAX_RANKS]; /* all 0: each group's own */
    int read_ahead;         /* in the generation that is restarted; see struct shared */
    bool go_back;
} rows[] = { { 2, ASYNC, 1, { 0 } },
             { 4, ASYNC, 3, { 0 } },
             { 4, 2, 2, { 0 } },
             { 6, 3, 1, { 0 } },
             { 1, ASYNC, 2, { 0 } },
             /* one group shares memory, the other is on two nodes */
             { 4, 2, 3, { 0, 0, 1, 2 } },
             { 4, SYNC, 0, { 0 } } };

enum { N_ROWS = sizeof rows / sizeof *rows };

static void clear(struct shared *s)
{
    memset(s, 0, sizeof *s);
    CHECK(own_folder_make(s->folder, sizeof s->folder) == 0);
}

static struct loop_job job_of(const struct row *r, const struct shared *s)
{
    return (struct loop_job){ .n = r->n,
                              .share = 10,
                              .per_group = r->per_group,
                              .period = r->period,
                              .node_of = r->node_of[r->n - 1] ? r->node_of : NULL,
                              .checkpoint_dir = s->folder };
}

/* Only the root of a group talks to the box, of which every group's node has a part. */
static void hsgd_2_only_roots_talk_to_the_box(const struct row *r, const struct shared *s)
{
    if (r->per_group <= ASYNC || r->node_of[r->n - 1])
        return;
    for (int i = 0; i < r->n; i++)
        CHECK(i % r->per_group ? s->boxed[i] == 0 : s->boxed[i] > 0);
}

static void trains(const struct row *r)
{
    static struct shared s;
    struct loop_job j;

    clear(&s);
    j = job_of(r, &s);
    s.publish = r->n > 1;
    s.sleep_ms[r->n - 1] = 3; /* one is slow, the others take more */
    run(&j, &s);
    check_end(&j, &s);
    /* every 10 global batches */
    CHECK(s.checkpoints[0] == SCENARIO_SAMPLES * SCENARIO_EPOCHS / (10 * r->n) / 10);
    CHECK(s.periods == (s.publish ? 7 : 2));
    for (int i = 0; i < r->n; i++)
        CHECK(s.ends[i] >= 1);
    hsgd_2_only_roots_talk_to_the_box(r, &s);
}

/* The job ends at a checkpoint, and goes on with other workers, perhaps in other groups, until
 * there were so many epochs instead of as many.
 */
static void restarts(const struct row *r, const struct row *next, int64_t epochs,
                     int64_t next_epochs)
{
    bool same = r->n == next->n && r->per_group == next->per_group && next->per_group != SYNC;
    static struct shared s;
    struct loop_job j;

    clear(&s);
    j = job_of(r, &s);
    s.leave_at = 1;
    s.sleep_ms[0] = 2;
    j.each.epochs = epochs;
    run(&j, &s);
    j = job_of(next, &s);
    j.generation = 2;
    j.each.epochs = next_epochs;
    s.leave_at = 0;
    s.resume = true;
    s.read_ahead = next->read_ahead;
    s.go_back = s.publish = next->go_back;
    memset(s.checkpoints, 0, sizeof s.checkpoints);
    run(&j, &s);
    for (int i = 0; i < j.n; i++) {
        CHECK(s.first_step[i] > 0 && s.first_step[i] == s.first_step[0]);
        CHECK(s.own[i] == same);
    }
    check_end(&j, &s);
}

/* The model is lost after some checkpoints: all go back to the first one and on from there, while
 * plans change and threads read ahead.  What was taken since is taken once more.
 */
static void goes_back(const struct row *r)
{
    static struct shared s;
    struct loop_job j;

    clear(&s);
    j = job_of(r, &s);
    s.lose_at = r->n > 4 ? 2 : 3; /* of as many as there are, or more */
    s.publish = r->n > 1;
    s.read_ahead = 2;
    s.sleep_ms[0] = 1;
    run(&j, &s);
    check_end(&j, &s);
    for (int i = 0; i < r->n; i++)
        CHECK(s.lost[i] == 1 && s.steps[i] > s.first_step[i]);
}

/* Asked to write a checkpoint and stop, each does so at a step of its own, which is its last. */
static void stops(const struct row *r, int64_t flags_at)
{
    static struct shared s;
    struct loop_job j;

    clear(&s);
    j = job_of(r, &s);
    s.flags_at = flags_at;
    s.flags = BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP;
    for (int i = 0; i < r->n; i++)
        s.sleep_ms[i] = 4 + i;
    run(&j, &s);
    for (int i = 0; i < r->n; i++) {
        CHECK(s.stops[i] == 1 || s.steps[i] * 10 * r->n >= SCENARIO_SAMPLES * SCENARIO_EPOCHS / 2);
        CHECK(s.checkpoints[i] == s.checkpoints[0] && s.checkpoints[i] >= 1);
        CHECK(!s.stops[i] || s.unsaved[i] == 0);
        CHECK(memcmp(s.w[i], s.w[0], sizeof s.w[0]) == 0);
    }
    CHECK(flags_at > 3 || s.stops[0] == 1);
    j = job_of(r, &s); /* and what was not done comes then, once */
    j.generation = 2;
    s.flags = 0;
    s.resume = true;
    memset(s.checkpoints, 0, sizeof s.checkpoints);
    run(&j, &s);
    check_end(&j, &s);
}

static void restarts_with_readers(const struct row *r, const struct row *like, int64_t read_ahead,
                                  bool go_back)
{
    struct row next = *like;

    next.read_ahead = (int)read_ahead;
    next.go_back = go_back;
    restarts(r, &next, SCENARIO_EPOCHS, SCENARIO_EPOCHS);
}

static void restarts_in_each_way(const struct row *r)
{
    const struct row *other = r->per_group == ASYNC ? &rows[2] : &rows[1], *sync = &rows[6];
    enum { ALL = SCENARIO_EPOCHS };

    restarts(r, r, ALL, ALL);
    if ((r - rows) % 2) /* longer, or shorter */
        restarts(r, r, ALL - 1, ALL);
    else
        restarts(r, r, ALL, ALL - 1);
    if (r->n != 4)
        return;
    restarts(r, other, ALL, ALL);
    /* What is left out of order is done in sync mode too, all workers counting alike. */
    restarts(r, sync, ALL, ALL);
    /* Threads read ahead while checkpoints are written and restored: what is left is looked at, or
     * replaced, at one moment.
     */
    restarts_with_readers(r, r, 2, false);
    if (r == &rows[1])
        restarts_with_readers(r, sync, 60, true);
}

int main(void)
{
    for (int i = 0; i < N_ROWS; i++) {
        trains(&rows[i]);
        restarts_in_each_way(&rows[i]);
        goes_back(&rows[i]);
        stops(&rows[i], 3);
        /* A checkpoint is due by samples at about the same steps, which some may take together. */
        for (int64_t at = 6; at < 10; at++)
            stops(&rows[i], at);
    }
    return check_result();
}
