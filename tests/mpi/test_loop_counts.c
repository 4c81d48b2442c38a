/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_counts.c - what a worker may know of the samples of others, and samples that a program
 * counts itself, in every mode, a thread a rank over the loop
 */
#include "lib/base/clock.h"
#include "loop_job.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4 };

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

static const int64_t split[MAX_RANKS] = { 16, 12, 8, 4 }, other[MAX_RANKS] = { 4, 8, 12, 16 };

struct worker {
    struct eddis *e;
    struct loop_job *j;
    int rank, in_group, of_group, parameter;
    float w, g;
};

static void begin(struct worker *w, struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_error err = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 1 },
                                 .value = &w->w };

    *w = (struct worker){ .e = e, .j = j, .rank = rank };
    w->of_group = j->per_group ? j->per_group : RANKS;
    w->in_group = rank % w->of_group;
    w->parameter =
        eddis_add_parameter(e, eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err), &p, &err);
    CHECK(eddis_commit(e, &err) == 0);
}

static void end_step(struct worker *w)
{
    struct eddis_error err = { 0 };

    CHECK(eddis_announce(w->e, w->parameter, &w->g, &w->g, &err) == 0);
    CHECK(eddis_wait(w->e, TIMEOUT_NS, &err) == 0);
    CHECK(eddis_step_end(w->e, NULL, &err) == 0);
}

/* ---- counts of the group ---- */

static void check_counts(const struct worker *w, const struct eddis_step *s)
{
    struct eddis_error err = { 0 };
    int64_t count[RANKS], sum = 0, before = 0;

    CHECK(eddis_counts(w->e, s->step, count, &err) == w->of_group);
    for (int i = 0; i < w->of_group; i++) {
        before += i < w->in_group ? count[i] : 0;
        sum += count[i];
    }
    CHECK(count[w->in_group] == s->count && sum == s->batch);
    CHECK(s->samples_before == s->epoch * SCENARIO_SAMPLES + s->first - before);
    if (!w->j->per_group && s->batch == 40)
        CHECK(!memcmp(count, split, sizeof count) || !memcmp(count, other, sizeof count));
}

/* What the others are told of themselves is what this one is told of them. */
static void counts_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s }, next = s;
    struct eddis_error err = { 0 };
    int64_t count[RANKS];
    struct worker w;
    int rc, n = 0;

    CHECK(eddis_counts(e, 0, count, &err) == (j->per_group ? -EINVAL : RANKS));
    begin(&w, e, rank, j);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        if (rank == 0 && n++ == 2)
            loop_job_publish(j, other, 0);
        check_counts(&w, &s);
        rc = eddis_plan_step(e, s.step + 2, EDDIS_FOREVER, &next, &err);
        CHECK(rc >= 0);
        if (rc == 1)
            check_counts(&w, &next);
        CHECK(eddis_counts(e, s.step + 3, count, &err) == -ENOBUFS);
        end_step(&w);
    }
    CHECK(rc == 0 && eddis_counts(e, 0, count, &err) == -ESTALE);
}

/* ---- samples that the program counts ---- */

/* What every worker counts at a step, and the mean that its group then has. */
static int64_t own_count(int rank, int64_t step)
{
    return step == 1 && rank % 2 ? 0 : 3 * (rank + 1) + step;
}

static double mean(const struct worker *w, int64_t step)
{
    double sum = 0, n = 0;

    for (int i = w->rank - w->in_group; i < w->rank - w->in_group + w->of_group; i++) {
        sum += (double)own_count(i, step) * (i + 1);
        n += (double)own_count(i, step);
    }
    return n > 0 ? sum / n : 0;
}

static void count_step(struct worker *w, int64_t n)
{
    struct eddis_error err = { 0 };

    CHECK(eddis_set_count(w->e, -1, &err) == -EINVAL);
    CHECK(eddis_set_count(w->e, own_count(w->rank, n), &err) == 0);
    CHECK(eddis_set_count(w->e, 1, &err) == -EINVAL);
    CHECK(eddis_set_weight(w->e, 1, &err) == -EINVAL);
    w->g = (float)(w->rank + 1);
    end_step(w);
    CHECK(fabs(w->g - mean(w, n)) < 1e-5);
}

static void own_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    struct board_page page;
    int64_t index[SCENARIO_SAMPLES], done = 0;
    struct worker w;
    int rc;

    begin(&w, e, rank, j);
    CHECK(eddis_set_count(e, 1, &err) == -EINVAL); /* in no step */
    for (int64_t n = 0; (rc = eddis_step_begin(e, &s, &err)) == 1; n++) {
        if (!s.batch) { /* of no worker */
            end_step(&w);
            continue;
        }
        count_step(&w, n);
        done += own_count(rank, n);
        CHECK(eddis_sample_indices(e, &s, index, &err) == -EINVAL);
        CHECK(strstr(err.text, "eddis_set_count"));
    }
    CHECK(rc == 0);
    loop_job_page(j, rank, &page);
    CHECK(page.samples_done == done);
}

static void mixed_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int64_t index[SCENARIO_SAMPLES];
    struct worker w;
    int rc;

    begin(&w, e, rank, j);
    CHECK(eddis_set_count(e, 1, &err) == -EINVAL); /* in no step, which says nothing yet */
    CHECK(strstr(err.text, "between eddis_step_begin"));
    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        CHECK(eddis_sample_indices(e, &s, index, &err) == 0);
        CHECK(eddis_set_count(e, 1, &err) == -EINVAL);
        CHECK(strstr(err.text, "eddis_sample_indices"));
        end_step(&w);
    }
    CHECK(rc == 0);
}

/* ---- a new plan ---- */

static bool readable(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, ms) == 1;
}

static void plan_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int fd = eddis_plan_fd(e, &err), rc;
    struct worker w;
    uint64_t x;

    begin(&w, e, rank, j);
    CHECK(fd >= 0 && eddis_plan_fd(e, &err) == fd && !readable(fd, 0));
    if (rank == 0)
        loop_job_publish(j, other, 0);
    CHECK(eddis_barrier(e, TIMEOUT_NS, &err) == 0); /* all see it at their first step */
    CHECK(!readable(fd, 0));
    CHECK(eddis_step_begin(e, &s, &err) == 1);
    end_step(&w);
    CHECK(readable(fd, 60000) && read(fd, &x, sizeof x) == sizeof x);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1)
        end_step(&w);
    CHECK(rc == 0 && !readable(fd, 0));
}

static void run(const struct loop_job *like,
                void (*body)(struct eddis *e, int rank, struct loop_job *j))
{
    struct loop_job j = { .n = RANKS,
                          .mode = like->mode,
                          .algorithm = like->algorithm,
                          .per_group = like->per_group,
                          .period = like->period,
                          .body = body };

    for (int i = 0; i < RANKS; i++)
        j.scenario[i] = (struct scenario){ .epochs = 2 };
    loop_job_board_of(&j, split);
    loop_job_run(&j);
}

int main(void)
{
    static const struct loop_job rows[] = {
        { .mode = "sync", .algorithm = "allreduce" },
        { .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 },
        { .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run(&rows[i], counts_body);
        run(&rows[i], own_body);
        run(&rows[i], mixed_body);
        run(&rows[i], plan_body);
    }
    return loop_job_failures != 0;
}
