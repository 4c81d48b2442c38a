/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_ending.c - eddis_stop and eddis_finish in every mode, a thread a rank over the loop
 *
 * Jobs without a last epoch, so that nothing but a stop ends them.  What they leave undone another
 * job takes from their checkpoint: every sample of the epochs that were begun is done once.
 */
#include "lib/base/clock.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SAMPLES = 60, BATCH = 12, MOST_EPOCHS = 4096, STOP_AT = 3 };

#define JOB(ranks, group)                                                                          \
    {                                                                                              \
        .n = ranks, .share = BATCH / ranks, .per_group = group, .each.late = 1                     \
    }

#define LOCAL(ranks, group, ...)                                                                   \
    {                                                                                              \
        .n = ranks, .share = BATCH / ranks, .per_group = group, .algorithm = "local",              \
        .each.late = 1, __VA_ARGS__                                                                \
    }

static const struct loop_job modes[] = { JOB(1, SYNC),
                                         JOB(3, SYNC),
                                         JOB(2, ASYNC),
                                         JOB(4, ASYNC),
                                         JOB(4, 2),
                                         JOB(2, 2),
                                         JOB(2, SYNC),
                                         LOCAL(2, 1),
                                         LOCAL(4, 2),
                                         LOCAL(2, 1, .period = 3, .overlap = 2),
                                         LOCAL(4, 2, .overlap = 1) };

/* A round for each step: checkpoints after any step. */
static const struct loop_job short_rounds[] = {
    { .n = 2, .share = 6, .per_group = 1, .algorithm = "local", .period = 1, .each.late = 1 },
    { .n = 4, .share = 3, .per_group = 2, .algorithm = "local", .period = 1, .each.late = 1 },
    { .n = 2,
      .share = 6,
      .per_group = 1,
      .algorithm = "local",
      .period = 1,
      .overlap = 1,
      .each.late = 1 },
};

enum {
    MODES = sizeof modes / sizeof *modes,
    SHORT_ROUNDS = sizeof short_rounds / sizeof *short_rounds
};

/* ENOUGH and AT_EXIT: nobody stops, each group leaves by itself, the latter in a step. */
enum how { BY_ITSELF, BY_THREAD, AT_ONCE, FROM_BEGINNING, ENOUGH, AT_EXIT, HOWS };

