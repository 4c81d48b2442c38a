/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_waits.c - what the board tells of ranks that wait, over the in-process loop */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/worker/confirm.h"
#include "lib/worker/worker.h"
#include "loop_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether rank r's page says that it waits for rank 1, or for one whose page says so, and on: which
 * of them depends on the kind of all-reduce that was measured to be the quickest.  Pages of ranks
 * that are between two waits are looked at again.
 */
static bool leads_to_1(struct loop_job *j, int r)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;
    struct board_page page;
    int at;

    do {
        at = r;
        for (int n = 0; n < j->n && at >= 0 && at != 1; n++) {
            loop_job_page(j, at, &page);
            at = (int)page.waits_for;
        }
    } while (at != 1 && usleep(1000) == 0 && clock_now_ns() < end);
    return at == 1;
}

static void late_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    struct board_page page;
    int64_t since = 0;
    int rc;

    eddis_add_parameter(e, eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err), &p, &err);
    CHECK(eddis_commit(e, &err) == 0 && eddis_step_begin(e, &s, &err) == 1);
    if (rank == 1)
        while (atomic_load(&j->opened) < j->n - 1)
            usleep(1000);
    /* Several slices are one wait to the board, which tells for whom. */
    for (int i = 0; i < 3; i++) {
        rc = eddis_wait(e, rank == 1 ? 60 * CLOCK_S : CLOCK_S / 20, &err);
        if (rank == 1)
            break;
        loop_job_page(j, rank, &page);
        CHECK(page.phase == EDDIS_PHASE_WAIT && leads_to_1(j, rank));
        CHECK(since == 0 || since == page.phase_ns);
        since = page.phase_ns;
    }
    if (rank != 1) {
        CHECK(rc == -ETIMEDOUT && strstr(err.text, "waits for rank ") &&
              strstr(err.text, "'only'") && strstr(err.text, "step 0"));
        CHECK(eddis_barrier(e, 0, &err) == -ETIMEDOUT && strstr(err.text, "barrier"));
        atomic_fetch_add(&j->opened, 1);
        rc = eddis_wait(e, 60 * CLOCK_S, &err);
    }
    CHECK(rc == 0);
    loop_job_page(j, rank, &page);
    CHECK(page.phase == EDDIS_PHASE_COMPUTE && page.waits_for == -1);
    CHECK(eddis_step_end(e, NULL, &err) == 0);
    CHECK(eddis_barrier(e, 60 * CLOCK_S, &err) == 0); /* goes on with the one that timed out */
    loop_job_page(j, rank, &page);
    CHECK(page.waits_for == -1);
}

static void test_late(void)
{
    struct loop_job j = { .n = 4, .body = late_body };

    loop_job_board(&j);
    for (int i = 0; i < 4; i++)
        j.scenario[i].batch = 43;
    loop_job_run(&j);
}

/* Until the other rank's page tells for whom it waits; returns that. */
static int await_peer(struct loop_job *j, int rank, struct board_page *ret)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;

    do {
        usleep(1000);
        loop_job_page(j, rank, ret);
    } while (ret->waits_for < 0 && clock_now_ns() < end);
    return (int)ret->waits_for;
}

/* A wait in a checkpoint is told of like one in a step, and leads to the rank that is late. */
static void late_save_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    struct board_page page;
    char folder[128];

    snprintf(folder, sizeof folder, "%s/checkpoints", j->dir);
    CHECK(eddis_checkpoint_begin(e, folder, &c, &err) == 0);
    CHECK(eddis_checkpoint_put(c, "rank", &rank, sizeof rank, &err) == 0);
    for (int r = 0; rank == 1 && r < j->n; r++) {
        CHECK(r == 1 || (await_peer(j, r, &page) >= 0 && page.phase == EDDIS_PHASE_CHECKPOINT));
        CHECK(leads_to_1(j, r));
    }
    loop_job_page(j, rank, &page);
    CHECK(rank != 1 || page.waits_for == -1);
    CHECK(eddis_checkpoint_commit(c, 0, &err) == 0);
    loop_job_page(j, rank, &page);
    CHECK(page.phase == EDDIS_PHASE_START && page.waits_for == -1);
}

