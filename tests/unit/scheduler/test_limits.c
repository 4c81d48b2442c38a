/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c - tests of scheduler/limits.h, in plans */
#include "scheduler/limits.h"

#include "lib/job/job_read.h"
#include "suite.h"

#include "tests/unit/planning.h"

#include <errno.h>

/* Two nodes of one emulated device each, the second twice as fast. */
static void set_up(void)
{
    planning_begin();
    job.batch.global = 300;
    make_nodes(2);
    for (int i = 0; i < 2; i++)
        add_emulated(&node[i], i + 1, 0, 0.001);
}

/* What rank 0 or 1 was seen to hold. */
static struct planner_bound bound(int rank, int64_t samples)
{
    struct planner_bound b = { .samples = samples };
    const struct plan_worker w = { .device_id = "emulated:0" };

    planner_key(node[rank].host, &node[rank], &w, b.key);
    return b;
}

static struct plan *plan_by(const struct planner_bound *b, int n, bool takes_pieces)
{
    const struct planner_history known = { .bound = b,
                                           .n_bounds = n,
                                           .takes_pieces = takes_pieces };

    (void)plan_nodes(2, &known);
    return p;
}

/* The plan gives these batches. */
static void check(const struct plan *made, int64_t first, int64_t second)
{
    ck_assert_msg(made, "%s", err.text);
    ck_assert_int_eq(made->worker[0].batch, first);
    ck_assert_int_eq(made->worker[1].batch, second);
}

START_TEST(nothing_known)
{
    check(plan_by(NULL, 0, false), 100, 200);
}
END_TEST

/* Without the promise a worker gets no more than its memory holds, and the others the rest. */
START_TEST(hard)
{
    const struct planner_bound b[] = { bound(1, 60) };

    ck_assert_ptr_nonnull(plan_by(b, 1, false));
    ck_assert_int_eq(p->worker[1].piece, 60);
    ck_assert_int_eq(p->worker[0].piece, 0);
    ck_assert_int_eq(limits_most(p, 1), 60);
    check(p, 240, 60);
}
END_TEST

/* With it the split is that of the speeds. */
START_TEST(pieces)
{
    const struct planner_bound b[] = { bound(1, 60), bound(0, 30) };

    ck_assert_ptr_nonnull(plan_by(b, 2, true));
    ck_assert(p->takes_pieces);
    ck_assert_int_eq(p->worker[1].piece, 60);
    ck_assert_int_eq(p->worker[0].piece, 30);
    ck_assert_int_eq(limits_most(p, 1), INT64_MAX);
    check(p, 100, 200);
}
END_TEST

/* A node with more memory than then may hold more. */
START_TEST(of_another_machine)
{
    const struct planner_bound b[] = { bound(1, 60) };

    node[1].memory_bytes = INT64_C(1) << 40;
    check(plan_by(b, 1, false), 100, 200);
}
END_TEST

START_TEST(too_little_memory)
{
    const struct planner_bound b[] = { bound(1, 60), bound(0, 30) };

    ck_assert_ptr_null(plan_by(b, 2, false));
    ck_assert_int_eq(err.code, -EINVAL);
    ck_assert_str_eq(err.text,
                     "batch.global is 300, more than the 90 samples that fit in the workers' "
                     "memory, on node node0 30 for each worker; lower it to that, or let the "
                     "program take micro-batches (eddis_options.pieces)");
}
END_TEST

