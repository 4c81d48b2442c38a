/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_eddis.c - one rank of a test under mpirun, through the public API of libeddis.so
 *
 *     test_mpi_eddis train        train, compare with one process, collectives, a checkpoint
 *     test_mpi_eddis late         the same with data that are given after opening
 *     test_mpi_eddis scopes DIR   collectives of groups and nodes, entries of a checkpoint
 *     test_mpi_eddis timeout DIR  rank 1 is late: the others' waits say so, then all goes on
 *     test_mpi_eddis fork         calls in a forked child fail
 *     test_mpi_eddis exit         rank 0 leaves without eddis_close: the job must end
 *     test_mpi_eddis abort        rank 1 ends the job with code 7
 *     test_mpi_eddis again        a worker opened twice, one after the other and both at once
 *     test_mpi_eddis own          in a program that starts and ends MPI itself
 *     test_mpi_eddis gone         rank 1 leaves by _exit(0) behind its last eddis_close
 *     test_mpi_eddis mismatch     unlike registrations are refused on all ranks
 *     test_mpi_eddis sets DIR     two sets of parameters, beside one process
 *     test_mpi_eddis sets-order DIR, sets-more DIR, sets-one DIR
 *                                 rounds of sets that do not fit fail on all ranks
 *     test_mpi_eddis cut DIR N    says in DIR for whom each rank waits when a cable is cut
 *
 * Exit code 0: all is well.
 */
#include "scenario.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define S_NS INT64_C(1000000000)

#ifdef __SANITIZE_ADDRESS__
/* Keeps Open MPI's plug-ins loaded to the end, so that the leak checker can tell what is theirs. */
__attribute__((visibility("default"))) int dlclose(void *handle);

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
#endif

/* A worker of a program that is given no number of epochs. */
static const struct scenario plain = { .epochs = SCENARIO_NO_EPOCHS };

/* Every rank's entry, whose length is its own. */
static void check_entries(const struct eddis_checkpoint *c, const struct eddis_world *w,
                          int64_t step)
{
    struct eddis_checkpoint_info info = { .size = sizeof info };
    char own[64];

    OK(eddis_checkpoint_info(c, &info, &err));
    CHECK(info.step == step && info.n_ranks == w->n_ranks && info.generation == w->generation);
    for (int r = 0; r < w->n_ranks; r++) {
        GIVES(r + 1, eddis_checkpoint_size(c, r, "own", &err));
        OK(eddis_checkpoint_get_from(c, r, "own", own, (size_t)r + 1, &err));
        CHECK(own[r] == 'a' + r);
    }
    REFUSED(-ENOENT, "", eddis_checkpoint_size(c, w->n_ranks, "own", &err));
    REFUSED(-EMSGSIZE, "",
            eddis_checkpoint_get_from(c, w->rank, "own", own, (size_t)w->rank, &err));
}

static void checkpoint(struct eddis *e, const struct eddis_world *w, const char *folder, int step)
{
    struct eddis_checkpoint *c = NULL;
    char path[4096], name[32], own[64];
    int64_t state = 42, back = 0;

    snprintf(name, sizeof name, "state-%d", w->rank);
    memset(own, 'a' + w->rank, sizeof own);
    OK(eddis_checkpoint_begin(e, folder, &c, &err));
    OK(eddis_checkpoint_put(c, name, &state, sizeof state, &err));
    OK(eddis_checkpoint_put(c, "own", own, (size_t)w->rank + 1, &err));
    OK(eddis_checkpoint_commit(c, 2, &err));
    snprintf(path, sizeof path, "%s/step-%08d", folder, step);
    GIVES(1, eddis_restore_begin(e, path, &c, &err));
    OK(eddis_checkpoint_get(c, "state-0", &back, sizeof back, &err));
    CHECK(back == state);
    check_entries(c, w, step);
    OK(eddis_restore_end(c, &err));
    REFUSED(-ENOENT, "", eddis_restore_begin(e, "/nonexistent/step-00000001", &c, &err));
}

static void run_train(int late, char **args)
{
    struct scenario s = { .batch = 43, .measured = 1, .late = late };
    struct eddis_world w;
    struct eddis *e = scenario_open(&s, &w);

    scenario_collectives(e, &s);
    scenario_train(e, &s);
    CHECK(s.steps == SCENARIO_EPOCHS * 7, "%d steps", (int)s.steps);
    if (args[0])
        checkpoint(e, &w, args[0], 28);
    scenario_close(e);
}