static void test_late_save(void)
{
    struct loop_job j = { .n = 4, .body = late_save_body };

    loop_job_board(&j);
    for (int i = 0; i < 4; i++)
        j.scenario[i].batch = 43;
    loop_job_run(&j);
    CHECK(file_remove_tree(j.dir, NULL) == 0);
}

/* Who gives up a wait and does something else does not wait. */
static void give_up_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_error err = { 0 };
    struct board_page page;

    if (rank == 0) {
        do {
            CHECK(eddis_barrier(e, CLOCK_MS, &err) == -ETIMEDOUT);
            loop_job_page(j, rank, &page);
        } while (page.waits_for != 1);
        eddis_set_phase(e, EDDIS_PHASE_EVALUATE);
        loop_job_page(j, rank, &page);
        CHECK(page.waits_for == -1);
        atomic_fetch_add(&j->opened, 1);
    }
    while (!atomic_load(&j->opened))
        usleep(1000);
    CHECK(eddis_barrier(e, 60 * CLOCK_S, &err) == 0);
}

static void test_give_up(void)
{
    struct loop_job j = { .n = 2, .body = give_up_body };

    loop_job_board(&j);
    for (int i = 0; i < 2; i++)
        j.scenario[i].batch = 43;
    loop_job_run(&j);
}

/* A call that timed out is gone on with by the very same call only.  Another one with its buffer is
 * refused until then, one with other buffers goes its own way.
 */
static void again_body(struct eddis *e, int rank, struct loop_job *j)
{
    const int64_t ns = 10 * CLOCK_S;
    struct eddis_error err = { 0 };
    int32_t x[2] = { rank + 1, 7 }, y = rank, all[4];

    if (rank == 0) {
        CHECK(eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_SUM, 0, &err) == -ETIMEDOUT);
        CHECK(eddis_broadcast(e, &y, sizeof y, 1, 0, &err) == -ETIMEDOUT);
        atomic_store(&j->opened, 1);
        CHECK(eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_MAX, ns, &err) == -EBUSY &&
              strstr(err.text, "eddis_allreduce"));
        CHECK(eddis_allreduce(e, x, 2, EDDIS_FLOAT32, EDDIS_SUM, ns, &err) == -EBUSY);
        CHECK(eddis_allgather(e, x + 1, all, sizeof *x, ns, &err) == -EBUSY);
        CHECK(eddis_broadcast(e, &y, sizeof y, 0, ns, &err) == -EBUSY &&
              strstr(err.text, "eddis_broadcast"));
    }
    while (!atomic_load(&j->opened))
        usleep(1000);
    CHECK(eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_SUM, ns, &err) == 0);
    CHECK(x[0] == 3 && x[1] == 14);
    CHECK(eddis_broadcast(e, &y, sizeof y, 1, ns, &err) == 0 && y == 1);
    x[0] = rank;
    CHECK(eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_MAX, ns, &err) == 0);
    CHECK(x[0] == 1 && x[1] == 14);
}

static void test_again(void)
{
    struct loop_job j = { .n = 2, .body = again_body };

    loop_job_board(&j);
    for (int i = 0; i < 2; i++)
        j.scenario[i].batch = 43;
    loop_job_run(&j);
}

/* What has been written to a file so far. */
static const char *content(FILE *f, char *ret, size_t size)
{
    ssize_t n = pread(fileno(f), ret, size - 1, 0);

    ret[n > 0 ? n : 0] = '\0';
    return ret;
}

