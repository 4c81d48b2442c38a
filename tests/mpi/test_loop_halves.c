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
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

enum { DIM = 700, SAVED_AT = 14, PERIOD = 3, RANKS = 2, TOGETHER = 2 * PERIOD };

/* A parameter of 16 bits, and one of float32 beside it. */
struct both {
    uint16_t value[DIM];
    float plain[DIM];
};

struct halves {
    enum eddis_dtype type;
    char folder[64];
    bool resumed;
    struct both end[2]; /* of rank 0: unbroken, resumed */
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

/* Write a checkpoint with what the first rank has. */
static void save_first(struct eddis *e, const char *folder, const void *data, size_t bytes)
{
    save(e, folder, e->all.place.rank == 0 ? data : NULL, bytes);
}

static int add_half(struct eddis *e, enum eddis_dtype type, uint16_t *value)
{
    struct eddis_parameter p = vector_of(value, DIM);

    p.dtype = type;
    return add_parameter(e, &p);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct halves *h = j->arg;
    struct both own, zero = { { 0 } };
    struct eddis_step s = { .step = -1 };
    int second;

    for (int k = 0; k < DIM; k++)
        own.value[k] = narrow(h->type, own.plain[k] = 2 + 0.001F * (float)(k % 100));
    CHECK(add_vector(e, own.plain, DIM) == 0);
    second = add_half(e, h->type, own.value);
    OK(eddis_commit(e, &err));
    if (h->resumed)
        restore(e, h->folder, &own, sizeof own);
    while (step_begin(e, &s)) {
        step_announce(e, 0, zero.plain);
        step_announce(e, second, zero.value);
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        move(h->type, own.value, own.plain, s.step);
        OK(eddis_step_end(e, NULL, &err));
        if (!h->resumed && s.step == SAVED_AT)
            save_first(e, h->folder, &own, sizeof own);
    }
    CHECK(s.step > SAVED_AT + 3 * PERIOD);
    if (rank == 0)
        h->end[h->resumed] = own;
}

static void run(int n, int per_group, const char *algorithm, int overlap, enum eddis_dtype type)
{
    struct halves h = { .type = type };
    const struct loop_job j = { .n = n,
                                .share = 10,
                                .per_group = per_group,
                                .algorithm = algorithm,
                                .period = PERIOD,
                                .overlap = overlap,
                                .outer_rate = 0.7,
                                .outer_momentum = 0.9,
                                .each.epochs = 2 };

    CHECK(own_folder_make(h.folder, sizeof h.folder) == 0);
    for (int i = 0; i < 2; i++) {
        h.resumed = i == 1;
        loop_job_run_body(&j, body, &h);
    }
    CHECK(memcmp(h.end[0].plain, h.end[1].plain, sizeof h.end[0].plain) == 0);
    CHECK(memcmp(h.end[0].value, h.end[1].value, sizeof h.end[0].value) == 0);
}

/* ---- several groups ---- */

struct groups {
    char folder[64];
    bool resumed, same; /* same: the groups that wrote the checkpoint */
    bool at_end;        /* they wrote it when they had ended their steps */
    atomic_int unlike;  /* ranks whose copy is more than the 16 bits say */
};

/* Whether each group goes on with its own model. */
static bool keeps_own(const struct groups *g)
{
    return g->same && !g->at_end;
}

/* A rank's float32 numbers, as a checkpoint has them. */
static void get_copy(struct eddis *e, struct groups *g, int rank, uint16_t *value, float *copy)
{
    struct eddis_checkpoint *c = NULL;
    const char *name = keeps_own(g) ? "eddis.float32" : "eddis.centre";
    int from = keeps_own(g) ? rank : 0;

    GIVES(1, eddis_restore_begin(e, g->folder, &c, &err));
    OK(eddis_checkpoint_get(c, "w", value, sizeof *value * DIM, &err));
    OK(eddis_checkpoint_get_from(c, from, name, copy, sizeof *copy * DIM, &err));
    OK(eddis_restore_end(c, &err));
}

/* The first step has begun, and no exchange.  The group's own values were moved since the exchange
 * of which its copy is, the centre's are what it is rounded to.
 */
static void check_copy(struct eddis *e, struct groups *g, const uint16_t *value, const float *copy)
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
    struct groups *g = j->arg;
    uint16_t value[DIM], zero[DIM] = { 0 };
    float copy[DIM], none[DIM] = { 0 };
    struct eddis_step s;
    int parameter, steps = 0;

    for (int k = 0; k < DIM; k++)
        value[k] = narrow(EDDIS_BFLOAT16, 2 + 0.001F * (float)(k % 100));
    parameter = add_half(e, EDDIS_BFLOAT16, value);
    OK(eddis_commit(e, &err));
    if (g->resumed)
        get_copy(e, g, rank, value, copy);
    while (step_begin(e, &s)) {
        if (g->resumed && steps == 0)
            check_copy(e, g, value, copy);
        if (steps++ < TOGETHER) /* each has some, and an exchange */
            OK(eddis_barrier(e, TIMEOUT_NS, &err));
        step_announce(e, parameter, zero);
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        move(EDDIS_BFLOAT16, value, none, s.step + rank);
        OK(eddis_step_end(e, NULL, &err));
        if (!g->resumed && !g->at_end && s.flags & EDDIS_STEP_CHECKPOINT)
            save_first(e, g->folder, value, sizeof value);
    }
    CHECK(steps >= TOGETHER);
    for (int i = 0; i < 2 && g->at_end && !g->resumed; i++) /* the second has all of it, too */
        save_first(e, g->folder, value, sizeof value);
}

/* Two groups write, as many or one go on. */
static void run_groups(bool same, bool at_end)
{
    struct groups g = { .same = same, .at_end = at_end };

    CHECK(own_folder_make(g.folder, sizeof g.folder) == 0);
    for (int i = 0; i < 2; i++) {
        int n = i == 0 || same ? RANKS : 1;
        const struct loop_job j = {
            .n = n, .share = 20 / n, .per_group = ASYNC, .period = PERIOD, .each.epochs = 2 + i
        };

        g.resumed = i == 1;
        loop_job_run_body(&j, groups_body, &g);
    }
    CHECK(g.unlike == (same ? RANKS : 1));
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        enum eddis_dtype type = i ? EDDIS_FLOAT16 : EDDIS_BFLOAT16;

        run(1, ASYNC, NULL, 0, type);
        run(RANKS, RANKS, NULL, 0, type);
        for (int overlap = 0; overlap < 2; overlap++) {
            run(1, 1, "diloco", overlap, type);
            run(RANKS, 1, "diloco", overlap, type);
            run(RANKS, RANKS, "diloco", overlap, type);
        }
    }
    for (int i = 0; i < 4; i++)
        run_groups(i % 2 == 0, i >= 2);
    return check_result();
}
