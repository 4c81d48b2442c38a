/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_ending.c - eddis_stop and eddis_finish in every mode, a thread a rank over the loop
 *
 * Jobs without a last epoch, so that nothing but a stop ends them.  What they leave undone another
 * job takes from their checkpoint: every sample of the epochs that were begun is done once.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/worker/worker.h"
#include "loop_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 60, BATCH = 12, MOST_EPOCHS = 4096, STOP_AT = 3 };

#define TIMEOUT_NS (INT64_C(120) * CLOCK_S)

static const struct mode {
    const char *mode, *algorithm;
    int n, per_group;
} mode[] = {
    { "sync", "allreduce", 1, 0 }, { "sync", "allreduce", 3, 0 }, { "async", "easgd", 2, 1 },
    { "async", "easgd", 4, 1 },    { "hybrid", "hsgd", 4, 2 },    { "hybrid", "hsgd", 2, 2 },
    { "sync", "allreduce", 2, 0 },
};

enum { MODES = sizeof mode / sizeof *mode };

/* ENOUGH and AT_EXIT: nobody stops, each group leaves by itself, the latter in a step. */
enum how { BY_ITSELF, BY_THREAD, AT_ONCE, FROM_BEGINNING, ENOUGH, AT_EXIT, HOWS };

struct shared {
    pthread_mutex_t lock;
    int taken[MOST_EPOCHS][SAMPLES];
    int64_t last_epoch; /* of those begun */
    enum how how;
    const struct mode *m;       /* of the job that stops */
    int stopper;                /* who stops; AT_ONCE all do, and leave with no other step */
    int64_t stopped[MAX_RANKS]; /* the step behind which each has ended */
    int64_t epochs;             /* of a job that resumes; 0: this one stops */
    char folder[64];
};

struct worker {
    struct eddis *e;
    struct loop_job *j;
    struct shared *s;
    int rank;
    int64_t last; /* step of this one, which leaves by itself; -1: it does not */
    float w[4], g[4];
};

static void *stop(void *arg)
{
    CHECK(eddis_stop(arg) == 0);
    return NULL;
}

static void stop_by_thread(struct eddis *e)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, stop, e) == 0 && pthread_join(thread, NULL) == 0);
}

static int told(const struct worker *w, int rc, const struct eddis_error *err)
{
    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", w->rank, err->text);
    return rc;
}

static void set_up(struct worker *w, int64_t epochs)
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = w->w };
    struct eddis_error err = { 0 };

    CHECK(eddis_set_data(w->e, SAMPLES, epochs, &err) == 0);
    CHECK(eddis_add_parameter(w->e, eddis_add_layer(w->e, "only", EDDIS_LAYER_OTHER, &err), &p,
                              &err) == 0);
    CHECK(eddis_finish(w->e, 0, &err) == -EINVAL && strstr(err.text, "eddis_commit"));
    CHECK(told(w, eddis_commit(w->e, &err), &err) == 0);
}

static void count(struct worker *w, const struct eddis_step *s, const int64_t *index)
{
    pthread_mutex_lock(&w->s->lock);
    CHECK(s->epoch < MOST_EPOCHS);
    for (int64_t i = 0; i < s->count && s->epoch < MOST_EPOCHS; i++)
        w->s->taken[s->epoch][index[i]]++;
    if (s->epoch > w->s->last_epoch)
        w->s->last_epoch = s->epoch;
    pthread_mutex_unlock(&w->s->lock);
}

/* The step behind which a group leaves by itself. */
static int64_t last_step(const struct mode *m, const struct shared *s, int rank)
{
    return s->how < ENOUGH ? -1 : STOP_AT + 3 * (m->per_group ? rank / m->per_group : 0);
}

static bool by_itself(const struct shared *s)
{
    return s->how >= ENOUGH && !s->epochs;
}

/* What this rank does at its step STOP_AT, before it announces. */
static void maybe_stop(struct worker *w, const struct eddis_step *s)
{
    struct eddis_error err = { 0 };

    if (by_itself(w->s)) {
        CHECK(s->step != STOP_AT || eddis_finish(w->e, 0, &err) == -EINVAL);
        return;
    }
    if (s->step != STOP_AT || w->s->epochs || w->rank != w->s->stopper)
        return;
    if (w->s->how == BY_ITSELF)
        CHECK(eddis_stop(w->e) == 0);
    if (w->s->how == BY_THREAD)
        stop_by_thread(w->e);
    CHECK(eddis_finish(w->e, 0, &err) == -EINVAL && strstr(err.text, "eddis_step_end"));
}