struct shared {
    pthread_mutex_t lock;
    int taken[MOST_EPOCHS][SAMPLES];
    int64_t last_epoch; /* of those begun */
    enum how how;
    const struct loop_job *m;   /* the job that stops, or one like it */
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

static void set_up(struct worker *w, int64_t epochs)
{
    OK(eddis_set_data(w->e, SAMPLES, epochs, &err));
    CHECK(add_vector(w->e, w->w, 4) == 0);
    REFUSED(-EINVAL, "eddis_commit", eddis_finish(w->e, 0, &err));
    OK(eddis_commit(w->e, &err));
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
static int64_t last_step(const struct loop_job *m, const struct shared *s, int rank)
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
    if (by_itself(w->s)) {
        if (s->step == STOP_AT)
            REFUSED(-EINVAL, "", eddis_finish(w->e, 0, &err));
        return;
    }
    if (s->step != STOP_AT || w->s->epochs || w->rank != w->s->stopper)
        return;
    if (w->s->how == BY_ITSELF)
        CHECK(eddis_stop(w->e) == 0);
    if (w->s->how == BY_THREAD)
        stop_by_thread(w->e);
    REFUSED(-EINVAL, "eddis_step_end", eddis_finish(w->e, 0, &err));
}

/* Each model goes its own way. */
static void step(struct worker *w, const struct eddis_step *s)
{
    int64_t index[SAMPLES];
    float *g = w->g; /* an exit still reads and writes it */

    OK(eddis_sample_indices(w->e, s, index, &err));
    for (int k = 0; k < 4; k++)
        g[k] = (float)(w->rank + k + 1);
    maybe_stop(w, s);
    if (w->s->how == AT_EXIT && s->step == w->last) { /* some have announced what some have not */
        if (w->rank % 2)
            step_announce(w->e, 0, g);
        count(w, s, index);
        return;
    }
    step_announce(w->e, 0, g);
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    for (int k = 0; k < 4; k++)
        w->w[k] -= 0.01F * g[k];
    OK(eddis_step_end(w->e, NULL, &err));
    count(w, s, index);
    if (w->rank != w->s->stopper)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
}

/* Returns whether this rank has no step to do any more. */
static bool leaves(struct worker *w, const struct eddis_step *s)
{
    struct eddis_step next = { .size = sizeof next };

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
    OK(eddis_plan_step(w->e, s->step + 1, EDDIS_FOREVER, &next, &err));
    return true;
}

static void train(struct worker *w)
{
    struct eddis_step s = { .step = -1 };
    bool more;

    while ((more = step_begin(w->e, &s))) {
        step(w, &s);
        if (leaves(w, &s))
            break;
    }
    CHECK(more ? !w->s->epochs || w->s->how == BY_THREAD : w->s->epochs);
    w->s->stopped[w->rank] = s.step;
}

/* All have the same parameters, and nothing goes on. */
static void ended(struct worker *w)
{
    struct eddis_step s = { .size = sizeof s };

    if (w->s->how == AT_EXIT && !w->s->epochs) {
        CHECK(ending_may_finish(w->e));
        OK(ending_finish(w->e, &err));
    }
    OK(eddis_finish(w->e, TIMEOUT_NS, &err));
    OK(eddis_finish(w->e, 0, &err));
    CHECK(!step_begin(w->e, &s));
    for (int64_t i = 0; i < 9; i++) /* who knows of some may ask for the one behind them */
        OK(eddis_plan_step(w->e, w->e->samples.step + i, EDDIS_FOREVER, &s, &err));
    check_same(w->e, EDDIS_ALL, w->w, sizeof w->w);
}

static void save_model(struct worker *w)
{
    save(w->e, w->s->folder, w->w, sizeof w->w);
}

static void restore_model(struct worker *w)
{
    restore(w->e, w->s->folder, w->w, sizeof w->w);
}

static void ending_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };

    w.last = w.s->epochs ? -1 : last_step(w.s->m, w.s, rank);
    if (w.s->how == FROM_BEGINNING && !w.s->epochs && rank == w.s->stopper)
        stop_by_thread(e);
    set_up(&w, w.s->epochs);
    if (w.s->epochs)
        restore_model(&w);
    train(&w);
    ended(&w);
    if (!w.s->epochs)
        save_model(&w);
}

/* All of a group end behind the same step, the stopper's behind the one after its request; in local
 * mode behind the one after the round's end.
 */
static void check_stops(const struct loop_job *m, const struct shared *s)
{
    int group = m->per_group ? m->per_group : m->n;
    int64_t at = s->how == AT_ONCE ? STOP_AT : s->how == FROM_BEGINNING ? 1 : STOP_AT + 1;

    for (int i = 0; i < m->n; i++)
        CHECK(s->stopped[i] == s->stopped[i / group * group]);
    for (int i = 0; i < m->n && s->how >= ENOUGH; i++)
        CHECK(s->stopped[i] == last_step(m, s, i));
    if (s->how >= ENOUGH)
        return;
    CHECK(m->algorithm ? s->stopped[s->stopper] >= at : s->stopped[s->stopper] == at);
}

static void check_taken(const struct shared *s, int64_t epochs)
{
    int wrong = 0;

    for (int64_t k = 0; k < epochs; k++)
        for (int i = 0; i < SAMPLES; i++)
            wrong += s->taken[k][i] != 1;
    CHECK(wrong == 0);
}

static struct shared *shared_new(enum how how)
{
    struct shared *s = calloc(1, sizeof *s);

    pthread_mutex_init(&s->lock, NULL);
    CHECK(own_folder_make(s->folder, sizeof s->folder) == 0);
    s->how = how;
    return s;
}