/* Whether all other ranks wait in eddis_close, and it is known for whom. */
static bool others_wait(struct loop_job *j)
{
    struct board_page page;
    char said[4096], words[64];

    for (int r = 1; r < j->n; r++) {
        snprintf(words, sizeof words, "rank %d has reached eddis_close", r);
        if (!j->board && !strstr(content(j->arg, said, sizeof said), words))
            return false;
        if (j->board)
            loop_job_page(j, r, &page);
        if (j->board && (page.phase != EDDIS_PHASE_DONE || page.waits_for < 0))
            return false;
    }
    return true;
}

/* Rank 0 evaluates for several times `report_ns`, which stands for the minute, and is only missed:
 * nobody fails.
 */
static void late_leave_body(struct eddis *e, int rank, struct loop_job *j)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;

    if (rank != 0) {
        e->leave.report_ns = CLOCK_S / 20;
        return;
    }
    eddis_set_phase(e, EDDIS_PHASE_EVALUATE);
    while (!others_wait(j) && clock_now_ns() < end)
        usleep(1000);
    CHECK(others_wait(j));
    usleep(150000);
}

static void await_words(struct loop_job *j, const char *words)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;
    char said[4096];

    while (!strstr(content(j->arg, said, sizeof said), words) && clock_now_ns() < end)
        usleep(1000);
}

/* The same of an exit, which ends the step before. */
static void late_exit_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    CHECK(eddis_set_data(e, 100, 0, &err) == 0);
    CHECK(eddis_add_parameter(e, eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err), &p, &err) ==
          0);
    CHECK(eddis_commit(e, &err) == 0 && eddis_step_begin(e, &s, &err) == 1);
    if (rank != 0) {
        e->leave.report_ns = CLOCK_S / 20;
    } else {
        await_words(j, "minutes so far: step 0");
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && eddis_step_end(e, NULL, &err) == 0);
        await_words(j, "minutes so far: not all");
    }
    CHECK(ending_finish(e, &err) == 0);
}

/* Where a sanitizer writes what it finds. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

/* What standard error is told meanwhile. */
static void late_leave(void (*body)(struct eddis *e, int rank, struct loop_job *j), bool board,
                       bool hybrid, char *ret, size_t size)
{
    struct loop_job j = { .n = 3, .body = body, .arg = tmpfile() };
    int old = dup(STDERR_FILENO);

    for (int i = 0; i < 3; i++)
        j.scenario[i] = (struct scenario){ .batch = 43, .late = body == late_exit_body };
    if (hybrid) {
        j.mode = "hybrid";
        j.algorithm = "hsgd";
        j.per_group = 3;
        j.period = 2;
    }
    if (board)
        loop_job_board(&j);
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)old);
    CHECK(j.arg && old >= 0 && dup2(fileno(j.arg), STDERR_FILENO) >= 0);
    loop_job_run(&j);
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)STDERR_FILENO);
    CHECK(dup2(old, STDERR_FILENO) >= 0 && close(old) == 0);
    content(j.arg, ret, size);
    CHECK(fclose(j.arg) == 0);
}

static void test_late_leave(void)
{
    char said[4096];

    late_leave(late_leave_body, false, false, said, sizeof said);
    CHECK(strstr(said, "eddis: rank 1 has reached eddis_close and has waited for 0 minutes so far: "
                       "barrier still waits for rank 0\n"));
    CHECK(strstr(said, "eddis: rank 2 has reached eddis_close"));
    CHECK(!strstr(said, "eddis: rank 0 has come"));
    late_leave(late_leave_body, true, false, said, sizeof said); /* the board tells it */
    CHECK(said[0] == '\0');
    late_leave(late_leave_body, true, true, said, sizeof said);
    CHECK(said[0] == '\0');
    late_leave(late_exit_body, false, false, said, sizeof said);
    CHECK(
        strstr(said, "has reached its exit and has waited for 0 minutes so far: step 0: bucket 0"));
    CHECK(strstr(said, "0 minutes so far: not all workers have ended their steps: barrier still "));
    CHECK(!strstr(said, "eddis: rank 0 has come"));
}