/* Each model goes its own way. */
static void step(struct worker *w, const struct eddis_step *s)
{
    struct eddis_error err = { 0 };
    int64_t index[SAMPLES];
    float *g = w->g; /* an exit still reads and writes it */

    CHECK(eddis_sample_indices(w->e, s, index, &err) == 0);
    for (int k = 0; k < 4; k++)
        g[k] = (float)(w->rank + k + 1);
    maybe_stop(w, s);
    if (w->s->how == AT_EXIT && s->step == w->last) { /* some have announced what some have not */
        CHECK(w->rank % 2 == 0 || eddis_announce(w->e, 0, g, g, &err) == 0);
        count(w, s, index);
        return;
    }
    CHECK(eddis_announce(w->e, 0, g, g, &err) == 0);
    CHECK(told(w, eddis_wait(w->e, TIMEOUT_NS, &err), &err) == 0);
    for (int k = 0; k < 4; k++)
        w->w[k] -= 0.01F * g[k];
    CHECK(eddis_step_end(w->e, NULL, &err) == 0);
    count(w, s, index);
    if (w->rank != w->s->stopper)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
}

/* Returns whether this rank has no step to do any more. */
static bool leaves(struct worker *w, const struct eddis_step *s)
{
    struct eddis_step next = { .size = sizeof next };
    struct eddis_error err = { 0 };

    if (by_itself(w->s)) {
        CHECK(!(s->flags & EDDIS_STEP_STOP));
        return s->step == w->last;
    }
    if (w->s->how == AT_ONCE && s->step == STOP_AT && !w->s->epochs) {
        CHECK(eddis_stop(w->e) == 0);
        return true;
    }
    if (w->s->epochs && w->s->how == BY_THREAD) /* the last one, as far as it is known */
        return s->epoch == w->s->epochs - 1 && s->flags & EDDIS_STEP_END_OF_EPOCH;
    if (!(s->flags & EDDIS_STEP_STOP))
        return false;
    CHECK(eddis_plan_step(w->e, s->step + 1, EDDIS_FOREVER, &next, &err) == 0);
    return true;
}

static void train(struct worker *w)
{
    struct eddis_step s = { .size = sizeof s, .step = -1 };
    struct eddis_error err = { 0 };
    int rc = 1;

    while (rc == 1) {
        rc = told(w, eddis_step_begin(w->e, &s, &err), &err);
        if (rc != 1)
            break;
        step(w, &s);
        if (leaves(w, &s))
            break;
    }
    CHECK(rc == 0 ? w->s->epochs : !w->s->epochs || w->s->how == BY_THREAD);
    w->s->stopped[w->rank] = s.step;
}

/* All have the same parameters, and nothing goes on. */
static void ended(struct worker *w)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    float all[MAX_RANKS][4];

    if (w->s->how == AT_EXIT && !w->s->epochs)
        CHECK(ending_may_finish(w->e) && told(w, ending_finish(w->e, &err), &err) == 0);
    CHECK(told(w, eddis_finish(w->e, TIMEOUT_NS, &err), &err) == 0);
    CHECK(eddis_finish(w->e, 0, &err) == 0);
    CHECK(eddis_step_begin(w->e, &s, &err) == 0);
    for (int64_t i = 0; i < 9; i++) /* who was told of some may ask for the one behind them */
        CHECK(eddis_plan_step(w->e, w->e->samples.step + i, EDDIS_FOREVER, &s, &err) == 0);
    CHECK(eddis_allgather(w->e, w->w, all, sizeof w->w, TIMEOUT_NS, &err) == 0);
    for (int i = 1; i < w->j->n; i++)
        CHECK(memcmp(all[i], all[0], sizeof all[0]) == 0);
}

static void save(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    CHECK(told(w, eddis_checkpoint_begin(w->e, w->s->folder, &c, &err), &err) == 0);
    CHECK(eddis_checkpoint_put(c, "w", w->w, sizeof w->w, &err) == 0);
    CHECK(eddis_checkpoint_commit(c, 0, &err) == 0);
}

