/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_samples.c - the samples of workers in every mode, a thread a rank over the loop: of
 * later steps while plans change, of others, counted by the program, left out of an epoch, of data
 * that are given after opening; and the descriptor of new plans
 */
#include "lib/base/clock.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <unistd.h>

enum { RANKS = 4, BATCH = 40 };

/* What each scenario runs in. */
static const struct mode {
    int per_group;
    const char *algorithm; /* of local mode; NULL: another one */
} modes[] = { { SYNC, NULL }, { ASYNC, NULL }, { 2, NULL }, { 1, "local" }, { 2, "diloco" } };

static const int64_t first[RANKS] = { 16, 12, 8, 4 }, other[RANKS] = { 4, 8, 12, 16 };

/* ---- samples ahead ---- */

/* Another split in every step. */
static void publish_often(void *arg, int64_t step)
{
    static const int64_t batch[][RANKS] = { { 8, 8, 8, 8 }, { 12, 4, 8, 8 }, { 4, 12, 4, 12 } };

    loop_job_publish(arg, batch[step % 3], 0);
}

/* The thread that makes the steps asks before it announces, between that and its wait, and behind
 * it, a second thread all the time.  What is waited for comes without a step that has not ended, or
 * all would hang; what was said of a step never changes.
 */
static void ahead_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page page;

    scenario_ahead(e, &j->scenario[rank]);
    loop_job_page(j, rank, &page);
    CHECK(page.plan_version > 3);
}

static void test_ahead(const struct mode *m)
{
    struct loop_job j = {
        .n = RANKS,
        .body = ahead_body,
        .share = 8,
        .per_group = m->per_group,
        .algorithm = m->algorithm,
        .period = m->per_group > ASYNC ? 3 : 0,
        .each = { .epochs = 12, .read_ahead = 16, .after_step = publish_often },
    };

    loop_job_run(&j);
}

/* ---- what all know, and new plans ---- */

/* Rank 0 has done its second step. */
static void publish_later(void *arg, int64_t step)
{
    if (step == 1)
        loop_job_publish(arg, other, 0);
}

static void publish_first(void *arg, int64_t step)
{
    if (step == -1)
        loop_job_publish(arg, other, 0);
}

static void own_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page page;

    scenario_own_count(e, &j->scenario[rank]);
    loop_job_page(j, rank, &page);
    CHECK(page.samples_done == j->scenario[rank].done);
}

