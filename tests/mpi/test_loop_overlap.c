/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_overlap.c - local mode with overlap, over a loop that holds the sum of the models */
#include "lib/worker/worker.h"
#include "loop_job.h"

enum { LONG = 4096, PERIOD = 4, OVERLAP = 3 };

/* Check a step whose models, of both ranks, are known. */
static void check_overlapped(struct eddis *e, int rank, const struct eddis_step *step,
                             const float *w)
{
    const float rate_of_rank = 0.5F * (float)(rank + 1), mean = 0.75F;
    float all = (float)step->step * rate_of_rank;

    CHECK(e->centre.lands == (step->step >= PERIOD && step->step < PERIOD + OVERLAP));
    CHECK(!(step->flags & EDDIS_STEP_WRITTEN) ==
          (step->step != 0 && step->step != PERIOD + OVERLAP));
    if (step->step == PERIOD + OVERLAP)
        all = PERIOD * mean + OVERLAP * rate_of_rank;
    CHECK(w[0] == -all && w[LONG - 1] == -all, "step %d: %g, not %g", (int)step->step, w[0], -all);
}

static void overlapped_body(struct eddis *e, int rank, struct loop_job *j)
{
    float w[LONG] = { 0 }, g[LONG] = { 0 };
    struct eddis_step step;

    CHECK(add_vector(e, w, LONG) == 0);
    OK(eddis_commit(e, &err));
    while (step_begin(e, &step)) {
        if (step.step == 0) /* all have begun with the same model */
            atomic_store(&j->holds, true);
        if (step.step <= PERIOD + OVERLAP)
            check_overlapped(e, rank, &step, w);
        step_announce(e, 0, g);
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        for (int k = 0; k < LONG; k++)
            w[k] -= 0.5F * (float)(rank + 1);
        OK(eddis_step_end(e, NULL, &err));
        if (step.step == PERIOD + OVERLAP - 1) {
            loop_job_reach(j);
            atomic_store(&j->holds, false);
        }
    }
    CHECK(step.step > PERIOD + OVERLAP);
}

/* Ranks make the overlap's steps before any part of the sum arrives. */
static void steps_hide_the_sum(void)
{
    const struct loop_job j = { .n = 2,
                                .share = 15,
                                .per_group = 1,
                                .period = PERIOD,
                                .overlap = OVERLAP,
                                .algorithm = "local",
                                .each.samples = 480 };

    loop_job_run_body(&j, overlapped_body, NULL);
}

int main(void)
{
    steps_hide_the_sum();
    return check_result();
}
