/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_sets.c - sets of parameters and several rounds in a step, over the loop: in every mode,
 * through new plans, checkpoints and the memory of a node; and rounds that do not fit
 */
#include "lib/base/clock.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <math.h>
#include <sched.h>

enum { SHARE = 10 /* samples of each rank */ };

/* ---- training ---- */

/* Shares swing between the first rank and the last. */
static void new_plan(void *arg, int64_t step)
{
    struct loop_job *j = arg;
    int64_t batch[MAX_RANKS];

    if (step % 4)
        return;
    for (int i = 0; i < j->n; i++)
        batch[i] = SHARE;
    batch[step % 8 ? 0 : j->n - 1] += 5;
    batch[step % 8 ? j->n - 1 : 0] -= 5;
    loop_job_publish(j, batch, 0);
}

static const struct loop_job trainings[] = {
    { .n = 1 },
    { .n = 3 },                 /* memory of one node */
    { .n = 3, NODES(0, 1, 2) }, /* messages alone */
    { .n = 4, NODES(0, 0, 1, 1), .each = { .measured = 1, .after_step = new_plan } }, /* both */
    { .n = 3, NODES(0, 0, 1), .each = { .go_back = 1, .after_step = new_plan } },
    { .n = 3, NODES(0, 0, 0), .each.after_step = new_plan, .emulated = 1 }, /* gradients are held */
    { .n = 4, .per_group = 2, NODES(0, 0, 1, 1) },
    { .n = 4,
      .per_group = 2,
      NODES(0, 1, 2, 3),
      .each = { .measured = 1, .go_back = 1, .after_step = new_plan } },
    { .n = 3, .per_group = ASYNC, NODES(0, 0, 0), .each.after_step = new_plan },
    { .n = 2, .per_group = ASYNC, NODES(0, 1), .each.go_back = 1 },
    { .n = 4,
      .per_group = 2,
      .algorithm = "local",
      NODES(0, 0, 1, 1),
      .each.after_step = new_plan },
};

static void test_training(const struct loop_job *like)
{
    struct loop_job j = *like;
    char dir[64];

    CHECK(own_folder_make(dir, sizeof dir) == 0);
    j.run = scenario_sets;
    j.share = SHARE;
    j.period = j.per_group ? 3 : 0;
    j.checkpoint_dir = dir;
    loop_job_run(&j);
    for (int i = 0; i < j.n; i++) {
        const struct scenario *s = &j.scenario[i];

        CHECK(s->steps >= 10 && s->checkpoints > 0);
        CHECK(s->done == SCENARIO_EPOCHS * SCENARIO_SAMPLES);
        CHECK(!s->after_step || j.per_group != SYNC || s->splits > 0 || (i > 0 && i < j.n - 1));
    }
}

/* ---- unlike rounds ---- */

static void mismatch_body(struct eddis *e, int rank, struct loop_job *j)
{
    scenario_sets_mismatch(e, *(enum sets_mismatch *)j->arg);
}

/* node_of NULL: without a board, so by messages.  hybrid: one group of that mode. */
static void test_mismatch(enum sets_mismatch how, int n, const int *node_of, bool hybrid)
{
    struct loop_job j = {
        .n = n,
        .body = mismatch_body,
        .arg = &how,
        .share = node_of ? SHARE : 0,
        .per_group = hybrid ? n : SYNC,
        .period = hybrid ? 100 : 0,
        .node_of = node_of,
        .closes = -EPROTO,
        .each.batch = SHARE * n,
    };

    loop_job_run(&j);
}

/* ---- calls that are refused ---- */

static void add(struct eddis *e, int set, float *value)
{
    const struct eddis_parameter p = vector_of(value, 1);
    int layer = eddis_add_layer_to(e, set, "layer", EDDIS_LAYER_OTHER, NULL);

    CHECK(eddis_add_parameter(e, layer, &p, NULL) >= 0);
}

