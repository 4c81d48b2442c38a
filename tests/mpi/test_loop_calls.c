/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_calls.c - calls out of order, with NULL, or of a worker that has no gradient or no
 * samples, over the loop
 */
#include "lib/base/clock.h"
#include "lib/eddis_smb.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* ---- misuse ---- */

static void misuse_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 }, gradient[4] = { 1, 2, 3, 4 };
    struct eddis_parameter p = vector_of(NULL, 4);
    struct eddis_step s = { .size = sizeof s };

    OK(eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err));
    REFUSED(-EINVAL, "", eddis_add_parameter(e, 0, &p, &err)); /* no value */
    p.value = value;
    REFUSED(-EINVAL, "", eddis_add_parameter(e, 7, &p, &err));
    p.dims[0] = -1;
    REFUSED(-EINVAL, "", eddis_add_parameter(e, 0, &p, &err));
    p.dims[0] = INT64_MAX;
    REFUSED(-EINVAL, "", eddis_add_parameter(e, 0, &p, &err));
    p.dims[0] = 4;
    p.n_dims = -1;
    REFUSED(-EINVAL, "", eddis_add_parameter(e, 0, &p, &err));
    p.n_dims = 1;
    p.dtype = EDDIS_INT32;
    REFUSED(-EINVAL, "", eddis_add_parameter(e, 0, &p, &err));
    p.dtype = EDDIS_FLOAT32;
    OK(eddis_add_parameter(e, 0, &p, &err));
    REFUSED(-EINVAL, "", eddis_step_begin(e, &s, &err));
    REFUSED(-EINVAL, "", eddis_announce(e, 0, NULL, NULL, &err));
    OK(eddis_commit(e, &err));
    REFUSED(-EINVAL, "", eddis_commit(e, &err));
    REFUSED(-EINVAL, "", eddis_add_layer(e, "late", EDDIS_LAYER_OTHER, &err));
    REFUSED(-EINVAL, "", eddis_announce(e, 0, NULL, NULL, &err));
    REFUSED(-EINVAL, "", eddis_wait(e, 0, &err));
    CHECK(step_begin(e, &s));
    REFUSED(-EINVAL, "", eddis_step_begin(e, &s, &err));
    REFUSED(-EINVAL, "", eddis_step_end(e, NULL, &err));
    REFUSED(-EINVAL, "", eddis_wait_layer(e, 0, 0, &err));
    REFUSED(-EINVAL, "", eddis_set_weight(e, -1, &err));
    OK(eddis_set_weight(e, rank == 0 ? 3 : 0, &err));
    REFUSED(-EINVAL, "", eddis_announce_factors(e, 0, value, value, 1, NULL, &err));
    step_announce(e, 0, gradient);
    REFUSED(-EINVAL, "", eddis_set_weight(e, 1, &err));
    REFUSED(-EINVAL, "", eddis_announce(e, 0, gradient, gradient, &err));
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    CHECK(gradient[3] == 4);
    REFUSED(-EINVAL, "", eddis_announce(e, 0, gradient, gradient, &err));
    OK(eddis_step_end(e, NULL, &err));
    REFUSED(-EINVAL, "", eddis_set_metric(e, "no blanks", 1, &err));
    REFUSED(-ENOENT, "",
            eddis_checkpoint_begin(e, NULL, &(struct eddis_checkpoint *){ NULL }, &err));
    OK(eddis_restore_begin(e, NULL, &(struct eddis_checkpoint *){ NULL }, &err));
}

/* ---- NULL ---- */

static char called[8192]; /* the names of all that was called with NULL, a blank before each */

static void note(const char *call)
{
    size_t used = strlen(called);

    CHECK(used + strlen(call) < sizeof called);
    snprintf(called + used, sizeof called - used, " %.*s ", (int)strcspn(call, "("), call);
}

