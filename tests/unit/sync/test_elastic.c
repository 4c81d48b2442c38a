/* SPDX-License-Identifier: Apache-2.0 */
/* test_elastic.c - what becomes of a read of the centre that goes ahead of its exchange
 *
 * One writer of two, with a box that the test plays: it answers at once, except for reads, which
 * take one and a half steps.
 */
#include "lib/base/clock.h"
#include "lib/sync/sync.h"
#include "suite.h"

#include <string.h>

enum { DIM = 3, PERIOD = 4, STEP_MS = 100, READ_MS = 150 };

static const double rate = 0.5;

/* ---- the box ---- */

enum { CENTRE = 1, INCREMENT = 2 };

static struct box {
    double centre[DIM], increment[DIM];
    struct smb_request *reading; /* under way; NULL: none */
    int64_t done_ns;             /* when it is done */
    int reads;
} box;

/* The linker calls this function instead of smb_start. */
int __wrap_smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err);
int __wrap_smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err)
{
    if (r->kind == SMB_CREATE)
        r->key.id = INCREMENT;
    if (r->kind == SMB_WRITE)
        memcpy(r->key.id == CENTRE ? box.centre : box.increment, r->data, sizeof box.centre);
    for (int k = 0; k < DIM && r->kind == SMB_ACCUMULATE; k++)
        box.centre[k] += box.increment[k];
    r->done = r->kind != SMB_READ;
    if (r->done)
        return 1;
    ck_assert_ptr_null(box.reading);
    box.reading = r;
    box.done_ns = now_ns + READ_MS * CLOCK_MS;
    box.reads++;
    return 0;
}

/* ---- the writer ---- */

static struct writer {
    double x[DIM];
    struct sync_value value;
    struct sync *sync;
    struct outbox out; /* stays empty: the writer is one rank */
    int64_t now_ns;
} w;

/* Let time pass, in which the read under way may end. */
static void pass(int64_t ns)
{
    struct smb_request *r = box.reading;

    if (r && box.done_ns <= w.now_ns + ns) {
        ns -= box.done_ns - w.now_ns;
        w.now_ns = box.done_ns;
        memcpy(r->data, box.centre, sizeof box.centre);
        r->done = true;
        box.reading = NULL;
        ck_assert_int_eq(sync_box(w.sync, r, w.now_ns, &w.out, NULL), 0);
    }
    w.now_ns += ns;
}

static void exchange(enum sync_exchange what, int64_t step, int64_t period)
{
    const struct sync_turn turn = { .what = what, .step = step, .period = period };

    ck_assert_int_ge(sync_exchange(w.sync, &turn, w.now_ns, &w.out, NULL), 0);
    while (sync_exchanging(w.sync))
        pass(CLOCK_MS);
}

/* Make these steps, which do not change the model. */
static void steps(int64_t from, int64_t to, int64_t period)
{
    for (int64_t i = from; i < to; i++) {
        exchange(SYNC_STEP, i, period);
        sync_step(w.sync);
        pass(STEP_MS * CLOCK_MS);
    }
}

/* Begin with these models of this writer and of the other, which writes the centre. */
static void start(double own, double other)
{
    for (int k = 0; k < DIM; k++) {
        w.x[k] = own + k;
        box.centre[k] = other - k;
    }
    exchange(SYNC_START, 0, 0);
}

/* Open the writer's algorithm; close_writer closes it. */
static void open_as(const char *algorithm)
{
    struct sync_models models = { .value = &w.value,
                                  .n_values = 1,
                                  .centre = { { CENTRE }, { CENTRE } },
                                  .writer = 1,
                                  .n_writers = 2,
                                  .timeout_ns = CLOCK_S };
    struct sync_setup setup = { .place = { .rank = 0, .n_ranks = 1 },
                                .models = &models,
                                .options = { .moving_rate = rate } };

    box = (struct box){ 0 };
    w = (struct writer){ .now_ns = CLOCK_S };
    w.value = (struct sync_value){ w.x, DIM, COMM_FLOAT64 };
    ck_assert_int_eq(sync_open(algorithm, &setup, &w.sync, NULL), 0);
}