static void restore(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    CHECK(told(w, eddis_restore_begin(w->e, w->s->folder, &c, &err), &err) == 1);
    CHECK(eddis_checkpoint_get(c, "w", w->w, sizeof w->w, &err) == 0);
    CHECK(told(w, eddis_restore_end(c, &err), &err) == 0);
}

static void ending_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };

    w.last = w.s->epochs ? -1 : last_step(w.s->m, w.s, rank);
    if (w.s->how == FROM_BEGINNING && !w.s->epochs && rank == w.s->stopper)
        stop_by_thread(e);
    set_up(&w, w.s->epochs);
    if (w.s->epochs)
        restore(&w);
    train(&w);
    ended(&w);
    if (!w.s->epochs)
        save(&w);
}

static void run(const struct mode *m, void (*body)(struct eddis *e, int rank, struct loop_job *j),
                void *arg)
{
    struct loop_job j = { .n = m->n,
                          .body = body,
                          .mode = m->mode,
                          .algorithm = m->algorithm,
                          .per_group = m->per_group,
                          .period = m->per_group ? 2 : 0,
                          .arg = arg };
    int64_t batch[MAX_RANKS];

    for (int i = 0; i < m->n; i++) {
        j.scenario[i] = (struct scenario){ .batch = BATCH, .late = 1 };
        batch[i] = BATCH / m->n;
    }
    loop_job_board_of(&j, batch);
    loop_job_run(&j);
}

/* All of a group end behind the same step, the stopper's behind the one after its wish. */
static void check_stops(const struct mode *m, const struct shared *s)
{
    int group = m->per_group ? m->per_group : m->n;
    int64_t at = s->how == AT_ONCE ? STOP_AT : s->how == FROM_BEGINNING ? 1 : STOP_AT + 1;

    for (int i = 0; i < m->n; i++)
        CHECK(s->stopped[i] == s->stopped[i / group * group]);
    for (int i = 0; i < m->n && s->how >= ENOUGH; i++)
        CHECK(s->stopped[i] == last_step(m, s, i));
    if (s->how >= ENOUGH)
        return;
    CHECK(s->stopped[s->stopper] == at);
}

static void check_taken(const struct shared *s, int64_t epochs)
{
    int wrong = 0;

    for (int64_t k = 0; k < epochs; k++)
        for (int i = 0; i < SAMPLES; i++)
            wrong += s->taken[k][i] != 1;
    CHECK(wrong == 0);
}

/* A worker stops while others step; the rest is for another job, in that mode. */
static void test_ending(const struct mode *m, const struct mode *then, enum how how, int stopper)
{
    struct shared *s = calloc(1, sizeof *s);

    pthread_mutex_init(&s->lock, NULL);
    s->how = how;
    s->m = m;
    s->stopper = stopper;
    strcpy(s->folder, "/tmp/eddis-ending.XXXXXX");
    CHECK(mkdtemp(s->folder));
    run(m, ending_body, s);
    check_stops(m, s);
    s->epochs = s->last_epoch + 1;
    run(then, ending_body, s);
    check_taken(s, s->epochs);
    CHECK(s->last_epoch == s->epochs - 1);
    CHECK(file_remove_tree(s->folder, NULL) == 0);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- the driver's ---- */

/* A step of this rank, with nothing in it. */
static void empty_step(struct worker *w)
{
    struct eddis_error err = { 0 };

    CHECK(eddis_wait(w->e, TIMEOUT_NS, &err) == 0 && eddis_step_end(w->e, NULL, &err) == 0);
}

/* Its plan comes to each group by itself, with all that it asks for: no group hears less of it by
 * the counter.
 */
static void driver_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int64_t batch[] = { 6, 6 };
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    set_up(&w, 0);
    do {
        CHECK(eddis_step_begin(e, &s, &err) == 1);
        if (rank == 0 && s.step == 1)
            loop_job_publish(j, batch, BOARD_FLAG_STOP | BOARD_FLAG_CHECKPOINT);
        if (rank == 0 && s.flags & EDDIS_STEP_STOP)
            atomic_store(&j->opened, 1);
        while (rank == 1 && s.step == 1 && !atomic_load(&j->opened))
            usleep(1000);
        empty_step(&w);
    } while (!(s.flags & EDDIS_STEP_STOP));
    CHECK(s.flags & EDDIS_STEP_CHECKPOINT && !e->samples.counter.stop_sent);
    save(&w);
    ended(&w);
}