/* -EINVAL, and one sentence with this word in it. */
static void check_invalid(const char *call, int rc, const char *word, const struct eddis_error *err)
{
    note(call);
    CHECK(rc == -EINVAL && strstr(err->text, word) && !strchr(err->text, '\n') &&
              err->text[strlen(err->text) - 1] != '.',
          "%s: %d, %s", call, rc, err->text);
}

/* A call that ends in "err)", with an error and without. */
#define INVALID(word, call)                                                                        \
    do {                                                                                           \
        struct eddis_error said = { 0 }, *err = &said;                                             \
        int rc = call;                                                                             \
                                                                                                   \
        check_invalid(#call, rc, word, &said);                                                     \
        err = NULL;                                                                                \
        CHECK((call) == -EINVAL);                                                                  \
    } while (0)

/* A call that cannot say so. */
#define RETURNS(value, call)                                                                       \
    do {                                                                                           \
        note(#call);                                                                               \
        CHECK((call) == (value));                                                                  \
    } while (0)

static void null_registering(struct eddis *e)
{
    float value = 0;
    struct eddis_parameter p = vector_of(&value, 1), no_size = p, no_name = p, no_value = p;
    struct eddis_world no_world = { 0 };

    no_size.size = 0;
    no_name.name = NULL;
    no_value.value = NULL;
    RETURNS(-EINVAL, eddis_world(e, NULL));
    RETURNS(-EINVAL, eddis_world(e, &no_world));
    INVALID("needs a name", eddis_add_layer(e, NULL, EDDIS_LAYER_OTHER, err));
    CHECK(eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, NULL) == 0);
    INVALID("is NULL", eddis_add_parameter(e, 0, NULL, err));
    INVALID("size field", eddis_add_parameter(e, 0, &no_size, err));
    INVALID("no name", eddis_add_parameter(e, 0, &no_name, err));
    INVALID("no value", eddis_add_parameter(e, 0, &no_value, err));
    p.result = (void *)(uintptr_t)EDDIS_ZERO;
    INVALID("EDDIS_ZERO", eddis_add_parameter(e, 0, &p, err));
    p.result = &value;
    p.state = 1;
    INVALID("is state", eddis_add_parameter(e, 0, &p, err));
}

static void null_collectives(struct eddis *e)
{
    struct eddis_request *r;
    int x[8];

    INVALID("NULL", eddis_allreduce(e, NULL, 1, EDDIS_INT32, EDDIS_SUM, 0, err));
    INVALID("NULL", eddis_broadcast(e, NULL, 1, 0, 0, err));
    INVALID("NULL", eddis_allgather(e, NULL, x, 1, 0, err));
    INVALID("NULL", eddis_allgather(e, x, NULL, 1, 0, err));
    INVALID("NULL", eddis_allreduce_start(e, NULL, 1, EDDIS_INT32, EDDIS_SUM, &r, err));
    INVALID("NULL", eddis_allreduce_start(e, x, 1, EDDIS_INT32, EDDIS_SUM, NULL, err));
    INVALID("NULL", eddis_broadcast_start(e, NULL, 1, 0, &r, err));
    INVALID("NULL", eddis_broadcast_start(e, x, 1, 0, NULL, err));
    INVALID("NULL", eddis_allgather_start(e, NULL, x, 1, &r, err));
    INVALID("NULL", eddis_allgather_start(e, x, NULL, 1, &r, err));
    INVALID("NULL", eddis_allgather_start(e, x, x + 4, 1, NULL, err));
    INVALID("NULL", eddis_barrier_start(e, NULL, err));
    INVALID("NULL", eddis_collective(e, NULL, 0, err));
    INVALID("NULL", eddis_collective_start(e, NULL, &r, err));
    INVALID("NULL", eddis_request_wait(e, NULL, 0, err));
    INVALID("NULL", eddis_request_test(e, NULL, err));
}

static void null_box(struct eddis *e)
{
    struct eddis_smb_request *r;
    uint64_t key;
    int64_t x;

    CHECK(eddis_smb_create(e, EDDIS_INT64, 1, &key, TIMEOUT_NS, NULL) == 0);
    INVALID("NULL", eddis_smb_create(e, EDDIS_INT64, 1, NULL, CLOCK_S, err));
    CHECK(eddis_smb_attach(e, key, NULL, NULL, TIMEOUT_NS, NULL) == 0);
    INVALID("NULL", eddis_smb_read(e, key, 0, 1, NULL, TIMEOUT_NS, err));
    INVALID("NULL", eddis_smb_write(e, key, 0, 1, NULL, TIMEOUT_NS, err));
    INVALID("NULL", eddis_smb_wait(e, key, NULL, CLOCK_S, err));
    INVALID("NULL", eddis_smb_fetch_add(e, key, 0, 1, NULL, CLOCK_S, err));
    INVALID("NULL", eddis_smb_read_start(e, key, 0, 1, &x, NULL, err));
    INVALID("NULL", eddis_smb_write_start(e, key, 0, 1, &x, NULL, err));
    INVALID("NULL", eddis_smb_accumulate_start(e, key, key, NULL, err));
    INVALID("NULL", eddis_smb_request_wait(e, NULL, 0, err));
    CHECK(eddis_smb_read_start(e, key, 0, 1, NULL, &r, NULL) == 0);
    CHECK(eddis_smb_request_wait(e, r, TIMEOUT_NS, NULL) == -EINVAL);
}

static void null_steps(struct eddis *e)
{
    struct eddis_step s = { .size = sizeof s }, no_size = { 0 };
    struct eddis_report report = { 0 };
    float g = 0;

    INVALID("NULL", eddis_plan_step(e, 0, EDDIS_FOREVER, NULL, err));
    INVALID("size field", eddis_plan_step(e, 0, EDDIS_FOREVER, &no_size, err));
    INVALID("NULL", eddis_step_begin(e, NULL, err));
    INVALID("size field", eddis_step_begin(e, &no_size, err));
    CHECK(eddis_step_begin(e, &s, NULL) == 1 && s.step == 0); /* nothing was taken */
    INVALID("NULL", eddis_sample_indices(e, NULL, &(int64_t){ 0 }, err));
    INVALID("NULL", eddis_sample_indices(e, &s, NULL, err));
    INVALID("NULL", eddis_counts(e, 0, NULL, err));
    RETURNS(NULL, eddis_gradient_block(e, NULL));
    INVALID("NULL", eddis_set_value(e, 0, NULL, err));
    INVALID("no parameter 7", eddis_set_value(e, 7, &g, err));
    INVALID("EDDIS_IN_PLACE", eddis_announce(e, 0, EDDIS_IN_PLACE, &g, err));
    INVALID("EDDIS_ZERO", eddis_announce(e, 0, &g, (void *)(uintptr_t)EDDIS_ZERO, err));
    INVALID("EDDIS_WEIGHTED", eddis_announce(e, 0, &g, (void *)(uintptr_t)EDDIS_WEIGHTED, err));
    INVALID("no parameter 7", eddis_wait_parameters(e, 2, (const int[]){ 0, 7 }, 0, err));
    INVALID("NULL", eddis_wait_parameters(e, 1, NULL, 0, err));
    INVALID("-1 parameters", eddis_wait_parameters(e, -1, (const int[]){ 0 }, 0, err));
    CHECK(eddis_wait_parameters(e, 0, NULL, 0, NULL) == 0);
    INVALID("factored", eddis_announce_factors(e, 0, NULL, NULL, 1, &g, err));
    INVALID("NULL", eddis_announce_many(e, 1, NULL, NULL, NULL, err));
    INVALID("-1 parameters", eddis_announce_many(e, -1, (const int[]){ 0 }, NULL, NULL, err));
    INVALID("EDDIS_ZERO",
            eddis_announce_factors(e, 0, &g, &g, 1, (void *)(uintptr_t)EDDIS_ZERO, err));
    CHECK(eddis_announce(e, 0, EDDIS_ZERO, &g, NULL) == 0);
    CHECK(eddis_wait(e, TIMEOUT_NS, NULL) == 0);
    INVALID("size field", eddis_step_end(e, &report, err));
    report = (struct eddis_report){ .size = sizeof report, .compute_ns = -1 };
    INVALID("-1, 0, 0 ns", eddis_step_end(e, &report, err));
    report = (struct eddis_report){ .size = sizeof report, .read_ns = -1 };
    INVALID("-1 ns", eddis_step_end(e, &report, err));
    report = (struct eddis_report){ .size = sizeof report, .work = INFINITY };
    INVALID("inf", eddis_step_end(e, &report, err));
    report = (struct eddis_report){ .size = sizeof report, .loss_age = -1 };
    INVALID("-1 steps", eddis_step_end(e, &report, err));
    report = (struct eddis_report){ .size = sizeof report, .precision = "fp8" };
    INVALID("'fp8'", eddis_step_end(e, &report, err));
    report.precision = "auto";
    INVALID("'auto'", eddis_step_end(e, &report, err));
    report = (struct eddis_report){ .size = offsetof(struct eddis_report, compute_ns) };
    report.compute_ns = -1; /* which a program built before it cannot mean */
    CHECK(eddis_step_end(e, &report, NULL) == 0);
    INVALID("no name", eddis_set_metric(e, NULL, 0, err));
}

static void null_checkpoints(struct eddis *e)
{
    INVALID("NULL", eddis_checkpoint_begin(e, NULL, NULL, err));
    INVALID("NULL", eddis_restore_begin(e, NULL, NULL, err));
}

/* Only rank 0 is wrong, and the others never hear of it. */
static void null_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    float value = 0, g = 1;
    struct eddis_parameter p = vector_of(&value, 1);

    if (rank == 0)
        null_registering(e);
    else
        CHECK(eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, NULL) == 0);
    CHECK(eddis_add_parameter(e, 0, &p, NULL) == 0 && eddis_commit(e, NULL) == 0);
    CHECK(eddis_smb_open(e, 0, NULL) == 0);
    if (rank == 0) {
        null_collectives(e);
        null_box(e);
        null_checkpoints(e);
        null_steps(e);
    } else {
        CHECK(eddis_step_begin(e, &s, NULL) == 1 && eddis_announce(e, 0, &g, &g, NULL) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, NULL) == 0 && eddis_step_end(e, NULL, NULL) == 0);
    }
    CHECK(eddis_barrier(e, TIMEOUT_NS, NULL) == 0);
}

