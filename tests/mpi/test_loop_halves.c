/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_halves.c - parameters of 16 bits through a checkpoint, over the loop: a job that goes
 * on from one ends with the bits of the job that went on without
 *
 * With one group the modes with a centre are deterministic.  The checkpoint is written between two
 * exchanges, where the program has moved its values since the last one, by less than the library's
 * float32 copies of them.  With several groups each goes on with its own copy, and as other groups
 * all do with the centre's, as all do from a checkpoint of the end: that is looked at before the
 * first exchange.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"
#include "values_scenario.h"

#include <string.h>

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

enum { DIM = 700, SAVED_AT = 13, PERIOD = 3, RANKS = 2, TOGETHER = 2 * PERIOD };

struct halves_job {
    struct loop_job j;
    enum eddis_dtype type;
    char folder[64];
    bool resumed;
    uint16_t value[2][DIM]; /* of rank 0 at the end: unbroken, resumed */
    float plain[2][DIM];    /* of float32, beside them */
};

/* A number of 16 bits as float32, and back, for numbers between 1 and 4. */
static float wide(enum eddis_dtype type, uint16_t bits)
{
    uint32_t x = type == EDDIS_BFLOAT16 ? (uint32_t)bits << 16 : (uint32_t)(bits + 0x1C000) << 13;
    float f;

    memcpy(&f, &x, sizeof f);
    return f;
}

static uint16_t narrow(enum eddis_dtype type, float f)
{
    uint32_t x;

    memcpy(&x, &f, sizeof x);
    return (uint16_t)(type == EDDIS_BFLOAT16 ? (x + 0x8000) >> 16 : ((x + 0x1000) >> 13) - 0x1C000);
}

static void move(enum eddis_dtype type, uint16_t *value, float *plain, int64_t step)
{
    for (int k = 0; k < DIM; k++) {
        float by = 0.02F * (float)((step * 7 + k) % 5 - 2) - 0.003F;

        value[k] = narrow(type, wide(type, value[k]) - by);
        plain[k] -= by;
    }
}

static void save(struct eddis *e, struct halves_job *h, const uint16_t *value, const float *plain)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c = NULL;

    CHECK(eddis_checkpoint_begin(e, h->folder, &c, &err) == 0);
    if (e->all.place.rank == 0) {
        CHECK(eddis_checkpoint_put(c, "value", value, sizeof *value * DIM, &err) == 0);
        CHECK(eddis_checkpoint_put(c, "plain", plain, sizeof *plain * DIM, &err) == 0);
    }
    CHECK(eddis_checkpoint_commit(c, 0, &err) == 0);
}

static void restore(struct eddis *e, const struct halves_job *h, uint16_t *value, float *plain)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c = NULL;

    CHECK(eddis_restore_begin(e, h->folder, &c, &err) == 1);
    CHECK(eddis_checkpoint_get(c, "value", value, sizeof *value * DIM, &err) == 0);
    CHECK(eddis_checkpoint_get(c, "plain", plain, sizeof *plain * DIM, &err) == 0);
    CHECK(eddis_restore_end(c, &err) == 0);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct halves_job *h = j->arg;
    uint16_t value[DIM], zero[DIM] = { 0 };
    float plain[DIM], none[DIM] = { 0 };
    struct eddis_parameter p = values_vector(plain, DIM);
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err), second, rc;

    for (int k = 0; k < DIM; k++)
        value[k] = narrow(h->type, plain[k] = 2 + 0.001F * (float)(k % 100));
    CHECK(eddis_add_parameter(e, layer, &p, &err) == 0);
    p.name = "value";
    p.dtype = h->type;
    p.value = value;
    second = eddis_add_parameter(e, layer, &p, &err);
    CHECK(eddis_commit(e, &err) == 0);
    if (h->resumed)
        restore(e, h, value, plain);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        CHECK(eddis_announce(e, 0, none, none, &err) == 0);
        CHECK(eddis_announce(e, second, zero, zero, &err) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
        move(h->type, value, plain, s.step);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
        if (!h->resumed && s.step == SAVED_AT)
            save(e, h, value, plain);
    }
    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", rank, err.text);
    CHECK(rc == 0 && s.step > SAVED_AT + 3 * PERIOD);
    if (rank == 0) {
        memcpy(h->value[h->resumed], value, sizeof value);
        memcpy(h->plain[h->resumed], plain, sizeof plain);
    }
}

static void run(const struct loop_job *row, enum eddis_dtype type)
{
    struct halves_job h = { .type = type };

    CHECK(own_folder_make(h.folder, sizeof h.folder) == 0);
    for (int i = 0; i < 2; i++) {
        h.j = *row;
        h.j.period = PERIOD;
        h.j.body = body;
        h.j.arg = &h;
        h.resumed = i == 1;
        for (int r = 0; r < h.j.n; r++)
            h.j.scenario[r] = (struct scenario){ .batch = 10 * h.j.n, .epochs = 2 };
        loop_job_board_of(&h.j, (const int64_t[]){ 10, 10 });
        loop_job_run(&h.j);
    }
    CHECK(memcmp(h.plain[0], h.plain[1], sizeof h.plain[0]) == 0);
    CHECK(memcmp(h.value[0], h.value[1], sizeof h.value[0]) == 0);
    CHECK(file_remove_tree(h.folder, NULL) == 0);
}

/* ---- several groups ---- */

