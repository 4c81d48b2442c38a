/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_announce.c - many gradients by one call, parameters of unlike shapes or without a
 * gradient, a worker alone with nothing to do, gradients that the program has weighted in the
 * library's memory, and the size of that memory, over the loop in every mode
 */
#include "lib/comm/shm.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct loop_job modes[] = {
    { .n = 1, .each.batch = 8 },
    { .n = 3, .share = 8 },
    { .n = 2, .share = 8, .per_group = ASYNC },
    { .n = 4, .share = 8, .per_group = 2 },
    { .n = 4, .share = 8, .per_group = 2, .algorithm = "local" },
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
        if (j.run != scenario_mean || (j.per_group != SYNC && !j.algorithm))
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

/* ---- weighted by the program, and read in place ---- */

/* A gradient of this worker at this step, the mean of its samples. */
static float weighted_element(int rank, int64_t step, int k)
{
    return 0.37F * (float)((k * 7 + rank * 31 + (int)step * 3) % 101 - 50);
}

/* Borrow the combined gradient of a parameter from where a device may read it, and check that it is
 * what eddis_result shows.
 */
static const float *weighted_result(struct eddis *e, int parameter)
{
    size_t bytes = 0, n = 0;
    char *slot = eddis_gradient(e, parameter), *block = eddis_gradient_block(e, &bytes);
    char *results = eddis_result_block(e, &n);
    const char *found = eddis_result(e, parameter);
    bool in_block = found >= block && found < block + bytes;
    const char *read = in_block ? found : results + (slot - block);

    CHECK((uintptr_t)block % PAGE == 0 && (in_block || (n == bytes && results != NULL)));
    CHECK((uintptr_t)results % PAGE == 0 && memcmp(read, found, LARGE * sizeof(float)) == 0);
    return (const float *)read;
}

/* The bits of a gradient that the library weights, copies and copies back.  If the node has
 * results, the library does not write to the gradient's pages, or this would be a segmentation
 * fault.  What travels as float16 is weighted by the library if the program has set the weight.
 */
static void weighted_body(struct eddis *e, int rank, struct loop_job *j)
{
    enum { WEIGHTED, COPIED };
    const int both[] = { COPIED, WEIGHTED };
    float *value = calloc(LARGE, sizeof *value), *own = calloc(LARGE, sizeof *own), *slot;
    struct eddis_step s;
    size_t bytes = 0;
    int n = 0;

    CHECK(add_vector(e, value, LARGE) == WEIGHTED && add_vector(e, value, LARGE) == COPIED);
    CHECK(eddis_factor(e, 0) == 0 && !eddis_result_block(e, &bytes));
    OK(eddis_commit(e, &err));
    slot = eddis_gradient(e, WEIGHTED);
    for (; step_begin(e, &s); n++) {
        bool in_place = eddis_result_block(e, &bytes) != NULL;
        bool by_library = j->arg && j->wire == SYNC_WIRE_FLOAT16;
        float factor;

        if (j->arg && s.count)
            OK(eddis_set_weight(e, 3.5 + rank, &err));
        factor = (float)eddis_factor(e, 0);
        CHECK(by_library || !s.count ? factor == 0 : factor > 0);
        for (int k = 0; k < LARGE; k++) {
            own[k] = weighted_element(rank, s.step, k);
            slot[k] = own[k] * (by_library ? 1 : factor);
        }
        REFUSED(-EINVAL, "not announced", eddis_wait_parameters(e, 2, both, 0, &err));
        if (in_place && !j->arg && s.count)
            forbid(slot, LARGE, PROT_READ);
        OK(eddis_announce(e, COPIED, own, own, &err));
        REFUSED(-EINVAL, "not announced", eddis_wait_parameters(e, 2, both, 0, &err));
        if (by_library)
            REFUSED(-EINVAL, "number of ",
                    eddis_announce(e, WEIGHTED, EDDIS_WEIGHTED, EDDIS_IN_PLACE, &err));
        OK(eddis_announce(e, WEIGHTED, by_library ? NULL : EDDIS_WEIGHTED, EDDIS_IN_PLACE, &err));
        OK(eddis_wait_parameters(e, 2, both, TIMEOUT_NS, &err));
        CHECK(memcmp(weighted_result(e, WEIGHTED), own, LARGE * sizeof *own) == 0);
        if (in_place)
            forbid(slot, LARGE, PROT_READ | PROT_WRITE);
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        OK(eddis_step_end(e, NULL, &err));
    }
    CHECK(n > 0 || j->per_group == ASYNC);
    free(value);
    free(own);
}

enum { HALVES = 1000 };

/* Set half [HALVES] to the gradient of this worker at this step, times factor, as float16. */
static void set_halves(uint16_t *half, int rank, int64_t step, float factor)
{
    float wide[HALVES];

    for (int k = 0; k < HALVES; k++)
        wide[k] = weighted_element(rank, step, k);
    comm_to_half(COMM_FLOAT16, half, wide, HALVES);
    comm_from_half(COMM_FLOAT16, wide, half, HALVES);
    for (int k = 0; k < HALVES; k++)
        wide[k] *= factor;
    comm_to_half(COMM_FLOAT16, half, wide, HALVES);
}