static void null_no_checkpoint(void)
{
    struct eddis_checkpoint *c = NULL;
    float x = 0;

    INVALID("NULL", eddis_checkpoint_begin(NULL, NULL, &c, err));
    RETURNS(NULL, eddis_checkpoint_folder(NULL));
    INVALID("NULL", eddis_checkpoint_put(NULL, "n", &x, 1, err));
    INVALID("NULL", eddis_checkpoint_commit(NULL, 0, err));
    INVALID("NULL", eddis_checkpoint_abandon(NULL, err));
    INVALID("NULL", eddis_restore_begin(NULL, NULL, &c, err));
    INVALID("NULL", eddis_checkpoint_get(NULL, "n", &x, 1, err));
    INVALID("NULL", eddis_checkpoint_get_from(NULL, 0, "n", &x, 1, err));
    INVALID("NULL", eddis_checkpoint_info(NULL, &(struct eddis_checkpoint_info){ 0 }, err));
    INVALID("NULL", eddis_checkpoint_size(NULL, 0, "n", err));
    INVALID("NULL", eddis_restore_end(NULL, err));
}

static void null_no_collective(void)
{
    struct eddis_collective call = { .size = sizeof call, .kind = EDDIS_BARRIER };
    struct eddis_request *r = NULL;
    float x = 0;

    INVALID("NULL", eddis_allreduce(NULL, &x, 1, EDDIS_FLOAT32, EDDIS_SUM, 0, err));
    INVALID("NULL", eddis_broadcast(NULL, &x, 1, 0, 0, err));
    INVALID("NULL", eddis_allgather(NULL, &x, &x, 1, 0, err));
    INVALID("NULL", eddis_barrier(NULL, 0, err));
    INVALID("NULL", eddis_allreduce_start(NULL, &x, 1, EDDIS_FLOAT32, EDDIS_SUM, &r, err));
    INVALID("NULL", eddis_broadcast_start(NULL, &x, 1, 0, &r, err));
    INVALID("NULL", eddis_allgather_start(NULL, &x, &x, 1, &r, err));
    INVALID("NULL", eddis_barrier_start(NULL, &r, err));
    INVALID("NULL", eddis_collective(NULL, &call, 0, err));
    INVALID("NULL", eddis_collective_start(NULL, &call, &r, err));
    INVALID("NULL", eddis_request_wait(NULL, r, 0, err));
    INVALID("NULL", eddis_request_test(NULL, r, err));
}