struct groups_job {
    struct loop_job j;
    char folder[64];
    bool resumed, same; /* same: the groups that wrote the checkpoint */
    bool at_end;        /* they wrote it when they had ended their steps */
    atomic_int unlike;  /* ranks whose copy is more than the 16 bits say */
};

/* Whether each group goes on with its own model. */
static bool keeps_own(const struct groups_job *g)
{
    return g->same && !g->at_end;
}

/* A rank's float32 numbers, as a checkpoint has them. */
static void get_copy(struct eddis *e, struct groups_job *g, int rank, uint16_t *value, float *copy)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c = NULL;
    const char *name = keeps_own(g) ? "eddis.float32" : "eddis.centre";
    int from = keeps_own(g) ? rank : 0;

    CHECK(eddis_restore_begin(e, g->folder, &c, &err) == 1);
    CHECK(eddis_checkpoint_get(c, "value", value, sizeof *value * DIM, &err) == 0);
    CHECK(eddis_checkpoint_get_from(c, from, name, copy, sizeof *copy * DIM, &err) == 0);
    CHECK(eddis_restore_end(c, &err) == 0);
}

static void save_groups(struct eddis *e, struct groups_job *g, const uint16_t *value)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c = NULL;

    CHECK(eddis_checkpoint_begin(e, g->folder, &c, &err) == 0);
    if (e->all.place.rank == 0)
        CHECK(eddis_checkpoint_put(c, "value", value, sizeof *value * DIM, &err) == 0);
    CHECK(eddis_checkpoint_commit(c, 0, &err) == 0);
}

/* The first step has begun, and no exchange.  The group's own values were moved since the exchange
 * of which its copy is, the centre's are what it is rounded to.
 */
static void check_copy(struct eddis *e, struct groups_job *g, const uint16_t *value,
                       const float *copy)
{
    const struct sync_halves *h = &e->centre.halves;
    int unlike = 0;

    CHECK(h->n == DIM && memcmp(h->kept, copy, sizeof *copy * DIM) == 0);
    for (int k = 0; k < DIM; k++) {
        CHECK(keeps_own(g) || narrow(EDDIS_BFLOAT16, copy[k]) == value[k]);
        unlike += copy[k] != wide(EDDIS_BFLOAT16, value[k]);
    }
    atomic_fetch_add(&g->unlike, unlike > 0);
}

static void groups_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct groups_job *g = j->arg;
    uint16_t value[DIM], zero[DIM] = { 0 };
    struct eddis_parameter p = values_vector(NULL, DIM);
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err), parameter, rc;
    float copy[DIM], none[DIM] = { 0 };
    int steps = 0;

    for (int k = 0; k < DIM; k++)
        value[k] = narrow(EDDIS_BFLOAT16, 2 + 0.001F * (float)(k % 100));
    p.dtype = EDDIS_BFLOAT16;
    p.value = value;
    parameter = eddis_add_parameter(e, layer, &p, &err);
    CHECK(eddis_commit(e, &err) == 0);
    if (g->resumed)
        get_copy(e, g, rank, value, copy);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        if (g->resumed && steps == 0)
            check_copy(e, g, value, copy);
        if (steps++ < TOGETHER) /* each has some, and an exchange */
            CHECK(eddis_barrier(e, TIMEOUT_NS, &err) == 0);
        CHECK(eddis_announce(e, parameter, zero, zero, &err) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
        move(EDDIS_BFLOAT16, value, none, s.step + rank);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
        if (!g->resumed && !g->at_end && s.flags & EDDIS_STEP_CHECKPOINT)
            save_groups(e, g, value);
    }
    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", rank, err.text);
    CHECK(rc == 0 && steps >= TOGETHER);
    for (int i = 0; i < 2 && g->at_end && !g->resumed; i++) /* the second has all of it, too */
        save_groups(e, g, value);
}

/* Two groups write, as many or one go on. */
static void run_groups(bool same, bool at_end)
{
    struct groups_job g = { .same = same, .at_end = at_end };

    CHECK(own_folder_make(g.folder, sizeof g.folder) == 0);
    for (int i = 0; i < 2; i++) {
        int n = i == 0 || same ? RANKS : 1;

        g.j = (struct loop_job){ .n = n,
                                 .mode = "async",
                                 .algorithm = "easgd",
                                 .per_group = 1,
                                 .period = PERIOD,
                                 .body = groups_body,
                                 .arg = &g };
        g.resumed = i == 1;
        for (int r = 0; r < n; r++)
            g.j.scenario[r] = (struct scenario){ .batch = 20, .epochs = 2 + i };
        loop_job_board_of(&g.j, n == 1 ? (const int64_t[]){ 20 } : (const int64_t[]){ 10, 10 });
        loop_job_run(&g.j);
    }
    CHECK(g.unlike == (same ? RANKS : 1));
    CHECK(file_remove_tree(g.folder, NULL) == 0);
}

int main(void)
{
    static const struct loop_job rows[] = {
        { .n = 1, .mode = "async", .algorithm = "easgd", .per_group = 1 },
        { .n = RANKS, .mode = "hybrid", .algorithm = "hsgd", .per_group = RANKS },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run(&rows[i], EDDIS_BFLOAT16);
        run(&rows[i], EDDIS_FLOAT16);
    }
    for (int i = 0; i < 4; i++)
        run_groups(i % 2 == 0, i >= 2);
    return loop_job_failures != 0;
}
