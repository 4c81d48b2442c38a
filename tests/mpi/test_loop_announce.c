/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_announce.c - many gradients by one call, parameters of unlike shapes or without a
 * gradient, and a worker alone with nothing to do, over the loop in every mode
 */
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static const struct loop_job modes[] = {
    { .n = 1, .each.batch = 8 },
    { .n = 3, .share = 8 },
    { .n = 2, .share = 8, .per_group = ASYNC },
    { .n = 4, .share = 8, .per_group = 2 },
};

/* ---- what processes over MPI do, too ---- */

static void elsewhere_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value;

    scenario_elsewhere(e, &j->scenario[rank]);
    e->centre.exchanging = true;
    REFUSED(-EBUSY, "", eddis_set_value(e, 0, &value, &err));
    e->centre.exchanging = false;
}

static void run_trainings(const struct loop_job *mode)
{
    static scenario_fn *const trainings[] = { scenario_many, scenario_shapes, scenario_half,
                                              scenario_weighted, scenario_mean };
    char folder[64];
    struct loop_job j = *mode;

    CHECK(own_folder_make(folder, sizeof folder) == 0);
    j.each.folder = folder;
    loop_job_run_body(&j, elsewhere_body, NULL);
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        j = *mode;
        j.run = trainings[i];
        j.each.keep_pace = loop_job_keep_pace;
        if (j.run != scenario_mean || j.per_group != SYNC)
            loop_job_run(&j);
    }
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
    struct eddis_parameter p[] = { vector_of(value, LARGE), vector_of(value, LARGE),
                                   vector_of(value, 4), vector_of(value, 4) };
    struct eddis_step s;
    int n = 0;

    p[PROMISED].result = promised;
    p[PLACED].result = EDDIS_IN_PLACE;
    for (int i = 0; i < 4; i++)
        CHECK(add_parameter(e, &p[i]) == i);
    OK(eddis_commit(e, &err));
    forbid(eddis_gradient(e, SILENT), LARGE, PROT_NONE);
    forbid(eddis_gradient(e, OWN), LARGE, PROT_NONE);
    forbid(own, LARGE, PROT_NONE);
    for (; step_begin(e, &s); n++) {
        bool says = s.step % 2 == 0 && s.count > 0;

        GIVES(s.count ? 0 : -EINVAL,
              eddis_announce(e, OWN, s.count ? own : EDDIS_IN_PLACE, own, &err));
        if (says)
            OK(eddis_announce(e, PLACED, x, NULL, &err));
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        CHECK(promised[0] == 0 && promised[3] == 0);
        promised[3] = 9;
        CHECK(((const float *)eddis_result(e, PLACED))[3] == (says ? 4 : 0));
        OK(eddis_step_end(e, NULL, &err));
    }
    CHECK(n > 0);
    forbid(eddis_gradient(e, SILENT), LARGE, PROT_READ | PROT_WRITE);
    forbid(eddis_gradient(e, OWN), LARGE, PROT_READ | PROT_WRITE);
    forbid(own, LARGE, PROT_READ | PROT_WRITE);
    free(value);
    free(own);
}

int main(void)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        run_trainings(&modes[i]);
        if (modes[i].n == 1 || modes[i].per_group == ASYNC)
            loop_job_run_body(&modes[i], alone_body, NULL);
    }
    return check_result();
}
