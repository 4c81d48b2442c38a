/* SPDX-License-Identifier: Apache-2.0 */
/* test_past.c - tests of agents/driver/history/past.h: what is found again, and until when */
#include "agents/driver/history/past.h"

#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 16000, BYTES = 1 << 20 };

#define DAY_NS (24 * 3600 * CLOCK_S)
#define BEGIN  (1000 * DAY_NS)

int64_t __wrap_clock_wall_ns(void);
int64_t __real_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void);

static int64_t wall_ns;
static struct file_thread *reader;
static struct job job;

int64_t __wrap_clock_wall_ns(void)
{
    return wall_ns;
}

/* The cache is waited for until a time by this clock: for an hour longer than in a job. */
int64_t __wrap_clock_now_ns(void)
{
    return __real_clock_now_ns() + 3600 * CLOCK_S;
}

static void begin(void)
{
    static char workdir[] = "/home/ann", program[] = "./train";
    static char *command[] = { program, NULL };

    ck_assert_int_eq(setenv("XDG_CACHE_HOME", scratch, 1), 0);
    ck_assert_int_eq(file_thread_start(&reader, NULL), 0);
    job = (struct job){ .workdir = workdir, .command = command, .profile.cache_ns = 7 * DAY_NS };
    wall_ns = BEGIN;
}

static void end(void)
{
    file_thread_stop(reader);
}

static void set_time(struct past_times *l, int worker, double sample_s)
{
    struct planner_time row = { .sample_s = sample_s, .largest = 8, .source = TIME_MEASURED };

    snprintf(row.key, sizeof row.key, "node-%d|device", worker);
    ck_assert_int_eq(past_times_set(l, &row), 0);
}

/* Seconds a sample of this worker; 0: nothing is known. */
static double time_of(const struct past_times *l, int worker)
{
    const struct planner_time *row = l->list.row;
    char key[PLANNER_KEY];

    snprintf(key, sizeof key, "node-%d|device", worker);
    for (int i = 0; i < l->list.n; i++)
        if (strcmp(row[i].key, key) == 0)
            return row[i].sample_s;
    return 0;
}

static void keep(struct past_times *l)
{
    ck_assert_int_eq(past_times_keep(reader, &job, BYTES, l, NULL), 0);
    past_times_fini(l);
}

static struct past_times load(int64_t bytes)
{
    struct past_times l = { 0 };

    past_times_load(reader, &job, bytes, &l);
    return l;
}

START_TEST(found_again)
{
    struct past_times l = { 0 };

    set_time(&l, 0, 0.1);
    set_time(&l, 1, 0.2);
    set_time(&l, 0, 0.3);
    ck_assert_int_eq(l.list.n, 2);
    keep(&l);
    l = load(2 * BYTES);
    ck_assert_int_eq(l.list.n, 0);
    l = load(BYTES);
    ck_assert_int_eq(l.list.n, 2);
    ck_assert_double_eq(time_of(&l, 0), 0.3);
    ck_assert_double_eq(time_of(&l, 1), 0.2);
    ck_assert_int_eq(((struct planner_time *)l.list.row)->source, TIME_LEARNT);
    past_times_fini(&l);
}
END_TEST

/* A later job keeps the file, but not the row of a worker that it has not got. */
START_TEST(each_row_has_its_age)
{
    struct past_times l = { 0 };

    set_time(&l, 0, 0.1);
    set_time(&l, 1, 0.2);
    keep(&l);
    wall_ns = BEGIN + 6 * DAY_NS;
    l = load(BYTES);
    ck_assert_int_eq(l.list.n, 2);
    set_time(&l, 1, 0.3);
    keep(&l);
    wall_ns = BEGIN + 8 * DAY_NS;
    l = load(BYTES);
    ck_assert_int_eq(l.list.n, 1);
    ck_assert_double_eq(time_of(&l, 1), 0.3);
    set_time(&l, 0, 0.4);
    set_time(&l, 1, 0.5);
    ck_assert_int_eq(l.list.n, 2);
    past_times_fini(&l);
    wall_ns = BEGIN; /* the clock was set back: nothing of the future is believed */
    l = load(BYTES);
    ck_assert_int_eq(l.list.n, 0);
    past_times_fini(&l);
}
END_TEST