static void refused_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[3] = { 0 }, g[3] = { (float)rank, 1, 2 };
    struct eddis_step s;

    REFUSED(-EINVAL, "", eddis_add_layer_to(e, -1, "x", EDDIS_LAYER_OTHER, &err));
    REFUSED(-EINVAL, "", eddis_add_layer_to(e, EDDIS_MAX_SETS, "x", EDDIS_LAYER_OTHER, &err));
    add(e, 0, &value[0]);
    add(e, 2, &value[1]);
    REFUSED(-EINVAL, "", eddis_wait_set(e, 0, 0, &err));
    REFUSED(-EINVAL, "", eddis_set_round_weight(e, 0, 1, &err));
    REFUSED(-EINVAL, "set 1 of 3 has no parameter", eddis_commit(e, &err));
    add(e, 1, &value[2]);
    OK(eddis_commit(e, &err));
    REFUSED(-EINVAL, "", eddis_wait_set(e, 0, 0, &err));
    REFUSED(-EINVAL, "", eddis_set_round_weight(e, 0, 1, &err));
    CHECK(step_begin(e, &s));
    REFUSED(-EINVAL, "", eddis_wait_set(e, 3, 0, &err));
    REFUSED(-EINVAL, "", eddis_wait_set(e, -1, 0, &err));
    REFUSED(-EINVAL, "", eddis_set_round_weight(e, 3, 1, &err));
    REFUSED(-EINVAL, "", eddis_set_round_weight(e, 0, -1, &err));
    OK(eddis_set_round_weight(e, 0, rank == 0 ? 3 : 0, &err));
    REFUSED(-EINVAL, "", eddis_set_round_weight(e, 0, 1, &err));
    step_announce(e, 0, &g[0]);
    REFUSED(-EINVAL, "", eddis_set_round_weight(e, 0, 1, &err));
    REFUSED(-EINVAL, "twice", eddis_announce(e, 0, &g[0], &g[0], &err));
    OK(eddis_wait_set(e, 0, TIMEOUT_NS, &err));
    CHECK(g[0] == 0);
    step_announce(e, 0, &g[1]); /* another round */
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    CHECK(g[1] == 1);
    REFUSED(-EINVAL, "", eddis_announce(e, 0, &g[0], &g[0], &err));
    REFUSED(-EINVAL, "", eddis_wait_set(e, 0, TIMEOUT_NS, &err));
    OK(eddis_wait_layer(e, 0, 0, &err)); /* its round is over */
    REFUSED(-EINVAL, "", eddis_wait_layer(e, 1, 0, &err));
    OK(eddis_step_end(e, NULL, &err));
}

static void test_refused(int n)
{
    loop_job_run_body(&(struct loop_job){ .n = n }, refused_body, NULL);
}

/* ---- a round behind the others' last ---- */

/* Make all steps, or begin the last one only. */
static void steps_to_last(struct eddis *e, bool all)
{
    struct eddis_step s = { .size = sizeof s }, next = { .size = sizeof next };
    int rc;

    while ((rc = eddis_step_begin(e, &s, NULL)) == 1) {
        if (!all && eddis_plan_step(e, s.step + 1, EDDIS_FOREVER, &next, NULL) == 0)
            return;
        rc = eddis_wait(e, TIMEOUT_NS, NULL);
        if (rc < 0 || (rc = eddis_step_end(e, NULL, NULL)) < 0)
            break;
    }
    CHECK(all && (rc == 0 || rc == -ECONNABORTED));
}

/* Wait for the set in slices until it is known for which rank. */
static void wait_in_vain(struct eddis *e, int set)
{
    int64_t end_ns = clock_now_ns() + TIMEOUT_NS;
    struct eddis_error late;
    int rc;

    do {
        late = (struct eddis_error){ 0 };
        rc = eddis_wait_set(e, set, CLOCK_MS, &late);
    } while (rc == -ETIMEDOUT && !strstr(late.text, "rank") && clock_now_ns() < end_ns);
    CHECK(rc == -ETIMEDOUT && strstr(late.text, "rank"));
}

/* The last rank makes one more than the others, who wait for all: in sync mode in eddis_close, in
 * hybrid mode for the models to be drawn together.  Nobody can tell that they make no more, but the
 * wait says for whom it is.  That rank is ended from outside.
 */
static void last_body(struct eddis *e, int rank, struct loop_job *j)
{
    const int *sets = j->arg;
    float value[2] = { 0 };
    bool unlike = rank == j->n - 1;

    for (int set = 0; set < *sets; set++)
        add(e, set, &value[set]);
    OK(eddis_commit(e, &err));
    steps_to_last(e, !unlike);
    if (!unlike)
        return;
    for (int set = 0; set < *sets; set++)
        OK(eddis_wait_set(e, set, TIMEOUT_NS, &err));
    wait_in_vain(e, *sets - 1);
    comm_thread_abort(e->comm_thread, 1);
}

static void test_last(int n, int sets, bool hybrid)
{
    struct loop_job j = {
        .n = n,
        .body = last_body,
        .arg = &sets,
        .share = hybrid ? SHARE : 0,
        .per_group = hybrid ? n : SYNC,
        .period = hybrid ? 100 : 0,
        .closes = -ECONNABORTED,
        .each = { .batch = SHARE * n, .epochs = 1 },
    };

    loop_job_run(&j);
}

/* ---- weights of rounds ---- */

/* The last rank sets the weight of set 1's next round before anything of set 0: no round begins
 * with that, so that all have the same order of them.  What no round came for is forgotten.
 */