static void null_no_smb(void)
{
    struct eddis_smb_request *q = NULL;
    uint64_t key = 0;
    int64_t n = 0;
    float x = 0;

    INVALID("NULL", eddis_smb_open(NULL, 0, err));
    INVALID("NULL", eddis_smb_create(NULL, EDDIS_INT64, 1, &key, 0, err));
    INVALID("NULL", eddis_smb_attach(NULL, key, NULL, NULL, 0, err));
    INVALID("NULL", eddis_smb_detach(NULL, key, 0, err));
    INVALID("NULL", eddis_smb_read(NULL, key, 0, 1, &x, 0, err));
    INVALID("NULL", eddis_smb_write(NULL, key, 0, 1, &x, 0, err));
    INVALID("NULL", eddis_smb_accumulate(NULL, key, key, 0, err));
    INVALID("NULL", eddis_smb_notify(NULL, key, 0, err));
    INVALID("NULL", eddis_smb_wait(NULL, key, &key, 0, err));
    INVALID("NULL", eddis_smb_fetch_add(NULL, key, 0, 1, &n, 0, err));
    INVALID("NULL", eddis_smb_read_start(NULL, key, 0, 1, &x, &q, err));
    INVALID("NULL", eddis_smb_write_start(NULL, key, 0, 1, &x, &q, err));
    INVALID("NULL", eddis_smb_accumulate_start(NULL, key, key, &q, err));
    INVALID("NULL", eddis_smb_request_wait(NULL, q, 0, err));
}

