/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_waits.c - what the board shows of ranks that wait, over the in-process loop */
#include "lib/base/clock.h"
#include "lib/worker/confirm.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Jobs of two, three and four ranks; whoever has a folder gets it as arg. */
static const struct loop_job two = { .n = 2, .split = { 10, 13 } },
                             three = { .n = 3, .split = { 10, 20, 13 } },
                             four = { .n = 4, .split = { 10, 20, 0, 13 } };

static void run_with_folder(const struct loop_job *like, loop_body_fn *body)
{
    char folder[64];

    CHECK(own_folder_make(folder, sizeof folder) == 0);
    loop_job_run_body(like, body, folder);
}

/* Whether rank r's page says that it waits for rank 1, or for one whose page says so, and on: which
 * of them depends on the kind of all-reduce that was measured to be the quickest.  Pages of ranks
 * that are between two waits are looked at again.
 */
static bool leads_to_1(struct loop_job *j, int r)
{
    int64_t end = clock_now_ns() + TIMEOUT_NS;
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
    struct eddis_error late = { 0 };
    struct board_page page;
    struct eddis_step s;
    int64_t since = 0;

    (void)commit_vector(e, value, 4);
    CHECK(step_begin(e, &s));
    loop_job_await(j, rank == 1 ? j->n - 1 : 0);
    /* Several slices are one wait to the board, which says for whom. */
    for (int i = 0; i < 3 && rank != 1; i++) {
        CHECK(eddis_wait(e, CLOCK_S / 20, &late) == -ETIMEDOUT);
        loop_job_page(j, rank, &page);
        CHECK(page.phase == EDDIS_PHASE_WAIT && leads_to_1(j, rank));
        CHECK(since == 0 || since == page.phase_ns);
        since = page.phase_ns;
    }
    if (rank != 1) {
        CHECK(strstr(late.text, "waits for rank ") && strstr(late.text, "'only'") &&
              strstr(late.text, "step 0"));
        REFUSED(-ETIMEDOUT, "barrier", eddis_barrier(e, 0, &err));
        loop_job_reach(j);
    }
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    loop_job_page(j, rank, &page);
    CHECK(page.phase == EDDIS_PHASE_COMPUTE && page.waits_for == -1);
    OK(eddis_step_end(e, NULL, &err));
    OK(eddis_barrier(e, TIMEOUT_NS, &err)); /* goes on with the one that timed out */
    loop_job_page(j, rank, &page);
    CHECK(page.waits_for == -1);
}

/* Wait until the other rank's page says for whom it waits.  Return that. */
static int await_peer(struct loop_job *j, int rank, struct board_page *ret)
{
    int64_t end = clock_now_ns() + TIMEOUT_NS;

    do {
        usleep(1000);
        loop_job_page(j, rank, ret);
    } while (ret->waits_for < 0 && clock_now_ns() < end);
    return (int)ret->waits_for;
}

/* A wait in a checkpoint is shown like one in a step, and leads to the rank that is late. */
static void late_save_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_checkpoint *c = NULL;
    struct board_page page;

    OK(eddis_checkpoint_begin(e, j->arg, &c, &err));
    OK(eddis_checkpoint_put(c, "rank", &rank, sizeof rank, &err));
    for (int r = 0; rank == 1 && r < j->n; r++) {
        CHECK(r == 1 || (await_peer(j, r, &page) >= 0 && page.phase == EDDIS_PHASE_CHECKPOINT));
        CHECK(leads_to_1(j, r));
    }
    loop_job_page(j, rank, &page);
    CHECK(rank != 1 || page.waits_for == -1);
    OK(eddis_checkpoint_commit(c, 0, &err));
    loop_job_page(j, rank, &page);
    CHECK(page.phase == EDDIS_PHASE_START && page.waits_for == -1);
}

/* A checkpoint that is committed or abandoned after some steps is in its phase then, and leaves the
 * phase in which the worker is.
 */
static void later_save_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_checkpoint *c[2] = { NULL };
    struct board_page page;

    for (int i = 0; i < 2; i++) {
        eddis_set_phase(e, EDDIS_PHASE_START);
        OK(eddis_checkpoint_begin(e, j->arg, &c[i], &err));
        eddis_set_phase(e, EDDIS_PHASE_INPUT);
        for (int r = 0; rank == 1 && r < j->n; r++)
            CHECK(r == 1 || (await_peer(j, r, &page) == 1 && page.phase == EDDIS_PHASE_CHECKPOINT));
        OK(i ? eddis_checkpoint_abandon(c[i], &err) : eddis_checkpoint_commit(c[i], 0, &err));
        loop_job_page(j, rank, &page);
        CHECK(page.phase == EDDIS_PHASE_INPUT && page.waits_for == -1);
        OK(eddis_barrier(e, TIMEOUT_NS, &err));
    }
}