static void close_writer(void)
{
    ck_assert_uint_eq(w.out.n, 0);
    sync_close(w.sync);
}

/* Check that an exchange with this centre has changed the model and the centre that were. */
static void assert_drawn(const double *was, const double *centre)
{
    for (int k = 0; k < DIM; k++) {
        const double d = rate * (was[k] - centre[k]);

        ck_assert_double_eq(w.x[k], was[k] - d);
        ck_assert_double_eq(box.centre[k], centre[k] + d);
    }
}

/* ---- the tests ---- */

/* Exchanges come before steps 2, 6, 10 ...; the third one's read begins before step 8 and ends in
 * step 9.
 */
enum { READS_AT = 8 };

static const char *const algorithms_of_box[] = { "easgd", "hsgd" };

/* Train until a read is under way, and for some steps more. */
static void read_ahead(const char *algorithm, int64_t more)
{
    open_as(algorithm);
    start(1, 5);
    steps(0, READS_AT, PERIOD);
    ck_assert_int_eq(box.reads, 2);
    steps(READS_AT, READS_AT + more, PERIOD);
    ck_assert_int_eq(box.reads, 3);
    ck_assert_int_eq(!box.reading, more > 1);
}

/* The read that went ahead is the one that the exchange uses. */
START_TEST(a_read_goes_ahead)
{
    for (int a = 0; a < 2; a++) {
        double was[DIM], centre[DIM];

        read_ahead(algorithms_of_box[a], 2);
        memcpy(was, w.x, sizeof was);
        memcpy(centre, box.centre, sizeof centre);
        for (int k = 0; k < DIM; k++)
            box.centre[k] = 100; /* by another writer, after the read */
        steps(READS_AT + 2, READS_AT + 3, PERIOD);
        ck_assert_int_eq(box.reads, 3);
        for (int k = 0; k < DIM; k++)
            ck_assert_double_eq(w.x[k], was[k] - rate * (was[k] - centre[k]));
        close_writer();
    }
}
END_TEST

/* A checkpoint is restored between two exchanges, when the read has ended (more 2) or has not: the
 * next exchange is with the centre of the checkpoint.
 */
START_TEST(a_restore_forgets_the_read)
{
    for (int64_t more = 1; more <= 2; more++) {
        double was[DIM], centre[DIM];

        read_ahead(algorithms_of_box[_i], more);
        exchange(SYNC_LEAVE, 0, 0);
        start(-3, 20);
        memcpy(was, w.x, sizeof was);
        memcpy(centre, box.centre, sizeof centre);
        steps(4, 6, PERIOD);
        ck_assert_mem_eq(w.x, was, sizeof was);
        steps(6, 7, PERIOD);
        assert_drawn(was, centre);
        close_writer();
    }
}
END_TEST

/* The next plan's exchanges are further apart: a read that would be old then is made anew. */
START_TEST(a_longer_period_forgets_the_read)
{
    double was[DIM], centre[DIM];

    read_ahead(algorithms_of_box[_i], 2);
    for (int k = 0; k < DIM; k++)
        centre[k] = box.centre[k] = 100;
    memcpy(was, w.x, sizeof was);
    steps(READS_AT + 2, 16, 32); /* before step 16 the exchange is due */
    ck_assert_mem_eq(w.x, was, sizeof was);
    steps(16, 17, 32);
    assert_drawn(was, centre);
    close_writer();
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, a_read_goes_ahead);
    tcase_add_loop_test(tc, a_restore_forgets_the_read, 0, 2);
    tcase_add_loop_test(tc, a_longer_period_forgets_the_read, 0, 2);
}

SUITE_MAIN("elastic", add_tests)