static void null_no_gradients(void)
{
    float x = 0;

    INVALID("NULL", eddis_announce(NULL, 0, &x, &x, err));
    INVALID("NULL", eddis_announce_layer(NULL, 0, err));
    INVALID("NULL", eddis_announce_factors(NULL, 0, &x, &x, 1, &x, err));
    INVALID("NULL", eddis_announce_many(NULL, 0, NULL, NULL, NULL, err));
    INVALID("NULL", eddis_wait_layer(NULL, 0, 0, err));
    INVALID("NULL", eddis_wait_parameters(NULL, 0, NULL, 0, err));
    INVALID("NULL", eddis_wait(NULL, 0, err));
    INVALID("NULL", eddis_wait_set(NULL, 0, 0, err));
    INVALID("NULL", eddis_set_round_weight(NULL, 0, 1, err));
}

static void null_handles(void)
{
    struct eddis_options o = { 0 };
    struct eddis_world w = { .size = sizeof w };
    struct eddis_step s = { .size = sizeof s };
    struct eddis *none = NULL;
    int64_t n = 0;
    float x = 0;
    struct eddis_parameter p = vector_of(&x, 1);

    INVALID("NULL", eddis_open(NULL, &none, err));
    INVALID("size field", eddis_open(&o, &none, err));
    o = (struct eddis_options){ .size = sizeof o, .samples = 1 };
    INVALID("NULL", eddis_open(&o, NULL, err));
    RETURNS(0, eddis_close(NULL, NULL));
    RETURNS(-EINVAL, eddis_world(NULL, &w));
    INVALID("NULL", eddis_add_layer(NULL, "l", EDDIS_LAYER_OTHER, err));
    INVALID("NULL", eddis_add_parameter(NULL, 0, &p, err));
    INVALID("NULL", eddis_commit(NULL, err));
    RETURNS(NULL, eddis_gradient(NULL, 0));
    RETURNS(NULL, eddis_gradient_block(NULL, &(size_t){ 0 }));
    RETURNS(NULL, eddis_result_block(NULL, &(size_t){ 0 }));
    RETURNS(NULL, eddis_result(NULL, 0));
    CHECK(eddis_factor(NULL, 0) == 0);
    note("eddis_factor");
    INVALID("NULL", eddis_set_value(NULL, 0, &x, err));
    INVALID("NULL", eddis_broadcast_parameters(NULL, 0, err));
    INVALID("NULL", eddis_step_begin(NULL, &s, err));
    RETURNS(-EINVAL, eddis_stop(NULL));
    INVALID("NULL", eddis_finish(NULL, 0, err));
    INVALID("NULL", eddis_set_data(NULL, 1, 1, err));
    INVALID("NULL", eddis_plan_step(NULL, 0, EDDIS_FOREVER, &s, err));
    INVALID("NULL", eddis_sample_indices(NULL, &s, &n, err));
    INVALID("NULL", eddis_counts(NULL, 0, &n, err));
    INVALID("NULL", eddis_set_count(NULL, 1, err));
    INVALID("NULL", eddis_plan_fd(NULL, err));
    INVALID("NULL", eddis_set_weight(NULL, 1, err));
    INVALID("NULL", eddis_add_layer_to(NULL, 0, "x", EDDIS_LAYER_OTHER, err));
    INVALID("NULL", eddis_step_end(NULL, NULL, err));
    eddis_set_phase(NULL, EDDIS_PHASE_INPUT);
    note("eddis_set_phase");
    INVALID("NULL", eddis_set_metric(NULL, "m", 0, err));
    INVALID("step -2", eddis_progress(-2, 0, err));
    INVALID("step 9223372036854775806", eddis_progress(INT64_MAX - 1, 0, err));
    INVALID("-1 samples", eddis_progress(0, -1, err));
    INVALID("NULL", eddis_progress_report(NULL, err));
    eddis_pass_slurm_signals();
    note("eddis_pass_slurm_signals");
    null_no_gradients();
    null_no_collective();
    null_no_checkpoint();
    null_no_smb();
}

