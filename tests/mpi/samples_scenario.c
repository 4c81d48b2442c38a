/* SPDX-License-Identifier: Apache-2.0 */
/* samples_scenario.c - the samples of a worker, of later steps and of other workers, as they are
 * asked for in every way
 */
#include "scenario.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_RANKS = 8, MOST_STEPS = 4096, STEPS_OF_A_LOADER = 2, PATIENCE_MS = 60000 };

struct worker {
    struct eddis *e;
    struct scenario *s;
    struct eddis_world world;
    int parameter;
    float value, g;
    int32_t *taken; /* [epochs, SCENARIO_SAMPLES] times that this worker has had a sample */
};

static struct worker *worker_new(struct eddis *e, struct scenario *s)
{
    struct worker *w = calloc(1, sizeof *w);

    w->e = e;
    w->s = s;
    w->world = world_of(e);
    w->parameter = add_vector(e, &w->value, 1);
    w->taken = calloc((size_t)scenario_epochs(s) * SCENARIO_SAMPLES, sizeof *w->taken);
    return w;
}

static void worker_free(struct worker *w)
{
    free(w->taken);
    free(w);
}

static void commit(struct worker *w)
{
    OK(eddis_commit(w->e, &err));
    w->world = world_of(w->e); /* the mode may have been open */
}

static bool has_several_models(const struct worker *w)
{
    return w->world.flags & EDDIS_WORLD_SEVERAL;
}

static void complete(struct worker *w, const struct eddis_step *s)
{
    step_announce(w->e, w->parameter, &w->g);
    step_end(w->e);
    if (w->s->after_step && w->world.rank == 0)
        w->s->after_step(w->s->arg, s->step);
}

static void take(struct worker *w, const struct eddis_step *s)
{
    int64_t index[SCENARIO_SAMPLES];

    OK(eddis_sample_indices(w->e, s, index, &err));
    for (int64_t i = 0; i < s->count; i++)
        w->taken[s->epoch * SCENARIO_SAMPLES + index[i]]++;
}