/* The bits of float16 gradients of a program that weights them, as those of the library; about as
 * good if other workers have changed their weights.
 */
static void half_body(struct eddis *e, int rank, struct loop_job *j)
{
    enum { WEIGHTED, COPIED };
    uint16_t value[HALVES] = { 0 }, own[HALVES];
    struct eddis_parameter p = vector_of(value, HALVES);
    struct eddis_step s;
    int n = 0;

    p.dtype = EDDIS_FLOAT16;
    CHECK(add_parameter(e, &p) == WEIGHTED && add_parameter(e, &p) == COPIED);
    OK(eddis_commit(e, &err));
    for (; step_begin(e, &s); n++) {
        bool weighs = j->arg && rank == 0, counts = j->arg && rank == j->n - 1;
        const void *source = weighs || counts ? NULL : EDDIS_WEIGHTED;
        const uint16_t *found = eddis_gradient(e, WEIGHTED);
        float ours[HALVES], theirs[HALVES], factor;

        if (weighs)
            OK(eddis_set_weight(e, 100, &err));
        else if (counts)
            OK(eddis_set_count(e, 50, &err));
        factor = (float)eddis_factor(e, 0);
        CHECK(source && s.count ? factor > 0 : factor == 0);
        if (!source)
            REFUSED(-EINVAL, "number of ",
                    eddis_announce(e, 0, EDDIS_WEIGHTED, EDDIS_IN_PLACE, &err));
        set_halves(own, rank, s.step, 1);
        set_halves(eddis_gradient(e, WEIGHTED), rank, s.step, source ? factor : 1);
        OK(eddis_announce(e, COPIED, own, own, &err));
        OK(eddis_announce(e, WEIGHTED, source, NULL, &err));
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        CHECK(j->arg || memcmp(found, own, sizeof own) == 0);
        comm_from_half(COMM_FLOAT16, ours, found, HALVES);
        comm_from_half(COMM_FLOAT16, theirs, own, HALVES);
        for (int k = 0; k < HALVES; k++)
            CHECK(fabsf(ours[k] - theirs[k]) <= 0.02F);
        OK(eddis_step_end(e, NULL, &err));
    }
    CHECK(n > 0);
}

/* ---- memory that devices lock ---- */

/* What all workers of a node have locked of the gradients' memory is at most 5/4 of the gradients,
 * but for a few bytes behind each: from 4 workers on the results, and else only the gradients.
 * j->arg: the number of parameters, of unlike sizes.
 */
static void locked_body(struct eddis *e, int rank, struct loop_job *j)
{
    const int *n = j->arg;
    size_t gradients = 0, behind = (size_t)*n * 256 + PAGE, block, results = 0, locked;
    float *value = calloc((size_t)*n * LARGE, sizeof *value);

    for (int i = 0; i < *n; i++) {
        size_t length = LARGE * (size_t)(i * 7 % 10 + 1) / 10 + (size_t)i;

        CHECK(add_vector(e, value, (int)length) == i);
        gradients += length * sizeof(float);
    }
    OK(eddis_commit(e, &err));
    CHECK(eddis_gradient_block(e, &block) != NULL);
    eddis_result_block(e, &results);
    locked = (size_t)j->n * block + (j->n > COMM_SHM_FEW ? results : 0);
    CHECK(locked <= (size_t)j->n * (gradients + behind) * 5 / 4);
    free(value);
}

static void run_locked(void)
{
    for (int i = 0; i < 20; i++) {
        int n = i % 10 + 1;

        loop_job_run_body(&(struct loop_job){ .n = i % 5 + 2, .share = 8 }, locked_body, &n);
    }
}

static void run_weighted(void)
{
    const struct loop_job places[] = {
        { .n = 1, .each.batch = 8 },
        { .n = 3, .split = { 9, 2, 5 } },
        { .n = 3, .split = { 9, 0, 5 }, NODES(0, 0, 1) },
        { .n = 2, .share = 8, NODES(0, 1) },
        { .n = 4, .share = 8, NODES(0, 0, 1, 1), .hosts = true },
        { .n = 4, .share = 8, NODES(0, 0, 1, 1), .hosts = true, .wire = SYNC_WIRE_BFLOAT16 },
        { .n = 4, .share = 8, NODES(0, 0, 1, 1), .hosts = true, .wire = SYNC_WIRE_FLOAT16 },
        { .n = 4, .share = 8, .per_group = 2 },
        { .n = 2, .share = 8, .per_group = ASYNC },
        { .n = 2, .share = 8, .per_group = 1, .algorithm = "local" },
    };
    bool weights = true; /* the program's own weights do not add up to the batch */

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        loop_job_run_body(&places[i], weighted_body, NULL);
        loop_job_run_body(&places[i], weighted_body, &weights);
    }
    for (int i = 1; i < 3; i++) {
        loop_job_run_body(&places[i], half_body, NULL);
        loop_job_run_body(&places[i], half_body, &weights);
    }
}

int main(void)
{
    run_weighted();
    run_locked();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        run_trainings(&modes[i]);
        if (modes[i].n == 1 || modes[i].per_group == ASYNC)
            loop_job_run_body(&modes[i], alone_body, NULL);
    }
    return check_result();
}