/* What is raised is what a failure has bounded, as far as needed, and never to what failed. */
START_TEST(raised)
{
    struct planner_bound b[] = { bound(1, 100), bound(0, 60) };

    b[0].failed = 240;
    b[1].failed = 120;
    check(plan_by(b, 2, false), 102, 198); /* 140 are missing, and 139 and 59 would be more */
    ck_assert(p->worker[0].piece == 102 && p->worker[1].piece == 198);
    job.batch.grain = 8;
    check(plan_by(b, 2, false), 100, 200); /* not all of it are whole grains */
    ck_assert(p->worker[0].piece == 104 && p->worker[1].piece == 200);
    job.batch.grain = 1;
    node[0].max_batch = 70;
    check(plan_by(b, 2, false), 70, 230);
    node[0].max_batch = 0;
    check(plan_by(b, 2, true), 100, 200); /* in pieces */
    ck_assert(p->worker[0].piece == 60 && p->worker[1].piece == 100);
    job.batch.global = 160; /* which they hold as it is */
    check(plan_by(b, 2, false), 60, 100);
    job.batch.global = 358;
    check(plan_by(b, 2, false), 119, 239);
    job.batch.global = 359;
    ck_assert_ptr_null(plan_by(b, 2, false));
    ck_assert_str_eq(err.text, "batch.global is 359, more than the 358 samples that may fit in the "
                               "workers' memory: node node0 could not hold 120 at once; lower "
                               "batch.global, or let the program take micro-batches "
                               "(eddis_options.pieces)");
    b[0].measured = true;
    job.batch.global = 220;
    ck_assert_ptr_null(plan_by(b, 2, false));
    ck_assert_ptr_nonnull(
        strstr(err.text, "more than the 219 samples that may fit in the workers'"));
    job.batch.global = 219;
    check(plan_by(b, 2, false), 119, 100);
}
END_TEST

/* The job's least batch gives way. */
START_TEST(below_the_least)
{
    const struct planner_bound b[] = { bound(1, 5) };

    job.batch.min = 10;
    check(plan_by(b, 1, false), 295, 5);
}
END_TEST

/* A node's own batch.max takes the place of the job's. */
START_TEST(of_a_node)
{
    node[1].max_batch = 64;
    check(plan_by(NULL, 0, false), 236, 64);
    job.batch.max = 150;
    node[1].max_batch = 160;
    check(plan_by(NULL, 0, true), 140, 160);
    node[1].max_batch = 100;
    ck_assert_ptr_null(plan_by(NULL, 0, false));
    ck_assert_str_eq(
        err.text,
        "batch.global is 300, more than the 250 samples that batch.max allows for all workers, on "
        "node node1 100 for each worker; lower it to that or less, or raise batch.max");
}
END_TEST

START_TEST(of_one_worker)
{
    const struct planner_history known = { 0 };

    job.batch.max = 20;
    ck_assert_int_eq(plan_nodes(1, &known), -EINVAL);
    ck_assert_str_eq(err.text, "batch.global is 300, too large for 1 worker with batch.max: 20; "
                               "lower it to 20 or less, or raise batch.max");
}
END_TEST

/* Both in force: the smaller one. */
START_TEST(smaller_one)
{
    const struct planner_bound b[] = { bound(1, 60) };

    node[1].max_batch = 50;
    check(plan_by(b, 1, false), 250, 50);
    node[1].max_batch = 70;
    check(plan_by(b, 1, false), 240, 60);
    check(plan_by(b, 1, true), 230, 70);
}
END_TEST

static struct plan *plan_for(int64_t min_count)
{
    const struct planner_history known = { .program.min_count = min_count };

    (void)plan_nodes(2, &known);
    return p;
}

/* What the program takes at least, or none. */
START_TEST(of_the_program)
{
    check(plan_for(0), 100, 200);
    check(plan_for(100), 100, 200);
    check(plan_for(120), 120, 180);
    job.batch.min = 130;
    check(plan_for(120), 130, 170);
    check(plan_for(150), 150, 150);
    check(plan_for(151), 0, 300); /* not enough for both: the slower one gets none */
    node[1].max_batch = 299;      /* which alone cannot take all */
    check(plan_for(151), 130, 170);
    job.batch.min = 1;
    node[1].max_batch = 119; /* fewer than it takes at least: it gets none */
    check(plan_for(120), 300, 0);
    check(plan_for(119), 181, 119);
    node[0].max_batch = 299; /* where nobody can take its part it is as without */
    check(plan_for(120), 181, 119);
    node[0].max_batch = node[1].max_batch = 0;
    job.sync.mode = word_of("async"); /* where each has to have some */
    check(plan_for(151), 100, 200);
}
END_TEST

