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
 *     test_mpi_endings between       no epochs are told: each exits with 0 behind its third one
 *     test_mpi_endings in-step       the same, in the midst of a step
 *     test_mpi_endings told          the same, where epochs are told: rank 1 says that it is amidst
 * them test_mpi_endings wish          the same, and all have asked for a stop before
 *     test_mpi_endings break DIR     all leave their loop in the middle of the third epoch
 *     test_mpi_endings alone DIR     a thread of the last rank has all stop there
 *     test_mpi_endings first DIR     a thread of the last rank has all stop before its first step
 *     test_mpi_endings unbegun DIR   the same, and all leave before their first step
 *     test_mpi_endings group DIR     the last rank's group stops all and leaves before its first
 * step
 *
 * All but the ranks that are named wait for these, or exit with 0.
 */
#include "lib/eddis.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_NS INT64_C(600000000000)

enum { SAMPLES = 60, MOST_EPOCHS = 4096, LAST = 13 };

static struct eddis *left_open;
static int exit_how = EDDIS_EXIT_CLOSE;

static int fail(const char *what, const struct eddis_error *err)
{
    fprintf(stderr, "%s: %d %s\n", what, err->code, err->text);
    return 99;
}

/* Returns the rank, or -1. */
static int begin(struct eddis **ret, int64_t epochs)
{
    struct eddis_options o = { .size = sizeof o,
                               .samples = SAMPLES,
                               .epochs = epochs,
                               .batch = 12,
                               .close_at_exit = exit_how };
    struct eddis_world w = { .size = sizeof w };
    struct eddis_error err = { 0 };

    if (eddis_open(&o, ret, &err) < 0 || eddis_world(*ret, &w) < 0) {
        fail("eddis_open", &err);
        return -1;
    }
    return w.rank;
}

static float value[4];

static int commit(struct eddis *e)
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value };
    struct eddis_error err = { 0 };

    if (eddis_add_parameter(e, eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err), &p, &err) < 0 ||
        eddis_commit(e, &err) < 0)
        return fail("eddis_commit", &err);
    return 0;
}

static void *exit_in_thread(void *arg)
{
    usleep(200000);
    exit(*(const int *)arg);
}

/* All steps of a training, in the third of which rank 1 exits, where code is not -1. */
static int train(struct eddis *e, int rank, int code, int thread)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    pthread_t other;
    int rc;

    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        if (s.step == 2 && rank == 1 && code >= 0 && !thread)
            exit(code);
        if (s.step == 2 && rank == 1 && thread)
            pthread_create(&other, NULL, exit_in_thread, &code);
        if (s.step == 2 && rank == 0 && thread)
            pause();
        if (eddis_wait(e, WAIT_NS, &err) < 0 || eddis_step_end(e, NULL, &err) < 0)
            return fail("a step", &err);
    }
    return rc < 0 ? fail("eddis_step_begin", &err) : 0;
}

static int sum_up(struct eddis *e)
{
    struct eddis_error err = { 0 };
    int32_t one = 1;

    return eddis_allreduce(e, &one, 1, EDDIS_INT32, EDDIS_SUM, WAIT_NS, &err) < 0
               ? fail("eddis_allreduce", &err)
               : 0;
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
    struct eddis_error err = { 0 };
    int rc;

    do {
        rc = eddis_plan_step(t->e, step, EDDIS_FOREVER, &s, &err);
        if (rc == 1)
            rc = eddis_sample_indices(t->e, &s, index, &err) < 0 ? -EIO : 1;
        if (rc == -ENOBUFS)
            usleep(500);
        else
            step++;
    } while (rc == 1 || rc == -ENOBUFS || rc == -ESTALE);
    return rc == 0 ? NULL : arg;
}

static void *stop(void *arg)
{
    return eddis_stop(arg) == 0 ? NULL : arg;
}

static int stop_by_thread(struct eddis *e)
{
    pthread_t thread;
    void *failed = e;

    return pthread_create(&thread, NULL, stop, e) != 0 || pthread_join(thread, &failed) != 0 ||
           failed;
}

