/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_sets.c - sets of parameters and several rounds in a step, over the loop: in every mode,
 * through new plans, checkpoints and the memory of a node; and rounds that do not fit
 */
#include "lib/base/clock.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"
#include "sets_scenario.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- training ---- */

static const struct way {
    const char *mode, *algorithm;
    int n, per_group;
    int node_of[MAX_RANKS];
    int measured; /* buckets */
    int plans;    /* new ones, in between */
    int go_back;
    int emulated; /* devices: gradients are held until the step's time is over */
} ways[] = {
    { "sync", "allreduce", 1, 1, { 0 }, 0, 0, 0 },
    { "sync", "allreduce", 3, 3, { 0 }, 0, 0, 0 },          /* memory of one node */
    { "sync", "allreduce", 3, 3, { 0, 1, 2 }, 0, 0, 0 },    /* messages alone */
    { "sync", "allreduce", 4, 4, { 0, 0, 1, 1 }, 1, 1, 0 }, /* both, and measured buckets */
    { "sync", "allreduce", 3, 3, { 0, 0, 1 }, 0, 1, 1 },
    { "sync", "allreduce", 3, 3, { 0, 0, 0 }, 0, 1, 0, 1 },
    { "hybrid", "hsgd", 4, 2, { 0, 0, 1, 1 }, 0, 0, 0 },
    { "hybrid", "hsgd", 4, 2, { 0, 1, 2, 3 }, 1, 1, 1 },
    { "async", "easgd", 3, 1, { 0, 0, 0 }, 0, 1, 0 },
    { "async", "easgd", 2, 1, { 0, 1 }, 0, 0, 1 },
};

enum { WAYS = sizeof ways / sizeof *ways };

struct training {
    const struct way *way;
    struct sets_scenario s[MAX_RANKS];
};

/* Shares swing between the first rank and the last. */
static void new_plan(void *arg, int64_t step)
{
    struct loop_job *j = arg;
    int64_t batch[MAX_RANKS];

    if (step % 4)
        return;
    for (int i = 0; i < j->n; i++)
        batch[i] = 10;
    batch[step % 8 ? 0 : j->n - 1] += 5;
    batch[step % 8 ? j->n - 1 : 0] -= 5;
    loop_job_publish(j, batch, 0);
}

static void training_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct training *t = j->arg;

    t->s[rank].go_back = t->way->go_back;
    t->s[rank].after_step = t->way->plans ? new_plan : NULL;
    t->s[rank].arg = j;
    CHECK(sets_scenario(e, &t->s[rank]) == 0);
}

static void test_training(const struct way *way)
{
    struct training t = { .way = way };
    char dir[64], command[80];
    int64_t batch[MAX_RANKS];
    struct loop_job j = { .n = way->n,
                          .body = training_body,
                          .mode = way->mode,
                          .algorithm = way->algorithm,
                          .per_group = way->per_group,
                          .node_of = way->node_of,
                          .emulated = way->emulated,
                          .period = strcmp(way->mode, "sync") == 0 ? 0 : 3,
                          .checkpoint_dir = dir,
                          .arg = &t };

    CHECK(own_folder_make(dir, sizeof dir) == 0);
    for (int i = 0; i < way->n; i++) {
        j.scenario[i] = (struct scenario){ .batch = 10 * way->n, .measured = way->measured };
        batch[i] = 10;
    }
    loop_job_board_of(&j, batch);
    loop_job_run(&j);
    for (int i = 0; i < way->n; i++) {
        CHECK(t.s[i].steps >= 10 && t.s[i].checkpoints > 0);
        CHECK(t.s[i].samples == SCENARIO_EPOCHS * SCENARIO_SAMPLES);
        CHECK(!way->plans || strcmp(way->mode, "sync") != 0 || t.s[i].splits > 0 ||
              (i > 0 && i < way->n - 1));
    }
    snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK(system(command) == 0);
}

/* ---- unlike rounds ---- */

static void mismatch_body(struct eddis *e, int rank, struct loop_job *j)
{
    (void)rank;
    CHECK(sets_mismatch(e, *(enum sets_mismatch *)j->arg) == 0);
}