/* The same where sync's rule was taken first, since the mode was open: it leaves one out, who
 * trains a model of its own then, on cables that sync would wait for.
 */
START_TEST(of_the_program_open)
{
    const struct planner_history known = {
        .program.min_count = 151, .model_bytes = 100000000, .latency_s = 1e-3, .bytes_per_s = 1e6
    };

    job.sync.options.period = MODES_MAX_PERIOD; /* exchanges cost little */
    ck_assert_msg(plan_nodes(2, &known) == 0, "%s", err.text);
    ck_assert_msg(algorithm_has(p->algorithm, ALGORITHM_SEVERAL), "%s: %s", p->mode, p->reason);
    ck_assert_double_eq_tol(p->predicted_samples_per_s, p->ideal_samples_per_s,
                            0.1 * p->ideal_samples_per_s);
    check(p, 100, 200);
}
END_TEST

/* And in groups, whose members finish together. */
START_TEST(of_groups)
{
    job.sync.mode = word_of("hybrid");
    job.batch.global = 32;
    make_nodes(2);
    for (int i = 0; i < 8; i++)
        add_emulated(&node[i / 4], 1, 0, 0.001);
    ck_assert_msg(plan_for(8), "%s", err.text);
    ck_assert_int_eq(p->n_groups, 2);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(p->worker[i].batch, 4);
}
END_TEST

/* All batches are whole grains, whatever the least one is. */
START_TEST(in_grains)
{
    const struct planner_bound small[] = { bound(0, 5) };

    job.batch.grain = 8;
    job.batch.global = 64;
    check(plan_for(0), 24, 40);
    job.batch.min = 25;
    check(plan_for(0), 32, 32);
    job.batch.min = 1;
    check(plan_for(33), 0, 64);
    node[0].max_batch = 20;
    check(plan_for(20), 0, 64); /* 24 are too many for it, and 16 too few for the program */
    node[0].max_batch = 0;
    check(plan_by(small, 1, false), 0, 64); /* not even one fits into its memory */
    job.sync.mode = word_of("async");
    check(plan_by(small, 1, false), 5, 59); /* but here it has to have some */
    job.batch.global = 8;
    ck_assert_ptr_null(plan_for(0));
    ck_assert_str_eq(err.text, "batch.global is 8, too small for 2 workers with batch.min: 1 in "
                               "steps of batch.grain: 8; raise it to 16 or more, or lower "
                               "batch.min");
}
END_TEST

/* Twice what was learnt from is no bound that the job could not do without: by samples both would
 * hold 74 and 54 of 128, in whole grains 120 of them.
 */
START_TEST(trusted_in_grains)
{
    struct planner_time t[2];
    const struct planner_history known = { .time = t, .n_times = 2 };

    job.batch.global = 128;
    job.batch.grain = 8;
    for (int i = 0; i < 2; i++) {
        const struct plan_worker w = { .device_id = "cuda:0" };

        node[i].n_devices = 0;
        add_device(&node[i], DEVICE_CUDA, 1);
        t[i] = (struct planner_time){ .sample_s = 0.001, .source = TIME_LEARNT };
        t[i].largest = i ? 27 : 37;
        planner_key(node[i].host, &node[i], &w, t[i].key);
    }
    ck_assert_msg(plan_nodes(2, &known) == 0, "%s", err.text);
    ck_assert_int_eq(p->worker[0].time, TIME_LEARNT);
    check(p, 72, 56);
}
END_TEST

START_TEST(bounds_by_measured_memory)
{
    const int64_t most[] = { 40, INT64_MAX };
    const struct planner_bound b[] = { bound(0, 20) };
    struct split_worker w[2];

    ck_assert_ptr_nonnull(plan_by(b, 1, false));
    job.batch.min = 50;
    limits_bounds(&job, p, 20, NULL, w);
    ck_assert(w[0].min == 20 && w[0].max == 20 && w[1].min == 50 && w[1].max == INT64_MAX);
    limits_bounds(&job, p, 40, most, w);
    ck_assert(w[0].min == 40 && w[0].max == 40 && w[1].min == 50 && w[1].max == INT64_MAX);
    limits_bounds(&job, p, 41, most, w);
    ck_assert(w[0].min == 0 && w[0].max == 0 && w[1].min == 50 && w[1].max == INT64_MAX);
}
END_TEST

