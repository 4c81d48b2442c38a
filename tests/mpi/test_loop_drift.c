/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_drift.c - models that drift apart in sync mode, a thread a rank over the loop
 *
 * One rank's program leaves its model wrong behind a step: all of them fail, with its name, or at
 * the end where that was the last one.  Nothing is found where all do the same, where the program
 * gives no sums, where checks are off, and where workers have models of their own.
 */
#include "lib/worker/worker.h"
#include "loop_job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { SAMPLES = 120, BATCH = 12, STEPS = 30, EVERY = 8 };

enum wrong { NOTHING, DRIFT, ROUNDING, ALL_NAN, LOSS, LATE_LOSS };

static const struct row {
    int n, per_group;
    int64_t every;
    bool sums; /* are reported */
    enum wrong wrong;
    int rank;       /* whose model is wrong ... */
    int64_t behind; /* ... behind this step, from 0 */
    int64_t found;  /* behind so many; 0: it is not; STEPS: at the end */
} rows[] = {
    { 3, SYNC, EVERY, true, NOTHING, 0, 0, 0 },
    { 1, SYNC, EVERY, true, NOTHING, 0, 0, 0 },
    { 3, SYNC, EVERY, true, DRIFT, 1, 0, 1 },
    { 4, SYNC, EVERY, true, DRIFT, 3, 8, 16 },
    { 3, SYNC, EVERY, true, DRIFT, 0, STEPS - 1, STEPS },
    { 2, SYNC, EVERY, true, DRIFT, 1, 4, 8 },
    { 3, SYNC, EVERY, true, ALL_NAN, 0, 2, 4 },
    { 1, SYNC, EVERY, true, ALL_NAN, 0, 2, 4 },
    { 3, SYNC, EVERY, true, ROUNDING, 1, 2, 0 },
    { 3, SYNC, EVERY, true, LOSS, 1, 2, 0 },
    { 3, SYNC, EVERY, true, LATE_LOSS, 1, 2, 0 },
    { 3, SYNC, EVERY, false, DRIFT, 1, 2, 0 },
    { 3, SYNC, 0, true, DRIFT, 1, 2, 0 },
    { 2, ASYNC, EVERY, true, DRIFT, 1, 2, 0 },
    { 4, 2, EVERY, true, DRIFT, 1, 2, 0 },
};

enum { WIDTH = 4, LATE = 3 }; /* LATE: steps by which a rank gives its loss late */

struct worker {
    struct eddis *e;
    const struct row *row;
    struct loop_job *j;
    int rank;
    float w[WIDTH], g[WIDTH];
};

static void set_up(struct worker *w)
{
    OK(eddis_set_data(w->e, SAMPLES, STEPS * BATCH / SAMPLES, &err));
    CHECK(commit_vector(w->e, w->w, WIDTH) == 0);
}

/* What the program does wrong. */
static void spoil(struct worker *w, int64_t step, struct eddis_report *r)
{
    const struct row *row = w->row;
    bool it = w->rank == row->rank && step == row->behind;

    if (row->wrong == DRIFT && it)
        w->w[2] += 0.25F;
    if (row->wrong == ROUNDING && it)
        w->w[2] *= 1 + 1e-6F;
    if (row->wrong == ALL_NAN && step == row->behind)
        w->w[2] = NAN;
    if (row->wrong == LOSS && it)
        r->loss = NAN;
    if (row->wrong == LATE_LOSS && w->rank == row->rank) {
        r->loss = step == row->behind + LATE ? NAN : 0;
        r->loss_age = LATE;
    }
}

/* Returns 1, or the failure of its wait. */
static int step(struct worker *w, const struct eddis_step *s, struct eddis_error *ret)
{
    struct eddis_report r = { .size = sizeof r, .has_loss = 1, .has_sums = w->row->sums };
    int64_t done = s->step + 1, every = w->row->per_group ? 0 : w->row->every;
    bool due = done % EVERY == 0 || done == STEPS || done == 1 || done == 2 || done == 4;
    int rc;

    CHECK(every ? due == !!(s->flags & EDDIS_STEP_SUMS) : !(s->flags & EDDIS_STEP_SUMS));
    for (int k = 0; k < WIDTH; k++)
        w->g[k] = (float)(w->rank + k + 1);
    step_announce(w->e, 0, w->g);
    rc = eddis_wait(w->e, TIMEOUT_NS, ret);
    if (rc < 0)
        return rc;
    for (int k = 0; k < WIDTH; k++)
        w->w[k] -= 0.01F * w->g[k];
    spoil(w, s->step, &r);
    for (int k = 0; k < WIDTH; k++) {
        r.sum += w->w[k];
        r.squares += (double)w->w[k] * w->w[k];
    }
    OK(eddis_step_end(w->e, &r, &err));
    return 1;
}

/* What this rank's program reads of it. */
static void check_words(const struct worker *w, const struct eddis_error *err)
{
    const struct row *row = w->row;
    char step[32], whose[64];

    snprintf(step, sizeof step, "after step %lld ", (long long)row->found);
    if (row->wrong == ALL_NAN)
        snprintf(whose, sizeof whose, "the model holds NaN or infinity on all workers");
    else if (row->n == 2)
        snprintf(whose, sizeof whose, "the models of ranks 0 and 1 are not the same");
    else if (row->rank == w->rank)
        snprintf(whose, sizeof whose, "this worker's model, of rank %d, is not", row->rank);
    else
        snprintf(whose, sizeof whose, "the model of rank %d is not that of the other", row->rank);
    CHECK(strstr(err->text, step) && strstr(err->text, whose), "%s", err->text);
}

static void check_page(const struct worker *w)
{
    const struct board_page *p = board_own(w->e->board);
    const struct row *row = w->row;
    bool is_lost = (row->wrong == LOSS || row->wrong == LATE_LOSS) && w->rank == row->rank;

    CHECK(p->loss_step == (is_lost ? row->behind + 1 : 0));
    if (row->found && row->found < STEPS)
        CHECK(p->models.found != MODEL_CHECK_ALIKE && p->models.step == row->found &&
              p->models.alike < row->found);
    else
        CHECK(p->models.found == MODEL_CHECK_ALIKE);
    if (row->wrong == ROUNDING)
        CHECK(p->models.unlike > 0 && p->models.largest > 0 && p->models.largest < 1e-5);
    else
        CHECK(p->models.unlike == 0);
    if (!row->sums || !row->every || row->per_group)
        CHECK(p->models.compared == 0);
    else if (!row->found && row->n > 1)
        CHECK(p->models.compared == 6); /* behind 1, 2, 4, 8, 16, 24; 30 at the end */
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    const struct row *row = j->arg;
    struct worker w = { .e = e, .row = row, .j = j, .rank = rank, .w = { 1, 2, 3, 4 } };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int64_t done = 0;
    int rc;

    set_up(&w);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1 && (rc = step(&w, &s, &err)) == 1)
        done++;
    if (row->found && row->found < STEPS) {
        CHECK(rc == -EPROTO);
        CHECK(done == row->found); /* the agreement is that of the step behind */
        check_words(&w, &err);
    } else {
        CHECK(rc == 0);
    }
    check_page(&w);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        const struct loop_job j = {
            .n = row->n,
            .share = BATCH / row->n,
            .per_group = row->per_group,
            .check_models = row->every,
            .closes = row->found == STEPS ? -EPROTO : 0,
            .each.late = 1,
        };

        loop_job_run_body(&j, body, (void *)(uintptr_t)row);
    }
    return check_result();
}
