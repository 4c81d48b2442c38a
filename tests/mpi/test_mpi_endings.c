/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_endings.c - one rank of a job that ends in another way than by eddis_close, under mpirun
 *
 *     test_mpi_endings early         all exit with 0 before eddis_commit
 *     test_mpi_endings end           all exit with 0 when eddis_step_begin has returned 0
 *     test_mpi_endings late          the same, rank 1 a while after the others
 *     test_mpi_endings reads         the same, while a thread of each waits for a line of input
 *     test_mpi_endings handler       the same, and an exit handler of theirs closes the handle, too
 *     test_mpi_endings amidst        rank 1 exits with 0 in its third step: the job ends with 1
 *     test_mpi_endings status        rank 1 exits with 3 there
 *     test_mpi_endings end-status    rank 1 exits with 4 behind its last step
 *     test_mpi_endings thread        a thread of rank 1 exits with 3 while the main one waits
 *     test_mpi_endings child         a child made by fork exits with 5: that ends nothing
 *     test_mpi_endings several       two handles, both left open
 *     test_mpi_endings refused       rank 1 exits with 3 before eddis_commit
 *     test_mpi_endings between       no number of epochs is given: all exit with 0 behind the third
 *     test_mpi_endings in-step       the same, in the midst of a step
 *     test_mpi_endings epochs        a number is given, and rank 1 exits with 0 behind the third
 *     test_mpi_endings requested     the same, but all exit, and have requested a stop before
 *     test_mpi_endings break DIR     all leave their loop in the middle of the third epoch
 *     test_mpi_endings alone DIR     a thread of the last rank has all stop there
 *     test_mpi_endings first DIR     a thread of the last rank has all stop before its first step
 *     test_mpi_endings unbegun DIR   the same, and all leave before their first step
 *     test_mpi_endings group DIR     the last rank's group does so, and leaves before its first one
 *
 * All but the ranks that are named wait for these, or exit with 0.
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 60, MOST_EPOCHS = 4096, LAST = 13, FAILED = 99 /* exit code */ };

static struct eddis *left_open;
static float value[4];

/* Returns the rank. */
static int begin(struct eddis **ret, int64_t epochs, int exit_how)
{
    struct eddis_options o = { .size = sizeof o,
                               .samples = SAMPLES,
                               .epochs = epochs,
                               .batch = 12,
                               .close_at_exit = exit_how };
    int rank;

    OK(eddis_open(&o, ret, &err));
    rank = world_of(*ret).rank;
    check_set_rank(rank);
    return rank;
}

static void *exit_in_thread(void *arg)
{
    usleep(200000);
    exit(*(const int *)arg);
}

/* All steps of a training, in the third of which rank 1 exits, where code is not -1. */
static void train(struct eddis *e, int rank, int code, bool thread)
{
    struct eddis_step s;
    pthread_t other;

    while (step_begin(e, &s)) {
        if (s.step == 2 && rank == 1 && code >= 0 && !thread)
            exit(code);
        if (s.step == 2 && rank == 1 && thread)
            CHECK(pthread_create(&other, NULL, exit_in_thread, &code) == 0);
        if (s.step == 2 && rank == 0 && thread)
            pause();
        step_end(e);
    }
}