static void shared_free(struct shared *s)
{
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* A worker stops while others step; the rest is for another job, in that mode. */
static void test_ending(const struct loop_job *m, const struct loop_job *then, enum how how,
                        int stopper)
{
    struct shared *s = shared_new(how);

    s->m = m;
    s->stopper = stopper;
    loop_job_run_body(m, ending_body, s);
    check_stops(m, s);
    s->epochs = s->last_epoch + 1;
    loop_job_run_body(then, ending_body, s);
    check_taken(s, s->epochs);
    CHECK(s->last_epoch == s->epochs - 1);
    shared_free(s);
}

/* ---- the driver's ---- */

/* Its plan comes to each group by itself, with all that it asks for: no group hears less of it by
 * the counter.
 */
static void driver_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int64_t batch[] = { 6, 6 };
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s;

    set_up(&w, 0);
    do {
        CHECK(step_begin(e, &s));
        if (rank == 0 && s.step == 1)
            loop_job_publish(j, batch, BOARD_FLAG_STOP | BOARD_FLAG_CHECKPOINT);
        if (rank == 0 && s.flags & EDDIS_STEP_STOP)
            loop_job_reach(j);
        loop_job_await(j, rank == 1 && s.step == 1);
        step_end(e);
    } while (!(s.flags & EDDIS_STEP_STOP));
    CHECK(s.flags & EDDIS_STEP_CHECKPOINT && !e->samples.counter.stop_sent);
    save_model(&w);
    ended(&w);
}

/* ---- one that comes late ---- */

/* Steps until a stop; the last rank stays in its last step, or behind it where others need that,
 * until another one is in eddis_finish.
 */
static void steps_until_stop(struct worker *w, bool last)
{
    struct eddis_step s = { .step = 0 };
    bool alone = w->j->per_group == ASYNC && !w->j->algorithm, more;

    do {
        more = step_begin(w->e, &s);
        CHECK(more);
        if (w->rank == 0 && s.step == 1)
            CHECK(eddis_stop(w->e) == 0);
        loop_job_await(w->j, last && alone && s.step == 0);
        step_end(w->e);
    } while (more && !(s.flags & EDDIS_STEP_STOP));
    loop_job_await(w->j, last);
}

/* Who waits learns for whom, and may go on waiting, but do nothing else. */
static void late_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_checkpoint *c = NULL;

    set_up(&w, 0);
    steps_until_stop(&w, rank == j->n - 1);
    if (rank == 0) {
        for (int i = 0; i < 3; i++) {
            struct eddis_error late = { 0 };

            CHECK(eddis_finish(e, i * CLOCK_S / 20, &late) == -ETIMEDOUT);
            CHECK(strstr(late.text, "not all workers have ended their steps") &&
                  strstr(late.text, i ? "waits for rank 1" : "all"));
            CHECK(!strstr(late.text, "-1"));
        }
        REFUSED(-EINVAL, "eddis_finish", eddis_checkpoint_begin(e, w.s->folder, &c, &err));
        REFUSED(-EINVAL, "", eddis_restore_begin(e, w.s->folder, &c, &err));
        loop_job_reach(j);
    }
    ended(&w);
}

/* As the end begins on a worker that comes no further: it says that it is there. */
static void say_end(struct eddis *e)
{
    int64_t where[2] = { 1, -1 };

    OK(eddis_allreduce(e, where, 2, EDDIS_INT64, EDDIS_MIN, TIMEOUT_NS, &err));
    CHECK(where[0] == 1 && where[1] == -1);
    e->centre.end = END_LAST;
}

/* Of several models: all have come, but one does not make the last exchange, for which the others
 * wait.  No checkpoint comes between.
 */
static void late_exchange_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_checkpoint *c = NULL;

    set_up(&w, 0);
    make_step(e);
    if (rank == 1)
        say_end(e);
    while (rank == 0 && !e->centre.met) {
        REFUSED(-ETIMEDOUT, "", eddis_finish(e, CLOCK_S / 20, &err));
        REFUSED(-EINVAL, "has timed out: call it again",
                eddis_checkpoint_begin(e, w.s->folder, &c, &err));
        REFUSED(-EINVAL, "", eddis_restore_begin(e, w.s->folder, &c, &err));
    }
    if (rank == 0)
        loop_job_reach(j);
    loop_job_await(j, 1);
    ended(&w);
}