/* Who gives up a wait and does something else does not wait. */
static void give_up_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page page;

    if (rank == 0) {
        do {
            REFUSED(-ETIMEDOUT, "", eddis_barrier(e, CLOCK_MS, &err));
            loop_job_page(j, rank, &page);
        } while (page.waits_for != 1);
        eddis_set_phase(e, EDDIS_PHASE_EVALUATE);
        loop_job_page(j, rank, &page);
        CHECK(page.waits_for == -1);
        loop_job_reach(j);
    }
    loop_job_await(j, 1);
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
}

/* A call that timed out is gone on with by the very same call only.  Another one with its buffer is
 * refused until then, one with other buffers goes its own way.
 */
static void again_body(struct eddis *e, int rank, struct loop_job *j)
{
    const int64_t ns = 10 * CLOCK_S;
    int32_t x[2] = { rank + 1, 7 }, y = rank, all[4];

    if (rank == 0) {
        REFUSED(-ETIMEDOUT, "", eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_SUM, 0, &err));
        REFUSED(-ETIMEDOUT, "", eddis_broadcast(e, &y, sizeof y, 1, 0, &err));
        loop_job_reach(j);
        REFUSED(-EBUSY, "eddis_allreduce",
                eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_MAX, ns, &err));
        REFUSED(-EBUSY, "", eddis_allreduce(e, x, 2, EDDIS_FLOAT32, EDDIS_SUM, ns, &err));
        REFUSED(-EBUSY, "", eddis_allgather(e, x + 1, all, sizeof *x, ns, &err));
        REFUSED(-EBUSY, "eddis_broadcast", eddis_broadcast(e, &y, sizeof y, 0, ns, &err));
    }
    loop_job_await(j, 1);
    OK(eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_SUM, ns, &err));
    CHECK(x[0] == 3 && x[1] == 14);
    OK(eddis_broadcast(e, &y, sizeof y, 1, ns, &err));
    CHECK(y == 1);
    x[0] = rank;
    OK(eddis_allreduce(e, x, 2, EDDIS_INT32, EDDIS_MAX, ns, &err));
    CHECK(x[0] == 1 && x[1] == 14);
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
    int64_t end = clock_now_ns() + TIMEOUT_NS;

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
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    char said[4096];

    while (!strstr(content(j->arg, said, sizeof said), words) && clock_now_ns() < end)
        usleep(1000);
}

/* The same of an exit, which ends the step before. */
static void late_exit_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 };
    struct eddis_step s;

    OK(eddis_set_data(e, 100, 0, &err));
    (void)commit_vector(e, value, 4);
    CHECK(step_begin(e, &s));
    if (rank != 0) {
        e->leave.report_ns = CLOCK_S / 20;
    } else {
        await_words(j, "minutes so far: step 0");
        step_end(e);
        await_words(j, "minutes so far: not all");
    }
    OK(ending_finish(e, &err));
}

/* Where a sanitizer writes what it finds. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

/* Run a job, and write to ret what comes to standard error meanwhile. */
static void late_leave(loop_body_fn *body, const struct loop_job *like, char *ret, size_t size)
{
    struct loop_job j = *like;
    FILE *f = tmpfile();
    int old = dup(STDERR_FILENO);

    j.each.late = body == late_exit_body;
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)old);
    CHECK(f && old >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
    loop_job_run_body(&j, body, f);
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)STDERR_FILENO);
    CHECK(dup2(old, STDERR_FILENO) >= 0 && close(old) == 0);
    content(f, ret, size);
    CHECK(fclose(f) == 0);
}