/* node_of NULL: without a board, so by messages.  mode NULL: sync. */
static void test_mismatch(enum sets_mismatch how, int n, const int *node_of, const char *mode)
{
    struct loop_job j = { .n = n,
                          .body = mismatch_body,
                          .mode = mode,
                          .algorithm = mode ? "hsgd" : NULL,
                          .per_group = mode ? n : 0,
                          .period = mode ? 100 : 0,
                          .node_of = node_of,
                          .broken = -EPROTO,
                          .arg = &how };
    int64_t batch[MAX_RANKS] = { 10, 10, 10, 10 };

    for (int i = 0; i < n; i++)
        j.scenario[i].batch = 10 * n;
    if (node_of)
        loop_job_board_of(&j, batch);
    loop_job_run(&j);
}

/* ---- calls that are refused ---- */

static void add(struct eddis *e, int set, float *value)
{
    const struct eddis_parameter p = { .size = sizeof p,
                                       .name = "w",
                                       .dtype = EDDIS_FLOAT32,
                                       .n_dims = 1,
                                       .dims = { 1 },
                                       .value = value };
    int layer = eddis_add_layer_to(e, set, "layer", EDDIS_LAYER_OTHER, NULL);

    CHECK(eddis_add_parameter(e, layer, &p, NULL) >= 0);
}

static void refused_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[3] = { 0 }, g[3] = { (float)rank, 1, 2 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    (void)j;
    CHECK(eddis_add_layer_to(e, -1, "x", EDDIS_LAYER_OTHER, &err) == -EINVAL);
    CHECK(eddis_add_layer_to(e, EDDIS_MAX_SETS, "x", EDDIS_LAYER_OTHER, &err) == -EINVAL);
    add(e, 0, &value[0]);
    add(e, 2, &value[1]);
    CHECK(eddis_wait_set(e, 0, 0, &err) == -EINVAL);
    CHECK(eddis_set_round_weight(e, 0, 1, &err) == -EINVAL);
    CHECK(eddis_commit(e, &err) == -EINVAL && strstr(err.text, "set 1 of 3 has no parameter"));
    add(e, 1, &value[2]);
    CHECK(eddis_commit(e, &err) == 0);
    CHECK(eddis_wait_set(e, 0, 0, &err) == -EINVAL);
    CHECK(eddis_set_round_weight(e, 0, 1, &err) == -EINVAL);
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    CHECK(eddis_wait_set(e, 3, 0, &err) == -EINVAL && eddis_wait_set(e, -1, 0, &err) == -EINVAL);
    CHECK(eddis_set_round_weight(e, 3, 1, &err) == -EINVAL);
    CHECK(eddis_set_round_weight(e, 0, -1, &err) == -EINVAL);
    CHECK(eddis_set_round_weight(e, 0, rank == 0 ? 3 : 0, &err) == 0);
    CHECK(eddis_set_round_weight(e, 0, 1, &err) == -EINVAL);
    CHECK(eddis_announce(e, 0, &g[0], &g[0], &err) == 0);
    CHECK(eddis_set_round_weight(e, 0, 1, &err) == -EINVAL);
    CHECK(eddis_announce(e, 0, &g[0], &g[0], &err) == -EINVAL && strstr(err.text, "twice"));
    CHECK(eddis_wait_set(e, 0, 60 * CLOCK_S, &err) == 0 && g[0] == 0);
    CHECK(eddis_announce(e, 0, &g[1], &g[1], &err) == 0); /* another round */
    CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && g[1] == 1);
    CHECK(eddis_announce(e, 0, &g[0], &g[0], &err) == -EINVAL);
    CHECK(eddis_wait_set(e, 0, 60 * CLOCK_S, &err) == -EINVAL);
    CHECK(eddis_wait_layer(e, 0, 0, &err) == 0); /* its round is over */
    CHECK(eddis_wait_layer(e, 1, 0, &err) == -EINVAL);
    CHECK(eddis_step_end(e, NULL, &err) == 0);
}

static void test_refused(int n)
{
    struct loop_job j = { .n = n, .body = refused_body };

    loop_job_run(&j);
}

/* ---- a round behind the others' last ---- */

/* Make all steps, or begin the last one only. */
static void make_steps(struct eddis *e, bool all)
{
    struct eddis_step s = { .size = sizeof s }, next = { .size = sizeof next };
    struct eddis_error err = { 0 };
    int rc;

    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        if (!all && eddis_plan_step(e, s.step + 1, EDDIS_FOREVER, &next, &err) == 0)
            return;
        rc = eddis_wait(e, 60 * CLOCK_S, &err);
        if (rc < 0 || (rc = eddis_step_end(e, NULL, &err)) < 0)
            break;
    }
    CHECK(all && (rc == 0 || rc == -ECONNABORTED));
}