/* Three nodes with a GPU each, equally fast, of 80, 16 and 11 GB, named H1, H2 and H3. */
static void make_cards(void)
{
    static const int64_t gigabytes[] = { 80, 16, 11 };

    make_nodes(3);
    job.batch.global = 256;
    for (int i = 0; i < 3; i++) {
        struct device *d = add_device(&node[i], DEVICE_CUDA, 1);

        d->memory_bytes = gigabytes[i] * 1000000000;
        (void)snprintf(d->name, sizeof d->name, "H%d", i + 1);
    }
}

/* The plan for the three of them gives these batches. */
static void check_cards(const struct planner_history *known, int64_t a, int64_t b, int64_t c)
{
    ck_assert_msg(plan_nodes(3, known) == 0, "%s", err.text);
    ck_assert_int_eq(p->worker[0].batch, a);
    ck_assert_int_eq(p->worker[1].batch, b);
    ck_assert_int_eq(p->worker[2].batch, c);
}

/* A GPU of a program that nothing is known of gets no more than its part of all memory. */
START_TEST(by_parts_of_memory)
{
    make_cards();
    check_cards(NULL, 190, 39, 27); /* 38.3 and 26.3, rounded up */
    node[0].max_batch = 100;
    check_cards(NULL, 99, 93, 64);
    node[0].max_batch = 0;
    node[2].max_batch = 256; /* the user knows what fits there */
    check_cards(NULL, 109, 39, 108);
    ck_assert(p->worker[1].guessed && !p->worker[2].guessed);
    node[2].max_batch = 0;
    job.batch.max = 256; /* and everywhere */
    check_cards(NULL, 86, 85, 85);
    job.batch.max = 0;
    job.batch.grain = 16;
    check_cards(NULL, 176, 48, 32);
}
END_TEST

/* A worker without a known memory takes no part, and leaves the others their bounds: 213.3 and 42.7
 * of 256 for 80 and 16 GB.
 */
START_TEST(parts_beside_unknown_memory)
{
    make_cards();
    node[2].device[0].memory_bytes = 0;
    check_cards(NULL, 107, 43, 106);
    ck_assert(p->worker[0].guessed && p->worker[1].guessed && !p->worker[2].guessed);
    node[2].n_devices = 0;
    add_device(&node[2], DEVICE_CPU, 1);
    node[2].memory_bytes = INT64_C(1) << 40;
    check_cards(NULL, 107, 43, 106);
    ck_assert_int_eq(p->worker[0].piece, 214);
    ck_assert_int_eq(p->worker[2].piece, 0);
    node[1].device[0].memory_bytes = 0; /* a single card is compared with none */
    check_cards(NULL, 86, 85, 85);
}
END_TEST

/* A guess takes nothing of the least that a worker is to have. */
START_TEST(parts_and_the_least)
{
    struct planner_history known = { .program.min_count = 60 };

    make_cards();
    job.batch.min = 50;
    check_cards(NULL, 156, 50, 50);
    check_cards(&known, 136, 60, 60);
    job.batch.grain = 16;
    check_cards(NULL, 128, 64, 64);
}
END_TEST