static int one_step(struct training *t, const struct eddis_step *s)
{
    struct eddis_error err = { 0 };
    int64_t index[SAMPLES];
    float g[4] = { 1, 1, 1, (float)t->w.rank };

    if (s->epoch >= MOST_EPOCHS || eddis_sample_indices(t->e, s, index, &err) < 0 ||
        eddis_announce(t->e, 0, g, g, &err) < 0 || eddis_wait(t->e, WAIT_NS, &err) < 0)
        return fail("a step", &err);
    for (int k = 0; k < 4; k++)
        t->value[k] -= 0.01F * g[k];
    for (int64_t i = 0; i < s->count; i++)
        t->taken[s->epoch][index[i]]++;
    t->last_epoch = s->epoch > t->last_epoch ? s->epoch : t->last_epoch;
    if (eddis_step_end(t->e, NULL, &err) < 0)
        return fail("eddis_step_end", &err);
    usleep(t->w.rank == t->w.n_ranks - 1 ? 0 : 1000);
    return 0;
}

/* Samples are taken for these steps, which are not done. */
static int ask_ahead(struct training *t)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    for (int64_t step = 0; step <= 2; step++)
        if (eddis_plan_step(t->e, step, WAIT_NS, &s, &err) < 0)
            return fail("eddis_plan_step", &err);
    return 0;
}

/* What is asked for before the first step.  Returns 1 where that is not to be made, 0, or 99. */
static int stop_first(struct training *t)
{
    bool last = t->w.rank == t->w.n_ranks - 1, group = t->w.group == t->w.n_groups - 1;

    if (t->left || t->way < FIRST)
        return 0;
    if (ask_ahead(t) || ((t->way == GROUP ? group : last) && stop_by_thread(t->e)))
        return 99;
    return t->way == UNBEGUN || (t->way == GROUP && group);
}

/* Until all have stopped, or to the end.  Returns 0 when it was as it should be. */
static int steps(struct training *t)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int failed = 0, rc = stop_first(t);

    if (rc)
        return rc == 1 ? 0 : rc;
    while (!failed && (rc = eddis_step_begin(t->e, &s, &err)) == 1) {
        if (!t->left && t->way == ALONE && s.step == LAST && t->w.rank == t->w.n_ranks - 1)
            failed = stop_by_thread(t->e);
        failed |= one_step(t, &s);
        if (!t->left && t->way == BREAK && s.step == LAST)
            return failed || eddis_stop(t->e) < 0;
        if (s.flags & EDDIS_STEP_STOP)
            return failed || t->left;
    }
    if (failed || rc < 0)
        return failed ? failed : fail("eddis_step_begin", &err);
    return !t->left;
}

/* All have one model, and there is no step to do. */
static int finish(struct training *t)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    float *all = calloc((size_t)t->w.n_ranks, sizeof t->value);
    int failed = eddis_finish(t->e, WAIT_NS, &err) != 0 || eddis_step_begin(t->e, &s, &err) != 0 ||
                 eddis_allgather(t->e, t->value, all, sizeof t->value, WAIT_NS, &err) < 0;

    for (int i = 0; !failed && i < t->w.n_ranks; i++)
        failed = memcmp(all + 4 * (size_t)i, all, sizeof t->value) != 0;
    free(all);
    return failed ? fail("eddis_finish", &err) : 0;
}

static int save(struct training *t, const char *folder)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    if (eddis_checkpoint_begin(t->e, folder, &c, &err) < 0 ||
        eddis_checkpoint_put(c, "w", t->value, sizeof t->value, &err) < 0 ||
        eddis_checkpoint_commit(c, 0, &err) < 0)
        return fail("a checkpoint", &err);
    return 0;
}

static int restore(struct training *t, const char *folder)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    if (eddis_restore_begin(t->e, folder, &c, &err) != 1 ||
        eddis_checkpoint_get(c, "w", t->value, sizeof t->value, &err) < 0 ||
        eddis_restore_end(c, &err) < 0)
        return fail("a checkpoint", &err);
    return 0;
}