/* Every function of the list of what the library exports was called so. */
static void null_all(const char *exports)
{
    FILE *f = fopen(exports, "r");
    char name[80], blank[96];

    CHECK(f != NULL);
    for (int n = 0; f && fscanf(f, "%79s", name) == 1; n++) {
        snprintf(blank, sizeof blank, " %s ", name);
        CHECK(strstr(called, blank) || strcmp(name, "eddis_abort") == 0 ||
                  strcmp(name, "eddis_version") == 0,
              "%s was not called with NULL", name);
    }
    if (f)
        fclose(f);
}

/* ---- the library's names in a checkpoint ---- */

static struct eddis_checkpoint *saving(struct eddis *e, const struct loop_job *j)
{
    struct eddis_checkpoint *c = NULL;

    OK(eddis_checkpoint_begin(e, j->arg, &c, &err));
    return c;
}

static void names_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_checkpoint *c = saving(e, j);
    char path[256];
    FILE *f;

    if (rank == 1)
        INVALID("the library's", eddis_checkpoint_put(c, "eddis.samples", &rank, 4, err));
    REFUSED(-EINVAL, "'eddis.samples'", eddis_checkpoint_commit(c, 0, &err));
    c = saving(e, j);
    snprintf(path, sizeof path, "%s/rank-0000.eddis.samples", eddis_checkpoint_folder(c));
    if (rank == 0) {
        INVALID("NULL", eddis_checkpoint_get(c, NULL, &rank, 4, err));
        INVALID("NULL", eddis_checkpoint_get(c, "x", NULL, 4, err));
        OK(eddis_checkpoint_put(c, "eddis", &rank, 4, &err));
        f = fopen(path, "w");
        CHECK(f && fclose(f) == 0);
    }
    REFUSED(-EINVAL, "library's own", eddis_checkpoint_commit(c, 0, &err));
    c = saving(e, j);
    if (rank == 0) {
        INVALID("NULL", eddis_checkpoint_put(c, NULL, &rank, 4, err));
        INVALID("NULL", eddis_checkpoint_put(c, "x", NULL, 4, err));
    }
    REFUSED(-EINVAL, "NULL", eddis_checkpoint_commit(c, 0, &err));
}

