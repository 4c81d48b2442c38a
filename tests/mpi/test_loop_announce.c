/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_announce.c - many gradients by one call, parameters of unlike shapes or without a
 * gradient, and a worker alone with nothing to do, over the loop in every mode
 */
#include "lib/base/clock.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"
#include "values_scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

static const struct mode {
    const char *mode, *algorithm;
    int n, per_group, board;
} modes[] = { { "sync", "allreduce", 1, 0, 0 },
              { "sync", "allreduce", 3, 0, 1 },
              { "async", "easgd", 2, 1, 1 },
              { "hybrid", "hsgd", 4, 2, 1 } };

static void run(const struct mode *m, void (*body)(struct eddis *e, int rank, struct loop_job *j),
                void *arg)
{
    struct loop_job j = { .n = m->n,
                          .body = body,
                          .arg = arg,
                          .mode = m->mode,
                          .algorithm = m->algorithm,
                          .per_group = m->per_group,
                          .period = m->per_group ? 2 : 0 };

    for (int i = 0; i < j.n; i++)
        j.scenario[i].batch = 8 * j.n;
    if (m->board)
        loop_job_board_of(&j, (const int64_t[MAX_RANKS]){ 8, 8, 8, 8 });
    loop_job_run(&j);
}

/* ---- what processes over MPI do, too ---- */

static void many_body(struct eddis *e, int rank, struct loop_job *j)
{
    (void)rank, (void)j;
    __atomic_add_fetch(&loop_job_failures, values_many(e), __ATOMIC_RELAXED);
}

static void shapes_body(struct eddis *e, int rank, struct loop_job *j)
{
    (void)rank, (void)j;
    __atomic_add_fetch(&loop_job_failures, values_shapes(e), __ATOMIC_RELAXED);
}

static void elsewhere_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value;
    struct eddis_error err = { 0 };
    int failures = values_elsewhere(e, j->arg);

    (void)rank;
    __atomic_add_fetch(&loop_job_failures, failures, __ATOMIC_RELAXED);
    e->centre.exchanging = true;
    CHECK(eddis_set_value(e, 0, &value, &err) == -EBUSY);
    e->centre.exchanging = false;
}

static void run_elsewhere(const struct mode *m)
{
    char folder[64], command[80];

    CHECK(own_folder_make(folder, sizeof folder) == 0);
    run(m, elsewhere_body, folder);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* ---- 16 bits ---- */

static void half_body(struct eddis *e, int rank, struct loop_job *j)
{
    (void)rank, (void)j;
    __atomic_add_fetch(&loop_job_failures, values_half(e), __ATOMIC_RELAXED);
}

static void weighed_body(struct eddis *e, int rank, struct loop_job *j)
{
    (void)rank, (void)j;
    __atomic_add_fetch(&loop_job_failures, values_weighed(e), __ATOMIC_RELAXED);
}

static void drift_body(struct eddis *e, int rank, struct loop_job *j)
{
    const struct values_pace pace = { loop_job_turn, j };

    (void)rank;
    __atomic_add_fetch(&loop_job_failures, values_drift(e, &pace), __ATOMIC_RELAXED);
}

/* ---- alone ---- */

enum { LARGE = 1 << 16, PAGE = 4096 };

/* The whole pages of n floats. */
static void forbid(void *data, size_t n, int how)
{
    uintptr_t first = ((uintptr_t)data + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)data + n * sizeof(float)) / PAGE * PAGE;

    CHECK(end > first && mprotect((void *)first, end - first, how) == 0);
}

/* Nobody is added up with: gradients that are not announced, and those that are where their result
 * goes, are neither read nor written, or this would be a segmentation fault.  What a result was
 * promised of has it.
 */
static void alone_body(struct eddis *e, int rank, struct loop_job *j)
{
    enum { SILENT, OWN, PROMISED, PLACED };
    float *value = calloc(LARGE, sizeof *value), *own = calloc(LARGE, sizeof *own);
    float promised[4] = { 9, 9, 9, 9 }, x[4] = { 1, 2, 3, 4 };
    struct eddis_parameter p[] = { values_vector(value, LARGE), values_vector(value, LARGE),
                                   values_vector(value, 4), values_vector(value, 4) };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int rc, n = 0;

    (void)rank, (void)j;
    p[PROMISED].result = promised;
    p[PLACED].result = EDDIS_IN_PLACE;
    CHECK(eddis_add_layer(e, "l", EDDIS_LAYER_OTHER, &err) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(eddis_add_parameter(e, 0, &p[i], &err) == i);
    CHECK(eddis_commit(e, &err) == 0);
    forbid(eddis_gradient(e, SILENT), LARGE, PROT_NONE);
    forbid(eddis_gradient(e, OWN), LARGE, PROT_NONE);
    forbid(own, LARGE, PROT_NONE);
    for (; (rc = eddis_step_begin(e, &s, &err)) == 1; n++) {
        bool says = s.step % 2 == 0 && s.count > 0;

        CHECK(eddis_announce(e, OWN, s.count ? own : EDDIS_IN_PLACE, own, &err) ==
              (s.count ? 0 : -EINVAL));
        if (says)
            CHECK(eddis_announce(e, PLACED, x, NULL, &err) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
        CHECK(promised[0] == 0 && promised[3] == 0);
        promised[3] = 9;
        CHECK(((const float *)eddis_result(e, PLACED))[3] == (says ? 4 : 0));
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
    CHECK(rc == 0 && n > 0);
    forbid(eddis_gradient(e, SILENT), LARGE, PROT_READ | PROT_WRITE);
    forbid(eddis_gradient(e, OWN), LARGE, PROT_READ | PROT_WRITE);
    forbid(own, LARGE, PROT_READ | PROT_WRITE);
    free(value);
    free(own);
}

int main(void)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        run(&modes[i], many_body, NULL);
        run(&modes[i], shapes_body, NULL);
        run_elsewhere(&modes[i]);
        run(&modes[i], half_body, NULL);
        run(&modes[i], weighed_body, NULL);
        if (modes[i].per_group)
            run(&modes[i], drift_body, NULL);
        if (modes[i].n == 1 || modes[i].per_group == 1)
            run(&modes[i], alone_body, NULL);
    }
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