static void write_file(const char *folder, const char *what, int rank, const char *text)
{
    char path[512], part[520];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s-%d", folder, what, rank);
    snprintf(part, sizeof part, "%s.new", path);
    f = fopen(part, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0 && rename(part, path) == 0, "'%s'", path);
}

/* Wait until all other ranks have written their file "late", which says that they waited in vain.
 */
static void await_late(const char *folder, const struct eddis_world *w)
{
    char name[512];

    for (int r = 0; r < w->n_ranks; r++) {
        (void)snprintf(name, sizeof name, "%s/late-%d", folder, r);
        while (r != w->rank && access(name, F_OK) != 0)
            usleep(1000);
    }
}

static void run_timeout(int how, char **args)
{
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w);
    struct eddis_error late = { 0 };
    struct eddis_step s;
    float value[4] = { 0 };
    int rc;

    (void)commit_vector(e, value, 4);
    CHECK(step_begin(e, &s));
    if (w.rank == 1) {
        await_late(args[0], &w);
    } else {
        rc = eddis_wait(e, S_NS / 5, &late);
        CHECK(rc == -ETIMEDOUT && strstr(late.text, "step 0") && strstr(late.text, "'only'"));
        /* In a tree, if that has measured best, rank 2 waits for rank 0, which waits for rank 1. */
        CHECK(strstr(late.text, w.rank == 2 ? "rank " : "rank 1"), "%s", late.text);
        write_file(args[0], "late", w.rank, "");
    }
    step_end(e);
    scenario_close(e);
}

/* A sum over all ranks through this worker, with a wait that the others' makes end. */
static void sum_up(struct eddis *e, const struct eddis_world *w)
{
    int32_t x = w->rank + 1;

    OK(eddis_allreduce(e, &x, 1, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
    CHECK(x == w->n_ranks * (w->n_ranks + 1) / 2);
}

static void run_scopes(int how, char **args)
{
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w);
    float value[4] = { 0 };

    scenario_scopes(e, NULL, NULL);
    CHECK(commit_vector(e, value, 4) == 0);
    scenario_scopes(e, NULL, NULL);
    checkpoint(e, &w, args[0], 0);
    w = world_of(e);
    if (w.rank == 0)
        printf("%s: %d groups\n", w.mode, w.n_groups);
    scenario_close(e);
}

static void check_child(pid_t child)
{
    int status = 1;

    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void run_fork(int how, char **args)
{
    struct eddis_options o = scenario_options(&plain);
    struct eddis_error err = { 0 };
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w);
    pid_t child = fork();

    if (child == 0)
        exit(eddis_barrier(e, S_NS, &err) == -EPERM && eddis_close(e, &err) == -EPERM ? 0 : 1);
    check_child(child);
    scenario_close(e);
    /* Nor may one join when MPI is the parent's, or end that. */
    child = fork();
    if (child == 0)
        exit(eddis_open(&o, &e, &err) == -EPERM && strstr(err.text, "by fork") ? 0 : 1);
    check_child(child);
    scenario_close(scenario_open(&plain, &w));
}

/* The program has MPI to itself, before, between and behind the workers that it opens. */
static void run_own(int how, char **args)
{
    struct eddis_world w;
    struct eddis *e;
    int level = 0, over = 0, sum = 1;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    for (int i = 0; i < 2; i++) {
        e = scenario_open(&plain, &w);
        sum_up(e, &w);
        scenario_close(e);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalized(&over);
    CHECK(!over && sum == w.n_ranks * w.n_ranks);
    MPI_Finalize();
}

static void run_mismatch(int how, char **args)
{
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w);
    float value[8] = { 0 };

    CHECK(w.n_ranks > 1);
    (void)add_vector(e, value, w.rank == w.n_ranks - 1 ? 8 : 4);
    REFUSED(-EPROTO, "", eddis_commit(e, &err));
    scenario_close(e);
}

/* Ranks that call with unlike sizes: both the one that gets more than it expects and the one that
 * gets less learn whose message it was.  Ends with 7.
 */
static void run_unlike(int how, char **args)
{
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w);
    struct eddis_error unlike = { 0 };
    float value[3] = { 0 };
    char words[64];
    int rc;

    check_set_exit(1);
    snprintf(words, sizeof words, "rank %d has sent %s", 1 - w.rank,
             w.rank ? "8 bytes instead of 12; " : "more than the expected 8 bytes; ");
    rc =
        eddis_allreduce(e, value, 2 + (size_t)w.rank, EDDIS_FLOAT32, EDDIS_SUM, 30 * S_NS, &unlike);
    CHECK(rc == -EMSGSIZE && strncmp(unlike.text, words, strlen(words)) == 0, "%s", unlike.text);
    usleep(300000); /* for the other one to see it too */
    eddis_abort(e, 7);
}

