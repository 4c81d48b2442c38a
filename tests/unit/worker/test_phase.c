/* SPDX-License-Identifier: Apache-2.0 */
/* test_phase.c - tests of lib/worker/phase.h: where a step's time goes */
#include "lib/worker/phase.h"

#include "suite.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A step of 100 ns that waits for samples 10, computes 60 and is blocked 30; of that the least of
 * all workers was 20.
 */
static struct board_times step(struct phase_clock *c, const int64_t *measured)
{
    phase_clock_init(c, 0);
    c->exposed_ns = 20;
    phase_clock_set(c, EDDIS_PHASE_INPUT, 1000);
    phase_clock_set(c, EDDIS_PHASE_COMPUTE, 1010);
    phase_clock_set(c, EDDIS_PHASE_WAIT, 1050);
    phase_clock_set(c, EDDIS_PHASE_COMPUTE, 1080);
    return phase_clock_step(c, 1100, measured[0], measured[1], measured[2]);
}

/* Rows: as the program measured, and what is shown. */
static const struct {
    int64_t measured[3]; /* compute, input, read */
    struct board_times t;
    int64_t blocked_ns;
} rows[] = {
    { { 0, 0, 0 }, { 10, 60, 20, 10, 100 }, 30 }, /* it did not */
    { { 65, 0, 0 }, { 10, 65, 20, 5, 100 }, 25 }, /* the wait shrinks by as much, */
    { { 75, 0, 0 }, { 10, 75, 15, 0, 100 }, 15 }, /* then what is exposed, */
    { { 95, 0, 0 }, { 5, 95, 0, 0, 100 }, 0 },    /* then the wait for input, */
    { { 500, 0, 0 }, { 0, 100, 0, 0, 100 }, 0 },  /* and no more than there is */
    { { INT64_MAX, INT64_MAX, INT64_MAX }, { 0, 100, 0, 0, 100 }, 0 },
    { { 0, 1, 0 }, { 1, 60, 20, 19, 100 }, 39 },
    { { 0, 500, 0 }, { 40, 60, 0, 0, 100 }, 0 },
    { { 40, 30, 0 }, { 30, 40, 20, 10, 100 }, 30 },
    { { 0, 0, 65 }, { 10, 60, 20, 10, 100 }, 30 }, /* it hid behind compute and 5 of 10 waits */
    { { 0, 0, 75 }, { 15, 60, 20, 5, 100 }, 30 },  /* and now behind the wait for others too, */
    { { 0, 0, 95 },
      { 35, 60, 5, 0, 100 },
      30 }, /* which shared what they were blocked all the same */
    { { 0, 0, INT64_MAX }, { 40, 60, 0, 0, 100 }, 30 },
};

START_TEST(parts_add_up)
{
    struct phase_clock c;
    struct board_times t = step(&c, rows[_i].measured);

    ck_assert_int_eq(c.blocked_ns, rows[_i].blocked_ns);
    ck_assert_int_eq(t.input_ns, rows[_i].t.input_ns);
    ck_assert_int_eq(t.compute_ns, rows[_i].t.compute_ns);
    ck_assert_int_eq(t.exposed_ns, rows[_i].t.exposed_ns);
    ck_assert_int_eq(t.wait_ns, rows[_i].t.wait_ns);
    ck_assert_int_eq(t.total_ns, rows[_i].t.total_ns);
}
END_TEST

/* The least of what workers were blocked is communication: of that the wait for a device is no part
 * either.
 */
START_TEST(blocked_without_the_device)
{
    struct phase_clock c;

    phase_clock_init(&c, 0);
    phase_clock_set(&c, EDDIS_PHASE_WAIT, 10);
    phase_clock_step(&c, 110, 70, 1, 0);
    ck_assert_int_eq(c.blocked_ns, 100 - 70 - 1);
}
END_TEST

/* An exchange of models, in the beginning of one step of many: it is all communication. */
START_TEST(exposed_in_its_own_step)
{
    struct phase_clock c;
    int64_t now = 0, sum = 0;

    phase_clock_init(&c, now);
    for (int step = 0; step < 9; step++) {
        struct board_times t;
        int64_t waited = step % 3 == 0 ? 50 : 0;

        phase_clock_set(&c, EDDIS_PHASE_WAIT, now);
        phase_clock_set(&c, EDDIS_PHASE_COMPUTE, now += waited);
        c.exposed_ns = phase_clock_blocked(&c);
        phase_clock_set(&c, EDDIS_PHASE_WAIT, now += 100);
        t = phase_clock_step(&c, now += 2, 0, 0, 0);
        ck_assert_int_eq(t.compute_ns, 100);
        ck_assert_int_eq(t.exposed_ns, step ? waited + 2 : 0); /* the first: for who began later */
        sum += t.exposed_ns;
    }
    ck_assert_int_eq(sum, 2 * 50 + 8 * 2);
}
END_TEST

static void *other_thread(void *arg)
{
    return phase_is_own(arg) ? arg : NULL;
}

/* Whether phase_is_own says so in another thread. */
static bool own_elsewhere(struct phase *phase)
{
    pthread_t thread;
    void *ret;

    ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, phase), 0);
    ck_assert_int_eq(pthread_join(thread, &ret), 0);
    return ret != NULL;
}