/* All workers together had no sample twice in an epoch, and between `least` and `most` in all. */
static void check_taken(struct worker *w, int64_t least, int64_t most)
{
    size_t n = (size_t)w->s->epochs * SCENARIO_SAMPLES;
    int64_t all = 0;

    OK(eddis_allreduce(w->e, w->taken, n, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
    for (size_t i = 0; i < n; i++) {
        CHECK(w->taken[i] <= 1, "sample %d was taken %d times in epoch %d",
              (int)(i % SCENARIO_SAMPLES), (int)w->taken[i], (int)(i / SCENARIO_SAMPLES));
        all += w->taken[i];
    }
    CHECK(all >= least && all <= most, "%d samples", (int)all);
}

static void check_all_taken(struct worker *w)
{
    check_once(w->e, w->taken, (size_t)w->s->epochs * SCENARIO_SAMPLES);
}

/* ---- what is left out ---- */

static void check_tail(struct worker *w, const struct eddis_step *s)
{
    CHECK(s->count == 0 || s->count >= w->s->min_count, "%d samples", (int)s->count);
    CHECK(s->batch <= w->world.batch && s->batch >= s->count, "a batch of %d", (int)s->batch);
    if (w->s->drop_last && !has_several_models(w))
        CHECK(s->batch == w->world.batch, "a batch of %d", (int)s->batch);
}

void scenario_remainder(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    struct eddis_step step;
    int64_t rest, used, cut;

    commit(w);
    while (step_begin(w->e, &step)) {
        check_tail(w, &step);
        take(w, &step);
        complete(w, &step);
    }
    rest = SCENARIO_SAMPLES % w->world.batch;
    used = SCENARIO_SAMPLES - (s->drop_last || rest < s->min_count ? rest : 0);
    /* An epoch's end cuts a step in two, either of which may be too short for anyone. */
    cut = has_several_models(w) && s->min_count ? 2 * (s->min_count - 1) : 0;
    check_taken(w, s->epochs * (used - cut), s->epochs * used);
    worker_free(w);
}

void scenario_none_left(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);

    REFUSED(-EINVAL, "no sample can be used", eddis_commit(e, &err));
    worker_free(w);
}

/* ---- counts of the group ---- */

/* Of this step, or of a later one that nobody has begun. */
static void check_counts(struct worker *w, const struct eddis_step *s)
{
    int64_t count[MOST_RANKS] = { 0 }, all[MOST_RANKS] = { 0 }, sum = 0, before = 0;
    struct eddis_collective gather = collective_of(EDDIS_GROUP, EDDIS_ALLGATHER, all, sizeof *all);
    int n = 0, here = w->world.group_rank;

    SUCCEEDS(n = eddis_counts(w->e, s->step, count, &err));
    CHECK(n == w->world.n_group_ranks, "%d counts", n);
    for (int i = 0; i < n; i++) {
        before += i < here ? count[i] : 0;
        sum += count[i];
    }
    CHECK(count[here] == s->count && sum == s->batch, "%d samples of %d", (int)count[here],
          (int)sum);
    CHECK(s->samples_before == s->epoch * SCENARIO_SAMPLES + s->first - before,
          "%d samples before step %d", (int)s->samples_before, (int)s->step);
    gather.in = &s->count;
    OK(eddis_collective(w->e, &gather, TIMEOUT_NS, &err));
    CHECK(memcmp(count, all, sizeof count) == 0, "others have other counts at step %d",
          (int)s->step);
}

void scenario_counts(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    struct eddis_step step, next = { .size = sizeof next };
    int64_t count[MOST_RANKS];
    int rc = eddis_counts(e, 0, count, NULL);

    CHECK(rc == (has_several_models(w) ? -EINVAL : w->world.n_ranks), "%d", rc);
    commit(w);
    while (step_begin(w->e, &step)) {
        check_counts(w, &step);
        SUCCEEDS(rc = eddis_plan_step(e, step.step + 2, EDDIS_FOREVER, &next, &err));
        if (rc == 1)
            check_counts(w, &next);
        REFUSED(-ENOBUFS, "", eddis_counts(e, step.step + 3, count, &err));
        take(w, &step);
        complete(w, &step);
    }
    REFUSED(-ESTALE, "", eddis_counts(e, 0, count, &err));
    check_all_taken(w);
    worker_free(w);
}

/* ---- samples that the program counts ---- */

/* What every worker counts at a step. */
static int64_t own_count(int rank, int64_t step)
{
    return step == 1 && rank % 2 ? 0 : 3 * (rank + 1) + step;
}

static void own_step(struct worker *w, const struct eddis_step *s, int64_t n)
{
    int64_t count = own_count(w->world.rank, n), sum[2] = { count * (w->world.rank + 1), count };
    struct eddis_collective add = collective_of(EDDIS_GROUP, EDDIS_ALLREDUCE, sum, 2);
    double mean;

    REFUSED(-EINVAL, "", eddis_set_count(w->e, -1, &err));
    OK(eddis_set_count(w->e, count, &err));
    REFUSED(-EINVAL, "", eddis_set_count(w->e, 1, &err));
    REFUSED(-EINVAL, "", eddis_set_weight(w->e, 1, &err));
    w->g = (float)(w->world.rank + 1);
    OK(eddis_collective(w->e, &add, TIMEOUT_NS, &err));
    complete(w, s);
    mean = sum[1] ? (double)sum[0] / (double)sum[1] : 0;
    CHECK(fabs(w->g - mean) < 1e-5, "%g instead of %g", w->g, mean);
    w->s->done += count;
}

void scenario_own_count(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    int64_t index[SCENARIO_SAMPLES];
    struct eddis_step step;

    commit(w);
    REFUSED(-EINVAL, "", eddis_set_count(e, 1, &err)); /* in no step */
    for (int64_t n = 0; step_begin(w->e, &step); n++) {
        if (!step.batch) { /* of no worker */
            complete(w, &step);
            continue;
        }
        own_step(w, &step, n);
        REFUSED(-EINVAL, "eddis_set_count", eddis_sample_indices(e, &step, index, &err));
    }
    worker_free(w);
}

void scenario_mixed_count(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    struct eddis_step step;

    commit(w);
    /* What is refused in no step does not say yet how the program knows its samples. */
    REFUSED(-EINVAL, "between eddis_step_begin", eddis_set_count(e, 1, &err));
    while (step_begin(w->e, &step)) {
        take(w, &step);
        REFUSED(-EINVAL, "eddis_sample_indices", eddis_set_count(e, 1, &err));
        complete(w, &step);
    }
    check_all_taken(w);
    worker_free(w);
}

/* ---- data that are given late ---- */

/* Check that all that needs the data says so; collectives need none. */
static void check_unknown(struct worker *w)
{
    bool open = strcmp(w->world.mode, "auto") == 0;
    struct eddis_step s = { .size = sizeof s, .count = 1 };
    struct eddis_checkpoint *c;
    int n = w->world.n_ranks;
    int32_t sum = w->world.rank;
    int64_t index;

    OK(eddis_allreduce(w->e, &sum, 1, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
    CHECK(sum == n * (n - 1) / 2, "%d", (int)sum);
    REFUSED(open ? -EAGAIN : -EINVAL, open ? "not known before" : "eddis_set_data",
            eddis_plan_step(w->e, 0, EDDIS_FOREVER, &s, &err));
    s.count = 1;
    REFUSED(-EINVAL, "eddis_set_data", eddis_sample_indices(w->e, &s, &index, &err));
    REFUSED(-EINVAL, "eddis_commit", eddis_step_begin(w->e, &s, &err));
    REFUSED(-EINVAL, "eddis_commit", eddis_checkpoint_begin(w->e, "/nonexistent", &c, &err));
}

/* Every worker gets the same answer as long as one is wrong. */
static void give_wrong(struct worker *w)
{
    int rank = w->world.rank, last = w->world.n_ranks - 1, middle = w->world.n_ranks / 2;
    int64_t epochs = w->s->epochs;
    char words[128];

    REFUSED(-EINVAL, "", eddis_set_data(w->e, 0, 1, &err));
    REFUSED(-EINVAL, "", eddis_set_data(w->e, 10, -1, &err));
    if (rank != middle)
        OK(eddis_set_data(w->e, 17, 1, &err));
    (void)snprintf(words, sizeof words, "rank %d ", middle);
    REFUSED(-EINVAL, words, eddis_commit(w->e, &err));
    OK(eddis_set_data(w->e, SCENARIO_SAMPLES + (rank == last), epochs, &err));
    (void)snprintf(words, sizeof words, "samples is %d on rank 0 but %d on rank %d",
                   SCENARIO_SAMPLES, SCENARIO_SAMPLES + 1, last);
    REFUSED(-EPROTO, words, eddis_commit(w->e, &err));
    OK(eddis_set_data(w->e, SCENARIO_SAMPLES, epochs + (rank == 1), &err));
    (void)snprintf(words, sizeof words, "epochs is %d on rank 0 but %d on rank 1", (int)epochs,
                   (int)epochs + 1);
    REFUSED(-EPROTO, words, eddis_commit(w->e, &err));
}

void scenario_late(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    struct eddis_step step;

    check_unknown(w);
    if (w->world.n_ranks > 1) {
        give_wrong(w);
        check_unknown(w);
    }
    OK(eddis_set_data(e, SCENARIO_SAMPLES, s->epochs, &err));
    commit(w);
    REFUSED(-EBUSY, "already", eddis_set_data(e, SCENARIO_SAMPLES, s->epochs, &err));
    while (step_begin(w->e, &step)) {
        take(w, &step);
        complete(w, &step);
    }
    check_all_taken(w);
    worker_free(w);
}

/* ---- samples of later steps ---- */

/* What was said of each step, to whichever thread. */
struct log_reader {
    struct worker *w;
    pthread_mutex_t lock;                         /* of what follows */
    int64_t first[MOST_STEPS], count[MOST_STEPS]; /* first + 1; 0: not known yet */
    atomic_llong present;
    atomic_bool over;
};

static struct log_reader *log_reader_new(struct worker *w)
{
    struct log_reader *l = calloc(1, sizeof *l);

    l->w = w;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

static void log_reader_free(struct log_reader *l)
{
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* Check that the samples are those that another thread has got. */
static void note(struct log_reader *l, const struct eddis_step *s)
{
    bool in_range = s->step >= 0 && s->step < MOST_STEPS;
    int64_t *first = &l->first[in_range ? s->step : 0], *count = &l->count[first - l->first];

    pthread_mutex_lock(&l->lock);
    CHECK(in_range, "step %d", (int)s->step);
    CHECK(!*first || (*first == s->first + 1 && *count == s->count),
          "what was said of step %d has changed", (int)s->step);
    *first = s->first + 1;
    *count = s->count;
    pthread_mutex_unlock(&l->lock);
}

/* Returns what eddis_plan_step does. */
static int look(struct log_reader *l, int64_t step, int64_t timeout_ns)
{
    struct eddis_step s = { .size = sizeof s };
    int rc = eddis_plan_step(l->w->e, step, timeout_ns, &s, NULL);

    if (rc == 1)
        note(l, &s);
    return rc;
}

static void expect(bool fine, int64_t step, int rc)
{
    CHECK(fine, "asking for step %d is %d", (int)step, rc);
}

/* Ask for all that may be asked for; known: at once, without a second try. */
static void look_at_all(struct log_reader *l, int64_t step, int64_t timeout_ns, bool known)
{
    for (int64_t i = 0; i <= l->w->s->read_ahead; i++) {
        int rc = look(l, step + i, timeout_ns);

        expect(rc >= 0 || (!known && rc == -EAGAIN), step + i, rc);
    }
    expect(look(l, step + l->w->s->read_ahead + 1, timeout_ns) == -ENOBUFS, step, 0);
}

static void *look_beside(void *arg)
{
    struct log_reader *l = arg;
    int n = l->w->s->read_ahead + 1;

    for (int64_t i = 0; !atomic_load(&l->over); i = (i + 7) % n) {
        int64_t timeout_ns = i % 3 ? EDDIS_FOREVER : 0, step = atomic_load(&l->present) + i;
        int rc = look(l, step, timeout_ns);

        expect(rc >= 0 || rc == -ESTALE || (rc == -EAGAIN && !timeout_ns), step, rc);
        usleep(50);
    }
    return NULL;
}

/* Without a wait in the steps: by plan all is known at once, but the shared counter may not have
 * answered.
 */
static void ahead_steps(struct log_reader *l)
{
    struct worker *w = l->w;
    bool by_plan = !has_several_models(w);
    struct eddis_step s;

    while (step_begin(w->e, &s)) {
        atomic_store(&l->present, s.step);
        note(l, &s);
        look_at_all(l, s.step, 0, by_plan);
        take(w, &s);
        OK(eddis_announce(w->e, w->parameter, &w->g, &w->g, &err));
        if ((s.step + w->world.rank) % 2)
            look_at_all(l, s.step, EDDIS_FOREVER, true);
        OK(eddis_wait(w->e, TIMEOUT_NS, &err));
        look_at_all(l, s.step, 0, by_plan);
        OK(eddis_step_end(w->e, NULL, &err));
        if (w->s->after_step && w->world.rank == 0)
            w->s->after_step(w->s->arg, s.step);
    }
}

void scenario_ahead(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    struct log_reader *l = log_reader_new(w);
    pthread_t beside;

    commit(w);
    CHECK(pthread_create(&beside, NULL, look_beside, l) == 0, "no thread");
    ahead_steps(l);
    atomic_store(&l->over, true);
    pthread_join(beside, NULL);
    check_all_taken(w);
    log_reader_free(l);
    worker_free(w);
}

/* ---- loops that are left ---- */

/* As a loader of data: from the present step on as far as it may, until it has to end. */
static void *load(void *arg)
{
    struct log_reader *l = arg;
    int64_t step = atomic_load(&l->present);

    while (!atomic_load(&l->over)) {
        int rc = look(l, step, EDDIS_FOREVER);

        expect(rc >= 0 || rc == -ENOBUFS || rc == -ESTALE, step, rc);
        if (rc == 0)
            break;
        if (rc == -ENOBUFS)
            usleep(200);
        else
            step++;
    }
    return NULL;
}

/* Returns whether there are more. */
static bool steps_of_a_loader(struct log_reader *l)
{
    struct worker *w = l->w;
    struct eddis_step s;
    pthread_t loader;
    int n = 0;

    atomic_store(&l->over, false);
    CHECK(pthread_create(&loader, NULL, load, l) == 0, "no thread");
    while (n < STEPS_OF_A_LOADER && step_begin(w->e, &s)) {
        note(l, &s);
        take(w, &s);
        complete(w, &s);
        atomic_store(&l->present, s.step + 1);
        n++;
    }
    atomic_store(&l->over, true);
    pthread_join(loader, NULL);
    return n == STEPS_OF_A_LOADER;
}

void scenario_breaks(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    struct log_reader *l = log_reader_new(w);

    commit(w);
    while (steps_of_a_loader(l))
        ;
    check_all_taken(w);
    log_reader_free(l);
    worker_free(w);
}

/* ---- a new plan ---- */

static bool is_readable(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, ms) == 1;
}

/* Whether any of the group sees it: they agree in the same step, but threads of the library tell
 * it.
 */
static bool group_has_plan(struct worker *w, int fd)
{
    int64_t seen = is_readable(fd, 0);
    struct eddis_collective add = collective_of(EDDIS_GROUP, EDDIS_ALLREDUCE, &seen, 1);

    OK(eddis_collective(w->e, &add, TIMEOUT_NS, &err));
    return seen > 0;
}

/* Steps until there is a plan, then to the end.  Collective of all where it comes. */
static void await_plan(struct worker *w, int fd)
{
    bool found = false;
    struct eddis_step s;
    uint64_t x;

    while (step_begin(w->e, &s)) {
        usleep(w->s->plans && !w->s->after_step ? 1000 : 0); /* it takes its time */
        complete(w, &s);
        if (found || !w->s->plans || !group_has_plan(w, fd))
            continue;
        found = true;
        CHECK(is_readable(fd, PATIENCE_MS), "no plan where others of the group have one");
        CHECK(read(fd, &x, sizeof x) == sizeof x && !is_readable(fd, 0), "it is not read");
        OK(eddis_barrier(w->e, TIMEOUT_NS, &err)); /* the other groups have theirs */
        CHECK(eddis_stop(w->e) == 0);
    }
    CHECK(found == w->s->plans, "a new plan is%s there", found ? "" : " not");
    CHECK(w->s->plans || !is_readable(fd, 0), "a plan without eddis-run");
}

void scenario_plan_fd(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);
    int fd = -1;

    SUCCEEDS(fd = eddis_plan_fd(e, &err));
    commit(w);
    CHECK(eddis_plan_fd(e, NULL) == fd, "another descriptor");
    if (s->after_step && w->world.rank == 0)
        s->after_step(s->arg, -1);
    OK(eddis_barrier(e, TIMEOUT_NS, &err)); /* all find it at their first step */
    if (s->after_step)
        CHECK(!is_readable(fd, 0), "nobody has agreed on a plan");
    await_plan(w, fd);
    worker_free(w);
}