static struct eddis_request *start_broadcast(struct eddis *e, enum eddis_scope scope, void *buffer,
                                             size_t bytes)
{
    struct eddis_collective c = collective_of(scope, EDDIS_BROADCAST, buffer, bytes);
    struct eddis_request *r = NULL;

    c.root = 1;
    OK(eddis_collective_start(e, &c, &r, &err));
    return r;
}

/* Communication has failed while rank 0 waited for something else, too, and it unmaps that: what
 * rank 1 sends there in the end is written nowhere.  Ends with 7.
 */
static void run_dropped(int how, char **args)
{
    enum { BYTES = 4 << 20 };
    void *there = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct eddis_request *large, *unlike;
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w);
    char small[16] = "";

    check_set_exit(1);
    CHECK(there != MAP_FAILED);
    if (w.rank == 1) {
        (void)start_broadcast(e, EDDIS_GROUP, small, 12);
        await_late(args[0], &w);
        (void)start_broadcast(e, EDDIS_ALL, there, BYTES);
        usleep(2000000);
    } else {
        large = start_broadcast(e, EDDIS_ALL, there, BYTES);
        unlike = start_broadcast(e, EDDIS_GROUP, small, 8);
        REFUSED(-EMSGSIZE, "", eddis_request_wait(e, unlike, 30 * S_NS, &err));
        REFUSED(-EMSGSIZE, "", eddis_request_wait(e, large, 30 * S_NS, &err));
        munmap(there, BYTES);
        write_file(args[0], "late", w.rank, "");
        usleep(2500000);
    }
    eddis_abort(e, 7);
}

static void run_sets(int how, char **args)
{
    struct scenario s = { .batch = 43, .measured = 1 };
    struct eddis_world w;
    struct eddis *e = scenario_open(&s, &w);

    scenario_sets(e, &s);
    CHECK(w.n_groups > 1 || s.steps == SCENARIO_EPOCHS * 7, "%d steps", (int)s.steps);
    CHECK(s.done == SCENARIO_EPOCHS * SCENARIO_SAMPLES, "%d samples", (int)s.done);
    scenario_close(e);
}

/* Ends with 7 once every rank has seen that the rounds do not fit. */
static void run_unlike_sets(int how, char **args)
{
    struct eddis_world w;
    struct eddis *e = scenario_open(&(struct scenario){ .batch = 43 }, &w);

    check_set_exit(1);
    scenario_sets_mismatch(e, (enum sets_mismatch)how);
    write_file(args[0], "late", w.rank, "");
    await_late(args[0], &w);
    eddis_abort(e, 7);
}

struct training {
    struct eddis *e;
    struct scenario s;
};

static void *train_beside(void *arg)
{
    struct training *t = arg;

    scenario_train(t->e, &t->s);
    return NULL;
}

/* Two workers of one process train at once, each by a thread; then one goes on alone. */
static void run_two(void)
{
    struct training t[2] = { { .s.batch = 43 }, { .s.batch = 43 } };
    struct eddis_world w;
    pthread_t thread;

    t[0].e = scenario_open(&t[0].s, &w);
    t[1].e = scenario_open(&t[1].s, &w);
    CHECK(pthread_create(&thread, NULL, train_beside, &t[1]) == 0);
    train_beside(&t[0]);
    pthread_join(thread, NULL);
    sum_up(t[0].e, &w);
    sum_up(t[1].e, &w);
    scenario_close(t[0].e);
    scenario_collectives(t[1].e, &t[1].s);
    sum_up(t[1].e, &w);
    scenario_close(t[1].e);
}

/* Rank 0 opens another worker while others still wait for its part of a sum, which must go on. */
static void run_crossed(void)
{
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w), *other;
    struct eddis_request *r = NULL;
    size_t n = 1 << 20;
    float *x = calloc(n, sizeof *x);

    OK(eddis_allreduce_start(e, x, n, EDDIS_FLOAT32, EDDIS_SUM, &r, &err));
    if (w.rank != 0)
        OK(eddis_request_wait(e, r, TIMEOUT_NS, &err));
    other = scenario_open(&plain, &w);
    if (w.rank == 0)
        OK(eddis_request_wait(e, r, TIMEOUT_NS, &err));
    free(x);
    scenario_close(other);
    scenario_close(e);
}