static void test_late_leave(void)
{
    const struct loop_job alone = { .n = 3, .each.batch = 43 };
    struct loop_job hybrid = three;
    char said[4096];

    hybrid.per_group = 3;
    late_leave(late_leave_body, &alone, said, sizeof said);
    CHECK(strstr(said, "eddis: rank 1 has reached eddis_close and has waited for 0 minutes so far: "
                       "barrier still waits for rank 0\n"));
    CHECK(strstr(said, "eddis: rank 2 has reached eddis_close"));
    CHECK(!strstr(said, "eddis: rank 0 has come"));
    late_leave(late_leave_body, &three, said, sizeof said); /* the board shows it */
    CHECK(said[0] == '\0');
    late_leave(late_leave_body, &hybrid, said, sizeof said);
    CHECK(said[0] == '\0');
    late_leave(late_exit_body, &alone, said, sizeof said);
    CHECK(
        strstr(said, "has reached its exit and has waited for 0 minutes so far: step 0: bucket 0"));
    CHECK(strstr(said, "0 minutes so far: not all workers have ended their steps: barrier still "));
    CHECK(!strstr(said, "eddis: rank 0 has come"));
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
    struct eddis_parameter p = vector_of(value, 4);
    struct eddis_step s = { .step = 0 }, later = { .size = sizeof later };

    p.result = gradient;
    (void)add_parameter(e, &p);
    OK(eddis_commit(e, &err));
    for (int step = 0; step_begin(e, &s); step++) {
        if (later.count && s.step == later.step)
            CHECK(s.first == later.first && s.count == later.count);
        if (step == 1 && rank == 0) {
            loop_job_publish(j, other, 0);
            step_announce(e, 0, value);
            await_report(e);
            REFUSED(-EAGAIN, "", eddis_plan_step(e, s.step + 5, 0, &later, &err));
            REFUSED(-ETIMEDOUT, "not agreed from which step",
                    eddis_plan_step(e, s.step + 5, CLOCK_MS, &later, &err));
            REFUSED(-ENOBUFS, "", eddis_plan_step(e, s.step + 6, 0, &later, &err));
            loop_job_reach(j);
            GIVES(1, eddis_plan_step(e, s.step + 5, EDDIS_FOREVER, &later, &err));
            CHECK(later.count == 13);
        } else if (step == 1) {
            loop_job_await(j, 1);
            usleep(20000);
        }
        step_end(e);
    }
    CHECK(s.step > 10);
}

/* In async mode a worker at its end is given an empty step for a checkpoint that another one
 * writes; one that does not take part learns so, instead of having both go round for ever.
 */
static void ignore_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error ignored = { 0 };
    int rc;

    OK(eddis_commit(e, &err));
    while ((rc = eddis_step_begin(e, &s, &ignored)) == 1) {
        step_end(e);
        if (rank == 0 && s.step == 0)
            break;
    }
    if (rank == 1)
        CHECK(s.batch == 0 && rc == -EINVAL && strstr(ignored.text, "EDDIS_STEP_CHECKPOINT"));
    save(e, j->arg, NULL, 0);
    make_steps(e);
}

/* In hybrid mode a call that gave up an exchange goes on with it, and flags each checkpoint once.
 * The time of it counts from the first call on.
 */
static void resume_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error late = { 0 };
    int flagged = 0, reported = 0, rc;

    if (rank == 1)
        e->centre.timeout_ns = CLOCK_MS;
    (void)commit_vector(e, value, 4);
    do {
        int64_t first_ns = 0, last_ns = 0;

        /* The group's root is late until the other one has given up five times. */
        loop_job_await(j, rank == 0 && s.step > 0 && s.step < 40 ? 5 : 0);
        while ((rc = eddis_step_begin(e, &s, &late)) == -ETIMEDOUT) {
            /* A thread that had no processor yet waits for nobody. */
            CHECK(rank == 1);
            CHECK(strstr(late.text, "waits for rank 0") || strstr(late.text, "has not finished"));
            loop_job_reach(j);
            last_ns = clock_now_ns();
            first_ns = first_ns ? first_ns : last_ns;
        }
        if (rc == 1 && e->step.exchange_ns) {
            CHECK(e->step.exchange_ns >= last_ns - first_ns);
            reported += first_ns > 0;
        }
        if (rank == 1)
            atomic_store(&j->reached, 0);
        if (rc == 1) {
            flagged += (s.flags & EDDIS_STEP_CHECKPOINT) != 0;
            step_end(e);
        }
    } while (rc == 1);
    CHECK(rc == 0, "%s", late.text);
    CHECK(flagged == SCENARIO_SAMPLES * SCENARIO_EPOCHS / 20 / 10);
    CHECK(rank == 0 || reported > 0);
}

/* The barrier at the end of async mode is its own, not one of the program's that timed out. */
static void own_barrier_body(struct eddis *e, int rank, struct loop_job *j)
{
    OK(eddis_commit(e, &err));
    if (rank == 0)
        REFUSED(-ETIMEDOUT, "", eddis_barrier(e, 0, &err));
    else
        loop_job_await(j, 1);
    loop_job_reach(j);
    if (rank == 1)
        OK(eddis_barrier(e, 10 * CLOCK_S, &err));
    make_steps(e);
    if (rank == 0) {
        CHECK(e->all.requests != NULL); /* it is still there */
        OK(eddis_barrier(e, CLOCK_S, &err));
        CHECK(e->all.requests == NULL);
    }
}