static void sum_up(struct eddis *e)
{
    int32_t one = 1;

    OK(eddis_allreduce(e, &one, 1, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
}

/* ---- a training that is left in the middle, and the one that goes on with it ---- */

/* Of the first of the two trainings, as the head of this file says. */
enum way { BREAK, ALONE, FIRST, UNBEGUN, GROUP, WAYS };

static const char *const ways[WAYS] = { "break", "alone", "first", "unbegun", "group" };

struct training {
    struct eddis *e;
    struct eddis_world w;
    enum way way;
    int64_t left; /* epochs to do; 0: until a stop */
    float value[4];
    int32_t taken[MOST_EPOCHS][SAMPLES];
    int64_t last_epoch;
};

/* As a loader of data: step by step, ahead of those that are done, until there is none. */
static void *load(void *arg)
{
    struct training *t = arg;
    struct eddis_step s = { .size = sizeof s };
    int64_t index[SAMPLES], step = 0;
    int rc;

    do {
        rc = eddis_plan_step(t->e, step, EDDIS_FOREVER, &s, NULL);
        if (rc == 1)
            OK(eddis_sample_indices(t->e, &s, index, &err));
        if (rc == -ENOBUFS)
            usleep(500);
        else
            step++;
    } while (rc == 1 || rc == -ENOBUFS || rc == -ESTALE);
    return rc == 0 ? NULL : arg;
}

static void one_step(struct training *t, const struct eddis_step *s)
{
    float g[4] = { 1, 1, 1, (float)t->w.rank };
    int64_t index[SAMPLES];

    CHECK(s->epoch < MOST_EPOCHS);
    OK(eddis_sample_indices(t->e, s, index, &err));
    step_announce(t->e, 0, g);
    OK(eddis_wait(t->e, TIMEOUT_NS, &err));
    for (int k = 0; k < 4; k++)
        t->value[k] -= 0.01F * g[k];
    for (int64_t i = 0; i < s->count; i++)
        t->taken[s->epoch][index[i]]++;
    t->last_epoch = s->epoch > t->last_epoch ? s->epoch : t->last_epoch;
    OK(eddis_step_end(t->e, NULL, &err));
    usleep(t->w.rank == t->w.n_ranks - 1 ? 0 : 1000);
}

/* Samples are taken for these steps, which are not done. */
static void ask_ahead(struct training *t)
{
    struct eddis_step s = { .size = sizeof s };

    for (int64_t step = 0; step <= 2; step++)
        SUCCEEDS(eddis_plan_step(t->e, step, TIMEOUT_NS, &s, &err));
}

/* What is asked for before the first step.  Returns whether that is to be made. */
static bool stop_first(struct training *t)
{
    bool last = t->w.rank == t->w.n_ranks - 1, group = t->w.group == t->w.n_groups - 1;

    if (t->left || t->way < FIRST)
        return true;
    ask_ahead(t);
    if (t->way == GROUP ? group : last)
        stop_by_thread(t->e);
    return t->way != UNBEGUN && (t->way != GROUP || !group);
}

/* Until all have stopped, or to the end. */
static void steps(struct training *t)
{
    struct eddis_step s;

    if (!stop_first(t))
        return;
    while (step_begin(t->e, &s)) {
        if (!t->left && t->way == ALONE && s.step == LAST && t->w.rank == t->w.n_ranks - 1)
            stop_by_thread(t->e);
        one_step(t, &s);
        if (!t->left && t->way == BREAK && s.step == LAST) {
            CHECK(eddis_stop(t->e) == 0);
            return;
        }
        if (s.flags & EDDIS_STEP_STOP) {
            CHECK(!t->left);
            return;
        }
    }
    CHECK(t->left);
}

/* All have one model, and there is no step to do. */
static void finish(struct training *t)
{
    struct eddis_step s;

    OK(eddis_finish(t->e, TIMEOUT_NS, &err));
    CHECK(!step_begin(t->e, &s));
    check_same(t->e, EDDIS_ALL, t->value, sizeof t->value);
}

/* One of the two trainings.  The second one's handle is left open. */
static void part(struct training *t, const char *folder)
{
    pthread_t loader;
    void *failed = t;

    (void)begin(&t->e, t->left, EDDIS_EXIT_CLOSE);
    (void)commit_vector(t->e, t->value, 4);
    t->w = world_of(t->e);
    if (t->left)
        restore(t->e, folder, t->value, sizeof t->value);
    CHECK(pthread_create(&loader, NULL, load, t) == 0);
    steps(t);
    finish(t);
    CHECK(pthread_join(loader, &failed) == 0 && !failed);
    if (!t->left) {
        save(t->e, folder, t->value, sizeof t->value);
        OK(eddis_close(t->e, &err));
    }
}

/* Every sample of the epochs that were begun, of two at least, is done once, by whomever. */
static void run_left(const char *folder, enum way way)
{
    static struct training t;
    struct eddis *between = NULL;

    t.way = way;
    part(&t, folder);
    (void)begin(&between, 1, EDDIS_EXIT_CLOSE);
    OK(eddis_allreduce(between, &t.last_epoch, 1, EDDIS_INT64, EDDIS_MAX, TIMEOUT_NS, &err));
    OK(eddis_close(between, &err));
    t.left = t.last_epoch > 0 ? t.last_epoch + 1 : 2;
    part(&t, folder);
    check_once(t.e, &t.taken[0][0], (size_t)t.left * SAMPLES);
    if (t.w.rank == 0)
        printf("%s: trained\n", t.w.mode);
}

/* ---- epochs of the program's own, as of a script, which then comes to its end ---- */

enum { SCRIPT_EPOCHS = 3 };

static const char *const scripts[] = { "between", "in-step", "epochs", "requested" };

/* An exit handler from before eddis_open: the parameters are the centre by then. */
static void show_model(void)
{
    printf("model %a %a %a %a\n", value[0], value[1], value[2], value[3]);
}

static void script_step(struct eddis *e, const struct eddis_step *s, const struct eddis_world *w)
{
    float g[4] = { 1, 1, 1, (float)w->rank };

    step_announce(e, 0, g);
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    for (int k = 0; k < 4; k++)
        value[k] -= 0.01F * g[k];
    usleep(1000 * (unsigned)w->rank);
    OK(eddis_step_end(e, NULL, &err));
    if (s->flags & EDDIS_STEP_CHECKPOINT)
        save(e, NULL, value, sizeof value);
}

static void script(const char *what)
{
    bool epochs = strcmp(what, "epochs") == 0, requested = strcmp(what, "requested") == 0;
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world w;
    struct eddis *e;
    int more = 0;

    CHECK(atexit(show_model) == 0);
    (void)begin(&e, epochs || requested ? 9 : 0, EDDIS_EXIT_FINISH);
    (void)commit_vector(e, value, 4);
    w = world_of(e);
    for (int64_t step = 0;; step++) {
        SUCCEEDS(more = eddis_plan_step(e, step, TIMEOUT_NS, &s, &err));
        if (more == 1 && s.epoch >= SCRIPT_EPOCHS && strcmp(what, "between") == 0)
            return;
        if (more == 0 || !step_begin(e, &s)) { /* another group has requested a stop */
            CHECK(requested);
            return;
        }
        if (s.epoch >= SCRIPT_EPOCHS && epochs && w.rank != 1)
            pause();
        if (s.epoch >= SCRIPT_EPOCHS) {
            CHECK(!requested || eddis_stop(e) == 0);
            return;
        }
        script_step(e, &s, &w);
    }
}

/* ---- the others ---- */

/* An exit handler that the program had before eddis_open: the handle has been closed. */
static void close_late(void)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world w = { .size = sizeof w };

    OK(eddis_close(left_open, &err));
    REFUSED(-EPERM, "exit", eddis_step_begin(left_open, &s, &err));
    CHECK(eddis_world(left_open, &w) == -EPERM);
    REFUSED(-EPERM, "", eddis_set_data(left_open, 1, 1, &err));
    CHECK(eddis_stop(left_open) == -EPERM);
    OK(eddis_close(left_open, &err));
    puts("left");
}

static void *read_line(void *arg)
{
    char line[8];

    return fgets(line, sizeof line, stdin) ? stdin : NULL;
}

/* It has the lock of stdin as long as the process lives. */
static void read_in_thread(void)
{
    pthread_t thread;
    int pipes[2];

    CHECK(pipe(pipes) == 0 && dup2(pipes[0], 0) == 0);
    CHECK(pthread_create(&thread, NULL, read_line, NULL) == 0);
    while (ftrylockfile(stdin) == 0) {
        funlockfile(stdin);
        usleep(1000);
    }
}

static void exit_in_child(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        exit(5);
    CHECK(waitpid(pid, &status, 0) == pid && status == 5 << 8);
}

/* Returns the exit code. */
static int run(const char *what)
{
    static struct eddis *e, *second;
    int rank;

    if (strcmp(what, "handler") == 0)
        CHECK(atexit(close_late) == 0);
    rank = begin(&e, 1, EDDIS_EXIT_CLOSE);
    sum_up(e);
    left_open = e;
    if (strcmp(what, "early") == 0)
        return 0;
    if (strcmp(what, "refused") == 0) {
        if (rank == 1)
            return 3;
        sum_up(e);
        return 0;
    }
    if (strcmp(what, "several") == 0) {
        (void)begin(&second, 1, EDDIS_EXIT_CLOSE);
        sum_up(second);
    }
    (void)commit_vector(e, value, 4);
    if (strcmp(what, "child") == 0)
        exit_in_child();
    if (strcmp(what, "reads") == 0)
        read_in_thread();
    if (strcmp(what, "amidst") == 0)
        train(e, rank, 0, false);
    else if (strcmp(what, "status") == 0)
        train(e, rank, 3, false);
    else if (strcmp(what, "thread") == 0)
        train(e, rank, 3, true);
    else
        train(e, rank, -1, false);
    if (rank == 1 && strcmp(what, "late") == 0)
        usleep(1500000);
    if (rank == 1 && strcmp(what, "end-status") == 0)
        return 4;
    if (rank == 0)
        puts("trained");
    return 0;
}

int main(int argc, char **argv)
{
    check_set_exit(FAILED);
    for (int way = 0; argc == 3 && way < WAYS; way++)
        if (strcmp(argv[1], ways[way]) == 0) {
            run_left(argv[2], (enum way)way);
            return 0;
        }
    for (size_t i = 0; argc == 2 && i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(argv[1], scripts[i]) == 0) {
            script(argv[1]);
            return 0;
        }
    return argc == 2 ? run(argv[1]) : 2;
}
