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
 *     test_mpi_eddis latency N S  seconds a step of N floats after S ms of sleep
 *
 * Exit code 0: all is well.
 */
#include "scenario.h"
#include "sets_scenario.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
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

static int fail(const char *what, const struct eddis_error *err)
{
    fprintf(stderr, "%s: %d %s\n", what, err->code, err->text);
    return 1;
}

static int open_job(const struct scenario *s, struct eddis **ret, struct eddis_world *w)
{
    struct eddis_options o = scenario_options(s ? s : &(struct scenario){ 0 });
    struct eddis_error err = { 0 };

    if (!s)
        o.epochs = 0;
    w->size = sizeof *w;
    if (eddis_open(&o, ret, &err) < 0)
        return fail("eddis_open", &err);
    return eddis_world(*ret, w) < 0;
}

static int close_job(struct eddis *e)
{
    struct eddis_error err = { 0 };

    return eddis_close(e, &err) < 0 ? fail("eddis_close", &err) : 0;
}

static int add_one(struct eddis *e, float *value, int n)
{
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err);

    return eddis_add_parameter(e, layer,
                               &(struct eddis_parameter){ .size = sizeof(struct eddis_parameter),
                                                          .name = "weight",
                                                          .dtype = EDDIS_FLOAT32,
                                                          .n_dims = 1,
                                                          .dims = { n },
                                                          .value = value },
                               &err);
}

/* Every rank's entry, whose length is its own. */
static int read_entries(const struct eddis_checkpoint *c, const struct eddis_world *w, int64_t step)
{
    struct eddis_checkpoint_info info = { .size = sizeof info };
    struct eddis_error err = { 0 };
    char own[64];

    if (eddis_checkpoint_info(c, &info, &err) < 0 || info.step != step ||
        info.n_ranks != w->n_ranks || info.generation != w->generation)
        return fail("eddis_checkpoint_info", &err);
    for (int r = 0; r < w->n_ranks; r++)
        if (eddis_checkpoint_size(c, r, "own", &err) != r + 1 ||
            eddis_checkpoint_get_from(c, r, "own", own, (size_t)r + 1, &err) < 0 ||
            own[r] != 'a' + r)
            return fail("eddis_checkpoint_get_from", &err);
    if (eddis_checkpoint_size(c, w->n_ranks, "own", &err) != -ENOENT ||
        eddis_checkpoint_get_from(c, w->rank, "own", own, (size_t)w->rank, &err) != -EMSGSIZE)
        return fail("an entry that is not there, or longer", &err);
    return 0;
}

static int checkpoint(struct eddis *e, const struct eddis_world *w, const char *folder, int step)
{
    char own[64];

    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c;
    char path[4096], name[32];
    int64_t state = 42, back = 0;

    snprintf(name, sizeof name, "state-%d", w->rank);
    if (eddis_checkpoint_begin(e, folder, &c, &err) < 0)
        return fail("eddis_checkpoint_begin", &err);
    memset(own, 'a' + w->rank, sizeof own);
    if (eddis_checkpoint_put(c, name, &state, sizeof state, &err) < 0 ||
        eddis_checkpoint_put(c, "own", own, (size_t)w->rank + 1, &err) < 0)
        return fail("eddis_checkpoint_put", &err);
    if (eddis_checkpoint_commit(c, 2, &err) < 0)
        return fail("eddis_checkpoint_commit", &err);
    snprintf(path, sizeof path, "%s/step-%08d", folder, step);
    if (eddis_restore_begin(e, path, &c, &err) != 1)
        return fail("eddis_restore_begin", &err);
    if (eddis_checkpoint_get(c, "state-0", &back, sizeof back, &err) < 0 || back != state)
        return fail("eddis_checkpoint_get", &err);
    if (read_entries(c, w, step) != 0)
        return 1;
    if (eddis_restore_end(c, &err) < 0)
        return fail("eddis_restore_end", &err);
    if (eddis_restore_begin(e, "/nonexistent/step-00000001", &c, &err) != -ENOENT)
        return fail("eddis_restore_begin of nothing", &err);
    return 0;
}

static int run_train(const char *folder, int late)
{
    struct scenario s = { .batch = 43, .measured = 1, .late = late };
    struct eddis_world w;
    struct eddis *e;
    int failures;

    if (open_job(&s, &e, &w))
        return 1;
    failures = scenario_collectives(e) + scenario_run(e, &s);
    if (s.steps != SCENARIO_EPOCHS * 7) {
        fprintf(stderr, "%d steps\n", (int)s.steps);
        failures++;
    }
    if (folder)
        failures += checkpoint(e, &w, folder, 28);
    return close_job(e) || failures;
}