/* ---- one that comes late ---- */

/* Steps until a stop; the last rank stays in its last step, or behind it where others need that,
 * until `opened`.
 */
static void steps_until_stop(struct worker *w, bool last)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    bool alone = w->j->per_group == 1;
    int rc;

    do {
        rc = eddis_step_begin(w->e, &s, &err);
        CHECK(rc == 1);
        if (w->rank == 0 && s.step == 1)
            CHECK(eddis_stop(w->e) == 0);
        while (last && alone && s.step == 0 && !atomic_load(&w->j->opened))
            usleep(1000);
        empty_step(w);
    } while (rc == 1 && !(s.flags & EDDIS_STEP_STOP));
    while (last && !atomic_load(&w->j->opened))
        usleep(1000);
}

/* Who waits is told for whom, and may go on waiting, but do nothing else. */
static void late_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    bool last = rank == j->n - 1;

    set_up(&w, 0);
    steps_until_stop(&w, last);
    if (rank == 0) {
        for (int i = 0; i < 3; i++) {
            CHECK(eddis_finish(e, i * CLOCK_S / 20, &err) == -ETIMEDOUT);
            CHECK(strstr(err.text, "not all workers have ended their steps") &&
                  strstr(err.text, i ? "waits for rank 1" : "all"));
            CHECK(!strstr(err.text, "-1"));
        }
        CHECK(eddis_checkpoint_begin(e, w.s->folder, &c, &err) == -EINVAL &&
              strstr(err.text, "eddis_finish"));
        CHECK(eddis_restore_begin(e, w.s->folder, &c, &err) == -EINVAL);
        atomic_store(&j->opened, 1);
    }
    ended(&w);
}

/* As the end begins on a worker that comes no further: it says that it is there. */
static void say_end(struct eddis *e)
{
    struct eddis_error err = { 0 };
    int64_t where[2] = { 1, -1 };

    CHECK(eddis_allreduce(e, where, 2, EDDIS_INT64, EDDIS_MIN, TIMEOUT_NS, &err) == 0);
    CHECK(where[0] == 1 && where[1] == -1);
    e->centre.end = END_LAST;
}

/* Of several models: all have come, but one does not make the last exchange, for which the others
 * wait.  No checkpoint comes between.
 */
static void late_exchange_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    set_up(&w, 0);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    empty_step(&w);
    if (rank == 1)
        say_end(e);
    while (rank == 0 && !e->centre.met) {
        CHECK(eddis_finish(e, CLOCK_S / 20, &err) == -ETIMEDOUT);
        CHECK(eddis_checkpoint_begin(e, w.s->folder, &c, &err) == -EINVAL &&
              strstr(err.text, "has timed out: call it again"));
        CHECK(eddis_restore_begin(e, w.s->folder, &c, &err) == -EINVAL);
    }
    if (rank == 0)
        atomic_store(&j->opened, 1);
    while (!atomic_load(&j->opened))
        usleep(1000);
    ended(&w);
}

/* A step_begin goes on with what timed out. */
static void late_begin_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    set_up(&w, 0);
    steps_until_stop(&w, rank == j->n - 1);
    if (rank == 0) {
        CHECK(eddis_finish(e, 0, &err) == -ETIMEDOUT);
        atomic_store(&j->opened, 1);
    }
    CHECK(rank != 0 || eddis_step_begin(e, &s, &err) == 0);
    ended(&w);
}

/* All before the first step. */
static void none_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    set_up(&w, 0);
    w.w[0] = (float)rank;
    CHECK(eddis_broadcast_parameters(e, 0, &err) == 0);
    CHECK(eddis_stop(e) == 0 && eddis_stop(e) == 0);
    if (rank == 0 && j->n > 1) {
        CHECK(eddis_finish(e, CLOCK_S / 20, &err) == -ETIMEDOUT);
        CHECK(eddis_checkpoint_begin(e, w.s->folder, &c, &err) == -EINVAL);
        atomic_store(&j->opened, 1);
    }
    while (j->n > 1 && !atomic_load(&j->opened))
        usleep(1000);
    ended(&w);
    CHECK(e->samples.step == 0);
}

/* ---- what is not known in time ---- */