/* A step_begin goes on with what timed out. */
static void late_begin_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s;

    set_up(&w, 0);
    steps_until_stop(&w, rank == j->n - 1);
    if (rank == 0) {
        REFUSED(-ETIMEDOUT, "", eddis_finish(e, 0, &err));
        loop_job_reach(j);
        CHECK(!step_begin(e, &s));
    }
    ended(&w);
}

/* All before the first step. */
static void none_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_checkpoint *c = NULL;

    set_up(&w, 0);
    w.w[0] = (float)rank;
    OK(eddis_broadcast_parameters(e, 0, &err));
    CHECK(eddis_stop(e) == 0 && eddis_stop(e) == 0);
    if (rank == 0 && j->n > 1) {
        REFUSED(-ETIMEDOUT, "", eddis_finish(e, CLOCK_S / 20, &err));
        REFUSED(-EINVAL, "", eddis_checkpoint_begin(e, w.s->folder, &c, &err));
        loop_job_reach(j);
    }
    loop_job_await(j, j->n > 1);
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

/* The others hear of the stop although it was sent after many tries. */
static void slow_counter_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s;

    set_up(&w, 0);
    do {
        CHECK(step_begin(e, &s));
        step_end(e);
    } while (rank == 1 && !(s.flags & EDDIS_STEP_STOP));
    if (rank == 0) {
        ask_unsent(&e->samples);
        CHECK(eddis_stop(e) == 0);
        for (int i = 0; i < 4; i++) { /* another thread waits for the answer, or nobody */
            struct eddis_error late = { 0 };

            set_busy(&e->samples, i < 2);
            CHECK(eddis_finish(e, i % 2 * CLOCK_S / 20, &late) == -ETIMEDOUT);
            CHECK(strstr(late.text, "not all workers have ended") && strstr(late.text, "counter"));
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
    struct eddis_step s;
    pthread_t thread;

    set_up(&w, 3);
    CHECK(step_begin(e, &s));
    step_end(e);
    (void)samples_hold(&e->samples, 0, true);
    e->samples.horizon = s.step; /* no other thread is there */
    for (int i = 0; i < 2; i++)
        REFUSED(-ETIMEDOUT, "step 1 is not planned yet", eddis_finish(e, i * CLOCK_S / 20, &err));
    CHECK(pthread_create(&thread, NULL, release, &e->samples) == 0);
    REFUSED(-EINVAL, "step 1 is still to be done", eddis_finish(e, TIMEOUT_NS, &err));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(eddis_stop(e) == 0);
    ended(&w);
}

/* Where the number of epochs is known, nobody leaves steps undone who has not asked for a stop. */
static void known_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s;

    set_up(&w, 3);
    CHECK(!ending_may_finish(e));
    CHECK(step_begin(e, &s));
    CHECK(!ending_may_finish(e));
    step_end(e);
    REFUSED(-EINVAL, "step 1 is still to be done", eddis_finish(e, TIMEOUT_NS, &err));
    CHECK(!ending_may_finish(e));
    CHECK(eddis_stop(e) == 0);
    CHECK(ending_may_finish(e));
    OK(ending_finish(e, &err));
    ended(&w);
}

/* Its last step says so before it is ended, and the end of that before eddis_step_begin does. */
static void last_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s;
    bool more = true;

    set_up(&w, 1);
    while (more && !ending_may_finish(e)) {
        more = step_begin(e, &s);
        if (more && !ending_may_finish(e))
            step_end(e);
    }
    CHECK(more && ending_may_finish(e));
    OK(ending_finish(e, &err));
    ended(&w);
}

/* Who goes back behind such an end goes on. */
static void back_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };

    set_up(&w, 0);
    for (int i = 0; i < 2; i++)
        make_step(e);
    ended(&w);
    save_model(&w);
    restore_model(&w);
    make_step(e);
    ended(&w);
}

/* ---- another one's checkpoint, and going back ---- */

static void abandon(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;

    OK(eddis_checkpoint_begin(w->e, w->s->folder, &c, &err));
    OK(eddis_checkpoint_abandon(c, &err));
}