static void late_name(const char *folder, int rank, char ret[256])
{
    (void)snprintf(ret, 256, "%s/late-%d", folder, rank);
}

/* In this folder ranks tell that they have waited in vain. */
static void await_late(const char *folder, const struct eddis_world *w)
{
    char name[256];

    for (int r = 0; r < w->n_ranks; r++) {
        late_name(folder, r, name);
        while (r != w->rank && access(name, F_OK) != 0)
            usleep(1000);
    }
}

static void report_late(const char *folder, int rank)
{
    char name[256];
    FILE *f;

    late_name(folder, rank, name);
    f = fopen(name, "w");
    if (f)
        (void)fclose(f);
}

static int run_timeout(const char *folder)
{
    float value[4] = { 0 };
    struct eddis_error err = { 0 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world w;
    struct eddis *e;
    const char *whom;
    int rc;

    if (open_job(NULL, &e, &w) || add_one(e, value, 4) != 0 || eddis_commit(e, &err) < 0 ||
        eddis_step_begin(e, &s, &err) != 1)
        return fail("beginning", &err);
    if (w.rank == 1)
        await_late(folder, &w);
    /* In a tree, if that has measured best, rank 2 waits for rank 0, which waits for rank 1. */
    whom = w.rank == 2 ? "rank " : "rank 1";
    rc = eddis_wait(e, w.rank == 1 ? 60 * S_NS : S_NS / 5, &err);
    if (w.rank != 1 && (rc != -ETIMEDOUT || !strstr(err.text, "step 0") ||
                        !strstr(err.text, "'only'") || !strstr(err.text, whom)))
        return fail("a timeout that names step, layer and rank", &err);
    if (w.rank != 1) {
        report_late(folder, w.rank);
        rc = eddis_wait(e, 60 * S_NS, &err);
    }
    if (rc < 0 || eddis_step_end(e, NULL, &err) < 0)
        return fail("eddis_wait", &err);
    return close_job(e);
}

/* A sum over all ranks through this worker, with a wait that the others' makes end. */
static int sum_up(struct eddis *e, const struct eddis_world *w)
{
    struct eddis_error err = { 0 };
    int32_t x = w->rank + 1;

    if (eddis_allreduce(e, &x, 1, EDDIS_INT32, EDDIS_SUM, 60 * S_NS, &err) < 0)
        return fail("eddis_allreduce", &err);
    return x != w->n_ranks * (w->n_ranks + 1) / 2;
}

static int run_scopes(const char *folder)
{
    struct eddis_error err = { 0 };
    struct eddis_world w;
    float value[4] = { 0 };
    struct eddis *e;
    int failures;

    if (open_job(NULL, &e, &w))
        return 1;
    failures = scenario_scopes(e, NULL, NULL);
    if (add_one(e, value, 4) != 0 || eddis_commit(e, &err) < 0)
        return fail("beginning", &err);
    failures += scenario_scopes(e, NULL, NULL);
    failures += checkpoint(e, &w, folder, 0);
    eddis_world(e, &w);
    if (w.rank == 0)
        printf("%s: %d groups\n", w.mode, w.n_groups);
    return close_job(e) || failures;
}

static int run_fork(void)
{
    struct eddis_options o = scenario_options(&(struct scenario){ 0 });
    struct eddis_error err = { 0 };
    struct eddis_world w;
    struct eddis *e;
    int status = 0;
    pid_t child;

    if (open_job(NULL, &e, &w))
        return 1;
    child = fork();
    if (child == 0)
        exit(eddis_barrier(e, S_NS, &err) == -EPERM && eddis_close(e, &err) == -EPERM ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return fail("calls in a child", &err);
    if (close_job(e))
        return 1;
    /* Nor may one join when MPI is the parent's, or end that. */
    child = fork();
    if (child == 0)
        exit(eddis_open(&o, &e, &err) == -EPERM && strstr(err.text, "by fork") ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return fail("joining in a child", &err);
    return open_job(NULL, &e, &w) || close_job(e);
}

/* The program has MPI to itself, before, between and behind the workers that it opens. */
static int run_own(void)
{
    struct eddis_world w;
    struct eddis *e;
    int level = 0, over = 0, sum = 1;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    for (int i = 0; i < 2; i++) {
        if (open_job(NULL, &e, &w) || sum_up(e, &w) || close_job(e))
            return 1;
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalized(&over);
    if (over || sum != w.n_ranks * w.n_ranks)
        return fail("the program's MPI", &(struct eddis_error){ 0 });
    MPI_Finalize();
    return 0;
}

static int run_mismatch(void)
{
    float value[8] = { 0 };
    struct eddis_error err = { 0 };
    struct eddis_world w;
    struct eddis *e;
    int rc;

    if (open_job(NULL, &e, &w))
        return 1;
    add_one(e, value, w.rank == w.n_ranks - 1 ? 8 : 4);
    rc = eddis_commit(e, &err);
    if (rc != (w.n_ranks > 1 ? -EPROTO : 0))
        return fail("eddis_commit of unlike layers", &err);
    return close_job(e);
}

/* Ranks that call with unlike sizes: both the one that gets more than it expects and the one that
 * gets less are told whose message it was.  Ends with 7.
 */
static int run_unlike(void)
{
    char words[64];
    float value[3] = { 0 };
    struct eddis_error err = { 0 };
    struct eddis_world w;
    struct eddis *e;
    int rc;

    if (open_job(NULL, &e, &w))
        return 1;
    snprintf(words, sizeof words, "rank %d has sent %s", 1 - w.rank,
             w.rank ? "8 bytes instead of 12; " : "more than the expected 8 bytes; ");
    rc = eddis_allreduce(e, value, 2 + (size_t)w.rank, EDDIS_FLOAT32, EDDIS_SUM, 30 * S_NS, &err);
    if (rc != -EMSGSIZE || strncmp(err.text, words, strlen(words)) != 0)
        return fail("eddis_allreduce of unlike sizes", &err);
    usleep(300000); /* for the other one to see it too */
    eddis_abort(e, 7);
    return 1;
}

static int start_broadcast(struct eddis *e, enum eddis_scope scope, void *buffer, size_t bytes,
                           struct eddis_request **ret)
{
    const struct eddis_collective c = { .size = sizeof c,
                                        .kind = EDDIS_BROADCAST,
                                        .scope = scope,
                                        .buffer = buffer,
                                        .n = bytes,
                                        .root = 1 };
    struct eddis_error err = { 0 };

    return eddis_collective_start(e, &c, ret, &err) < 0 ? fail("a broadcast", &err) : 0;
}

/* Communication has failed while rank 0 waited for something else, too, and it unmaps that: what
 * rank 1 sends there in the end is written nowhere.  Ends with 7.
 */
static int run_dropped(const char *folder)
{
    enum { BYTES = 4 << 20 };
    void *there = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct eddis_request *large, *unlike;
    struct eddis_error err = { 0 };
    struct eddis_world w;
    char small[16] = "";
    struct eddis *e;

    if (there == MAP_FAILED || open_job(NULL, &e, &w))
        return 1;
    if (w.rank == 1) {
        if (start_broadcast(e, EDDIS_GROUP, small, 12, &unlike))
            return 1;
        await_late(folder, &w);
        if (start_broadcast(e, EDDIS_ALL, there, BYTES, &large))
            return 1;
        usleep(2000000);
    } else {
        if (start_broadcast(e, EDDIS_ALL, there, BYTES, &large) ||
            start_broadcast(e, EDDIS_GROUP, small, 8, &unlike))
            return 1;
        if (eddis_request_wait(e, unlike, 30 * S_NS, &err) != -EMSGSIZE ||
            eddis_request_wait(e, large, 30 * S_NS, &err) != -EMSGSIZE)
            return fail("a broadcast of unlike sizes", &err);
        munmap(there, BYTES);
        report_late(folder, w.rank);
        usleep(2500000);
    }
    eddis_abort(e, 7);
    return 1;
}

static int run_sets(void)
{
    struct scenario opened = { .batch = 43, .measured = 1 };
    struct sets_scenario s = { 0 };
    struct eddis_world w;
    struct eddis *e;
    int failures;

    if (open_job(&opened, &e, &w))
        return 1;
    failures = sets_scenario(e, &s);
    if ((w.n_groups == 1 && s.steps != SCENARIO_EPOCHS * 7) ||
        s.samples != SCENARIO_EPOCHS * SCENARIO_SAMPLES) {
        fprintf(stderr, "%d steps of %d samples\n", (int)s.steps, (int)s.samples);
        failures++;
    }
    return close_job(e) || failures;
}

/* Ends with 7 once every rank has seen that the rounds do not fit. */
static int run_unlike_sets(enum sets_mismatch how, const char *folder)
{
    struct scenario opened = { .batch = 43 };
    struct eddis_world w;
    struct eddis *e;

    if (open_job(&opened, &e, &w) || sets_mismatch(e, how) != 0)
        return 1;
    report_late(folder, w.rank);
    await_late(folder, &w);
    eddis_abort(e, 7);
    return 1;
}

struct training {
    struct eddis *e;
    struct scenario s;
    int failures;
};

static void *train_beside(void *arg)
{
    struct training *t = arg;

    t->failures = scenario_run(t->e, &t->s);
    return NULL;
}

/* Two workers of one process train at once, each by a thread; then one goes on alone. */
static int run_two(void)
{
    struct training t[2] = { { .s.batch = 43 }, { .s.batch = 43 } };
    pthread_t thread;
    struct eddis_world w;
    int failures;

    if (open_job(&t[0].s, &t[0].e, &w) || open_job(&t[1].s, &t[1].e, &w))
        return 1;
    if (pthread_create(&thread, NULL, train_beside, &t[1]) != 0)
        return 1;
    train_beside(&t[0]);
    pthread_join(thread, NULL);
    failures = t[0].failures + t[1].failures + sum_up(t[0].e, &w) + sum_up(t[1].e, &w);
    failures += close_job(t[0].e);
    failures += scenario_collectives(t[1].e) + sum_up(t[1].e, &w);
    return failures + close_job(t[1].e);
}

/* Rank 0 opens another worker while others still wait for its part of a sum, which must go on. */
static int run_crossed(void)
{
    struct eddis_error err = { 0 };
    struct eddis_request *r = NULL;
    struct eddis_world w;
    struct eddis *e, *other;
    int n = 1 << 20, rc = 0;
    float *x = calloc((size_t)n, sizeof *x);

    if (open_job(NULL, &e, &w))
        return 1;
    if (eddis_allreduce_start(e, x, (size_t)n, EDDIS_FLOAT32, EDDIS_SUM, &r, &err) < 0)
        return fail("eddis_allreduce_start", &err);
    if (w.rank != 0)
        rc = eddis_request_wait(e, r, 60 * S_NS, &err);
    if (rc < 0 || open_job(NULL, &other, &w))
        return fail("eddis_request_wait", &err);
    if (w.rank == 0 && eddis_request_wait(e, r, 60 * S_NS, &err) < 0)
        return fail("eddis_request_wait", &err);
    free(x);
    return close_job(other) + close_job(e);
}

/* A board makes one worker at a time. */
static int run_again(void)
{
    struct eddis_world w;
    struct eddis *e;
    int failures = 0;

    for (int i = 0; i < 2; i++) {
        if (open_job(NULL, &e, &w))
            return 1;
        failures += sum_up(e, &w) + close_job(e);
    }
    if (!getenv("EDDIS_BOARD"))
        failures += run_two() + run_crossed();
    return failures;
}

/* Ends with 0 under eddis-run; mpirun itself calls it a failure and ends the others. */
static int run_gone(void)
{
    struct eddis_error err = { 0 };
    struct eddis_options o = scenario_options(&(struct scenario){ 0 });
    struct eddis_world w;
    struct eddis *e, *second;

    if (open_job(NULL, &e, &w))
        return 1;
    if (getenv("EDDIS_BOARD") &&
        (eddis_open(&o, &second, &err) != -EBUSY || !strstr(err.text, "has a worker open already")))
        return fail("a second worker of one page", &err);
    if (sum_up(e, &w) || close_job(e))
        return 1;
    if (w.rank == 1)
        _exit(0);
    usleep(500000);
    printf("rank %d has gone on\n", w.rank);
    return fflush(stdout);
}

/* code 0: leave by exit.  What was written is in a buffer of stdio's, as in a log file. */
static int run_exit(int code)
{
    static char buffer[BUFSIZ];
    struct eddis_error err = { 0 };
    struct eddis_world w;
    struct eddis *e;

    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    puts("last words");

    if (open_job(NULL, &e, &w))
        return 99;
    if (code && w.rank == 1)
        eddis_abort(e, code);
    if (!code && w.rank == 0)
        exit(0);
    eddis_barrier(e, 600 * S_NS, &err); /* never comes back */
    return 99;
}

static void tell(const char *folder, const char *what, int rank, const char *text)
{
    char path[512], part[520];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s-%d", folder, what, rank);
    snprintf(part, sizeof part, "%s.new", path);
    f = fopen(part, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0 || rename(part, path) != 0)
        fprintf(stderr, "cannot write '%s'\n", path);
}

/* Step after step until one does not end within three seconds; what eddis_wait says goes to a file.
 */
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

static int run_cut(const char *folder, int n)
{
    float *value = calloc((size_t)n, sizeof *value);
    struct eddis_error err = { 0 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world w;
    struct eddis *e;
    int rc = 0;

    if (open_job(NULL, &e, &w) || add_one(e, value, n) != 0 || eddis_commit(e, &err) < 0)
        return fail("beginning", &err);
    while (rc == 0) {
        rc = eddis_step_begin(e, &s, &err);
        if (rc == 1)
            rc = eddis_wait(e, 3 * S_NS, &err);
        if (rc == 0)
            rc = eddis_step_end(e, NULL, &err);
        if (s.step == 20) {
            tell(folder, "ready", w.rank, "");
            await_cut(folder, &w);
        }
    }
    tell(folder, "said", w.rank, err.text);
    pause(); /* whoever cut the cable ends us */
    return 1;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int run_latency(int n, int sleep_ms)
{
    enum { STEPS = 300 };
    float *value = calloc((size_t)n, sizeof *value);
    struct eddis_error err = { 0 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world w;
    struct eddis *e;
    double start, waited = 0;

    if (open_job(NULL, &e, &w) || add_one(e, value, n) != 0 || eddis_commit(e, &err) < 0)
        return fail("beginning", &err);
    start = now();
    for (int i = 0; i < STEPS; i++) {
        double t;

        if (eddis_step_begin(e, &s, &err) != 1)
            break;
        if (sleep_ms)
            usleep((useconds_t)sleep_ms * 1000);
        t = now();
        if (eddis_announce_layer(e, 0, &err) < 0 || eddis_wait(e, 60 * S_NS, &err) < 0 ||
            eddis_step_end(e, NULL, &err) < 0)
            return fail("a step", &err);
        waited += now() - t;
        start = i == 9 ? now() : start; /* without the first steps */
        waited = i == 9 ? 0 : waited;
    }
    if (w.rank == 0)
        printf("%d ranks, %d floats, %d ms: a step takes %.3f ms, of these waiting %.3f ms\n",
               w.n_ranks, n, sleep_ms, (now() - start) / (double)(s.step - 9) * 1e3,
               waited / (double)(s.step - 9) * 1e3);
    free(value);
    return close_job(e);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "train") == 0)
        return run_train(argc > 2 ? argv[2] : NULL, 0);
    if (strcmp(what, "late") == 0)
        return run_train(argc > 2 ? argv[2] : NULL, 1);
    if (strcmp(what, "scopes") == 0 && argc > 2)
        return run_scopes(argv[2]);
    if (strcmp(what, "timeout") == 0 && argc > 2)
        return run_timeout(argv[2]);
    if (strcmp(what, "fork") == 0)
        return run_fork();
    if (strcmp(what, "again") == 0)
        return run_again();
    if (strcmp(what, "own") == 0)
        return run_own();
    if (strcmp(what, "gone") == 0)
        return run_gone();
    if (strcmp(what, "mismatch") == 0)
        return run_mismatch();
    if (strcmp(what, "unlike") == 0)
        return run_unlike();
    if (strcmp(what, "dropped") == 0 && argc > 2)
        return run_dropped(argv[2]);
    if (strcmp(what, "sets") == 0)
        return run_sets();
    if (strcmp(what, "sets-order") == 0 && argc > 2)
        return run_unlike_sets(SETS_ORDER, argv[2]);
    if (strcmp(what, "sets-more") == 0 && argc > 2)
        return run_unlike_sets(SETS_MORE, argv[2]);
    if (strcmp(what, "sets-one") == 0 && argc > 2)
        return run_unlike_sets(SETS_ONE, argv[2]);
    if (strcmp(what, "exit") == 0)
        return run_exit(0);
    if (strcmp(what, "abort") == 0)
        return run_exit(7);
    if (strcmp(what, "cut") == 0 && argc > 3)
        return run_cut(argv[2], atoi(argv[3]));
    if (strcmp(what, "latency") == 0 && argc > 3)
        return run_latency(atoi(argv[2]), atoi(argv[3]));
    fprintf(stderr,
            "usage: test_mpi_eddis "
            "train|late|scopes|timeout|fork|again|own|gone|mismatch|unlike|dropped|sets|sets-order|"
            "sets-more|sets-one|exit|cut|latency ...\n");
    return 2;
}
