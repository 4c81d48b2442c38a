/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_ahead.c - samples of sixteen steps ahead, asked for while plans change in every step:
 * over the loop, in every mode
 *
 * The thread that makes the steps asks before it announces, between that and its wait, and behind
 * it, a second thread all the time.  What is waited for comes without a step that has not ended, or
 * all would hang; what was said of a step never changes.
 */
#include "loop_job.h"
#include "told_scenario.h"

enum { RANKS = 4, AHEAD = 16, WHOLE = 32 };

/* Another split in every step. */
static void publish(void *arg, int64_t step)
{
    static const int64_t batch[][RANKS] = { { 8, 8, 8, 8 }, { 12, 4, 8, 8 }, { 4, 12, 4, 12 } };

    loop_job_publish(arg, batch[step % 3], 0);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page page;

    CHECK(reported_ahead(e, &j->scenario[rank]) == 0);
    loop_job_page(j, rank, &page);
    CHECK(page.plan_version > 3);
}

int main(void)
{
    struct loop_job rows[] = {
        { .n = RANKS },
        { .n = RANKS, .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 },
        { .n = RANKS, .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 3 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].body = body;
        for (int r = 0; r < RANKS; r++)
            rows[i].scenario[r] = (struct scenario){ .batch = WHOLE,
                                                     .epochs = 12,
                                                     .read_ahead = AHEAD,
                                                     .after_step = publish,
                                                     .arg = &rows[i] };
        loop_job_board_of(&rows[i], (const int64_t[]){ 8, 8, 8, 8 });
        loop_job_run(&rows[i]);
    }
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