/* A board makes one worker at a time. */
static void run_again(int how, char **args)
{
    struct eddis_world w;
    struct eddis *e;

    for (int i = 0; i < 2; i++) {
        e = scenario_open(&plain, &w);
        sum_up(e, &w);
        scenario_close(e);
    }
    if (!getenv("EDDIS_BOARD")) {
        run_two();
        run_crossed();
    }
}

/* Ends with 0 under eddis-run; mpirun itself calls it a failure and ends the others. */
static void run_gone(int how, char **args)
{
    struct eddis_options o = scenario_options(&plain);
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w), *second;

    if (getenv("EDDIS_BOARD"))
        REFUSED(-EBUSY, "has a worker open already", eddis_open(&o, &second, &err));
    sum_up(e, &w);
    scenario_close(e);
    if (w.rank == 1)
        _exit(check_result());
    usleep(500000);
    printf("rank %d has gone on\n", w.rank);
    CHECK(fflush(stdout) == 0);
}

/* code 0: leave by exit.  What was written is in a buffer of stdio's, as in a log file. */
static void run_exit(int code, char **args)
{
    static char buffer[BUFSIZ];
    struct eddis_world w;
    struct eddis *e;

    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    puts("last words");
    e = scenario_open(&plain, &w);
    if (code && w.rank == 1)
        eddis_abort(e, code);
    if (!code && w.rank == 0)
        exit(0);
    (void)eddis_barrier(e, 600 * S_NS, NULL); /* never comes back */
    exit(99);
}

/* The last rank's cable is cut between two of its steps: who stands in the middle of an all-reduce
 * that has begun everywhere cannot tell a neighbour that is cut off from one that waits itself.
 */
static void await_cut(const char *folder, const struct eddis_world *w)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/cut", folder);
    for (int i = 0; w->rank == w->n_ranks - 1 && i < 30000 && access(path, F_OK) < 0; i++)
        usleep(2000);
}

/* Step after step until one does not end within three seconds; what eddis_wait says goes to a file.
 */
static void run_cut(int how, char **args)
{
    int rc = 0, n = atoi(args[1]);
    float *value = calloc((size_t)n, sizeof *value);
    struct eddis_world w;
    struct eddis *e = scenario_open(&plain, &w);
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error cut = { 0 };

    (void)commit_vector(e, value, n);
    while (rc == 0) {
        rc = eddis_step_begin(e, &s, &cut);
        if (rc == 1)
            rc = eddis_wait(e, 3 * S_NS, &cut);
        if (rc == 0)
            rc = eddis_step_end(e, NULL, &cut);
        if (s.step == 20) {
            write_file(args[0], "ready", w.rank, "");
            await_cut(args[0], &w);
        }
    }
    write_file(args[0], "said", w.rank, cut.text);
    pause(); /* whoever cut the cable ends us */
}

static const struct action {
    const char *name;
    void (*run)(int how, char **args);
    int how, n_args; /* n_args: at least */
} actions[] = {
    { "train", run_train, 0, 0 },
    { "late", run_train, 1, 0 },
    { "scopes", run_scopes, 0, 1 },
    { "timeout", run_timeout, 0, 1 },
    { "fork", run_fork, 0, 0 },
    { "exit", run_exit, 0, 0 },
    { "abort", run_exit, 7, 0 },
    { "again", run_again, 0, 0 },
    { "own", run_own, 0, 0 },
    { "gone", run_gone, 0, 0 },
    { "mismatch", run_mismatch, 0, 0 },
    { "unlike", run_unlike, 0, 0 },
    { "dropped", run_dropped, 0, 1 },
    { "sets", run_sets, 0, 0 },
    { "sets-order", run_unlike_sets, SETS_ORDER, 1 },
    { "sets-more", run_unlike_sets, SETS_MORE, 1 },
    { "sets-one", run_unlike_sets, SETS_ONE, 1 },
    { "cut", run_cut, 0, 2 },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof actions / sizeof *actions; i++)
        if (strcmp(argv[1], actions[i].name) == 0 && argc >= 2 + actions[i].n_args) {
            actions[i].run(actions[i].how, argv + 2);
            return check_result();
        }
    fprintf(stderr, "usage: test_mpi_eddis train|late|scopes|... [ARGUMENT...]\n");
    return 2;
}