/* Two workers that average their models every `period` steps: as one hybrid group, or async. */
static void models_run(void (*body)(struct eddis *e, int rank, struct loop_job *j), bool hybrid,
                       int64_t period)
{
    struct loop_job j = { .n = 2,
                          .body = body,
                          .mode = hybrid ? "hybrid" : "async",
                          .algorithm = hybrid ? "hsgd" : "easgd",
                          .per_group = hybrid ? 2 : 1,
                          .period = period };

    for (int i = 0; i < 2; i++)
        j.scenario[i] = (struct scenario){ .batch = 20, .read_ahead = 5 };
    loop_job_board_of(&j, (const int64_t[]){ 10, 10 });
    loop_job_run(&j);
    CHECK(file_remove_tree(j.dir, NULL) == 0); /* with checkpoints, where there are some */
}

/* Until this rank has reported a step's plan, which the others have not. */
static void await_report(struct eddis *e)
{
    bool frozen = false;

    while (!frozen) {
        usleep(1000);
        pthread_mutex_lock(&e->samples.lock);
        frozen = e->samples.held;
        pthread_mutex_unlock(&e->samples.lock);
    }
}

/* In hybrid mode the group's root may take samples for any step, but it may not say who of the
 * group takes which while the group agrees on a plan that says otherwise.
 */
static void ahead_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int64_t other[] = { 13, 7 };
    float value[4] = { 0 }, gradient[4];
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value,
                                 .result = gradient };
    struct eddis_step s = { .size = sizeof s }, later = { .size = sizeof later };
    struct eddis_error err = { 0 };
    int rc;

    eddis_add_parameter(e, eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err), &p, &err);
    CHECK(eddis_commit(e, &err) == 0);
    for (int step = 0; (rc = eddis_step_begin(e, &s, &err)) == 1; step++) {
        if (later.count && s.step == later.step)
            CHECK(s.first == later.first && s.count == later.count);
        if (step == 1 && rank == 0) {
            loop_job_publish(j, other, 0);
            CHECK(eddis_announce(e, 0, value, value, &err) == 0);
            await_report(e);
            CHECK(eddis_plan_step(e, s.step + 5, 0, &later, &err) == -EAGAIN);
            CHECK(eddis_plan_step(e, s.step + 5, CLOCK_MS, &later, &err) == -ETIMEDOUT);
            CHECK(strstr(err.text, "not agreed from which step"));
            CHECK(eddis_plan_step(e, s.step + 6, 0, &later, &err) == -ENOBUFS);
            atomic_store(&j->opened, 1);
            CHECK(eddis_plan_step(e, s.step + 5, EDDIS_FOREVER, &later, &err) == 1);
            CHECK(later.count == 13);
        } else if (step == 1) {
            while (!atomic_load(&j->opened))
                usleep(1000);
            usleep(20000);
        }
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", rank, err.text);
    CHECK(rc == 0 && s.step > 10);
}

static void test_ahead(void)
{
    models_run(ahead_body, true, 4);
}

/* In async mode a worker at its end is given an empty step for a checkpoint that another one
 * writes; one that does not take part is told so, instead of having both go round for ever.
 */
static void ignore_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    char folder[128];
    int rc;

    snprintf(folder, sizeof folder, "%s/checkpoints", j->dir);
    CHECK(eddis_commit(e, &err) == 0);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && eddis_step_end(e, NULL, &err) == 0);
        if (rank == 0 && s.step == 0)
            break;
    }
    if (rank == 1)
        CHECK(s.batch == 0 && rc == -EINVAL && strstr(err.text, "EDDIS_STEP_CHECKPOINT"));
    CHECK(eddis_checkpoint_begin(e, folder, &c, &err) == 0);
    CHECK(eddis_checkpoint_commit(c, 0, &err) == 0);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1)
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && eddis_step_end(e, NULL, &err) == 0);
    CHECK(rc == 0);
}