/* One of the two trainings.  The second one's handle is left open. */
static int part(struct training *t, const char *folder)
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = t->value };
    struct eddis_error err = { 0 };
    pthread_t loader;
    void *failed = t;

    t->w.size = sizeof t->w;
    if (begin(&t->e, t->left) < 0)
        return 99;
    if (eddis_add_parameter(t->e, eddis_add_layer(t->e, "only", EDDIS_LAYER_OTHER, &err), &p,
                            &err) < 0 ||
        eddis_commit(t->e, &err) < 0 || eddis_world(t->e, &t->w) < 0)
        return fail("eddis_commit", &err);
    if (t->left && restore(t, folder))
        return 99;
    if (pthread_create(&loader, NULL, load, t) != 0 || steps(t) || finish(t) ||
        pthread_join(loader, &failed) != 0 || failed)
        return fail("a training", &err);
    if (!t->left && (save(t, folder) || eddis_close(t->e, &err) < 0))
        return 99;
    return 0;
}

/* Every sample of the epochs that were begun, of two at least, was done once, by whomever. */
static int check_taken(struct training *t)
{
    struct eddis_error err = { 0 };
    size_t n = (size_t)t->left * SAMPLES;

    if (eddis_allreduce(t->e, t->taken, n, EDDIS_INT32, EDDIS_SUM, WAIT_NS, &err) < 0)
        return fail("eddis_allreduce", &err);
    for (size_t i = 0; i < n; i++)
        if (t->taken[i / SAMPLES][i % SAMPLES] != 1)
            return fail("a sample was not done once", &err);
    return 0;
}

static int run_left(const char *folder, enum way way)
{
    static struct training t;
    struct eddis_error err = { 0 };
    struct eddis *between = NULL;

    t.way = way;
    if (part(&t, folder) || begin(&between, 1) < 0 ||
        eddis_allreduce(between, &t.last_epoch, 1, EDDIS_INT64, EDDIS_MAX, WAIT_NS, &err) < 0 ||
        eddis_close(between, &err) < 0)
        return fail("the first part", &err);
    t.left = t.last_epoch > 0 ? t.last_epoch + 1 : 2;
    if (part(&t, folder) || check_taken(&t))
        return 99;
    if (t.w.rank == 0)
        printf("%s: trained\n", t.w.mode);
    return 0;
}

/* ---- epochs of the program's own, as of a script, which then comes to its end ---- */

enum { SCRIPT_EPOCHS = 3 };

/* An exit handler from before eddis_open: the parameters are the centre by then. */
static void show_model(void)
{
    printf("model %a %a %a %a\n", value[0], value[1], value[2], value[3]);
}

static int script_step(struct eddis *e, const struct eddis_step *s, const struct eddis_world *w)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    float g[4] = { 1, 1, 1, (float)w->rank };

    if (eddis_announce(e, 0, g, g, &err) < 0 || eddis_wait(e, WAIT_NS, &err) < 0)
        return fail("a step", &err);
    for (int k = 0; k < 4; k++)
        value[k] -= 0.01F * g[k];
    usleep(1000 * (unsigned)w->rank);
    if (eddis_step_end(e, NULL, &err) < 0)
        return fail("eddis_step_end", &err);
    if (!(s->flags & EDDIS_STEP_CHECKPOINT))
        return 0;
    if (eddis_checkpoint_begin(e, NULL, &c, &err) < 0 ||
        eddis_checkpoint_put(c, "w", value, sizeof value, &err) < 0 ||
        eddis_checkpoint_commit(c, 0, &err) < 0)
        return fail("a checkpoint", &err);
    return 0;
}

