/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_tails.c - what is left out of an epoch, and the least samples of a worker, in every
 * mode, a thread a rank over the loop
 */
#include "lib/base/file.h"
#include "loop_job.h"
#include "told_scenario.h"

#include "own_folder.h"

#include <errno.h>
#include <string.h>

enum { RANKS = 4, EPOCHS = 3, BATCH = 40 };

static const int64_t split[MAX_RANKS] = { 26, 12, 1, 1 };

struct tails_job {
    struct loop_job j;
    int drop_last;
    int64_t min_count;
    int64_t used; /* samples of an epoch */
    const char *folder;
    const char *refused; /* by the restore of what is there; NULL: it is written */
};

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

static void keep_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_error err = { 0 };

    (void)rank;
    CHECK(eddis_commit(e, &err) == 0);
    keep(e, j->arg);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct tails_job *t = j->arg;
    struct board_page page;

    if (!t->used) {
        CHECK(reported_none_left(e, &j->scenario[rank]) == 0);
        return;
    }
    CHECK(reported_trailers(e, &j->scenario[rank]) == 0);
    loop_job_page(j, rank, &page);
    CHECK(page.samples_in_epoch == t->used);
}

static void run(struct tails_job *t)
{
    t->j.n = RANKS;
    t->j.body = t->folder ? keep_body : body;
    t->j.arg = t;
    for (int i = 0; i < RANKS; i++)
        t->j.scenario[i] = (struct scenario){ .epochs = EPOCHS,
                                              .drop_last = t->drop_last,
                                              .min_count = t->min_count };
    loop_job_board_of(&t->j, split);
    loop_job_run(&t->j);
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
        { .j = { ASYNC }, .min_count = 5, .used = 300 },
        { .j = { HYBRID }, .min_count = 5, .used = 300 },
        { .j = { SYNC }, .min_count = 21, .used = 280 },
        { .j = { ASYNC }, .min_count = 21, .used = 280 },
        { .j = { HYBRID }, .min_count = 21, .used = 280 },
        { .j = { SYNC }, .min_count = BATCH + 1 },
        { .j = { HYBRID }, .min_count = BATCH + 1 },
        { .j = { SYNC }, .drop_last = 1, .used = 280, .folder = folder },
        { .j = { SYNC }, .used = 300, .folder = folder, .refused = "with 280 of an epoch's" },
        { .j = { HYBRID }, .used = 300, .folder = folder, .refused = "with 280 of an epoch's" },
        { .j = { SYNC }, .min_count = 21, .used = 280, .folder = folder },
    };

    CHECK(own_folder_make(folder, sizeof folder) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run(&rows[i]);
    CHECK(file_remove_tree(folder, NULL) == 0);
    return loop_job_failures != 0;
}