/* Beside the thread that makes the steps others wait for themselves. */
START_TEST(waits_of_another_thread)
{
    struct phase phase;

    phase_init(&phase, clock_now_ns());
    ck_assert(own_elsewhere(&phase)); /* nobody makes steps yet */
    phase_step_begin(&phase, 0, 1);
    ck_assert(phase_is_own(&phase) && !own_elsewhere(&phase));
    phase_enter(&phase, EDDIS_PHASE_EVALUATE);
    ck_assert(phase_is_own(&phase) && own_elsewhere(&phase));
    phase_fini(&phase);
}
END_TEST

static char folder[64];
static struct board *agent;
static struct phase p;

static void set_up(void)
{
    struct board_area a = { .n_ranks = 1, .n_local = 1, .mode = "sync", .algorithm = "allreduce" };
    char path[80];

    strcpy(folder, "/tmp/eddis-phase-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/board", folder);
    ck_assert_int_eq(board_create(path, &a, &agent, NULL), 0);
    phase_init(&p, clock_now_ns());
    ck_assert_int_eq(board_open(path, 0, &p.board, NULL), 0);
}

static void tear_down(void)
{
    board_close(p.board);
    phase_fini(&p);
    board_close(agent);
    ck_assert_int_eq(file_remove_tree(folder, NULL), 0);
}

/* Ends a step under this plan, of which the program tells so much memory. */
static int64_t report_memory(int64_t plan, int64_t memory_bytes)
{
    const struct phase_step s = { .step = board_own(p.board)->steps_done, .plan = plan };
    const struct eddis_report report = { .memory_bytes = memory_bytes };

    phase_step_end(&p, &s, clock_now_ns(), &report);
    return board_own(p.board)->memory_bytes;
}

/* Who asks its allocator anew in each step, or in some steps alone, has told the largest. */
START_TEST(most_memory_of_a_plan)
{
    ck_assert_int_eq(report_memory(1, 0), 0);
    ck_assert_int_eq(report_memory(1, 500), 500);
    ck_assert_int_eq(report_memory(1, 300), 500);
    ck_assert_int_eq(report_memory(1, 0), 500);
    ck_assert_int_eq(report_memory(1, 600), 600);
    ck_assert_int_eq(report_memory(2, 200), 200);
}
END_TEST

/* A loss that is not a number ends the job if samples went into it: those of an earlier step, too,
 * in a step without any.
 */
START_TEST(late_loss)
{
    static const struct {
        int64_t step, count, age, bad;
    } row[] = { { 0, 0, 0, 0 }, { 1, 8, 1, 0 }, { 2, 0, 0, 0 }, { 3, 0, 2, 2 }, { 4, 8, 0, 2 } };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct phase_step s = { .step = row[i].step, .count = row[i].count, .plan = 1 };
        const struct eddis_report report = { .has_loss = true,
                                             .loss = i == 1 ? 0.5 : NAN,
                                             .loss_age = row[i].age };

        phase_step_end(&p, &s, clock_now_ns(), &report);
        ck_assert_int_eq(board_own(p.board)->loss_step, row[i].bad);
    }
}
END_TEST

/* A precision stays until another one is reported. */
START_TEST(precision)
{
    static const char *const told[] = { NULL, "bf16", NULL, "fp16" };
    static const enum precision shown[] = { PRECISION_AUTO, PRECISION_BF16, PRECISION_BF16,
                                            PRECISION_FP16 };

    for (int i = 0; i < 4; i++) {
        const struct phase_step s = { .step = i, .plan = 1 };
        const struct eddis_report report = { .precision = told[i] };

        phase_step_end(&p, &s, clock_now_ns(), &report);
        ck_assert_int_eq(board_own(p.board)->program.precision, shown[i]);
    }
}
END_TEST

/* KiB */
static long peak(void)
{
    struct rusage u;

    ck_assert_int_eq(getrusage(RUSAGE_SELF, &u), 0);
    return u.ru_maxrss;
}

/* Of who tells nothing the process's peak counts, of each plan anew. */
START_TEST(own_memory_of_a_plan)
{
    enum { MUCH = 64 << 20 };
    void *map = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long before;

    ck_assert_ptr_ne(map, MAP_FAILED);
    report_memory(1, 0);
    memset(map, 1, MUCH);
    ck_assert_int_eq(munmap(map, MUCH), 0);
    before = peak();
    report_memory(1, 0);
    ck_assert_int_ge(peak(), before);
    report_memory(2, 1);
    ck_assert_int_ge(peak(), before); /* nobody looks at it */
    report_memory(3, 0);
    if (access("/proc/self/clear_refs", W_OK) == 0)
        ck_assert_int_lt(peak(), before - MUCH / 1024 / 2);
    else
        puts("SKIP own_memory_of_a_plan: this kernel resets no peak");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, most_memory_of_a_plan);
    tcase_add_test(tc, late_loss);
    tcase_add_test(tc, precision);
    tcase_add_test(tc, own_memory_of_a_plan);
    tcase_add_loop_test(tc, parts_add_up, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, blocked_without_the_device);
    tcase_add_test(tc, waits_of_another_thread);
    tcase_add_test(tc, exposed_in_its_own_step);
}

SUITE_MAIN("phase", add_tests)