static int script(const char *what)
{
    bool told = strcmp(what, "told") == 0, wish = strcmp(what, "wish") == 0;
    struct eddis_world w = { .size = sizeof w };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int64_t step = 0;
    struct eddis *e;
    int rc;

    exit_how = EDDIS_EXIT_FINISH;
    if (atexit(show_model) != 0 || begin(&e, told || wish ? 9 : 0) < 0 || commit(e) ||
        eddis_world(e, &w) < 0)
        return 99;
    for (;; step++) {
        rc = eddis_plan_step(e, step, WAIT_NS, &s, &err);
        if (rc == 1 && s.epoch >= SCRIPT_EPOCHS && strcmp(what, "between") == 0)
            return 0;
        if (rc == 1)
            rc = eddis_step_begin(e, &s, &err);
        if (rc <= 0) /* another group has asked for a stop */
            return rc == 0 && wish ? 0 : fail("the next step", &err);
        if (s.epoch >= SCRIPT_EPOCHS && told && w.rank != 1)
            pause();
        if (s.epoch >= SCRIPT_EPOCHS)
            return wish && eddis_stop(e) < 0 ? 99 : 0;
        if (script_step(e, &s, &w))
            return 99;
    }
}

/* ---- the others ---- */

/* An exit handler that the program had before eddis_open: the handle has been closed. */
static void close_late(void)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world w = { .size = sizeof w };
    struct eddis_error err = { 0 };

    if (eddis_close(left_open, &err) < 0 || eddis_step_begin(left_open, &s, &err) != -EPERM ||
        !strstr(err.text, "exit") || eddis_world(left_open, &w) != -EPERM ||
        eddis_set_data(left_open, 1, 1, &err) != -EPERM || eddis_stop(left_open) != -EPERM ||
        eddis_close(left_open, &err) < 0)
        _exit(fail("behind the exit's own close", &err));
    puts("left");
}

static void *read_line(void *arg)
{
    char line[8];

    (void)arg;
    return fgets(line, sizeof line, stdin) ? stdin : NULL;
}

/* It has the lock of stdin as long as the process lives. */
static int read_in_thread(void)
{
    pthread_t thread;
    int pipes[2];

    if (pipe(pipes) < 0 || dup2(pipes[0], 0) < 0 ||
        pthread_create(&thread, NULL, read_line, NULL) != 0)
        return 99;
    while (ftrylockfile(stdin) == 0) {
        funlockfile(stdin);
        usleep(1000);
    }
    return 0;
}

static int child(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        exit(5);
    return waitpid(pid, &status, 0) != pid || status != 5 << 8 ? 99 : 0;
}

static int run(const char *what)
{
    static struct eddis *e, *second;
    int rank, rc;

    if (strcmp(what, "handler") == 0 && atexit(close_late) != 0)
        return 99;
    rank = begin(&e, 1);
    rc = rank < 0 ? 99 : sum_up(e);
    left_open = e;
    if (rc || strcmp(what, "early") == 0)
        return rc;
    if (strcmp(what, "refused") == 0 && rank == 1)
        return 3;
    if (strcmp(what, "refused") == 0)
        return sum_up(e);
    if (strcmp(what, "several") == 0)
        rc = begin(&second, 1) < 0 ? 99 : sum_up(second);
    if (rc == 0)
        rc = commit(e);
    if (rc)
        return rc;
    if ((strcmp(what, "child") == 0 && child() != 0) ||
        (strcmp(what, "reads") == 0 && read_in_thread() != 0))
        return 99;
    if (strcmp(what, "amidst") == 0 || strcmp(what, "status") == 0 || strcmp(what, "thread") == 0)
        return train(e, rank, *what == 'a' ? 0 : 3, *what == 't');
    rc = train(e, rank, -1, 0);
    if (rank == 1 && strcmp(what, "late") == 0)
        usleep(1500000);
    if (rank == 1 && rc == 0 && strcmp(what, "end-status") == 0)
        return 4;
    if (rank == 0 && rc == 0)
        puts("trained");
    return rc;
}

int main(int argc, char **argv)
{
    for (int way = 0; argc == 3 && way < WAYS; way++)
        if (strcmp(argv[1], ways[way]) == 0)
            return run_left(argv[2], (enum way)way);
    if (argc == 2 && (strcmp(argv[1], "between") == 0 || strcmp(argv[1], "in-step") == 0 ||
                      strcmp(argv[1], "told") == 0 || strcmp(argv[1], "wish") == 0))
        return script(argv[1]);
    return argc == 2 ? run(argv[1]) : 2;
}