static void test_counts(const struct mode *m)
{
    const struct loop_job rows[] = {
        { .run = scenario_counts, .each = { .after_step = publish_later } },
        { .body = own_body },
        { .run = scenario_mixed_count },
        { .run = scenario_breaks, .each = { .after_step = publish_later } },
        { .run = scenario_plan_fd, .each = { .after_step = publish_first, .plans = 1 } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loop_job j = rows[i];

        j.n = RANKS;
        j.per_group = m->per_group;
        j.algorithm = m->algorithm;
        j.each.epochs = 2;
        memcpy(j.split, first, sizeof first);
        loop_job_run(&j);
    }
}

/* ---- what is left out ---- */

static const struct left_out {
    int per_group, drop_last;
    int64_t min_count;
    int64_t used;          /* samples of an epoch; 0: none, which is refused */
    bool saves;            /* a checkpoint is written and restored, instead of a training ... */
    const char *refused;   /* ... or that of the row before is refused with these words */
    const char *algorithm; /* of local mode */
} left_out[] = {
    { SYNC, 1, 0, 280 },
    { ASYNC, 1, 0, 280 },
    { 2, 1, 0, 280 },
    { SYNC, 0, 5, 300 },
    { ASYNC, 0, 5, 300 },
    { 2, 0, 5, 300 },
    { SYNC, 0, 21, 280 },
    { ASYNC, 0, 21, 280 },
    { 2, 0, 21, 280 },
    { 2, 1, 0, 280, .algorithm = "local" },
    { 1, 0, 5, 300, .algorithm = "local" },
    { 2, 0, 21, 280, .algorithm = "diloco" },
    { SYNC, 0, BATCH + 1, 0 },
    { 2, 0, BATCH + 1, 0 },
    { SYNC, 1, 0, 280, true },
    { SYNC, 0, 0, 300, true, "with 280 of an epoch's" },
    { 2, 0, 0, 300, true, "with 280 of an epoch's" },
    { SYNC, 0, 21, 280, true },
};

static char saved[64];

/* A checkpoint counts the samples that are used. */
static void save_body(struct eddis *e, int rank, struct loop_job *j)
{
    const struct left_out *l = j->arg;
    struct eddis_checkpoint *c = NULL;

    OK(eddis_commit(e, &err));
    if (l->refused) {
        REFUSED(-EINVAL, l->refused, eddis_restore_begin(e, saved, &c, &err));
        return;
    }
    save(e, saved, NULL, 0);
    GIVES(1, eddis_restore_begin(e, saved, &c, &err));
    OK(eddis_restore_end(c, &err));
}

static void left_out_body(struct eddis *e, int rank, struct loop_job *j)
{
    const struct left_out *l = j->arg;
    struct board_page page;

    scenario_remainder(e, &j->scenario[rank]);
    loop_job_page(j, rank, &page);
    CHECK(page.samples_in_epoch == l->used);
}

static void test_left_out(const struct left_out *l)
{
    struct loop_job j = {
        .n = RANKS,
        .run = l->used ? NULL : scenario_none_left,
        .body = l->saves ? save_body : left_out_body,
        .arg = (void *)(uintptr_t)l,
        .split = { 26, 12, 1, 1 },
        .per_group = l->per_group,
        .algorithm = l->algorithm,
        .each = { .epochs = 3, .drop_last = l->drop_last, .min_count = l->min_count },
    };

    loop_job_run(&j);
}

/* ---- data that are given late ---- */

static void late_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page page;

    scenario_late(e, &j->scenario[rank]);
    if (!j->board)
        return;
    loop_job_page(j, rank, &page);
    CHECK(page.samples_in_epoch == SCENARIO_SAMPLES && page.epochs == 2);
    CHECK(page.steps_in_epoch == 8 && page.steps_total == 16);
    if (rank == 0 && j->open_ns)
        pthread_join(*(pthread_t *)j->arg, NULL);
}

/* What an agent does where the mode is open, when rank 0 has given its model. */
static void *answer(void *arg)
{
    struct loop_job *j = arg;
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    struct board_page page = { 0 };

    while (!page.committed && clock_now_ns() < end && usleep(1000) == 0)
        loop_job_page(j, 0, &page);
    CHECK(page.samples_in_epoch == SCENARIO_SAMPLES && page.epochs == 2);
    loop_job_settle(j, j->split, 0);
    return NULL;
}

/* board false: by the options alone.  open: so is the mode, until eddis_commit. */
static void test_late(const struct mode *m, bool board, bool open)
{
    pthread_t agent;
    struct loop_job j = {
        .n = RANKS,
        .body = late_body,
        .arg = &agent,
        .per_group = m->per_group,
        .algorithm = m->algorithm,
        .open_ns = open ? TIMEOUT_NS : 0,
        .each = { .batch = BATCH, .epochs = 2, .late = 1 },
    };

    if (board)
        memcpy(j.split, first, sizeof first);
    loop_job_prepare(&j);
    if (open)
        CHECK(pthread_create(&agent, NULL, answer, &j) == 0);
    loop_job_run(&j);
}

/* All workers learn by which option they differ. */
static void unlike_body(struct eddis *e, int rank, struct loop_job *j)
{
    REFUSED(-EPROTO, "read_ahead is 0 on rank 3 but 2 on rank 0", eddis_commit(e, &err));
}

static void test_unlike(void)
{
    struct loop_job j = { .n = RANKS, .body = unlike_body };

    loop_job_prepare(&j);
    j.scenario[1].read_ahead = 2; /* as without a word of it */
    j.scenario[3].read_ahead = EDDIS_READ_NONE;
    loop_job_run(&j);
}

int main(void)
{
    CHECK(own_folder_make(saved, sizeof saved) == 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        test_ahead(&modes[i]);
        test_counts(&modes[i]);
        test_late(&modes[i], true, false);
    }
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        test_left_out(&left_out[i]);
    test_late(&modes[0], false, false);
    test_late(&modes[2], true, true);
    test_late(&modes[4], true, true);
    test_unlike();
    return check_result();
}
