/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_tails.c - what is left out of an epoch, and the least samples of a worker, in every
 * mode, a thread a rank over the loop
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "loop_job.h"

#include "own_folder.h"

#include <errno.h>
#include <string.h>

enum { RANKS = 4, EPOCHS = 3, BATCH = 40 };

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

static const int64_t split[MAX_RANKS] = { 26, 12, 1, 1 };

struct tails_job {
    struct loop_job j;
    int drop_last;
    int64_t min_count;
    int64_t used;  /* samples of an epoch */
    int64_t fewer; /* at most so many are not done in all, as an epoch's end has cut them */
    const char *folder;
    const char *refused; /* by the restore of what is there; NULL: it is written */
    atomic_int taken[EPOCHS][SCENARIO_SAMPLES];
};

static void check_step(const struct tails_job *t, const struct eddis_step *s)
{
    CHECK(s->count == 0 || s->count >= t->min_count);
    CHECK(s->batch <= BATCH && s->batch >= s->count);
    if (t->drop_last && !t->j.per_group)
        CHECK(s->batch == BATCH);
}

static void train(struct eddis *e, struct tails_job *t, int parameter)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int64_t index[SCENARIO_SAMPLES];
    float g = 1;
    int rc;

    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        check_step(t, &s);
        CHECK(eddis_sample_indices(e, &s, index, &err) == 0);
        for (int64_t i = 0; i < s.count; i++)
            atomic_fetch_add(&t->taken[s.epoch][index[i]], 1);
        CHECK(eddis_announce(e, parameter, &g, &g, &err) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
    CHECK(rc == 0);
}

/* A checkpoint counts the samples that are used. */
static void keep(struct eddis *e, const struct tails_job *t)
{
    struct eddis_checkpoint *c;
    struct eddis_error err = { 0 };
    int rc;

    if (!t->refused) {
        CHECK(eddis_checkpoint_begin(e, t->folder, &c, &err) == 0);
        CHECK(eddis_checkpoint_commit(c, 0, &err) == 0);
    }
    rc = eddis_restore_begin(e, t->folder, &c, &err);
    CHECK(rc == (t->refused ? -EINVAL : 1));
    if (rc == 1)
        CHECK(eddis_restore_end(c, &err) == 0);
    else
        CHECK(t->refused && strstr(err.text, t->refused));
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct tails_job *t = j->arg;
    struct eddis_error err = { 0 };
    float w = 0;
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 1 },
                                 .value = &w };
    int parameter =
        eddis_add_parameter(e, eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err), &p, &err);
    struct board_page page;

    if (!t->used) {
        CHECK(eddis_commit(e, &err) == -EINVAL && strstr(err.text, "no sample is left"));
        return;
    }
    CHECK(eddis_commit(e, &err) == 0);
    loop_job_page(j, rank, &page);
    CHECK(page.samples_in_epoch == t->used);
    if (t->folder)
        keep(e, t);
    else
        train(e, t, parameter);
}

static void check_taken(struct tails_job *t)
{
    int64_t all = 0;

    for (int e = 0; e < EPOCHS; e++)
        for (int i = 0; i < SCENARIO_SAMPLES; i++) {
            CHECK(atomic_load(&t->taken[e][i]) <= 1);
            all += atomic_load(&t->taken[e][i]);
        }
    CHECK(all <= EPOCHS * t->used && all >= EPOCHS * t->used - t->fewer);
}

static void run(struct tails_job *t)
{
    t->j.n = RANKS;
    t->j.body = body;
    t->j.arg = t;
    for (int i = 0; i < RANKS; i++)
        t->j.scenario[i] = (struct scenario){ .epochs = EPOCHS,
                                              .drop_last = t->drop_last,
                                              .min_count = t->min_count };
    loop_job_board_of(&t->j, split);
    loop_job_run(&t->j);
    if (t->used && !t->folder)
        check_taken(t);
}

#define SYNC   .mode = "sync", .algorithm = "allreduce"
#define ASYNC  .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2
#define HYBRID .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2

int main(void)
{
    static char folder[64];
    static struct tails_job rows[] = {
        { .j = { SYNC }, .drop_last = 1, .used = 280 },
        { .j = { ASYNC }, .drop_last = 1, .used = 280 },
        { .j = { HYBRID }, .drop_last = 1, .used = 280 },
        { .j = { SYNC }, .min_count = 5, .used = 300 },
        { .j = { ASYNC }, .min_count = 5, .used = 300, .fewer = 2 * 4 * EPOCHS },
        { .j = { HYBRID }, .min_count = 5, .used = 300, .fewer = 2 * 4 * EPOCHS },
        { .j = { SYNC }, .min_count = 21, .used = 280 },
        { .j = { ASYNC }, .min_count = 21, .used = 280, .fewer = 2 * 20 * EPOCHS },
        { .j = { HYBRID }, .min_count = 21, .used = 280, .fewer = 2 * 20 * EPOCHS },
        { .j = { SYNC }, .min_count = BATCH + 1 },
        { .j = { HYBRID }, .min_count = BATCH + 1 },
        { .j = { SYNC }, .drop_last = 1, .used = 280, .folder = folder },
        { .j = { SYNC }, .used = 300, .folder = folder, .refused = "280 samples used" },
        { .j = { HYBRID }, .used = 300, .folder = folder, .refused = "280 samples used" },
        { .j = { SYNC }, .min_count = 21, .used = 280, .folder = folder },
    };

    CHECK(own_folder_make(folder, sizeof folder) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run(&rows[i]);
    CHECK(file_remove_tree(folder, NULL) == 0);
    return loop_job_failures != 0;
}