/* Rank 0 waits for the end when rank 1 writes a checkpoint, which is not the last one; or both go
 * back to one, and the job stops all the same.
 */
static void meet_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct worker w = { .e = e, .j = j, .s = j->arg, .rank = rank };
    struct eddis_step s = { .step = 0 };

    set_up(&w, 0);
    make_step(e);
    save_model(&w);
    if (rank == 0) {
        CHECK(eddis_stop(e) == 0);
        GIVES(1, eddis_finish(e, TIMEOUT_NS, &err));
        REFUSED(-EINVAL, "EDDIS_STEP_CHECKPOINT", eddis_finish(e, TIMEOUT_NS, &err));
    }
    abandon(&w);
    if (w.s->how == FROM_BEGINNING)
        restore_model(&w);
    while (step_begin(e, &s) && s.step < 10000)
        step_end(e);
    CHECK(s.step < 10000 && (rank == 0 || s.step > 0));
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
    struct eddis_error not_kept = { 0 };
    int exits = w.s->how == ENOUGH;
    char other[80];

    snprintf(other, sizeof other, "%s/other", w.s->folder);
    set_up(&w, 0);
    make_step(e);
    save_model(&w);
    CHECK(step_begin(e, &s));
    if (e->group.number == exits) {
        OK(ending_finish(e, &err));
    } else {
        step_end(e);
        OK(eddis_checkpoint_begin(e, other, &c, &err));
        CHECK(strncmp(eddis_checkpoint_folder(c), other, strlen(other)) == 0);
        CHECK(access(eddis_checkpoint_folder(c), W_OK) == 0);
        OK(eddis_checkpoint_put(c, "w", w.w, sizeof w.w, &err));
        CHECK(eddis_checkpoint_commit(c, 0, &not_kept) == 1);
        CHECK(not_kept.code == 0 && strstr(not_kept.text, "the program of this worker"));
        make_step(e);
    }
    ended(&w);
    REFUSED(-ENOENT, "", eddis_restore_begin(e, other, &c, &err));
    GIVES(1, eddis_restore_begin(e, w.s->folder, &c, &err));
    OK(eddis_checkpoint_abandon(c, &err));
}

static void test_pair(const struct loop_job *m, loop_body_fn *body, enum how how)
{
    struct shared *s = shared_new(how);

    loop_job_run_body(m, body, s);
    shared_free(s);
}

static void test_late(const struct loop_job *m)
{
    if (m->n == 2) {
        test_pair(m, late_body, BY_ITSELF);
        test_pair(m, late_begin_body, BY_ITSELF);
    }
    if (m->n == 2 && m->per_group == ASYNC && !m->algorithm)
        test_pair(m, late_exchange_body, BY_ITSELF);
    test_pair(m, none_body, BY_ITSELF);
    test_pair(m, known_body, BY_ITSELF);
    test_pair(m, last_body, BY_ITSELF);
}

int main(void)
{
    for (int i = 0; i < MODES; i++)
        for (int how = 0; how < HOWS; how++)
            test_ending(&modes[i], &modes[how % 2 ? (i + 2) % MODES : i], (enum how)how,
                        how % modes[i].n);
    for (int i = 0; i < MODES; i++)
        test_late(&modes[i]);
    test_pair(&modes[2], meet_body, BY_ITSELF);
    test_pair(&modes[2], meet_body, FROM_BEGINNING);
    test_pair(&modes[2], back_body, BY_ITSELF);
    for (int i = 2; i < 5; i++)
        for (int how = BY_ITSELF; how <= ENOUGH; how += ENOUGH)
            test_pair(&modes[i], pass_body, (enum how)how);
    for (int i = 0; i < SHORT_ROUNDS; i++)
        for (int how = BY_ITSELF; how <= ENOUGH; how += ENOUGH)
            test_pair(&short_rounds[i], pass_body, (enum how)how);
    test_pair(&modes[2], driver_body, BY_ITSELF);
    test_pair(&modes[2], slow_counter_body, BY_ITSELF);
    test_pair(&modes[0], unknown_body, BY_ITSELF);
    return check_result();
}