/* The part stands back where a worker has had more, or where it is known what fits. */
START_TEST(by_cards)
{
    const struct plan_worker w = { .device_id = "cuda:0" };
    struct planner_line line = { .key = "H3", .fixed_bytes = 1.9e9, .sample_bytes = 1e8 };
    struct planner_time t = { .sample_s = 0.001, .source = TIME_LEARNT, .largest = 50 };
    struct planner_bound b = { .samples = 60 };
    struct planner_history known = { .line = &line, .n_lines = 1 };

    make_cards();
    check_cards(&known, 137, 39, 80); /* 9.9 GB are left of 11, the GPU with H3's line */
    ck_assert_int_eq(p->worker[2].piece, 80);
    known.takes_pieces = true;
    check_cards(&known, 86, 85, 85);
    ck_assert_int_eq(p->worker[2].piece, 80);
    planner_key(node[2].host, &node[2], &w, b.key);
    known = (struct planner_history){ .line = &line, .n_lines = 1, .bound = &b, .n_bounds = 1 };
    check_cards(&known, 157, 39, 60);
    known.n_bounds = 0;
    node[2].software = 0x1234; /* another PyTorch needs other memory */
    check_cards(&known, 190, 39, 27);
    strcpy(line.key, "H3|00001234");
    check_cards(&known, 137, 39, 80);
    line.sample_bytes = 0; /* it does not grow, so the whole batch fits */
    check_cards(&known, 109, 39, 108);
    ck_assert_int_eq(p->worker[2].piece, 0);
    node[2].software = 0;
    planner_key(node[2].host, &node[2], &w, t.key);
    known = (struct planner_history){ .time = &t, .n_times = 1 };
    check_cards(&known, 167, 39, 50);
}
END_TEST

static const struct {
    const char *yaml, *words;
    int64_t max; /* of the second node */
} places[] = {
    { "batch: {global: 100, max: 20}",
      "t.yaml:2: batch.global is 100, too large for 2 workers with batch.max: 20; lower it to 40",
      0 },
    { "\nbatch:\n  max: 20",
      "t.yaml:4: batch.global is 256, too large for 2 workers with batch.max: 20; lower it to 40",
      0 },
    { "batch: {global: 100, min: 60}",
      "t.yaml:2: batch.global is 100, too small for 2 workers with batch.min: 60; raise it to 120",
      0 },
    { "batch: {min: 10}",
      "t.yaml:2: batch.min is 10, more than batch.max 5 of node node1; lower it", 5 },
    { "batch: {grain: 8}",
      "batch.min is 1, more than batch.max 5 of node node1 in steps of batch.grain: 8; lower it",
      5 },
    { "batch:\n  max: 20\n  global: 100",
      "t.yaml:4: batch.global is 100, more than the 25 samples that batch.max allows for all "
      "workers, on node node1 5 for each worker; ",
      5 },
    { "batch: {global: 120, grain: 40, max: 70}",
      "t.yaml:2: batch.global: the largest batches of the workers", 0 },
};

/* Each says where to mend it. */
START_TEST(place)
{
    char yaml[256];
    struct job *j;

    snprintf(yaml, sizeof yaml, "command: [a]\n%s\n", places[_i].yaml);
    ck_assert_int_eq(job_parse(yaml, strlen(yaml), "t.yaml", "/tmp", &j, NULL), 0);
    node[1].max_batch = places[_i].max;
    ck_assert_int_lt(planner_plan(j, node, 2, NULL, &p, &err), 0);
    ck_assert_msg(strncmp(err.text, places[_i].words, strlen(places[_i].words)) == 0, "%s",
                  err.text);
    job_free(j);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, place, 0, sizeof places / sizeof *places);
    tcase_add_checked_fixture(tc, set_up, planning_end);
    tcase_add_test(tc, nothing_known);
    tcase_add_test(tc, hard);
    tcase_add_test(tc, pieces);
    tcase_add_test(tc, of_another_machine);
    tcase_add_test(tc, too_little_memory);
    tcase_add_test(tc, raised);
    tcase_add_test(tc, below_the_least);
    tcase_add_test(tc, of_a_node);
    tcase_add_test(tc, of_one_worker);
    tcase_add_test(tc, smaller_one);
    tcase_add_test(tc, of_the_program);
    tcase_add_test(tc, of_the_program_open);
    tcase_add_test(tc, of_groups);
    tcase_add_test(tc, in_grains);
    tcase_add_test(tc, trusted_in_grains);
    tcase_add_test(tc, by_parts_of_memory);
    tcase_add_test(tc, parts_beside_unknown_memory);
    tcase_add_test(tc, parts_and_the_least);
    tcase_add_test(tc, by_cards);
    tcase_add_test(tc, bounds_by_measured_memory);
}

SUITE_MAIN("limits", add_tests)