static void test_ignore(void)
{
    models_run(ignore_body, false, 4);
}

/* In hybrid mode a call that gave up an exchange goes on with it, and flags each checkpoint once.
 * All that it took is told of it, from the first call on.
 */
static void resume_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int flagged = 0, told = 0, rc;

    if (rank == 1)
        e->centre.timeout_ns = CLOCK_MS;
    eddis_add_parameter(e, eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err), &p, &err);
    CHECK(eddis_commit(e, &err) == 0);
    do {
        int64_t first_ns = 0, last_ns = 0;

        /* The group's root is late until the other one has given up five times. */
        while (rank == 0 && s.step > 0 && s.step < 40 && atomic_load(&j->opened) < 5)
            usleep(1000);
        while ((rc = eddis_step_begin(e, &s, &err)) == -ETIMEDOUT) {
            /* A thread that had no processor yet waits for nobody. */
            CHECK(rank == 1);
            CHECK(strstr(err.text, "waits for rank 0") || strstr(err.text, "has not finished"));
            atomic_fetch_add(&j->opened, 1);
            last_ns = clock_now_ns();
            first_ns = first_ns ? first_ns : last_ns;
        }
        if (rc == 1 && e->step.exchange_ns) {
            CHECK(e->step.exchange_ns >= last_ns - first_ns);
            told += first_ns > 0;
        }
        if (rank == 1)
            atomic_store(&j->opened, 0);
        if (rc == 1) {
            flagged += (s.flags & EDDIS_STEP_CHECKPOINT) != 0;
            CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && eddis_step_end(e, NULL, &err) == 0);
        }
    } while (rc == 1);
    CHECK(rc == 0);
    CHECK(flagged == SCENARIO_SAMPLES * SCENARIO_EPOCHS / 20 / 10);
    CHECK(rank == 0 || told > 0);
}

static void test_resume(void)
{
    models_run(resume_body, true, 1);
}

/* The barrier at the end of async mode is its own, not one of the program's that timed out. */
static void own_barrier_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int rc;

    CHECK(eddis_commit(e, &err) == 0);
    if (rank == 0)
        CHECK(eddis_barrier(e, 0, &err) == -ETIMEDOUT);
    else
        while (!atomic_load(&j->opened))
            usleep(1000);
    atomic_store(&j->opened, 1);
    if (rank == 1)
        CHECK(eddis_barrier(e, 10 * CLOCK_S, &err) == 0);
    while ((rc = eddis_step_begin(e, &s, &err)) == 1)
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && eddis_step_end(e, NULL, &err) == 0);
    CHECK(rc == 0);
    if (rank == 0) {
        CHECK(e->all.requests != NULL); /* it is still there */
        CHECK(eddis_barrier(e, CLOCK_S, &err) == 0 && e->all.requests == NULL);
    }
}

static void test_own_barrier(void)
{
    models_run(own_barrier_body, false, 4);
}

/* Until that rank's page tells that it waits for rank 1 in this phase, and a second more, which is
 * longer than it waits for messages.
 */
static void await_phase(struct loop_job *j, int rank, int phase)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;
    struct board_page page;

    do {
        usleep(1000);
        loop_job_page(j, rank, &page);
    } while ((page.waits_for != 1 || (int)page.phase != phase) && clock_now_ns() < end);
    CHECK(page.waits_for == 1 && (int)page.phase == phase);
    usleep(1100000);
}

/* In async mode a worker in a checkpoint, and then at its end, waits for the other one's samples
 * for as long as they take, and the board tells for whom.
 */