/* One more than the others, who wait for all: in sync mode in eddis_close, in hybrid mode for the
 * models to be drawn together.  Nobody can tell that they make no more, but the wait says for whom
 * it is.
 */
static void one_more_round(struct eddis *e, int sets)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;
    struct eddis_error err = { 0 };
    int rc;

    for (int set = 0; set < sets; set++)
        CHECK(eddis_wait_set(e, set, 60 * CLOCK_S, &err) == 0);
    do {
        err = (struct eddis_error){ 0 };
        rc = eddis_wait_set(e, sets - 1, CLOCK_MS, &err);
    } while (rc == -ETIMEDOUT && !strstr(err.text, "rank") && clock_now_ns() < end_ns);
    CHECK(rc == -ETIMEDOUT && strstr(err.text, "rank"));
}

/* The last rank makes it, and is ended from outside. */
static void last_body(struct eddis *e, int rank, struct loop_job *j)
{
    const int *sets = j->arg;
    float value[2] = { 0 };
    bool unlike = rank == j->n - 1;

    for (int set = 0; set < *sets; set++)
        add(e, set, &value[set]);
    CHECK(eddis_commit(e, NULL) == 0);
    make_steps(e, !unlike);
    if (!unlike)
        return;
    one_more_round(e, *sets);
    comm_thread_abort(e->comm_thread, 1);
}

static void test_last(int n, int sets, const char *mode)
{
    struct loop_job j = { .n = n,
                          .body = last_body,
                          .mode = mode,
                          .algorithm = mode ? "hsgd" : NULL,
                          .per_group = mode ? n : 0,
                          .period = mode ? 100 : 0,
                          .broken = -ECONNABORTED,
                          .arg = &sets };
    const int64_t batch[MAX_RANKS] = { 10, 10, 10, 10 };

    for (int i = 0; i < n; i++)
        j.scenario[i] = (struct scenario){ .batch = 10 * n, .epochs = 1 };
    if (mode)
        loop_job_board_of(&j, batch);
    loop_job_run(&j);
}

/* ---- weights of rounds ---- */

/* The last rank sets the weight of set 1's next round before anything of set 0: no round begins
 * with that, so that all have the same order of them.  What no round came for is forgotten.
 */
static void weighed_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[2] = { 0 }, g[2];
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    bool last = rank == j->n - 1;

    add(e, 0, &value[0]);
    add(e, 1, &value[1]);
    CHECK(eddis_commit(e, &err) == 0);
    for (int i = 0; i < 6; i++) {
        CHECK(eddis_step_begin(e, &s, &err) == 1);
        g[0] = g[1] = (float)rank;
        if (last) {
            CHECK(eddis_set_round_weight(e, 1, 0, &err) == 0);
            CHECK(eddis_set_round_weight(e, 1, 0, &err) == -EINVAL);
        }
        for (int set = 0; set < i % 3; set++) /* of none, of the first, of both */
            CHECK(eddis_announce(e, set, &g[set], &g[set], &err) == 0);
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0);
        if (i % 3)
            CHECK(fabsf(g[0] - (float)(j->n - 1) / 2) < 1e-5f);
        if (i % 3 == 2) /* without the last rank's */
            CHECK(fabsf(g[1] - (float)(j->n - 2) / 2) < 1e-5f);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
}

static void test_weighed(int emulated)
{
    struct loop_job j = { .n = 3, .body = weighed_body, .emulated = emulated };

    for (int i = 0; i < j.n; i++)
        j.scenario[i].batch = 30;
    loop_job_board_of(&j, (const int64_t[MAX_RANKS]){ 10, 10, 10 });
    loop_job_run(&j);
}

/* ---- a wait in slices ---- */

/* Wait for set 1 in slices until it is known for which rank. */
static void wait_in_vain(struct eddis *e)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;
    struct eddis_error err;
    int rc;

    do {
        err = (struct eddis_error){ 0 };
        rc = eddis_wait_set(e, 1, CLOCK_MS, &err);
    } while (rc == -ETIMEDOUT && !strstr(err.text, "rank") && clock_now_ns() < end_ns);
    CHECK(rc == -ETIMEDOUT && strstr(err.text, "rank"));
}