/* ---- a group without samples ---- */

/* A plan that gives one nothing is refused by it, and nobody learns that the job is over. */
static void starved_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int64_t split[] = { 16, 0 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error why = { 0 };
    int rc;

    OK(eddis_commit(e, &err));
    for (int64_t step = 0; (rc = eddis_step_begin(e, &s, &why)) == 1; step++) {
        if (step == 0 && rank == 0)
            loop_job_publish(j, split, 0);
        rc = eddis_wait(e, TIMEOUT_NS, &why);
        if (rc < 0 || atomic_load(&j->reached))
            break;
        OK(eddis_step_end(e, NULL, &err));
    }
    loop_job_reach(j);
    CHECK(rank == 0 ? rc == 0 : rc == -EINVAL);
    CHECK(rank == 0 || strstr(why.text, "plan 2 gives no samples to group 1"));
}

/* ---- a worker without a gradient ---- */

enum way { NOTHING, OLDER, RESULT, LEFT, ZERO, SLOT };

/* What every second rank does instead of announcing a gradient. */
static const struct absent {
    enum way way;
    int n, per_group;
    int64_t split[MAX_RANKS];
    int node_of[MAX_RANKS];
} absent_rows[] = {
    { NOTHING, 2, SYNC, { 16, 0 }, { 0 } },
    { OLDER, 2, SYNC, { 12, 4 }, { 0, 1 } },
    { RESULT, 2, SYNC, { 16, 0 }, { 0, 1 } },
    { RESULT, 2, SYNC, { 12, 4 }, { 0 } },
    { LEFT, 2, SYNC, { 16, 0 }, { 0 } },
    { ZERO, 2, SYNC, { 12, 4 }, { 0 } },
    { SLOT, 2, SYNC, { 16, 0 }, { 0, 1 } },
    { NOTHING, 4, 2, { 16, 0, 8, 8 }, { 0 } },
    { RESULT, 4, 2, { 16, 0, 8, 8 }, { 0, 1, 2, 2 } },
    { ZERO, 4, 2, { 16, 0, 8, 8 }, { 0 } },
    { NOTHING, 2, ASYNC, { 8, 8 }, { 0, 1 } },
    { RESULT, 2, ASYNC, { 8, 8 }, { 0, 1 } },
};

enum { ABSENT_N = 5 };

static void absent_add(struct eddis *e, const struct absent *a, int rank, float *value,
                       float *result)
{
    struct eddis_parameter p = vector_of(value, ABSENT_N);

    p.name = "lonely";
    if (rank % 2 && (a->way == RESULT || a->way == OLDER))
        p.result = result;
    if (rank % 2 && a->way == LEFT)
        p.result = EDDIS_IN_PLACE;
    if (a->way == OLDER) /* of a program that does not know the field */
        p.size = offsetof(struct eddis_parameter, result);
    (void)add_parameter(e, &p);
}

