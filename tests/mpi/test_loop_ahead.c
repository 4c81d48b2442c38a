/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_ahead.c - samples of sixteen steps ahead, asked for while plans change in every step:
 * over the loop, in every mode
 *
 * The thread that makes the steps asks before it announces, between that and its wait, and behind
 * it, a second thread all the time.  What is waited for comes without a step that has not ended, or
 * all would hang; what was said of a step never changes.
 */
#include "lib/base/clock.h"
#include "loop_job.h"
#include "values_scenario.h"

#include <errno.h>
#include <unistd.h>

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

enum { RANKS = 4, DIM = 4, AHEAD = 16, MOST_STEPS = 4096, WHOLE = 32 };

struct looker {
    struct eddis *e;
    pthread_mutex_t lock;
    int64_t first[MOST_STEPS], count[MOST_STEPS]; /* first + 1; 0: not told yet */
    atomic_llong present;
    atomic_bool over;
};

/* The same as whoever was told before. */
static void note(struct looker *l, const struct eddis_step *s)
{
    CHECK(s->step >= 0 && s->step < MOST_STEPS);
    pthread_mutex_lock(&l->lock);
    if (l->first[s->step]) {
        CHECK(l->first[s->step] == s->first + 1);
        CHECK(l->count[s->step] == s->count);
    }
    l->first[s->step] = s->first + 1;
    l->count[s->step] = s->count;
    pthread_mutex_unlock(&l->lock);
}

/* Returns what eddis_plan_step does. */
static int look(struct looker *l, int64_t step, int64_t timeout_ns)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int rc = eddis_plan_step(l->e, step, timeout_ns, &s, &err);

    if (rc == 1)
        note(l, &s);
    return rc;
}

static void look_at_all(struct looker *l, int64_t step, int64_t timeout_ns)
{
    for (int64_t i = 0; i <= AHEAD; i++)
        CHECK(look(l, step + i, timeout_ns) >= 0);
}

static void *look_beside(void *arg)
{
    struct looker *l = arg;

    for (int64_t i = 0; !atomic_load(&l->over); i = (i + 7) % (AHEAD + 1)) {
        int64_t timeout_ns = i % 3 ? EDDIS_FOREVER : 0;
        int rc = look(l, atomic_load(&l->present) + i, timeout_ns);

        CHECK(rc >= 0 || rc == -ESTALE || (rc == -EAGAIN && !timeout_ns));
        usleep(50);
    }
    return NULL;
}

/* Another split in every step. */
static void publish(struct loop_job *j, int64_t step)
{
    static const int64_t batch[][RANKS] = { { 8, 8, 8, 8 }, { 12, 4, 8, 8 }, { 4, 12, 4, 12 } };

    loop_job_publish(j, batch[step % 3], 0);
}

static int steps(struct looker *l, struct loop_job *j, int rank, int parameter)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    float g[DIM] = { 0 };
    bool by_plan = !j->per_group;
    int rc;

    while ((rc = eddis_step_begin(l->e, &s, &err)) == 1) {
        atomic_store(&l->present, s.step);
        note(l, &s);
        if (rank == 0)
            publish(j, s.step);
        /* The shared counter may not have answered. */
        look_at_all(l, s.step, by_plan ? 0 : EDDIS_FOREVER);
        CHECK(eddis_announce(l->e, parameter, g, g, &err) == 0);
        if ((s.step + rank) % 2)
            look_at_all(l, s.step, EDDIS_FOREVER);
        CHECK(eddis_wait(l->e, TIMEOUT_NS, &err) == 0);
        look_at_all(l, s.step, by_plan ? 0 : EDDIS_FOREVER);
        CHECK(eddis_step_end(l->e, NULL, &err) == 0);
    }
    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", rank, err.text);
    return rc;
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[DIM] = { 0 };
    struct eddis_parameter p = values_vector(value, DIM);
    struct looker l = { .e = e };
    struct eddis_error err = { 0 };
    struct board_page page;
    pthread_t beside;
    int parameter =
        eddis_add_parameter(e, eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err), &p, &err);

    CHECK(eddis_commit(e, &err) == 0);
    pthread_mutex_init(&l.lock, NULL);
    CHECK(pthread_create(&beside, NULL, look_beside, &l) == 0);
    CHECK(steps(&l, j, rank, parameter) == 0);
    atomic_store(&l.over, true);
    pthread_join(beside, NULL);
    pthread_mutex_destroy(&l.lock);
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
            rows[i].scenario[r] =
                (struct scenario){ .batch = WHOLE, .epochs = 12, .read_ahead = AHEAD };
        loop_job_board_of(&rows[i], (const int64_t[]){ 8, 8, 8, 8 });
        loop_job_run(&rows[i]);
    }
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