/* Rank 1 makes no round before the others have waited for it in vain. */
static void late_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[2] = { 0 }, g[2] = { (float)rank, 1 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    add(e, 0, &value[0]);
    add(e, 1, &value[1]);
    CHECK(eddis_commit(e, &err) == 0 && eddis_step_begin(e, &s, &err) == 1);
    while (rank == 1 && atomic_load(&j->opened) < j->n - 1)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    CHECK(eddis_announce(e, 1, &g[1], &g[1], &err) == 0);
    if (rank != 1) {
        wait_in_vain(e);
        CHECK(eddis_announce(e, 1, &g[1], &g[1], &err) == -EINVAL);
        CHECK(eddis_set_round_weight(e, 1, 1, &err) == -EINVAL);
        atomic_fetch_add(&j->opened, 1);
    }
    CHECK(eddis_wait_set(e, 1, 60 * CLOCK_S, &err) == 0 && g[1] == 1);
    CHECK(eddis_announce(e, 0, &g[0], &g[0], &err) == 0);
    CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && g[0] == 1); /* the mean of 0, 1 and 2 */
    CHECK(eddis_step_end(e, NULL, &err) == 0);
}

static void test_late(void)
{
    struct loop_job j = { .n = 3, .body = late_body };

    for (int i = 0; i < j.n; i++)
        j.scenario[i].batch = 30;
    loop_job_run(&j);
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
    struct eddis_error err = { 0 };

    for (int i = 0; i < BESIDE_ROUNDS; i++) {
        while (atomic_load(&b->begins) <= i)
            sched_yield();
        CHECK(eddis_announce(b->e, 1, &b->g[1], &b->g[1], &err) == 0);
        atomic_fetch_add(&b->announced, 1);
    }
    return NULL;
}

/* While the thread begins a round: the first layer's, which is over, or else it is not announced.
 * Whoever took it for that of the new round would wait in vain.
 */
static void beside_wait(struct beside *b, int i)
{
    struct eddis_error err = { 0 };

    atomic_fetch_add(&b->begins, 1);
    while (atomic_load(&b->announced) <= i) {
        int rc = eddis_wait_layer(b->e, 0, 60 * CLOCK_S, &err);

        CHECK(rc == 0 || (rc == -EINVAL && strstr(err.text, "was not announced")));
    }
    CHECK(eddis_announce(b->e, 0, &b->g[0], &b->g[0], &err) == 0);
    CHECK(eddis_wait_set(b->e, 0, 60 * CLOCK_S, &err) == 0);
}

static void beside_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct beside b = { .e = e };
    float value[2] = { 0 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    pthread_t thread;

    (void)rank, (void)j;
    add(e, 0, &value[0]);
    add(e, 0, &value[1]);
    CHECK(eddis_commit(e, &err) == 0 && eddis_step_begin(e, &s, &err) == 1);
    CHECK(pthread_create(&thread, NULL, beside_main, &b) == 0);
    for (int i = 0; i < BESIDE_ROUNDS; i++)
        beside_wait(&b, i);
    pthread_join(thread, NULL);
    CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && eddis_step_end(e, NULL, &err) == 0);
}

static void test_beside(void)
{
    struct loop_job j = { .n = 2, .body = beside_body };

    j.scenario[0].batch = j.scenario[1].batch = 20;
    loop_job_run(&j);
}

int main(void)
{
    test_late();
    test_last(2, 1, NULL);
    test_last(3, 2, NULL);
    test_last(3, 1, "hybrid");
    test_last(2, 2, "hybrid");
    test_beside();
    test_weighed(0);
    test_weighed(1);
    test_refused(1);
    test_refused(3);
    for (int i = 0; i < WAYS; i++)
        test_training(&ways[i]);
    for (int how = SETS_ORDER; how <= SETS_LAYERS; how++) {
        const enum sets_mismatch m = (enum sets_mismatch)how;

        if (how != SETS_LAYERS) { /* whose layers would share a bucket once they are measured */
            test_mismatch(m, 2, NULL, NULL);
            test_mismatch(m, 4, NULL, NULL);
        }
        test_mismatch(m, 3, (const int[]){ 0, 0, 0 }, NULL);
        test_mismatch(m, 4, (const int[]){ 0, 0, 1, 1 }, NULL);
        test_mismatch(m, 4, (const int[]){ 0, 0, 1, 1 }, "hybrid");
    }
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