static void absent_announce(struct eddis *e, const struct absent *a, int rank, float *result)
{
    static const float gradient[ABSENT_N] = { 0.5, 0.5, 0.5, 0.5, 0.5 };

    if (rank % 2 == 0)
        OK(eddis_announce(e, 0, gradient, result, &err));
    else if (a->way == ZERO || a->way == SLOT)
        OK(eddis_announce(e, 0, EDDIS_ZERO, a->way == ZERO ? result : NULL, &err));
}

/* The rank that has no place learns so, and cannot go on; the other has the result. */
static void absent_refused(struct eddis *e, int rank)
{
    int wanted = rank % 2 ? -EINVAL : 0;

    for (int again = 0; again < 2; again++) {
        struct eddis_error why = { 0 };

        CHECK(eddis_wait(e, TIMEOUT_NS, &why) == wanted);
        CHECK(rank % 2 == 0 || strstr(why.text, "'lonely' of layer 'only'"));
        GIVES(wanted, eddis_wait_layer(e, 0, 0, &err));
    }
    GIVES(wanted, eddis_step_end(e, NULL, &err));
}

static void absent_body(struct eddis *e, int rank, struct loop_job *j)
{
    const struct absent *a = j->arg;
    float value[ABSENT_N] = { 0 }, own[ABSENT_N];
    struct eddis_step s;
    int n = 0;

    absent_add(e, a, rank, value, own);
    OK(eddis_commit(e, &err));
    for (; step_begin(e, &s); n++) {
        /* Of the group's samples those of its first member, if that is another. */
        int64_t fed = rank % 2 == 0 ? s.count : a->per_group == ASYNC ? 0 : s.batch - s.count;
        float want = s.batch ? 0.5F * (float)fed / (float)s.batch : 0;
        const float *x = rank % 2 == 0 ? own : a->way == LEFT ? NULL : own;
        int wrong = 0;

        for (int i = 0; i < ABSENT_N; i++)
            own[i] = 7;
        absent_announce(e, a, rank, own);
        if (a->way <= OLDER && a->per_group != ASYNC) {
            absent_refused(e, rank);
            return;
        }
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        if (rank % 2 && a->way == SLOT)
            x = eddis_gradient(e, 0);
        x = x ? x : eddis_result(e, 0);
        for (int i = 0; i < ABSENT_N; i++)
            wrong += x[i] != (rank % 2 && a->way == NOTHING ? 7 : want);
        CHECK(wrong == 0);
        OK(eddis_step_end(e, NULL, &err));
    }
    CHECK(n > 0 || a->per_group == ASYNC); /* a group of its own may come too late for any */
}

static void test_absent(const struct absent *a)
{
    struct loop_job j = { .n = a->n, .per_group = a->per_group, .node_of = a->node_of };

    memcpy(j.split, a->split, sizeof j.split);
    loop_job_run_body(&j, absent_body, (void *)(uintptr_t)a);
}

int main(int argc, char **argv)
{
    const struct loop_job one = { .n = 1 }, two = { .n = 2 }, three = { .n = 3 };
    const struct loop_job starved = {
        .n = 2, .share = 8, .per_group = ASYNC, .each.epochs = 1 << 20
    };
    char dir[64];

    CHECK(own_folder_make(dir, sizeof dir) == 0);
    if (argc > 1) {
        null_handles();
        loop_job_run_body(&two, null_body, NULL);
        null_all(argv[1]);
    }
    loop_job_run_body(&two, names_body, dir);
    loop_job_run_body(&starved, starved_body, NULL);
    loop_job_run_body(&one, misuse_body, NULL);
    loop_job_run_body(&three, misuse_body, NULL);
    for (size_t i = 0; i < sizeof absent_rows / sizeof *absent_rows; i++)
        test_absent(&absent_rows[i]);
    return check_result();
}