static void weighted_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[2] = { 0 }, g[2];
    struct eddis_step s;
    bool last = rank == j->n - 1;

    add(e, 0, &value[0]);
    add(e, 1, &value[1]);
    OK(eddis_commit(e, &err));
    for (int i = 0; i < 6; i++) {
        CHECK(step_begin(e, &s));
        g[0] = g[1] = (float)rank;
        if (last) {
            OK(eddis_set_round_weight(e, 1, 0, &err));
            REFUSED(-EINVAL, "", eddis_set_round_weight(e, 1, 0, &err));
        }
        for (int set = 0; set < i % 3; set++) /* of none, of the first, of both */
            step_announce(e, set, &g[set]);
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        if (i % 3)
            CHECK(fabsf(g[0] - (float)(j->n - 1) / 2) < 1e-5f);
        if (i % 3 == 2) /* without the last rank's */
            CHECK(fabsf(g[1] - (float)(j->n - 2) / 2) < 1e-5f);
        OK(eddis_step_end(e, NULL, &err));
    }
}

/* ---- a wait in slices ---- */

/* Rank 1 makes no round before the others have waited for it in vain. */
static void late_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[2] = { 0 }, g[2] = { (float)rank, 1 };
    struct eddis_step s;

    add(e, 0, &value[0]);
    add(e, 1, &value[1]);
    OK(eddis_commit(e, &err));
    CHECK(step_begin(e, &s));
    loop_job_await(j, rank == 1 ? j->n - 1 : 0);
    step_announce(e, 1, &g[1]);
    if (rank != 1) {
        wait_in_vain(e, 1);
        REFUSED(-EINVAL, "", eddis_announce(e, 1, &g[1], &g[1], &err));
        REFUSED(-EINVAL, "", eddis_set_round_weight(e, 1, 1, &err));
        loop_job_reach(j);
    }
    OK(eddis_wait_set(e, 1, TIMEOUT_NS, &err));
    CHECK(g[1] == 1);
    step_announce(e, 0, &g[0]);
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    CHECK(g[0] == 1); /* the mean of 0, 1 and 2 */
    OK(eddis_step_end(e, NULL, &err));
}

/* ---- announcements beside a wait ---- */

enum { BESIDE_ROUNDS = 50 };

struct beside {
    struct eddis *e;
    float g[2];
    atomic_int begins, announced; /* rounds that the thread may begin, and has begun */
};

/* Begins each round with the gradient of the second layer. */
static void *beside_main(void *arg)
{
    struct beside *b = arg;

    for (int i = 0; i < BESIDE_ROUNDS; i++) {
        while (atomic_load(&b->begins) <= i)
            sched_yield();
        step_announce(b->e, 1, &b->g[1]);
        atomic_fetch_add(&b->announced, 1);
    }
    return NULL;
}

/* While the thread begins a round: the first layer's, which is over, or else it is not announced.
 * Whoever took it for that of the new round would wait in vain.
 */
static void beside_wait(struct beside *b, int i)
{
    atomic_fetch_add(&b->begins, 1);
    while (atomic_load(&b->announced) <= i) {
        struct eddis_error why = { 0 };
        int rc = eddis_wait_layer(b->e, 0, TIMEOUT_NS, &why);

        CHECK(rc == 0 || (rc == -EINVAL && strstr(why.text, "was not announced")));
    }
    step_announce(b->e, 0, &b->g[0]);
    OK(eddis_wait_set(b->e, 0, TIMEOUT_NS, &err));
}

static void beside_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct beside b = { .e = e };
    float value[2] = { 0 };
    struct eddis_step s;
    pthread_t thread;

    add(e, 0, &value[0]);
    add(e, 0, &value[1]);
    OK(eddis_commit(e, &err));
    CHECK(step_begin(e, &s));
    CHECK(pthread_create(&thread, NULL, beside_main, &b) == 0);
    for (int i = 0; i < BESIDE_ROUNDS; i++)
        beside_wait(&b, i);
    pthread_join(thread, NULL);
    step_end(e);
}

static void test_mismatches(enum sets_mismatch how)
{
    if (how != SETS_LAYERS) { /* whose layers would share a bucket once they are measured */
        test_mismatch(how, 2, NULL, false);
        test_mismatch(how, 4, NULL, false);
    }
    test_mismatch(how, 3, (const int[]){ 0, 0, 0 }, false);
    test_mismatch(how, 4, (const int[]){ 0, 0, 1, 1 }, false);
    test_mismatch(how, 4, (const int[]){ 0, 0, 1, 1 }, true);
}

int main(void)
{
    const struct loop_job two = { .n = 2, .each.batch = 2 * SHARE };
    const struct loop_job three = { .n = 3, .each.batch = 3 * SHARE };
    struct loop_job weighted = { .n = 3, .share = SHARE };

    loop_job_run_body(&three, late_body, NULL);
    test_last(2, 1, false);
    test_last(3, 2, false);
    test_last(3, 1, true);
    test_last(2, 2, true);
    loop_job_run_body(&two, beside_body, NULL);
    loop_job_run_body(&weighted, weighted_body, NULL);
    weighted.emulated = 1;
    loop_job_run_body(&weighted, weighted_body, NULL);
    test_refused(1);
    test_refused(3);
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++)
        test_training(&trainings[i]);
    for (int how = SETS_ORDER; how <= SETS_LAYERS; how++)
        test_mismatches((enum sets_mismatch)how);
    return check_result();
}