/* As if the counter were long in answering what was asked for a later step. */
static void ask_unsent(struct samples *s)
{
    CHECK(samples_freeze(s, NULL) == 0);
    pthread_mutex_lock(&s->lock);
    s->counter.asking = true;
    s->counter.ask = (struct command_queue){ .command.kind = MAIL_BOX,
                                             .r = { .kind = SMB_FETCH_ADD,
                                                    .key = s->counter.key,
                                                    .add = BATCH,
                                                    .deadline_ns = clock_now_ns() + TIMEOUT_NS } };
    pthread_mutex_unlock(&s->lock);
    samples_thaw(s);
}

static void set_busy(struct samples *s, bool busy)
{
    pthread_mutex_lock(&s->lock);
    s->counter.busy = busy;
    pthread_mutex_unlock(&s->lock);
}

/* The others hear of the stop although it was told after many tries. */
static void slow_counter_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    set_up(&w, 0);
    do {
        CHECK(eddis_step_begin(e, &s, &err) == 1);
        empty_step(&w);
    } while (rank == 1 && !(s.flags & EDDIS_STEP_STOP));
    if (rank == 0) {
        ask_unsent(&e->samples);
        CHECK(eddis_stop(e) == 0);
        for (int i = 0; i < 4; i++) { /* another thread waits for the answer, or nobody */
            set_busy(&e->samples, i < 2);
            CHECK(eddis_finish(e, i % 2 * CLOCK_S / 20, &err) == -ETIMEDOUT);
            CHECK(strstr(err.text, "not all workers have ended") && strstr(err.text, "counter"));
        }
        comm_thread_send(e->comm_thread, &e->samples.counter.ask.command);
    }
    ended(&w);
    CHECK(rank == 1 || e->samples.counter.stop_sent);
}

static void *release(void *arg)
{
    samples_release(arg);
    return NULL;
}

/* Whether there is another step is not known while workers agree on a plan. */
static void unknown_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    pthread_t thread;

    set_up(&w, 3);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    empty_step(&w);
    (void)samples_hold(&e->samples, 0, true);
    e->samples.horizon = s.step; /* no other thread is there */
    for (int i = 0; i < 2; i++) {
        CHECK(eddis_finish(e, i * CLOCK_S / 20, &err) == -ETIMEDOUT && err.code == -ETIMEDOUT);
        CHECK(strstr(err.text, "step 1 is not planned yet"));
    }
    CHECK(pthread_create(&thread, NULL, release, &e->samples) == 0);
    CHECK(eddis_finish(e, TIMEOUT_NS, &err) == -EINVAL &&
          strstr(err.text, "step 1 is still to be done"));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(eddis_stop(e) == 0);
    ended(&w);
}

/* Where the number of epochs is known, nobody leaves steps undone who has not asked for a stop. */
static void known_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    set_up(&w, 3);
    CHECK(!ending_may_finish(e));
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    CHECK(!ending_may_finish(e));
    empty_step(&w);
    CHECK(eddis_finish(e, TIMEOUT_NS, &err) == -EINVAL &&
          strstr(err.text, "step 1 is still to be done"));
    CHECK(!ending_may_finish(e));
    CHECK(eddis_stop(e) == 0);
    CHECK(ending_may_finish(e) && told(&w, ending_finish(e, &err), &err) == 0);
    ended(&w);
}

/* Its last step says so before it is ended, and the end of that before eddis_step_begin does. */
static void last_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int rc = 1;

    set_up(&w, 1);
    while (rc == 1 && !ending_may_finish(e)) {
        rc = eddis_step_begin(e, &s, &err);
        if (rc == 1 && ending_may_finish(e))
            break;
        if (rc == 1)
            empty_step(&w);
    }
    CHECK(rc == 1 && ending_may_finish(e) && told(&w, ending_finish(e, &err), &err) == 0);
    ended(&w);
}

/* Who goes back behind such an end goes on. */
static void back_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    set_up(&w, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(eddis_step_begin(e, &s, &err) == 1);
        empty_step(&w);
    }
    ended(&w);
    save(&w);
    restore(&w);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    empty_step(&w);
    ended(&w);
}

/* ---- another one's checkpoint, and going back ---- */

static void abandon(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    CHECK(told(w, eddis_checkpoint_begin(w->e, w->s->folder, &c, &err), &err) == 0);
    CHECK(eddis_checkpoint_abandon(c, &err) == 0);
}