static void last_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    char folder[128];
    int rc;

    snprintf(folder, sizeof folder, "%s/checkpoints", j->dir);
    CHECK(eddis_commit(e, &err) == 0);
    e->centre.timeout_ns = rank == 0 ? CLOCK_S : 60 * CLOCK_S;
    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        if (rank == 1 && s.step < 2)
            await_phase(j, 0, s.step ? EDDIS_PHASE_WAIT : EDDIS_PHASE_CHECKPOINT);
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0 && eddis_step_end(e, NULL, &err) == 0);
        if (s.step > 0)
            continue;
        rc = eddis_checkpoint_begin(e, folder, &c, &err);
        if (rc < 0)
            break;
        CHECK(eddis_checkpoint_commit(c, 0, &err) == 0);
    }
    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", rank, err.text);
    CHECK(rc == 0);
}

static void test_last(void)
{
    models_run(last_body, false, 4);
}

/* Collectives of the library itself end all communication when they time out: their buffers may be
 * on a stack, and the others would take what comes next for the rest of them.
 */
static void give_up_own_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_error err = { 0 };

    atomic_fetch_add(&j->opened, 1);
    if (rank == 0) {
        while (atomic_load(&j->opened) < 2)
            usleep(1000);
        e->all.timeout_ns = CLOCK_S / 2; /* the thread needs a processor to find out for whom */
        CHECK(collectives_agree(&e->all, 0, &err) == -ETIMEDOUT &&
              strstr(err.text, "waits for rank 1"));
        CHECK(eddis_barrier(e, CLOCK_S, &err) == -ECONNABORTED);
        CHECK(strstr(err.text, "waits for rank 1"));
        comm_thread_abort(e->comm_thread, 1);
        atomic_fetch_add(&j->opened, 1);
    }
    while (atomic_load(&j->opened) < 3)
        usleep(1000);
    CHECK(collectives_agree(&e->all, 0, &err) == -ECONNABORTED);
}

static void test_give_up_own(void)
{
    struct loop_job j = { .n = 2, .body = give_up_own_body, .broken = -ECONNABORTED };

    loop_job_board(&j);
    for (int i = 0; i < 2; i++)
        j.scenario[i].batch = 43;
    loop_job_run(&j);
}

/* ---- eddis_commit: whether the network is what it was ---- */

/* Three nodes of one rank, 0 - 1 and 1 - 2, whose links were expected to carry `was` so far. */
static void confirm_body(struct eddis *e, int rank, struct loop_job *j)
{
    const double was = *(const double *)j->arg;
    struct board_area *a = calloc(1, sizeof *a);
    struct network_check found;
    struct eddis_error err = { 0 };

    a->first_rank = rank;
    a->checks = (struct network_checks){
        .turns = NETWORK_CHECK_TURNS,
        .row = { { rank == 1 ? 0 : 1, rank == 2 ? NETWORK_CHECK_TURNS - 1 : 0, was },
                 { rank == 1 ? 2 : -1, NETWORK_CHECK_TURNS - 1, was } },
    };
    CHECK(confirm_network(&e->all, a, &found, &err) == 0);
    CHECK(found.known && !found.holds);
    CHECK(found.from >= 0 && found.from < 3 && abs(found.to - found.from) == 1);
    CHECK(found.was_bytes_per_s == was);
    CHECK(found.bytes_per_s > was && found.wire_bytes_per_s > was);
    a->checks.turns = 0;
    CHECK(confirm_network(&e->all, a, &found, &err) == 0 && !found.known);
    CHECK(confirm_network(&e->all, NULL, &found, &err) == 0 && !found.known);
    free(a);
}

/* No loop is as slow as that. */
static void test_confirm(void)
{
    double was = 1e2;
    struct loop_job j = { .n = 3, .body = confirm_body, .arg = &was };

    loop_job_run(&j);
}

int main(void)
{
    test_late();
    test_late_save();
    test_give_up();
    test_late_leave();
    test_give_up_own();
    test_again();
    test_own_barrier();
    test_ahead();
    test_ignore();
    test_resume();
    test_last();
    test_confirm();
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