/* Until that rank's page says that it waits for rank 1 in this phase, and a second more, which is
 * longer than it waits for messages.
 */
static void await_phase(struct loop_job *j, int rank, int phase)
{
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    struct board_page page;

    do {
        usleep(1000);
        loop_job_page(j, rank, &page);
    } while ((page.waits_for != 1 || (int)page.phase != phase) && clock_now_ns() < end);
    CHECK(page.waits_for == 1 && (int)page.phase == phase);
    usleep(1100000);
}

/* In async mode a worker in a checkpoint, and then at its end, waits for the other one's samples
 * for as long as they take, and the board says for whom.
 */
static void last_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_step s;

    OK(eddis_commit(e, &err));
    e->centre.timeout_ns = rank == 0 ? CLOCK_S : TIMEOUT_NS;
    while (step_begin(e, &s)) {
        if (rank == 1 && s.step < 2)
            await_phase(j, 0, s.step ? EDDIS_PHASE_WAIT : EDDIS_PHASE_CHECKPOINT);
        step_end(e);
        if (s.step == 0)
            save(e, j->arg, NULL, 0);
    }
}

/* Collectives of the library itself end all communication when they time out: their buffers may be
 * on a stack, and the others would take what comes next for the rest of them.
 */
static void give_up_own_body(struct eddis *e, int rank, struct loop_job *j)
{
    loop_job_reach(j);
    if (rank == 0) {
        loop_job_await(j, 2);
        e->all.timeout_ns = CLOCK_S / 2; /* the thread needs a processor to find out for whom */
        REFUSED(-ETIMEDOUT, "waits for rank 1", collectives_agree(&e->all, 0, &err));
        REFUSED(-ECONNABORTED, "waits for rank 1", eddis_barrier(e, CLOCK_S, &err));
        comm_thread_abort(e->comm_thread, 1);
        loop_job_reach(j);
    }
    loop_job_await(j, 3);
    REFUSED(-ECONNABORTED, "", collectives_agree(&e->all, 0, &err));
}

/* ---- eddis_commit: whether the network is what it was ---- */

/* Three nodes of one rank, 0 - 1 and 1 - 2, whose links were expected to carry `was` so far. */
static void confirm_body(struct eddis *e, int rank, struct loop_job *j)
{
    const double was = *(const double *)j->arg;
    struct board_area *a = calloc(1, sizeof *a);
    struct network_check found;

    a->first_rank = rank;
    a->checks = (struct network_checks){
        .turns = NETWORK_CHECK_TURNS,
        .row = { { rank == 1 ? 0 : 1, rank == 2 ? NETWORK_CHECK_TURNS - 1 : 0, was },
                 { rank == 1 ? 2 : -1, NETWORK_CHECK_TURNS - 1, was } },
    };
    OK(confirm_network(&e->all, a, &found, &err));
    CHECK(found.known && !found.holds);
    CHECK(found.from >= 0 && found.from < 3 && abs(found.to - found.from) == 1);
    CHECK(found.was_bytes_per_s == was);
    CHECK(found.bytes_per_s > was && found.wire_bytes_per_s > was);
    a->checks.turns = 0;
    OK(confirm_network(&e->all, a, &found, &err));
    CHECK(!found.known);
    OK(confirm_network(&e->all, NULL, &found, &err));
    CHECK(!found.known);
    free(a);
}

int main(void)
{
    /* They average their models every `period` steps: as one hybrid group, or async. */
    const struct loop_job averaging = { .n = 2, .share = 10, .period = 4, .each.read_ahead = 5 };
    struct loop_job async = averaging, hybrid = averaging, broken = two;
    double was = 1e2; /* no loop is as slow as that */

    async.per_group = ASYNC;
    hybrid.per_group = 2;
    broken.closes = -ECONNABORTED;
    loop_job_run_body(&four, late_body, NULL);
    run_with_folder(&four, late_save_body);
    run_with_folder(&two, later_save_body);
    loop_job_run_body(&two, give_up_body, NULL);
    test_late_leave();
    loop_job_run_body(&broken, give_up_own_body, NULL);
    loop_job_run_body(&two, again_body, NULL);
    loop_job_run_body(&async, own_barrier_body, NULL);
    loop_job_run_body(&hybrid, ahead_body, NULL);
    run_with_folder(&async, ignore_body);
    run_with_folder(&async, last_body);
    hybrid.period = 1;
    loop_job_run_body(&hybrid, resume_body, NULL);
    loop_job_run_body(&(struct loop_job){ .n = 3 }, confirm_body, &was);
    return check_result();
}