/* Rank 0 waits for the end when rank 1 writes a checkpoint, which is not the last one; or both go
 * back to one, and the job stops all the same.
 */
static void meet_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    bool back = w.s->how == FROM_BEGINNING;
    int rc;

    set_up(&w, 0);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    empty_step(&w);
    save(&w);
    if (rank == 0) {
        CHECK(eddis_stop(e) == 0);
        CHECK(told(&w, eddis_finish(e, TIMEOUT_NS, &err), &err) == 1);
        CHECK(eddis_finish(e, TIMEOUT_NS, &err) == -EINVAL &&
              strstr(err.text, "EDDIS_STEP_CHECKPOINT"));
    }
    abandon(&w);
    if (back)
        restore(&w);
    do {
        rc = eddis_step_begin(e, &s, &err);
        if (rc == 1 && s.step < 10000)
            empty_step(&w);
    } while (rc == 1 && s.step < 10000);
    CHECK(rc == 0 && (rank == 0 || s.step > 0));
    ended(&w);
}

/* One of the first two groups has come to its exit when the others write a checkpoint, elsewhere
 * than the one before: that is not kept, and nobody fails.
 */
static void pass_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    int exits = w.s->how == ENOUGH;
    char other[80];

    snprintf(other, sizeof other, "%s/other", w.s->folder);
    set_up(&w, 0);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    empty_step(&w);
    save(&w);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    if (e->group.number == exits) {
        CHECK(told(&w, ending_finish(e, &err), &err) == 0);
    } else {
        empty_step(&w);
        CHECK(told(&w, eddis_checkpoint_begin(e, other, &c, &err), &err) == 0);
        CHECK(strncmp(eddis_checkpoint_folder(c), other, strlen(other)) == 0);
        CHECK(access(eddis_checkpoint_folder(c), W_OK) == 0);
        CHECK(eddis_checkpoint_put(c, "w", w.w, sizeof w.w, &err) == 0);
        CHECK(eddis_checkpoint_commit(c, 0, &err) == 1);
        CHECK(err.code == 0 && strstr(err.text, "the program of this worker"));
        CHECK(eddis_step_begin(e, &s, &err) == 1);
        empty_step(&w);
    }
    ended(&w);
    CHECK(eddis_restore_begin(e, other, &c, &err) == -ENOENT);
    CHECK(told(&w, eddis_restore_begin(e, w.s->folder, &c, &err), &err) == 1);
    CHECK(eddis_checkpoint_abandon(c, &err) == 0);
}

static void test_pair(const struct mode *m,
                      void (*body)(struct eddis *e, int rank, struct loop_job *j), enum how how)
{
    struct shared *s = calloc(1, sizeof *s);

    s->how = how;
    strcpy(s->folder, "/tmp/eddis-ending.XXXXXX");
    CHECK(mkdtemp(s->folder));
    run(m, body, s);
    CHECK(file_remove_tree(s->folder, NULL) == 0);
    free(s);
}

static void test_late(const struct mode *m)
{
    struct shared *s = calloc(1, sizeof *s);

    strcpy(s->folder, "/nowhere");
    if (m->n == 2) {
        run(m, late_body, s);
        run(m, late_begin_body, s);
    }
    if (m->n == 2 && m->per_group == 1)
        run(m, late_exchange_body, s);
    run(m, none_body, s);
    run(m, known_body, s);
    run(m, last_body, s);
    free(s);
}

int main(void)
{
    for (int i = 0; i < MODES; i++)
        for (int how = 0; how < HOWS; how++)
            test_ending(&mode[i], &mode[how % 2 ? (i + 2) % MODES : i], (enum how)how,
                        how % mode[i].n);
    for (int i = 0; i < MODES; i++)
        test_late(&mode[i]);
    test_pair(&mode[2], meet_body, BY_ITSELF);
    test_pair(&mode[2], meet_body, FROM_BEGINNING);
    test_pair(&mode[2], back_body, BY_ITSELF);
    for (int i = 2; i < 5; i++)
        for (int how = BY_ITSELF; how <= ENOUGH; how += ENOUGH)
            test_pair(&mode[i], pass_body, (enum how)how);
    test_pair(&mode[2], driver_body, BY_ITSELF);
    test_pair(&mode[2], slow_counter_body, BY_ITSELF);
    run(&mode[0], unknown_body, &(struct shared){ .epochs = 0 });
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