START_TEST(efficiencies)
{
    struct efficiency_row row = {
        .algorithm = "hsgd", .writers = 4, .period = 16, .batch = 512, .value = 0.5
    };
    struct past_efficiencies l = { 0 };
    const struct efficiency_row *found;

    ck_assert_int_eq(past_efficiencies_set(&l, &row), 0);
    row.value = 0.75; /* the newer measurement of the same */
    ck_assert_int_eq(past_efficiencies_set(&l, &row), 0);
    row.period = 64;
    ck_assert_int_eq(past_efficiencies_set(&l, &row), 0);
    ck_assert_int_eq(past_efficiencies_keep(reader, &job, BYTES, &l, NULL), 0);
    past_efficiencies_fini(&l);
    (void)past_efficiencies_load(reader, &job, BYTES + 1, &l);
    ck_assert_int_eq(l.list.n, 0); /* another model */
    (void)past_efficiencies_load(reader, &job, BYTES, &l);
    ck_assert_int_eq(l.list.n, 2);
    found = l.list.row;
    ck_assert_str_eq(found[0].algorithm, "hsgd");
    ck_assert(found[0].period == 16 && found[0].value == 0.75 && found[1].period == 64);
    past_efficiencies_fini(&l);
}
END_TEST

START_TEST(many)
{
    struct past_times l = { 0 };

    for (int i = 0; i < MANY; i++)
        set_time(&l, i, i + 1);
    keep(&l);
    l = load(BYTES);
    ck_assert_int_eq(l.list.n, MANY);
    for (int i = MANY; i-- > 0;)
        set_time(&l, i, i + 2);
    ck_assert_int_eq(l.list.n, MANY);
    ck_assert_double_eq(time_of(&l, MANY / 2), MANY / 2 + 2);
    past_times_fini(&l);
}
END_TEST

/* A bound of a failure lasts as long as jobs train under it; one of peaks is measured anew. */
START_TEST(failures_are_renewed)
{
    struct planner_bound failed = { .key = "a", .samples = 100 };
    struct planner_bound peaks = { .key = "b", .samples = 200, .measured = true };
    struct planner_line card = { .key = "H1", .fixed_bytes = 1e9, .sample_bytes = 1.5e6 };
    const struct planner_line *line;
    struct past_memory l = { .takes_pieces = true };

    ck_assert_int_eq(past_memory_set(&l, &failed, NULL), 0);
    past_memory_measured(&l, &peaks, true);
    past_memory_line(&l, &card);
    wall_ns = BEGIN + 6 * DAY_NS;
    past_memory_renew(&l, "a", 0);
    past_memory_renew(&l, "c", 0);
    ck_assert_int_eq(past_memory_keep(reader, &job, BYTES, &l, NULL), 0);
    past_memory_fini(&l);
    past_memory_load(reader, &job, BYTES, &l);
    ck_assert_int_eq(l.lines.n, 1);
    line = l.lines.row;
    ck_assert_str_eq(line->key, "H1");
    ck_assert(line->fixed_bytes == 1e9 && line->sample_bytes == 1.5e6);
    past_memory_fini(&l);
    wall_ns = BEGIN + 8 * DAY_NS;
    l = (struct past_memory){ 0 };
    past_memory_load(reader, &job, BYTES, &l);
    ck_assert(l.takes_pieces);
    ck_assert_int_eq(l.list.n, 1);
    ck_assert_int_eq(past_memory_find(&l, "a")->samples, 100);
    ck_assert_ptr_null(past_memory_find(&l, "b"));
    past_memory_fini(&l);
}
END_TEST

/* Of two failures the stricter figures count, and a raised limit is what was held under it. */
START_TEST(failures_together)
{
    struct planner_bound first = { .key = "a", .samples = 14, .failed = 28 };
    struct planner_bound second = { .key = "a", .samples = 12, .failed = 25 };
    struct past_memory l = { 0 };
    const struct planner_bound *row;

    ck_assert_int_eq(past_memory_set(&l, &first, NULL), 0);
    past_memory_renew(&l, "a", 20);
    row = past_memory_find(&l, "a");
    ck_assert(row->samples == 20 && row->fitted == 20 && row->failed == 28);
    ck_assert_int_eq(past_memory_set(&l, &second, NULL), 0);
    row = past_memory_find(&l, "a");
    ck_assert(row->samples == 12 && row->fitted == 20 && row->failed == 25);
    past_memory_renew(&l, "a", 25); /* it failed later */
    ck_assert(row->samples == 12 && row->fitted == 20 && row->failed == 25);
    second.failed = 20;
    ck_assert_int_eq(past_memory_set(&l, &second, NULL), 0);
    ck_assert(row->samples == 12 && row->fitted == 0 && row->failed == 20);
    ck_assert_int_eq(past_memory_keep(reader, &job, BYTES, &l, NULL), 0);
    past_memory_fini(&l);
    past_memory_load(reader, &job, BYTES, &l);
    row = past_memory_find(&l, "a");
    ck_assert(row && row->samples == 12 && row->failed == 20);
    past_memory_fini(&l);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, found_again);
    tcase_add_test(tc, each_row_has_its_age);
    tcase_add_test(tc, efficiencies);
    tcase_add_test(tc, many);
    tcase_add_test(tc, failures_are_renewed);
    tcase_add_test(tc, failures_together);
}

SUITE_MAIN("learned", add_tests)
