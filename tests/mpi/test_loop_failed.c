/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_failed.c - local mode: a rank dies at the end of a round, and the job goes on from a
 * checkpoint with the bits of one that did not fail (property 50)
 */
#include "lib/base/file.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <math.h>

enum { DIM = 50, ROUND_TO_FAIL = 3 };

/* What the ranks of a job, and of the one after it, share. */
struct shared {
    char folder[64];
    bool fails;  /* the last rank dies at the end of round ROUND_TO_FAIL */
    bool resume; /* from the newest checkpoint */
    int failed;  /* ranks whose round failed */
    double w[MAX_RANKS][DIM];
};

/* A rank's model, and the outer momentum, at a moment. */
struct model {
    double w[DIM], momentum[DIM];
};

/* Take a copy of what a failed round may not change. */
static void model_note(const struct eddis *e, const double *w, struct model *ret)
{
    const double *momentum = e->centre.momentum[1];

    memcpy(ret->w, w, sizeof ret->w);
    memset(ret->momentum, 0, sizeof ret->momentum);
    if (momentum)
        memcpy(ret->momentum, momentum, sizeof ret->momentum);
}

/* Make the step, whose gradient depends on its samples and the model.  Return whether it
 * succeeded; *ret is as before the end of the step.
 */
static bool train(struct eddis *e, const struct eddis_step *step, double *w, struct model *ret)
{
    double g[DIM] = { 0 };

    for (int k = 0; k < DIM && step->count; k++)
        g[k] = tanh(w[k]) + sin((double)(step->first + k) * 1.7);
    model_note(e, w, ret);
    if (eddis_announce(e, 0, g, g, NULL) < 0 || eddis_wait(e, TIMEOUT_NS, NULL) < 0)
        return false;
    for (int k = 0; k < DIM; k++)
        w[k] -= 0.1 * g[k];
    model_note(e, w, ret);
    return eddis_step_end(e, NULL, NULL) == 0;
}

/* Write a checkpoint.  Return whether it is complete. */
static bool checkpoint(struct eddis *e, const double *w)
{
    struct eddis_checkpoint *c = NULL;

    if (eddis_checkpoint_begin(e, NULL, &c, NULL) < 0)
        return false;
    if (world_of(e).rank == 0)
        (void)eddis_checkpoint_put(c, "w", w, DIM * sizeof *w, NULL);
    return eddis_checkpoint_commit(c, 0, NULL) == 0;
}

/* Train to the end.  Return false after a failure, when *ret is how the model was before. */
static bool train_all(struct eddis *e, int rank, struct loop_job *j, double *w, struct model *ret)
{
    const struct shared *s = j->arg;
    struct eddis_step step = { .size = sizeof step };
    int rounds = 0, more;

    while ((more = eddis_step_begin(e, &step, NULL)) == 1) {
        if (!train(e, &step, w, ret))
            return false;
        rounds += !!(step.flags & EDDIS_STEP_READS);
        if (s->fails && rounds == ROUND_TO_FAIL) {
            loop_job_reach(j);
            if (rank == j->n - 1) {
                loop_job_await(j, j->n);
                comm_thread_abort(e->comm_thread, 9);
                return true;
            }
        }
        if (step.flags & EDDIS_STEP_CHECKPOINT && !checkpoint(e, w))
            return false;
    }
    return more == 0;
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct shared *s = j->arg;
    double w[DIM] = { 0 };
    struct eddis_parameter p = vector_of(w, DIM);
    struct model before, after;

    p.dtype = EDDIS_FLOAT64;
    CHECK(add_parameter(e, &p) == 0);
    OK(eddis_commit(e, &err));
    OK(eddis_broadcast_parameters(e, 0, &err));
    if (s->resume)
        restore(e, NULL, w, sizeof w);
    if (!train_all(e, rank, j, w, &before)) {
        model_note(e, w, &after);
        CHECK(memcmp(&after, &before, sizeof after) == 0);
        __atomic_add_fetch(&s->failed, 1, __ATOMIC_RELAXED);
    }
    memcpy(s->w[rank], w, sizeof w);
}

static void run(const struct loop_job *like, struct shared *s, int generation)
{
    static const struct comm_choice choice = { .version = 1, .tree_bytes = 1 << 20 };
    struct loop_job j = *like;

    j.choice = &choice;
    j.generation = generation;
    j.dies = s->fails;
    j.checkpoint_dir = s->folder;
    j.checkpoint_every = 1;
    loop_job_run_body(&j, body, s);
}

/* The job fails in the round after a checkpoint, and goes on from that. */
static void fails_and_goes_on(const struct loop_job *like)
{
    struct shared whole = { .failed = 0 }, s = { .fails = true };

    CHECK(own_folder_make(whole.folder, sizeof whole.folder) == 0);
    CHECK(own_folder_make(s.folder, sizeof s.folder) == 0);
    run(like, &whole, 1);
    CHECK(whole.failed == 0);
    run(like, &s, 1);
    CHECK(s.failed == like->n - 1, "%d ranks failed", s.failed);
    s.fails = false;
    s.resume = true;
    s.failed = 0;
    run(like, &s, 2);
    CHECK(s.failed == 0);
    for (int i = 0; i < like->n; i++)
        CHECK(memcmp(s.w[i], whole.w[i], sizeof s.w[i]) == 0);
    OK(file_remove_tree(whole.folder, &err));
    OK(file_remove_tree(s.folder, &err));
}

int main(void)
{
    static const struct loop_job jobs[] = {
        { .n = 3, .split = { 20, 3, 7 }, .per_group = 1, .period = 3, .algorithm = "local" },
        { .n = 3,
          .split = { 20, 3, 7 },
          .per_group = 1,
          .period = 3,
          .algorithm = "diloco",
          .outer_rate = 0.7,
          .outer_momentum = 0.9 },
        { .n = 4,
          .split = { 12, 8, 4, 6 },
          .per_group = 2,
          .period = 4,
          .overlap = 2,
          .algorithm = "diloco",
          .outer_rate = 0.7,
          .outer_momentum = 0.9 },
    };

    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        fails_and_goes_on(&jobs[i]);
    return check_result();
}
