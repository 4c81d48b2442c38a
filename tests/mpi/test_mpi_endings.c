/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_endings.c - one rank of a job that ends in another way than by eddis_close, under mpirun
 *
 *     test_mpi_endings early         all exit with 0 before eddis_commit
 *     test_mpi_endings end           all exit with 0 when eddis_step_begin has returned 0
 *     test_mpi_endings late          the same, rank 1 a while after the others
 *     test_mpi_endings amidst        rank 1 exits with 0 in its third step: the job ends with 1
 *     test_mpi_endings status        rank 1 exits with 3 there
 *     test_mpi_endings end-status    rank 1 exits with 4 behind its last step
 *     test_mpi_endings thread        a thread of rank 1 exits with 3 while the main one waits
 *     test_mpi_endings child         a child made by fork exits with 5: that ends nothing
 *     test_mpi_endings several       two handles, both left open
 *
 * All but the ranks that are named wait for these, or exit with 0.
 */
#include "lib/eddis.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_NS INT64_C(600000000000)

static int fail(const char *what, const struct eddis_error *err)
{
    fprintf(stderr, "%s: %d %s\n", what, err->code, err->text);
    return 99;
}

/* Returns the rank, or -1. */
static int begin(struct eddis **ret)
{
    struct eddis_options o = {
        .size = sizeof o, .samples = 60, .epochs = 1, .batch = 12, .close_at_exit = 1
    };
    struct eddis_world w = { .size = sizeof w };
    struct eddis_error err = { 0 };

    if (eddis_open(&o, ret, &err) < 0 || eddis_world(*ret, &w) < 0) {
        fail("eddis_open", &err);
        return -1;
    }
    return w.rank;
}

static int commit(struct eddis *e)
{
    static float value[4];
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
    int rank = begin(&e), rc = rank < 0 ? 99 : sum_up(e);

    if (rc || strcmp(what, "early") == 0)
        return rc;
    if (strcmp(what, "several") == 0)
        rc = begin(&second) < 0 ? 99 : sum_up(second);
    if (rc == 0)
        rc = commit(e);
    if (rc)
        return rc;
    if (strcmp(what, "child") == 0 && child() != 0)
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
    return argc == 2 ? run(argv[1]) : 2;
}
